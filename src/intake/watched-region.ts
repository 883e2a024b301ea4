/**
 * Combines the parts that watch one region: the client of its service and the intake that reads it. Regions are
 * independent.
 */
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/fact.ts';
import { NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import type { FeedProgress, InventoryRead, RegionProgress, RegionSnapshot } from '../region-progress.ts';
import { createServiceClient } from '../service/client.ts';
import type { ServiceRegion } from '../service/exchange.ts';
import type { Clock, Random } from '../time/clock.ts';
import { createFlightLogReading } from './flights/flight-logs.ts';
import type { WantedPeople } from './inventory/listed-before.ts';
import type { IntakeParts } from './parts.ts';
import { RegionIntake } from './region.ts';

/** The settings by which a region is watched. */
export interface RegionSetting {
  /** Without `links`, which only lead people to the service's own application. */
  readonly region: Omit<RegionConfig, 'links'>;
  readonly poll: PollConfig;
  readonly retentionMs: number;
  readonly keepsMembers: boolean;
  readonly mailsMembers: boolean;
  readonly wanted: WantedPeople;
}

interface WatchedRegionOptions extends Pick<IntakeParts, 'store' | 'commit' | 'clock' | 'random' | 'report'> {
  readonly setting: RegionSetting;
  /** Closed by the region. */
  readonly transport: Transport;
  /** The request rate per second to begin with, if known. */
  readonly startPerSecond?: number | undefined;
}

export interface WatchedRegion {
  readonly name: string;
  readonly setting: RegionSetting;
  /** Polls until `signal` aborts. Resolves when the polls in progress have ended and the transport is closed. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Reads each stream once, and gives the region up if it cannot be read. Resolves to whether it was given up, and,
   * if not, to the number of streams that could not be read.
   */
  runOnce(signal: AbortSignal): Promise<{ readonly isLeft: boolean; readonly unread: number }>;
  /** Sends a request to the service at once, even if it is down and only probed from time to time. */
  probe(): void;
  /** Reads the log of a Flight from the service, if the polls leave room for the request. */
  flightLog(place: FlightPlace): Promise<FlightLog>;
  /** When the last successful poll of a Bird's Flights began; undefined if there was none since the start. */
  flightsReadUs(birdId: string): number | undefined;
  /** The same for all Birds that have such a poll. */
  flightReads(): Iterable<readonly [birdId: string, us: number]>;
  inventoryRead(): InventoryRead | undefined;
  /** How far the service's clock is ahead of the clock passed in; 0 if not known yet. */
  serviceAheadUs(): number;
  progress(): RegionProgress;
  /** What its health is judged by. */
  snapshot(): RegionSnapshot;
  /** Up to when what was read is known to be complete. */
  verified(): { readonly region: string; readonly verifiedUntilUs: number };
}

/** How long a single reading waits for a region that is down. */
const ONCE_PATIENCE_MS = 10_000;

export function createWatchedRegion(options: WatchedRegionOptions): WatchedRegion {
  const { setting, transport, clock } = options;
  const { name } = setting.region;
  const client = createServiceClient({ ...options, region: setting.region });
  const intake = new RegionIntake({ ...options, ...setting, client });

  /** Reads until `signal` aborts, which also cancels queued requests, or until `inVain` aborts. */
  async function read(signal: AbortSignal, once: boolean, inVain?: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => client.close(), { once: true });
    try {
      await intake.run(inVain ? AbortSignal.any([signal, inVain]) : signal, { once });
    } finally {
      await client.close();
      await transport.close();
    }
  }

  /** `signal` aborts when waiting for the region has become pointless; `release` stops the watching. */
  function goneForGood(): { readonly signal: AbortSignal; release(): void } {
    const gone = new AbortController();
    let cancel = () => {};
    client.onHealthChange(({ health }) => {
      cancel();
      if (health === 'unauthorized') gone.abort();
      else if (health === 'down') cancel = clock.setTimer(ONCE_PATIENCE_MS, () => gone.abort());
    });
    return { signal: gone.signal, release: () => cancel() };
  }

  function progress(): RegionProgress {
    const unlisted = intake.polls.unlisted();
    return {
      region: name,
      health: client.health(),
      requestsPerSecond: client.rate(),
      nests: intake.inventory.nests().length,
      birds: intake.inventory.birds().length,
      started: intake.polls.isInventoryRead(),
      unlisted: unlisted && { ...unlisted, address: setting.region.baseUrl },
      auditsBehindMs: intake.audits.lagMs(),
      feeds: intake.feeds(),
      reads: intake.reads.feeds(),
    };
  }

  return {
    name,
    setting,
    run: (signal) => read(signal, false),
    async runOnce(signal) {
      const gone = goneForGood();
      await read(signal, true, gone.signal).finally(gone.release);
      const isLeft = gone.signal.aborted;
      return { isLeft, unread: isLeft ? 0 : intake.polls.failingCount() };
    },
    probe: () => intake.probe(),
    flightLog: createFlightLogReading(client, intake.pageSize, clock),
    flightsReadUs: (birdId) => intake.streams.flightsReadUs(birdId),
    flightReads: () => intake.streams.flightReads(),
    inventoryRead: () => intake.inventory.read(),
    serviceAheadUs: () => intake.serviceClock.aheadUs(),
    progress,
    snapshot() {
      // This visits every stream and runs every few seconds, so it is computed once.
      const known = progress();
      return {
        ...known,
        excludedNests: intake.inventory.excludedNests(),
        include: setting.region.nests.include,
        clockAheadUs: intake.serviceClock.aheadUs(),
        beganUs: intake.reads.beganUs(),
        firstPass: intake.reads.firstPass(),
        proofs: polled(known.feeds),
      };
    },
    verified: () => ({
      region: name,
      verifiedUntilUs: Math.min(...polled(intake.feeds()).map((feed) => feed.verifiedUntilUs)),
    }),
  };
}

/** Feeds without polled streams prove nothing and miss nothing. */
function polled(feeds: readonly FeedProgress[]): readonly FeedProgress[] {
  return feeds.filter((one) => one.polled > 0);
}

interface IsReachedOptions {
  readonly region: ServiceRegion;
  /** Closed by `isReached`. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Checks whether a region's service gives this process what reading requires: its Nests, the Birds of the first Nest,
 * and notifications. A replica needs this before it takes a region over, since a service that refuses one of these to
 * everybody would refuse it to the new reader as well. Errors are not reported, because another replica reads the
 * region. Ends early when `signal` aborts.
 */
export async function isReached(options: IsReachedOptions, signal: AbortSignal): Promise<boolean> {
  const { transport } = options;
  const client = createServiceClient({ ...options, report: () => {} });
  const end = () => void client.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    const [nest] = (await client.searchNests()).value.flatMap((one) => (one.ok ? [one.entry] : []));
    if (nest) await client.searchBirds(nest.id);
    await client.getNotifications({ page: 0, pageSize: 1, ascending: false });
    return true;
  } catch (error) {
    if (!(error instanceof NestwatchError)) throw error;
    return false;
  } finally {
    signal.removeEventListener('abort', end);
    await client.close();
    await transport.close();
  }
}
