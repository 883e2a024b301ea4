/**
 * Watches one region: keeps its inventory, polls its streams as the schedule says and as fast as the pace allows,
 * and tells alerting of the region's own health. Nothing in here waits for another region.
 */

import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Feed } from '../domain/alert/event.ts';
import { codeOf } from '../errors.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import { type Clock, createBell, type Random, sleep } from '../time/clock.ts';
import { createAuditRound } from './audit/audit-round.ts';
import type { Commit } from './commit.ts';
import type { FeedProgress } from './feed-progress.ts';
import { createFeeds } from './feeds.ts';
import { createHealthWatch } from './health-watch.ts';
import { createNews } from './hints.ts';
import { createInventory, type Inventory } from './inventory/inventory.ts';
import { createMemberBook } from './inventory/nest-members.ts';
import { createBehindWatch } from './lag.ts';
import { createSchedule, type Polled } from './schedule/schedule.ts';
import { createServiceClock } from './service-clock.ts';
import { createStreams, REGULAR_SHARE, type Reading } from './streams.ts';

export interface RegionIntakeOptions {
  readonly region: RegionConfig;
  readonly poll: PollConfig;
  /** How long the store keeps events. */
  readonly retentionMs: number;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Whether a receiver tells the members of Nests. */
  readonly keepsMembers?: boolean;
}

export interface RegionIntake {
  /** Polls until `signal` aborts, then lets polls under way finish. With `once` every stream is read once. */
  run(signal: AbortSignal, mode?: { readonly once: boolean }): Promise<void>;
  readonly inventory: Inventory;
  feeds(): readonly FeedProgress[];
  /** True after the first reading of the inventory, be it that some Nests could not be read. */
  started(): boolean;
  /** How late the audits are; 0 while they keep their interval. */
  auditsBehindMs(): number;
  /** Streams whose last poll failed. */
  failing(): number;
  /** When the last successful poll of a Bird's Flights began, in this life; undefined for none. */
  flightsReadUs(birdId: string): number | undefined;
}

/** Of polls of one stream in a row. */
interface Failures {
  readonly count: number;
  /** When its Bird was first not found, on the monotonic clock; undefined for never. */
  readonly missingMs: number | undefined;
}

/** A poll that failed is tried again after this, doubling with each further failure. */
const FIRST_RETRY_MS = 5_000;

/** How often is looked at what is to be told though nothing is polled, or what the store did not take. */
const TELL_EVERY_MS = 30_000;

/** Bird logs after which a Bird has Flights. */
const STARTING_LOGS: ReadonlySet<string> = new Set(['bird_log.Published', 'bird_log.Activated']);

/** The part of the requests that audits may use. */
const AUDIT_SHARE = 1 / 10;

export function createRegionIntake(options: RegionIntakeOptions): RegionIntake {
  const { region, poll, store, commit, clock, random, report } = options;
  const serviceClock = createServiceClock(region.name, options.client, store, clock);
  const { client, watchedSinceUs } = serviceClock;
  const bell = createBell(clock);
  const schedule = createSchedule({ ...poll, allowedPerSecond: () => client.rate() });
  const inventory = createInventory({
    region: region.name,
    nests: region.nests,
    client,
    store,
    commit,
    clock,
    report,
    members: options.keepsMembers ? createMemberBook(region.name, store) : undefined,
    nestsListed() {
      if (nestsListed) return;
      nestsListed = true;
      followInventory();
      bell.ring();
    },
  });
  const tellHealth = createHealthWatch({ region: region.name, client, commit });
  const news = createNews({ region: region.name, schedule, inventory, clock, report });
  const failures = new Map<string, Failures>();
  const lastSuccessUs = new Map<Feed, number>();
  /** When the last successful poll of a Bird's Flights began, by the stream's name. */
  const flightsReadUs = new Map<string, number>();
  let started = false;
  let inventoryTried = false;
  let nestsListed = false;
  /** False until the region has answered, or was found not to. */
  let isHealthKnown = false;

  const feeds = createFeeds({ ...options, region: region.name, client, inventory, watchedSinceUs });
  const audits = createAuditRound({
    ...options,
    ...feeds,
    region: region.name,
    auditIntervalMs: poll.auditIntervalMs,
  });
  const streams = createStreams({ poll, feeds, inventory, schedule, audits, clock });
  const tellBehind = createBehindWatch({
    region: region.name,
    maxIntervalMs: poll.maxIntervalMs,
    schedule,
    client,
    describe: streams.describe,
    isFailing: (name) => failures.has(name),
    commit,
    clock,
  });

  function followInventory(): void {
    // Notifications name Birds, and Nests that are not watched: they wait for the first reading of the inventory,
    // of which the Nests will do where the Birds of an earlier life are known, or for its failure.
    const areKnown = inventoryTried || (nestsListed && inventory.birds().length > 0);
    for (const name of streams.follow(areKnown)) {
      failures.delete(name);
      flightsReadUs.delete(name);
    }
  }

  /** One poll of one stream; what it throws is reported here and never ends the loop. */
  async function pollStream(name: string, signal: AbortSignal, once: boolean): Promise<void> {
    const feed = feedOf(name);
    const birdId = name.split('/')[1] ?? '';
    const beganMs = clock.monotonicMs();
    const beganUs = clock.nowUs();
    let polled: Polled = once ? { delayMs: Number.POSITIVE_INFINITY } : {};
    const poll = { what: 'poll', region: region.name, feed, birdId } as const;
    try {
      const { soon, fresh, requests } = await readStream(name, signal, once);
      const learned = { requests, news: fresh.length, complete: soon !== 0 };
      polled = { delayMs: soon ?? polled.delayMs, ...learned };
      failures.delete(name);
      if (feed !== 'inventory') lastSuccessUs.set(feed, clock.nowUs());
      if (feed === 'flight' && streams.has(name)) flightsReadUs.set(name, beganUs);
      report({ ...poll, durationMs: clock.monotonicMs() - beganMs, atUs: clock.nowUs() });
      await confirmUp(once);
      if (!once && fresh.some(({ type }) => STARTING_LOGS.has(type))) streams.followFlights(birdId);
      await news.follow(fresh);
    } catch (error) {
      const failure = codeOf(error);
      const before = failures.get(name);
      const isMissing = failure === 'not_found' && birdId !== '';
      const missingMs = before?.missingMs ?? (isMissing ? clock.monotonicMs() : undefined);
      const count = (before?.count ?? 0) + 1;
      // What was removed while its poll was under way can no longer fail.
      if (schedule.has(name)) failures.set(name, { count, missingMs });
      // The Bird or its Nest may be gone: the inventory knows more, and what it knows need not be asked for again.
      if (isMissing && count === 1) schedule.hint('inventory', clock.monotonicMs());
      if (!once) {
        const isGone = isMissing && !inventory.isListedSince(birdId, missingMs!);
        // A reading of the inventory that left Nests out took what a whole one takes.
        const spent = error === inventory.trouble() ? { requests: inventory.cost(), isPartial: true } : {};
        polled = { delayMs: retryDelayMs(count, error), isGone, ...spent };
      }
      if (failure !== 'cancelled') {
        const durationMs = clock.monotonicMs() - beganMs;
        report({ ...poll, durationMs, atUs: clock.nowUs(), failure, error });
      }
    } finally {
      if (name === 'inventory' && !inventoryTried) {
        inventoryTried = true;
        followInventory();
      }
      schedule.done(name, clock.monotonicMs(), polled);
      if (feed === 'flight') streams.rest(name, birdId);
      bell.ring();
    }
  }

  /** A few requests of the audit that is due. What the service refuses to it, it refuses to the polls, which tell. */
  async function auditTurn(): Promise<void> {
    let polled: Polled = { delayMs: poll.maxIntervalMs };
    try {
      polled = await audits.turn();
    } catch (error) {
      report({ what: 'trouble', stage: 'intake', region: region.name, error });
    } finally {
      schedule.done('audit', clock.monotonicMs(), polled);
      bell.ring();
    }
  }

  async function readStream(name: string, signal: AbortSignal, once: boolean): Promise<Reading> {
    if (name === 'inventory') {
      news.inventoryBegins();
      await inventory.poll();
      // No other reading follows that could tell whether those Birds are gone.
      if (once && inventory.hasMissed()) await inventory.poll();
      followInventory();
      started = true;
      // What could be read is kept; that it was not all is a failure all the same.
      const trouble = inventory.trouble();
      if (trouble) throw trouble;
      return { soon: undefined, fresh: [], requests: inventory.cost() };
    }
    await serviceClock.begun();
    return streams.read(name, signal);
  }

  /** An alert of an earlier life about this region is over once anything has been read. */
  async function confirmUp(once: boolean): Promise<void> {
    if (isHealthKnown && !once) return;
    if (!isHealthKnown) reportHealth();
    await tellHealth();
  }

  function reportHealth(): void {
    isHealthKnown = true;
    const { health, reason } = client.health();
    report({ what: 'region_health', region: region.name, health, reason });
  }

  /** Tells what time alone may change, and what the store has not taken yet. */
  async function tellOnAndOn(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(clock, TELL_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        if (isHealthKnown) await tellHealth();
        await tellBehind();
      } catch (error) {
        report({ what: 'trouble', stage: 'intake', region: region.name, error });
      }
    }
  }

  /** A Nest that never can be read is no reason to read the whole inventory more often than it is meant to be. */
  function retryDelayMs(failuresInRow: number, error: unknown): number {
    const mostMs = error === inventory.trouble() ? poll.inventoryIntervalMs : poll.maxIntervalMs;
    const ceilingMs = Math.min(mostMs, FIRST_RETRY_MS * 2 ** Math.min(failuresInRow - 1, 20));
    return ceilingMs * (0.5 + random() / 2);
  }

  return {
    inventory,
    started: () => started,
    auditsBehindMs: () => audits.behindMs(),
    failing: () => failures.size,
    flightsReadUs: (birdId) => flightsReadUs.get(`flights/${birdId}`),
    async run(signal, { once } = { once: false }) {
      await serviceClock.load();
      await inventory.load();
      await audits.load();
      streams.auditNotifications();
      const auditMs = poll.auditIntervalMs;
      if (!once) {
        const audit = { name: 'audit', intervalMs: auditMs, share: AUDIT_SHARE, mayLag: true };
        schedule.add(audit, clock.monotonicMs());
      }
      client.onHealthChange(({ health }) => {
        // Whoever waits for another try since the outage need wait no longer.
        if (health === 'up') for (const name of failures.keys()) schedule.hint(name, clock.monotonicMs());
        reportHealth();
        tellHealth().catch((error) =>
          report({ what: 'trouble', stage: 'intake', region: region.name, error }),
        );
      });
      schedule.add(
        { name: 'inventory', intervalMs: poll.inventoryIntervalMs, share: REGULAR_SHARE },
        clock.monotonicMs(),
      );
      followInventory();

      const telling = once ? undefined : tellOnAndOn(signal);
      const underWay = new Set<Promise<void>>();
      while (!signal.aborted) {
        await client.ready(signal);
        if (signal.aborted) break;
        const turn =
          underWay.size < region.concurrency
            ? schedule.take(clock.monotonicMs())
            : { waitMs: Number.POSITIVE_INFINITY };
        if ('name' in turn) {
          const reading = turn.name === 'audit' ? auditTurn() : pollStream(turn.name, signal, once);
          const work = reading.finally(() => underWay.delete(work));
          underWay.add(work);
          continue;
        }
        if (once && underWay.size === 0 && turn.waitMs === Number.POSITIVE_INFINITY) break;
        await bell.wait(turn.waitMs, signal);
      }
      await Promise.all([...underWay, telling]);
    },
    feeds: () => streams.progress(lastSuccessUs),
  };
}

function feedOf(name: string): Feed | 'inventory' {
  if (name === 'inventory') return 'inventory';
  if (name === 'notifications') return 'notification';
  return name.startsWith('logs/') ? 'bird_log' : 'flight';
}
