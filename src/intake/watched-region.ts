/** One region that is watched: the client of its service, and the intake that reads it. No region waits for another. */
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/flight-step.ts';
import type { Transport } from '../http/transport.ts';
import type { Report } from '../report.ts';
import { createServiceClient, type RegionHealth } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Commit } from './commit.ts';
import type { FeedProgress } from './feed-progress.ts';
import { createFlightLogReading } from './flights/flight-log-reading.ts';
import type { Unlisted } from './polls.ts';
import type { FeedReads } from './read-progress.ts';
import { RegionIntake } from './region.ts';

/** What the configuration says of how a region is watched. */
export interface RegionSetting {
  /** Its links lead people to the service's own application: it is not read by them. */
  readonly region: Omit<RegionConfig, 'links'>;
  readonly poll: PollConfig;
  readonly retentionMs: number;
  readonly keepsMembers: boolean;
}

interface WatchedRegionOptions {
  readonly setting: RegionSetting;
  /** The region closes it. */
  readonly transport: Transport;
  readonly commit: Commit;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Requests a second to begin with, where they are known. */
  readonly startPerSecond?: number | undefined;
}

export interface WatchedRegion {
  readonly name: string;
  readonly setting: RegionSetting;
  /** Polls until `signal` aborts; resolves when what was under way is finished and the way to the service closed. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Reads each stream once, and leaves the region where that is in vain. Resolves to whether it was left, and how many
   * streams of a region that was not left could not be read.
   */
  runOnce(signal: AbortSignal): Promise<{ readonly isLeft: boolean; readonly unread: number }>;
  /** Asks the service at once, though it is only probed now and then. */
  probe(): void;
  /** Asks the service for the log of a Flight, where the watch leaves room for that. */
  flightLog(place: FlightPlace): Promise<FlightLog>;
  /** When the last successful poll of a Bird's Flights began, in this life; undefined for none. */
  flightsReadUs(birdId: string): number | undefined;
  /** The same of each Bird of which there was one. */
  flightReads(): Iterable<readonly [birdId: string, us: number]>;
  /** By how much the service's clock is ahead of that by which it is read; 0 before that is known. */
  serviceAheadUs(): number;
  progress(): RegionProgress;
  /** What its health is judged by. */
  snapshot(): RegionProgress & {
    readonly excludedNests: number;
    readonly include: readonly string[];
    readonly clockAheadUs: number;
    readonly beganUs: number;
    readonly firstPass: ReturnType<RegionIntake['firstPass']>;
    /** Feeds of which something is polled. */
    readonly proofs: readonly FeedProgress[];
  };
  /** Up to when what was read is known to be complete. */
  verified(): { readonly region: string; readonly verifiedUntilUs: number };
}

export interface RegionProgress {
  readonly region: string;
  readonly health: RegionHealth;
  readonly requestsPerSecond: number;
  readonly nests: number;
  readonly birds: number;
  /** True once the inventory was read in this life. */
  readonly started: boolean;
  /** Why it is not, although it answers; `address` is the service's. Absent where nothing says so. */
  readonly unlisted?: (Unlisted & { readonly address: string }) | undefined;
  /** How late the audits are; 0 while they keep their interval. */
  readonly auditsBehindMs: number;
  readonly feeds: readonly FeedProgress[];
  /** Of each feed and the inventory, how long ago their streams were read. */
  readonly reads: readonly FeedReads[];
}

/** How long a reading that is done once waits for a region that went away. */
const ONCE_PATIENCE_MS = 10_000;

export function createWatchedRegion(options: WatchedRegionOptions): WatchedRegion {
  const { setting, transport, clock } = options;
  const { name } = setting.region;
  const client = createServiceClient({ ...options, region: setting.region });
  const intake = new RegionIntake({ ...options, ...setting, client });

  /** Reads until `signal` aborts, where what waits for its turn is given up, or until it is in vain. */
  async function read(signal: AbortSignal, once: boolean, inVain?: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => client.close(), { once: true });
    try {
      await intake.run(inVain ? AbortSignal.any([signal, inVain]) : signal, { once });
    } finally {
      await client.close();
      await transport.close();
    }
  }

  /** `signal` aborts when it is in vain to wait for the region; `release` ends the wait. */
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
    const unlisted = intake.unlisted();
    return {
      region: name,
      health: client.health(),
      requestsPerSecond: client.rate(),
      nests: intake.inventory.nests().length,
      birds: intake.inventory.birds().length,
      started: intake.started(),
      unlisted: unlisted && { ...unlisted, address: setting.region.baseUrl },
      auditsBehindMs: intake.auditLagMs(),
      feeds: intake.feeds(),
      reads: intake.reads(),
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
      return { isLeft, unread: isLeft ? 0 : intake.failing() };
    },
    probe: () => intake.probe(),
    flightLog: createFlightLogReading(client, intake.pageSize, clock),
    flightsReadUs: (birdId) => intake.flightsReadUs(birdId),
    flightReads: () => intake.flightReads(),
    serviceAheadUs: () => intake.clockAheadUs(),
    progress,
    snapshot() {
      // Takes time for each stream, and is asked for every few seconds: once is enough.
      const known = progress();
      return {
        ...known,
        excludedNests: intake.inventory.excludedNests(),
        include: setting.region.nests.include,
        clockAheadUs: intake.clockAheadUs(),
        beganUs: intake.beganUs(),
        firstPass: intake.firstPass(),
        proofs: polled(known.feeds),
      };
    },
    verified: () => ({
      region: name,
      verifiedUntilUs: Math.min(...polled(intake.feeds()).map((feed) => feed.verifiedUntilUs)),
    }),
  };
}

/** Feeds without anything to poll prove nothing and miss nothing. */
function polled(feeds: readonly FeedProgress[]): readonly FeedProgress[] {
  return feeds.filter((one) => one.polled > 0);
}
