/**
 * Watches one region: keeps its inventory, polls its streams as the schedule says and as fast as the pace allows, and
 * reports the region's health to alerting. It never waits for another region.
 */
import type { RegionConfig } from '../config/sections/regions-section.ts';
import { isStoreFailure } from '../errors.ts';
import type { FeedProgress } from '../region-progress.ts';
import type { RegionHealth, ServiceClient } from '../service/client.ts';
import { type Bell, createBell, sleep } from '../time/clock.ts';
import { AuditRound } from './audit/audit-round.ts';
import { createFeeds } from './feeds.ts';
import { createFlightTails, type FlightTails } from './flights/flight-logs.ts';
import { HealthWatch, LagWatch } from './health-watch.ts';
import { Inventory } from './inventory/inventory.ts';
import { createMemberBook } from './inventory/inventory-reading.ts';
import type { WantedPeople } from './inventory/listed-before.ts';
import { AUDIT, FLIGHT_LOGS, feedOf, INVENTORY, type IntakeParts } from './parts.ts';
import { createHints, Polls } from './polls.ts';
import { ReadProgress } from './read-progress.ts';
import { type Polled, Schedule } from './schedule/schedule.ts';
import { createServiceClock, type ServiceClock } from './service-clock.ts';
import { REGULAR_SHARE, Streams } from './streams.ts';

interface RegionIntakeOptions extends Omit<IntakeParts, 'region'> {
  readonly region: RegionConfig;
  /** Whether the members of Nests are stored, and whether a receiver notifies them. */
  readonly keepsMembers?: boolean;
  readonly mailsMembers?: boolean;
  /** Of whom somebody wants to be told. */
  readonly wanted: WantedPeople;
}

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

export class RegionIntake {
  readonly inventory: Inventory;
  readonly streams: Streams;
  readonly polls: Polls;
  readonly audits: AuditRound;
  readonly reads: ReadProgress;
  readonly serviceClock: ServiceClock;
  /** The page size that the service accepts, as far as known. */
  readonly pageSize: () => number;
  readonly #options: RegionIntakeOptions;
  readonly #client: ServiceClient;
  readonly #bell: Bell;
  readonly #schedule: Schedule;
  readonly #tails: FlightTails;
  readonly #health: HealthWatch;
  readonly #lag: LagWatch;
  readonly #rate: KeptRate;

  constructor(options: RegionIntakeOptions) {
    this.#options = options;
    const { poll, store, clock } = options;
    const { name: region, nests } = options.region;
    this.serviceClock = createServiceClock(region, options.client, store, clock);
    const { client } = this.serviceClock;
    const watchedSinceUs = (birdId: string) =>
      Math.max(this.serviceClock.watchedSinceUs(), this.inventory.newsSinceUs(birdId));
    this.#client = client;
    this.#bell = createBell(clock);
    this.#schedule = new Schedule({ ...poll, allowedPerSecond: () => client.rate() });
    const leftOut = options.mailsMembers ? options.report : () => {};
    const members = options.keepsMembers ? createMemberBook(region, store, leftOut) : undefined;
    const nestsListed = () => this.polls.nestsListed();
    const birdsAdded = () => this.polls.birdsAdded();
    this.inventory = new Inventory({ ...options, region, nests, client, members, nestsListed, birdsAdded });
    const parts = { ...options, region, client, inventory: this.inventory, schedule: this.#schedule };
    const openPauseMs = () => (this.#schedule.isAimKept() ? 0 : poll.intervalMs);
    const feeds = createFeeds({ ...parts, watchedSinceUs, openPauseMs });
    this.pageSize = feeds.pageSize;
    this.audits = new AuditRound({ ...parts, ...feeds, auditIntervalMs: poll.auditIntervalMs });
    const nestOf = (birdId: string) => this.inventory.nestOf(birdId);
    this.#tails = createFlightTails({ ...parts, nestOf, pageSize: feeds.pageSize });
    this.streams = new Streams({ ...parts, feeds, audits: this.audits });
    this.#health = new HealthWatch(parts);
    this.polls = new Polls({
      ...parts,
      streams: this.streams,
      hints: createHints({ ...parts, watchedSinceUs }),
      health: this.#health,
      serviceClock: this.serviceClock,
      bell: this.#bell,
    });
    this.#lag = new LagWatch({
      ...parts,
      maxIntervalMs: poll.maxIntervalMs,
      describe: (name) => this.streams.describe(name),
      failureOf: (name) => this.polls.failureOf(name),
    });
    this.reads = new ReadProgress(parts);
    this.#rate = new KeptRate(parts);
  }

  /** How far each feed has been read and verified. Visits every stream. */
  feeds(): readonly FeedProgress[] {
    return this.streams.progress(this.polls.lastSuccessUs());
  }

  /** Sends a request to the service at once, even if it is down and only probed from time to time. */
  probe(): void {
    this.#client.probeNow();
    this.#hintFailing();
  }

  /** Polls until `signal` aborts, then waits for the polls in progress. With `once` every stream is read once. */
  async run(signal: AbortSignal, { once }: { readonly once: boolean } = { once: false }): Promise<void> {
    await this.#begin(signal, once);
    if (signal.aborted) return;
    this.streams.auditNotifications();
    this.#addRegularStreams(once);
    this.#client.onHealthChange((health) => this.#healthChanged(health));
    this.polls.followInventory();
    const watching = once ? undefined : this.#watch(signal);
    const flying = once || !this.#options.region.fly ? undefined : this.#fly(signal);
    const polling = await this.#pollAll(signal, once);
    await Promise.all([...polling, watching, flying]);
    if (once) await this.reads.keep().catch((error) => this.#reportTrouble(error));
  }

  async #fly(signal: AbortSignal): Promise<void> {
    const { createFlying } = await import('./fly-again.ts');
    const flying = createFlying({
      ...this.#options,
      ...{ region: this.#options.region.name, client: this.#client, schedule: this.#schedule },
      hinted: () => this.#bell.ring(),
      flightsReadUs: (birdId) => this.streams.flightsReadUs(birdId),
      aheadUs: () => this.serviceClock.aheadUs(),
    });
    await flying.run(signal);
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
    await this.serviceClock.load();
    await this.inventory.load();
    await this.audits.load();
    await this.reads.load();
    await this.streams.load();
    await this.#rate.load();
  }

  #addRegularStreams(once: boolean): void {
    const { auditIntervalMs, inventoryIntervalMs } = this.#options.poll;
    const nowMs = this.#options.clock.monotonicMs();
    if (!once) {
      const audit = { name: AUDIT, intervalMs: auditIntervalMs, share: AUDIT_SHARE, mayLag: true };
      this.#schedule.add(audit, nowMs);
    }
    this.#schedule.add({ name: INVENTORY, intervalMs: inventoryIntervalMs, share: REGULAR_SHARE }, nowMs);
  }

  /** Starts one poll after another. Resolves to the polls that are still in progress at the end. */
  async #pollAll(signal: AbortSignal, once: boolean): Promise<Iterable<Promise<void>>> {
    const { clock, region } = this.#options;
    const underWay = new Set<Promise<void>>();
    const slots = new PollSlots(region.concurrency);
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
        const reading = beside?.() ?? this.polls.poll(turn.name, signal, once);
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
    if (name === AUDIT) return () => this.#takeTurn(name, () => this.audits.turn());
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
    const { poll, clock } = this.#options;
    let polled: Polled = { delayMs: poll.maxIntervalMs };
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
    if (health === 'up') this.#hintFailing();
    this.#health.changed().catch((error) => this.#reportTrouble(error));
  }

  #hintFailing(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const name of this.polls.failing()) this.#schedule.hint(name, nowMs);
    this.#bell.ring();
  }

  /** Commits what may change with time alone, and what the store has refused so far. */
  async #watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, WATCH_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        await this.#health.commit();
        await this.#lag.report();
        await this.reads.keep();
        await this.#rate.keep();
        await this.#lookForLogs();
      } catch (error) {
        this.#reportTrouble(error);
      }
    }
  }

  /** Schedules the reading of logs if some are due. */
  async #lookForLogs(): Promise<void> {
    if (!(await this.#tails.isDue())) return;
    const nowMs = this.#options.clock.monotonicMs();
    // No requests are set aside for an interval.
    const logs = { name: FLIGHT_LOGS, intervalMs: Infinity, share: FLIGHT_LOGS_SHARE, mayLag: true };
    this.#schedule.add(logs, nowMs);
    this.#schedule.hint(FLIGHT_LOGS, nowMs);
    this.#bell.ring();
  }

  #reportTrouble(error: unknown): void {
    const { region, report } = this.#options;
    report({ what: 'trouble', stage: 'intake', region: region.name, error });
  }
}

// Stores the request rate that a region bears. After a restart the polls begin near that rate, instead of spending
// seconds at a very low rate or exceeding what was refused before.

interface KeptRateOptions extends Pick<IntakeParts, 'region' | 'store' | 'clock'> {
  readonly client: Pick<ServiceClient, 'bearableRate' | 'rememberRate'>;
}

/** The rate is stored again when it has changed by this part, or after `KEPT_FOR_MS`. */
const CHANGED = 0.05;
const KEPT_FOR_MS = 600_000;

export class KeptRate {
  readonly #options: KeptRateOptions;
  #kept = { perSecond: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(options: KeptRateOptions) {
    this.#options = options;
  }

  /** Restores the rate of an earlier run. To be called before the first request. */
  async load(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const kept = await store.transaction((tx) => tx.inventory.rate(region));
    if (kept) client.rememberRate(kept.perSecond, Math.max(0, (clock.nowUs() - kept.keptUs) / 1000));
  }

  /** Stores the rate. To be called every 30 s or so. Throws what the store threw. */
  async keep(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const perSecond = client.bearableRate();
    const nowMs = clock.monotonicMs();
    const isChanged = Math.abs(perSecond - this.#kept.perSecond) > CHANGED * this.#kept.perSecond;
    if (!isChanged && nowMs - this.#kept.atMs < KEPT_FOR_MS) return;
    await store.transaction((tx) => tx.inventory.putRate(region, { perSecond, keptUs: clock.nowUs() }));
    this.#kept = { perSecond, atMs: nowMs };
  }
}

// Limits how many polls of a region run at the same time. If the service is slow to answer one feed, that feed's
// polls would soon occupy all slots and every other feed would have to wait. So a feed whose polls are slow must
// leave some slots to the others.

/** A poll that takes longer is slow. Most take a fraction of a second. */
const SLOW_MS = 2_000;

/** The part of the slots that slow feeds leave to others. */
const LEFT_TO_OTHERS = 1 / 4;

interface Held {
  /** When each poll in progress began, oldest first. */
  readonly beganMs: number[];
  /** The duration of the poll that ended last. */
  lastMs: number;
}

/** All instants are monotonic milliseconds. */
export class PollSlots {
  readonly #count: number;
  readonly #mostOfSlow: number;
  readonly #held = new Map<string, Held>();
  #taken = 0;

  constructor(count: number) {
    this.#count = count;
    this.#mostOfSlow = count === 1 ? 1 : count - Math.max(1, Math.floor(count * LEFT_TO_OTHERS));
  }

  /** Whether no further poll may begin. */
  isFull(): boolean {
    return this.#taken >= this.#count;
  }

  /**
   * The feed that may begin no further poll because its polls are slow and occupy all slots they may; undefined if
   * none.
   */
  fullFeed(nowMs: number): string | undefined {
    for (const [feed, { beganMs, lastMs }] of this.#held) {
      if (beganMs.length < this.#mostOfSlow) continue;
      if (Math.max(lastMs, nowMs - beganMs[0]!) > SLOW_MS) return feed;
    }
    return undefined;
  }

  /** To be called when a poll begins; the returned function is to be called when it ends. */
  take(feed: string, nowMs: number): (endedMs: number) => void {
    const held = this.#heldBy(feed);
    held.beganMs.push(nowMs);
    this.#taken += 1;
    return (endedMs) => {
      held.beganMs.splice(held.beganMs.indexOf(nowMs), 1);
      held.lastMs = endedMs - nowMs;
      this.#taken -= 1;
    };
  }

  #heldBy(feed: string): Held {
    let held = this.#held.get(feed);
    if (!held) {
      held = { beganMs: [], lastMs: 0 };
      this.#held.set(feed, held);
    }
    return held;
  }
}
