/**
 * Watches one region: keeps its inventory, polls its streams as the schedule says and as fast as the pace allows, and
 * reports the region's health to alerting. It never waits for another region.
 */
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/fact.ts';
import { isStoreFailure, NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import type { FeedProgress, InventoryRead, RegionProgress, RegionSnapshot } from '../region-progress.ts';
import { createServiceClient, type RegionHealth, type ServiceClient } from '../service/client.ts';
import type { ServiceRegion } from '../service/exchange.ts';
import { type Bell, type Clock, createBell, type Random, sleep } from '../time/clock.ts';
import { AuditRound } from './audit/audit-round.ts';
import { createFeeds } from './feeds.ts';
import { createFlightLogReading, createFlightTails, type FlightTails } from './flights/flight-logs.ts';
import { HealthWatch, LagWatch } from './health-watch.ts';
import { Inventory } from './inventory/inventory.ts';
import { createMemberBook, NestSelection } from './inventory/inventory-reading.ts';
import type { WantedPeople } from './inventory/listed-before.ts';
import { AUDIT, FLIGHT_LOGS, feedOf, INVENTORY, type IntakeParts } from './parts.ts';
import { createHints, PollSlots, Polls } from './polls.ts';
import { KeptRate, ReadProgress } from './read-progress.ts';
import { type Polled, Schedule } from './schedule/schedule.ts';
import { createServiceClock, type ServiceClock } from './service-clock.ts';
import { REGULAR_SHARE, Streams } from './streams.ts';

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
  /** Looks at once whether logs of Flights in the air are to be read, as it does from time to time. */
  lookForLogs(): void;
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

/**
 * How often health and lag are checked, and committed if the store refused them before, even if nothing is polled; and
 * whether logs of Flights are to be read.
 */
const WATCH_EVERY_MS = 30_000;

/** How long to wait before retrying if the store fails at the start. */
const STORE_PAUSE_MS = 5_000;

/** The part of the requests that audits may use. */
const AUDIT_SHARE = 1 / 10;

/** The part that logs of Flights in the air may use while anything else waits: what they tell is hours old. */
const FLIGHT_LOGS_SHARE = 1 / 50;

const LONGEST_MS = 86_400_000;

export function createWatchedRegion(options: WatchedRegionOptions): WatchedRegion {
  return new PolledRegion(options);
}

class PolledRegion implements WatchedRegion {
  readonly name: string;
  readonly setting: RegionSetting;
  readonly flightLog: WatchedRegion['flightLog'];
  readonly #options: WatchedRegionOptions;
  readonly #inventory: Inventory;
  readonly #streams: Streams;
  readonly #polls: Polls;
  readonly #audits: AuditRound;
  readonly #reads: ReadProgress;
  readonly #serviceClock: ServiceClock;
  readonly #client: ServiceClient;
  readonly #bell: Bell;
  readonly #schedule: Schedule;
  readonly #tails: FlightTails;
  readonly #health: HealthWatch;
  readonly #lag: LagWatch;
  readonly #rate: KeptRate;

  constructor(options: WatchedRegionOptions) {
    this.#options = options;
    const { setting, store, clock } = options;
    const { poll, mailsMembers, keepsMembers } = setting;
    const { name: region, nests } = setting.region;
    this.name = region;
    this.setting = setting;
    const ownClient = createServiceClient({ ...options, region: setting.region });
    this.#serviceClock = createServiceClock(region, ownClient, store, clock);
    const { client } = this.#serviceClock;
    const watchedSinceUs = (birdId: string) =>
      Math.max(this.#serviceClock.watchedSinceUs(), this.#inventory.newsSinceUs(birdId));
    this.#client = client;
    this.#bell = createBell(clock);
    this.#schedule = new Schedule({ ...poll, allowedPerSecond: () => client.rate() });
    const leftOut = mailsMembers ? options.report : () => {};
    const members = keepsMembers ? createMemberBook(region, store, leftOut) : undefined;
    const nestsListed = () => this.#polls.nestsListed();
    const birdsAdded = () => this.#polls.birdsAdded();
    const shared = { ...options, ...setting, region, client };
    this.#inventory = new Inventory({ ...shared, nests, members, nestsListed, birdsAdded });
    const parts = { ...shared, inventory: this.#inventory, schedule: this.#schedule };
    const openPauseMs = () => (this.#schedule.isAimKept() ? 0 : poll.intervalMs);
    const feeds = createFeeds({ ...parts, watchedSinceUs, openPauseMs });
    this.flightLog = createFlightLogReading(ownClient, feeds.pageSize, clock);
    this.#audits = new AuditRound({ ...parts, ...feeds, auditIntervalMs: poll.auditIntervalMs });
    const nestOf = (birdId: string) => this.#inventory.nestOf(birdId);
    this.#tails = createFlightTails({ ...parts, nestOf, pageSize: feeds.pageSize });
    this.#streams = new Streams({ ...parts, feeds, audits: this.#audits });
    this.#health = new HealthWatch(parts);
    this.#polls = new Polls({
      ...parts,
      streams: this.#streams,
      hints: createHints({ ...parts, watchedSinceUs }),
      health: this.#health,
      serviceClock: this.#serviceClock,
      bell: this.#bell,
    });
    this.#lag = new LagWatch({
      ...parts,
      maxIntervalMs: poll.maxIntervalMs,
      describe: (name) => this.#streams.describe(name),
      failureOf: (name) => this.#polls.failureOf(name),
    });
    this.#reads = new ReadProgress(parts);
    this.#rate = new KeptRate(parts);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#read(signal, false);
  }

  async runOnce(signal: AbortSignal) {
    const gone = new AbortController();
    let cancel = () => {};
    this.#client.onHealthChange(({ health }) => {
      cancel();
      if (health === 'unauthorized') gone.abort();
      else if (health === 'down') cancel = this.#options.clock.setTimer(ONCE_PATIENCE_MS, () => gone.abort());
    });
    await this.#read(signal, true, gone.signal).finally(() => cancel());
    const isLeft = gone.signal.aborted;
    return { isLeft, unread: isLeft ? 0 : this.#polls.failingCount() };
  }

  probe(): void {
    this.#client.probeNow();
    this.#polls.retryFailing();
  }

  lookForLogs(): void {
    this.#scheduleLogs().catch((error) => this.#reportTrouble(error));
  }

  flightsReadUs(birdId: string): number | undefined {
    return this.#streams.flightsReadUs(birdId);
  }

  flightReads(): Iterable<readonly [birdId: string, us: number]> {
    return this.#streams.flightReads();
  }

  inventoryRead(): InventoryRead | undefined {
    return this.#inventory.read();
  }

  serviceAheadUs(): number {
    return this.#serviceClock.aheadUs();
  }

  progress(): RegionProgress {
    const unlisted = this.#polls.unlisted();
    return {
      region: this.name,
      health: this.#client.health(),
      requestsPerSecond: this.#client.rate(),
      nests: this.#inventory.nests().length,
      birds: this.#inventory.birds().length,
      started: this.#polls.isInventoryRead(),
      unlisted: unlisted && { ...unlisted, address: this.setting.region.baseUrl },
      auditsBehindMs: this.#audits.lagMs(),
      feeds: this.#feeds(),
      reads: this.#reads.feeds(),
    };
  }

  snapshot(): RegionSnapshot {
    // This visits every stream and runs every few seconds, so it is computed once.
    const known = this.progress();
    return {
      ...known,
      excludedNests: this.#inventory.excludedNests(),
      include: this.setting.region.nests.include,
      clockAheadUs: this.serviceAheadUs(),
      beganUs: this.#reads.beganUs(),
      firstPass: this.#reads.firstPass(),
      proofs: polled(known.feeds),
    };
  }

  verified() {
    const verifiedUntilUs = Math.min(...polled(this.#feeds()).map((feed) => feed.verifiedUntilUs));
    return { region: this.name, verifiedUntilUs };
  }

  /** How far each feed has been read and verified. Visits every stream. */
  #feeds(): readonly FeedProgress[] {
    return this.#streams.progress(this.#polls.lastSuccessUs());
  }

  /** Reads until `signal` aborts, which also cancels queued requests, or until `inVain` aborts. */
  async #read(signal: AbortSignal, once: boolean, inVain?: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#client.close(), { once: true });
    try {
      await this.#pollUntil(inVain ? AbortSignal.any([signal, inVain]) : signal, once);
    } finally {
      await this.#client.close();
      await this.#options.transport.close();
    }
  }

  /** Polls until `signal` aborts, then waits for the polls in progress. With `once` every stream is read once. */
  async #pollUntil(signal: AbortSignal, once: boolean): Promise<void> {
    await this.#begin(signal, once);
    if (signal.aborted) return;
    this.#streams.auditNotifications();
    this.#addRegularStreams(once);
    this.#client.onHealthChange((health) => this.#healthChanged(health));
    this.#polls.followInventory();
    const watching = once ? undefined : this.#watch(signal);
    const flying = once ? undefined : this.#fly(signal);
    const polling = await this.#pollAll(signal, once);
    await Promise.all([...polling, watching, flying]);
    if (once) await this.#reads.keep().catch((error) => this.#reportTrouble(error));
  }

  async #fly(signal: AbortSignal): Promise<void> {
    const mayFly = this.setting.region.fly === true;
    // Without `fly`, what is open was taken while it was set: also after this began, by whoever follows the change later.
    while (!mayFly && !(await this.#isActionOpen())) {
      await sleep(this.#options.clock, WATCH_EVERY_MS, signal);
      if (signal.aborted) return;
    }
    const { createFlying } = await import('./fly-again.ts');
    const flying = createFlying({
      ...this.#options,
      ...this.setting,
      ...{ region: this.name, mayFly, client: this.#client, schedule: this.#schedule },
      hinted: () => this.#bell.ring(),
      flightsReadUs: (birdId) => this.#streams.flightsReadUs(birdId),
      aheadUs: () => this.#serviceClock.aheadUs(),
    });
    await flying.run(signal);
  }

  async #isActionOpen(): Promise<boolean> {
    try {
      return (await this.#options.store.transaction((tx) => tx.actions.open(this.name))).length > 0;
    } catch (error) {
      this.#reportTrouble(error);
      return false;
    }
  }

  /** Restores the state of earlier runs. If the store fails this is retried, except with `once`. */
  async #begin(signal: AbortSignal, once: boolean): Promise<void> {
    while (!signal.aborted) {
      try {
        return await this.#load();
      } catch (error) {
        if (once || !isStoreFailure(error)) throw error;
        this.#reportTrouble(error);
        await sleep(this.#options.clock, STORE_PAUSE_MS, signal);
      }
    }
  }

  async #load(): Promise<void> {
    await this.#serviceClock.load();
    await this.#inventory.load();
    await this.#audits.load();
    await this.#reads.load();
    await this.#streams.load();
    await this.#rate.load();
  }

  #addRegularStreams(once: boolean): void {
    const { auditIntervalMs, inventoryIntervalMs } = this.setting.poll;
    const nowMs = this.#options.clock.monotonicMs();
    if (!once) {
      const audit = { name: AUDIT, intervalMs: auditIntervalMs, share: AUDIT_SHARE, mayLag: true };
      this.#schedule.add(audit, nowMs);
    }
    this.#schedule.add({ name: INVENTORY, intervalMs: inventoryIntervalMs, share: REGULAR_SHARE }, nowMs);
  }

  /** Starts one poll after another. Resolves to the polls that are still in progress at the end. */
  async #pollAll(signal: AbortSignal, once: boolean): Promise<Iterable<Promise<void>>> {
    const { clock } = this.#options;
    const underWay = new Set<Promise<void>>();
    const slots = new PollSlots(this.setting.region.concurrency);
    while (!signal.aborted) {
      await this.#client.ready(signal);
      if (signal.aborted) break;
      const nowMs = clock.monotonicMs();
      const turn = slots.isFull()
        ? { waitMs: Number.POSITIVE_INFINITY }
        : this.#schedule.take(nowMs, slots.fullFeed(nowMs));
      if ('name' in turn) {
        const beside = this.#beside(turn.name);
        const release = slots.take(beside ? turn.name : feedOf(turn.name), nowMs);
        const reading = beside?.() ?? this.#polls.poll(turn.name, signal, once);
        const work = reading.finally(() => {
          underWay.delete(work);
          release(clock.monotonicMs());
        });
        underWay.add(work);
        continue;
      }
      if (once && underWay.size === 0 && turn.waitMs === Number.POSITIVE_INFINITY) break;
      await this.#bell.wait(turn.waitMs, signal);
    }
    return underWay;
  }

  /** What is read besides streams and scheduled like one; undefined for a stream. */
  #beside(name: string): (() => Promise<void>) | undefined {
    if (name === AUDIT) return () => this.#takeTurn(name, () => this.#audits.turn());
    if (name === FLIGHT_LOGS) return () => this.#takeTurn(name, () => this.#readTails());
    return undefined;
  }

  /** The next reading is due when the next look finds logs. */
  async #readTails(): Promise<Polled> {
    const { requests, more } = await this.#tails.turn();
    return { requests, delayMs: more ? 0 : LONGEST_MS };
  }

  /**
   * Lets the audit that is due, or the reading of logs, send a few requests. If the service refuses them, it refuses
   * polls as well, and those report it.
   */
  async #takeTurn(name: string, turn: () => Promise<Polled>): Promise<void> {
    const { clock } = this.#options;
    let polled: Polled = { delayMs: this.setting.poll.maxIntervalMs };
    try {
      polled = await turn();
    } catch (error) {
      this.#reportTrouble(error);
    } finally {
      this.#schedule.done(name, clock.monotonicMs(), polled);
      this.#bell.ring();
    }
  }

  #healthChanged({ health }: RegionHealth): void {
    // Streams whose retry waits since the outage need not wait any longer.
    if (health === 'up') this.#polls.retryFailing();
    this.#health.changed().catch((error) => this.#reportTrouble(error));
  }

  /** Commits what may change with time alone, and what the store has refused so far. */
  async #watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, WATCH_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#health.commit();
        await this.#lag.report();
        await this.#reads.keep();
        await this.#rate.keep();
        await this.#scheduleLogs();
      } catch (error) {
        this.#reportTrouble(error);
      }
    }
  }

  /** Schedules the reading of logs if some are due. */
  async #scheduleLogs(): Promise<void> {
    if (!(await this.#tails.isDue())) return;
    const nowMs = this.#options.clock.monotonicMs();
    // No requests are set aside for an interval.
    const logs = { name: FLIGHT_LOGS, intervalMs: Infinity, share: FLIGHT_LOGS_SHARE, mayLag: true };
    this.#schedule.add(logs, nowMs);
    this.#schedule.hint(FLIGHT_LOGS, nowMs);
    this.#bell.ring();
  }

  #reportTrouble(error: unknown): void {
    this.#options.report({ what: 'trouble', stage: 'intake', region: this.name, error });
  }
}

/** Feeds without polled streams prove nothing and miss nothing. */
function polled(feeds: readonly FeedProgress[]): readonly FeedProgress[] {
  return feeds.filter((one) => one.polled > 0);
}

interface IsReachedOptions {
  readonly region: ServiceRegion & Pick<RegionConfig, 'nests'>;
  /** Closed by `isReached`. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Checks whether a region's service gives this process what reading requires: its Nests, the Birds of the first one that
 * is watched, and notifications. A replica needs this before it takes a region over, since a service that refuses one of
 * these to everybody would refuse it to the new reader as well. Errors are not reported, because another replica reads
 * the region. Ends early when `signal` aborts.
 */
export async function isReached(options: IsReachedOptions, signal: AbortSignal): Promise<boolean> {
  const { transport } = options;
  const client = createServiceClient({ ...options, report: () => {} });
  const end = () => void client.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    const listed = (await client.searchNests()).value.flatMap((one) => (one.ok ? [one.entry] : []));
    const [nest] = new NestSelection(options.region.nests).select(listed);
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
