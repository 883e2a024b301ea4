/**
 * Reads what happened in a window of time into the store, beside the cursors: those of the watch stay where they are.
 * Each page is committed with how far the stream was read back, so that a reading that is broken off goes on there.
 *
 * Without `notify` everything is history: it is kept, and neither raises alerts nor is forwarded. Flights that are still
 * in the air are left to the watch.
 */

import type { Forward } from '../config/sections/forward-section.ts';
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Feed } from '../domain/alert/event.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Flight } from '../service/resources.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import { type Commit, createCommit } from './commit.ts';
import { createFeeds } from './feeds.ts';
import { createFailureLogReader } from './flights/failure-log.ts';
import { FlightFinder, noFindings } from './flights/flight-findings.ts';
import { noRows } from './flights/flight-rows.ts';
import { FlightWindows } from './flights/flight-windows.ts';
import { Inventory } from './inventory/inventory.ts';
import type { LogStream } from './logs/log-stream.ts';
import { ANCHOR_MARGIN_US, NOW_MARGIN_US, nextPosition, type Position, startOf } from './logs/sweep.ts';

interface BackfillOptions {
  readonly region: RegionConfig;
  readonly poll: PollConfig;
  readonly retentionMs: number;
  /** Both on the service's clock. */
  readonly fromUs: number;
  readonly toUs: number;
  /** By what alerts are raised and events forwarded; undefined for not at all. */
  readonly notify: { readonly rules: readonly Rule[]; readonly forward: readonly Forward[] } | undefined;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

export interface BackfillProgress {
  readonly feed: Feed;
  /** Empty for the notifications. */
  readonly bird: string;
  /** Streams that are done, and all that there are. */
  readonly done: number;
  readonly streams: number;
  /** The part of the window that is read of this stream, from 0 to 1. */
  readonly share: number;
  /** New events since the step before. */
  readonly fresh: number;
  /** Stretches of which the service shows no Flights, however it is asked. */
  readonly unread: number;
}

/** One step of one stream: up to where it is read then. */
interface Step {
  readonly untilUs: number;
  readonly fresh: number;
  readonly unread: number;
}

interface BackfilledStream {
  readonly feed: Feed;
  readonly birdId: string;
  /** Reads on from there; each step is committed. */
  readonly read: (fromUs: number) => AsyncGenerator<Step>;
}

/** Statuses that a Flight keeps. */
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** Nothing more is begun once `signal` aborts. Throws what the service or the store throws. */
export async function* backfill(
  options: BackfillOptions,
  signal: AbortSignal,
): AsyncGenerator<BackfillProgress> {
  const { store, fromUs, toUs } = options;
  const { inventory, streams } = await streamsOf(options);
  for (const [done, { feed, birdId, read }] of streams.entries()) {
    const { stream } = await store.transaction((tx) => tx.streams.open(options.region.name, feed, birdId));
    const before = await store.transaction((tx) => tx.streams.backfilled(stream));
    // A reading from another instant on says nothing about this one.
    let atUs = before?.fromUs === fromUs ? Math.min(before.untilUs, toUs) : fromUs;
    const step = { feed, bird: inventory.bird(birdId), streams: streams.length };
    if (atUs < toUs) {
      for await (const { untilUs, fresh, unread } of read(atUs)) {
        atUs = Math.max(atUs, Math.min(untilUs, toUs));
        await store.transaction((tx) => tx.streams.putBackfilled(stream, { fromUs, untilUs: atUs }));
        yield { ...step, done, share: (atUs - fromUs) / (toUs - fromUs), fresh, unread };
        if (signal.aborted) return;
      }
    }
    await store.transaction((tx) => tx.streams.putBackfilled(stream, { fromUs, untilUs: toUs }));
    yield { ...step, done: done + 1, share: 1, fresh: 0, unread: 0 };
    if (signal.aborted) return;
  }
}

async function streamsOf(options: BackfillOptions) {
  const { store, notify, clock, report, client } = options;
  const { name: region, nests } = options.region;
  const commit = createCommit({
    store,
    clock,
    report,
    rules: notify?.rules,
    forward: notify?.forward ?? [],
    changed() {},
  });
  const inventory = new Inventory({ ...options, region, nests, commit, nestsListed() {} });
  await inventory.load();
  // What changed since the last reading is to be decided by the rules; without them it is left to the watch.
  if (notify) await inventory.poll();
  if (inventory.nests().length === 0) {
    throw new NestwatchError(
      'usage',
      `no Nest of region ${region} is known yet: run the daemon first, or \`nestwatch run --once\``,
    );
  }
  const watchedSinceUs = () => (notify ? options.fromUs : Number.POSITIVE_INFINITY);
  const shared = { ...options, region, client, inventory, commit, watchedSinceUs };
  const feeds = createFeeds({ ...shared, hasRoom: () => true, roundMs: () => 0 });
  const flights = createFlightReading({ ...shared, options });
  const birds = inventory.birds();
  const streams: BackfilledStream[] = [
    { feed: 'notification', birdId: '', read: logReading(feeds.createNotifications(), options) },
    ...birds.map(({ birdId }): BackfilledStream => {
      return { feed: 'bird_log', birdId, read: logReading(feeds.createBirdLog(birdId), options) };
    }),
    ...birds.map(({ birdId }): BackfilledStream => ({ feed: 'flight', birdId, read: flights(birdId) })),
  ];
  return { inventory, streams };
}

/** Sweeps over the window as the watch does over what is new. */
function logReading(log: LogStream, { toUs }: BackfillOptions): BackfilledStream['read'] {
  return async function* read(fromUs) {
    let position: Position | 'end' = startOf(fromUs - ANCHOR_MARGIN_US);
    let pageSize = log.pageSize();
    while (position !== 'end') {
      // Page numbers count in page sizes: only the first of an anchor may be of another.
      if (position.page === 0) pageSize = log.pageSize();
      // A bound may be exclusive, and cut to whole seconds.
      const read = await log.readPage(position, pageSize, toUs + ANCHOR_MARGIN_US);
      const { items, totalCount, pageSize: echoed } = read.page;
      pageSize = read.pageSize;
      const fresh = await log.keep(items);
      const instantsUs = items.flatMap((item) => (item.ok ? [item.entry.createdAt.us] : []));
      const inForce = echoed !== null && echoed > 0 ? echoed : pageSize;
      position = nextPosition(read.at, { count: items.length, pageSize: inForce, totalCount, instantsUs });
      const untilUs: number = position === 'end' ? toUs : position.fromUs;
      yield { untilUs, fresh: fresh.length, unread: 0 };
    }
  };
}

interface FlightReadingOptions {
  readonly options: BackfillOptions;
  readonly region: string;
  readonly inventory: Inventory;
  readonly commit: Commit;
  readonly watchedSinceUs: () => number;
}

/** Reads the Flights that started in the window, as many at a time as memory should hold. */
function createFlightReading({ options, region, inventory, commit, watchedSinceUs }: FlightReadingOptions) {
  const { client, clock, store, poll, fromUs, toUs } = options;
  const nestOf = (birdId: string) => inventory.nestOf(birdId);
  const windows = new FlightWindows({ client, clock, nestOf });
  const finder = new FlightFinder(
    {
      region,
      names: inventory,
      status: (birdId) => inventory.status(birdId),
      overlapUs: () => 0,
      late() {},
      firstFromUs: () => fromUs,
      watchedSinceUs,
      // It ended long ago: no reason is still to come.
      reasonWaitUs: 0,
    },
    createFailureLogReader({ client, nestOf, pageSize: () => poll.pageSize }),
  );

  async function readPart(birdId: string, startUs: number): Promise<Step> {
    const rows = noRows();
    const window = { minStartUs: startUs - ANCHOR_MARGIN_US, maxStartUs: toUs };
    await windows.read(birdId, window, rows, startUs);
    const ended = [...rows.flights.values()].filter(({ status }) => ENDED.has(status)).sort(byStart);
    const observedAtUs = clock.nowUs();
    const serviceNowUs = (rows.serverTimeUs ?? observedAtUs) + NOW_MARGIN_US;
    const { row, before } = await store.transaction(async (tx) => {
      const row = await tx.streams.open(region, 'flight', birdId);
      const flightIds = ended.map(({ id }) => id);
      return { row, before: await tx.flights.find(row.stream, flightIds) };
    });
    const found = noFindings();
    const reading = {
      birdId,
      stream: row.stream,
      fromUs: startUs,
      newSinceUs: startUs,
      cursorUs: row.cursorUs,
      prunedUs: row.prunedUs,
      lastPolledUs: 0,
      rows,
      before: new Map(before.map((record) => [record.flightId, record])),
      logsRead: new Set<string>(),
      successUs: Number.POSITIVE_INFINITY,
      observedAtUs,
      serviceNowUs,
    };
    for (const flight of ended) await finder.consider(flight, reading, found);
    const fresh = await commit({
      region,
      stream: { stream: row.stream, feed: 'flight' },
      events: found.candidates,
      facts: found.facts,
      flights: found.changes,
      quarantined: rows.quarantined,
    });
    return { untilUs: Math.min(rows.readToUs, toUs), fresh: fresh.length, unread: rows.unread.length };
  }

  return (birdId: string): BackfilledStream['read'] =>
    async function* read(startUs) {
      for (let atUs = startUs; atUs < toUs; ) {
        const step = await readPart(birdId, atUs);
        atUs = Math.max(step.untilUs, atUs + 1);
        yield step;
      }
    };
}

function byStart(a: Flight, b: Flight): number {
  return (a.startedAt?.us ?? 0) - (b.startedAt?.us ?? 0);
}
