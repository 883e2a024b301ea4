/**
 * Watches one region: keeps its inventory, polls its streams as the schedule says and as fast as the pace allows,
 * and tells alerting of the region's own health. Nothing in here waits for another region.
 */
import type { Event, Feed } from '../alerts/event.ts';
import { type Clock, createBell, type Random } from '../clock.ts';
import type { PollConfig, RegionConfig } from '../config/config.ts';
import { codeOf } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Answer, ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Commit } from './commit.ts';
import { birdLogEvent, notificationEvent } from './entry-event.ts';
import { createFlightWatch, type FlightWatch } from './flights.ts';
import { createInventory, type Inventory } from './inventory.ts';
import { createLogStream, type LogStream } from './log-stream.ts';
import { createSchedule } from './schedule.ts';

export interface RegionIntakeOptions {
  readonly region: RegionConfig;
  readonly poll: PollConfig;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

export interface RegionIntake {
  /** Polls until `signal` aborts, then lets polls under way finish. With `once` every stream is read once. */
  run(signal: AbortSignal, mode?: { readonly once: boolean }): Promise<void>;
  readonly inventory: Inventory;
  feeds(): readonly FeedProgress[];
  /** True after the first complete reading of the inventory. */
  started(): boolean;
  /** Streams whose last poll failed. */
  failing(): number;
}

export interface FeedProgress {
  readonly feed: Feed;
  readonly streams: number;
  /** The oldest cursor of its streams that have one; 0 for none. */
  readonly cursorUs: number;
  /** When a poll of the feed last succeeded; 0 for never. */
  readonly lastSuccessUs: number;
  readonly openFlights: number;
}

/** Skew below this is the resolution of the `Date` header. */
const SKEW_FLOOR_US = 2_000_000;

/** A poll that failed is tried again after this, doubling with each further failure. */
const FIRST_RETRY_MS = 5_000;

export function createRegionIntake(options: RegionIntakeOptions): RegionIntake {
  const { region, poll, client, store, commit, clock, random, report } = options;
  const bell = createBell(clock);
  const schedule = createSchedule(poll.minIntervalMs);
  const inventory = createInventory({
    region: region.name,
    nests: region.nests,
    client,
    store,
    commit,
    clock,
    report,
  });
  const logs = new Map<string, LogStream>();
  const flights = new Map<string, FlightWatch>();
  const failures = new Map<string, number>();
  const lastSuccessUs = new Map<Feed, number>();
  const longestAnswer = { rows: 0 };
  let pageSize = poll.pageSize;
  let regionSinceUs = 0;
  let skewUs = 0;
  let started = false;
  let inventoryTried = false;
  let saidUp = false;

  /** When the watch of this region began, on the service's clock. */
  const watchedSinceUs = () => regionSinceUs + (Math.abs(skewUs) > SKEW_FLOOR_US ? skewUs : 0);
  const shared = {
    store,
    commit,
    clock,
    report,
    overlapUs: () => poll.overlapMs * 1000,
    firstFromUs: () => watchedSinceUs() - poll.initialLookbackMs * 1000,
    watchedSinceUs,
  };
  const paged = {
    ...shared,
    pageSize: () => pageSize,
    shrinkPages() {
      if (pageSize === 1) return false;
      pageSize = Math.max(1, Math.floor(pageSize / 2));
      return true;
    },
  };

  /** Learns the service's clock from its answers. */
  async function timed<T>(call: Promise<Answer<T>>): Promise<Answer<T>> {
    const answer = await call;
    if (answer.serverTimeUs !== null) skewUs = answer.serverTimeUs - clock.nowUs();
    return answer;
  }

  const statusOf = (event: Event) => (event.birdId ? inventory.status(event.birdId) : undefined);

  logs.set(
    'notifications',
    createLogStream(
      {
        region: region.name,
        feed: 'notification',
        birdId: '',
        read: (query) => timed(client.getNotifications(query)),
        toEvent: (entry, observedAtUs) => notificationEvent(region.name, entry, inventory, observedAtUs),
        birdStatus: statusOf,
      },
      paged,
    ),
  );

  /** Streams follow the inventory: unpublished Birds have no Flights, vanished ones nothing. */
  function followInventory(): void {
    const wanted = new Set(['inventory', 'notifications']);
    // Notifications name Birds: they wait for the first reading of the inventory, or its failure.
    if (inventoryTried || inventory.birds().length > 0) {
      schedule.add({ name: 'notifications', intervalMs: poll.intervalMs });
    }
    for (const { birdId, status } of inventory.birds()) {
      const logName = `logs/${birdId}`;
      wanted.add(logName);
      if (!logs.has(logName)) logs.set(logName, birdLogStream(birdId));
      schedule.add({ name: logName, intervalMs: poll.intervalMs });
      if (status === 'unpublished') continue;
      const flightName = `flights/${birdId}`;
      wanted.add(flightName);
      if (!flights.has(flightName)) flights.set(flightName, flightWatch(birdId));
      schedule.add({ name: flightName, intervalMs: poll.intervalMs });
    }
    for (const streams of [logs, flights]) {
      for (const name of streams.keys()) {
        if (wanted.has(name)) continue;
        streams.delete(name);
        schedule.remove(name);
        failures.delete(name);
      }
    }
  }

  function birdLogStream(birdId: string): LogStream {
    return createLogStream(
      {
        region: region.name,
        feed: 'bird_log',
        birdId,
        read: (query) => timed(client.getBirdLogs(inventory.nestOf(birdId), birdId, query)),
        toEvent: (entry, observedAtUs) => birdLogEvent(region.name, birdId, entry, inventory, observedAtUs),
        birdStatus: statusOf,
      },
      paged,
    );
  }

  function flightWatch(birdId: string): FlightWatch {
    return createFlightWatch({
      ...shared,
      region: region.name,
      birdId,
      nestId: () => inventory.nestOf(birdId),
      client,
      names: inventory,
      birdStatus: () => inventory.status(birdId),
      longestAnswer,
    });
  }

  /** One poll of one stream; what it throws is reported here and never ends the loop. */
  async function pollStream(name: string, signal: AbortSignal, once: boolean): Promise<void> {
    const feed = feedOf(name);
    const birdId = name.split('/')[1] ?? '';
    const beganMs = clock.monotonicMs();
    let delayMs: number | undefined = once ? Number.POSITIVE_INFINITY : undefined;
    const poll = { what: 'poll', region: region.name, feed, birdId } as const;
    try {
      const { soon, fresh } = await readStream(name, signal);
      if (soon !== undefined) delayMs = soon;
      failures.delete(name);
      if (feed !== 'inventory') lastSuccessUs.set(feed, clock.nowUs());
      report({ ...poll, durationMs: clock.monotonicMs() - beganMs, atUs: clock.nowUs() });
      await confirmUp();
      await follow(fresh);
    } catch (error) {
      const failure = codeOf(error);
      const count = (failures.get(name) ?? 0) + 1;
      failures.set(name, count);
      if (!once) delayMs = retryDelayMs(count);
      // The Bird or its Nest may be gone: the inventory knows more.
      if (failure === 'not_found') schedule.hint('inventory', clock.monotonicMs());
      if (failure !== 'cancelled') {
        const durationMs = clock.monotonicMs() - beganMs;
        report({ ...poll, durationMs, atUs: clock.nowUs(), failure, error });
      }
    } finally {
      if (name === 'inventory' && !inventoryTried) {
        inventoryTried = true;
        followInventory();
      }
      schedule.done(name, clock.monotonicMs(), delayMs);
      bell.ring();
    }
  }

  async function readStream(
    name: string,
    signal: AbortSignal,
  ): Promise<{ soon: number | undefined; fresh: readonly Event[] }> {
    if (name === 'inventory') {
      await inventory.poll();
      followInventory();
      started = true;
      return { soon: undefined, fresh: [] };
    }
    const log = logs.get(name);
    if (log) {
      const { more, fresh } = await log.poll(signal);
      return { soon: more ? 0 : undefined, fresh };
    }
    const watch = flights.get(name);
    if (!watch) return { soon: undefined, fresh: [] };
    const { again, fresh } = await watch.poll();
    return { soon: again ? poll.minIntervalMs : undefined, fresh };
  }

  /** News about a Bird brings its streams forward; news about its status has it read again. */
  async function follow(fresh: readonly Event[]): Promise<void> {
    const nowMs = clock.monotonicMs();
    const suspects = new Set<string>();
    for (const event of fresh) {
      if (!event.birdId) continue;
      if (event.feed === 'notification' || event.type === 'flight.failed') {
        schedule.hint(`logs/${event.birdId}`, nowMs);
        schedule.hint(`flights/${event.birdId}`, nowMs);
      }
      if (event.feed === 'notification' || STATUS_LOGS.has(event.type)) suspects.add(event.birdId);
    }
    for (const birdId of suspects) {
      try {
        await inventory.pollBird(birdId);
      } catch (error) {
        // The regular inventory comes anyway; only a bug is worth a word.
        if (codeOf(error) === 'bug') report({ what: 'trouble', stage: 'intake', region: region.name, error });
      }
    }
  }

  /** An alert of an earlier life about this region is over once anything has been read. */
  async function confirmUp(): Promise<void> {
    if (saidUp) return;
    saidUp = true;
    await tellHealth();
  }

  async function tellHealth(): Promise<void> {
    const { health, reason, sinceUs } = client.health();
    report({ what: 'region_health', region: region.name, health, reason });
    await commit({
      region: region.name,
      facts: [{ fact: 'region_health', region: region.name, health, reason, sinceUs }],
    });
  }

  function retryDelayMs(failuresInRow: number): number {
    const ceilingMs = Math.min(poll.maxIntervalMs, FIRST_RETRY_MS * 2 ** Math.min(failuresInRow - 1, 10));
    return ceilingMs * (0.5 + random() / 2);
  }

  return {
    inventory,
    started: () => started,
    failing: () => failures.size,
    async run(signal, { once } = { once: false }) {
      regionSinceUs = await store.transaction((tx) => tx.regionSince(region.name, clock.nowUs()));
      await inventory.load();
      client.onHealthChange(() => {
        tellHealth().catch((error) =>
          report({ what: 'trouble', stage: 'intake', region: region.name, error }),
        );
      });
      schedule.add({ name: 'inventory', intervalMs: poll.inventoryIntervalMs });
      followInventory();

      const underWay = new Set<Promise<void>>();
      while (!signal.aborted) {
        await client.ready(signal);
        if (signal.aborted) break;
        const turn =
          underWay.size < region.concurrency
            ? schedule.take(clock.monotonicMs())
            : { waitMs: Number.POSITIVE_INFINITY };
        if ('name' in turn) {
          const work = pollStream(turn.name, signal, once).finally(() => underWay.delete(work));
          underWay.add(work);
          continue;
        }
        if (once && underWay.size === 0 && turn.waitMs === Number.POSITIVE_INFINITY) break;
        await bell.wait(turn.waitMs, signal);
      }
      await Promise.all(underWay);
    },
    feeds() {
      const streams: [Feed, readonly { cursorUs(): number }[]][] = [
        ['notification', [logs.get('notifications')!]],
        ['bird_log', [...logs].flatMap(([name, log]) => (name === 'notifications' ? [] : [log]))],
        ['flight', [...flights.values()]],
      ];
      return streams.map(([feed, list]) => ({
        feed,
        streams: list.length,
        cursorUs: oldest(list),
        lastSuccessUs: lastSuccessUs.get(feed) ?? 0,
        openFlights:
          feed === 'flight' ? [...flights.values()].reduce((sum, one) => sum + one.openCount(), 0) : 0,
      }));
    },
  };
}

/** Bird logs after which the Bird's status may be another. */
const STATUS_LOGS = new Set([
  'bird_log.Deactivated',
  'bird_log.Activated',
  'bird_log.Suspended',
  'bird_log.Published',
]);

function feedOf(name: string): Feed | 'inventory' {
  if (name === 'inventory') return 'inventory';
  if (name === 'notifications') return 'notification';
  return name.startsWith('logs/') ? 'bird_log' : 'flight';
}

function oldest(streams: readonly { cursorUs(): number }[]): number {
  let oldestUs = 0;
  for (const stream of streams) {
    const cursorUs = stream.cursorUs();
    if (cursorUs > 0 && (oldestUs === 0 || cursorUs < oldestUs)) oldestUs = cursorUs;
  }
  return oldestUs;
}
