/**
 * Reads the history of a time window into the store. The cursors of the regular polls are not moved. Each page is
 * committed together with how far the stream has been backfilled, so an interrupted backfill continues from there.
 *
 * Without `notify` the events are only kept: they raise no alerts and are not forwarded. So what the regular polls still
 * have to tell is left to them: what is later than their cursors, or than the beginning of their first reading, and Flights
 * whose end they have not told.
 */

import type { Forward } from '../config/sections/forward-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Feed } from '../domain/alert/event.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { NestwatchError } from '../errors.ts';
import type { Flight } from '../service/resources.ts';
import { type Commit, createCommit } from './commit.ts';
import { createFeeds } from './feeds.ts';
import { FlightFinder, noFindings } from './flights/flight-findings.ts';
import { createFailureLogReader } from './flights/flight-logs.ts';
import { FlightWindows, noRows } from './flights/flight-windows.ts';
import { Inventory } from './inventory/inventory.ts';
import { wantedPeople } from './inventory/listed-before.ts';
import type { LogStream } from './logs/log-stream.ts';
import {
  ANCHOR_MARGIN_US,
  NOW_MARGIN_US,
  nextPosition,
  type Position,
  startOf,
  viewOf,
} from './logs/sweep.ts';
import type { IntakeParts } from './parts.ts';

interface BackfillOptions extends Omit<IntakeParts, 'region' | 'commit'> {
  readonly region: RegionConfig;
  /** The window, on the service's clock. */
  readonly fromUs: number;
  readonly toUs: number;
  /** The rules that raise alerts and the rules that forward events; undefined to do neither. */
  readonly notify: { readonly rules: readonly Rule[]; readonly forward: readonly Forward[] } | undefined;
}

export interface BackfillProgress {
  readonly feed: Feed;
  /** Empty for notifications. */
  readonly bird: string;
  /** The number of finished streams, and of all streams. */
  readonly done: number;
  readonly streams: number;
  /** From where this run reads the stream: the beginning of the window, or how far an earlier run had read it. */
  readonly readFromUs: number;
  /** Up to where the stream is then read: the end of the window, or where the regular polls read on. */
  readonly readToUs: number;
  /** How much of the window has been read in this stream, from 0 to 1. */
  readonly share: number;
  /** New events since the previous step. */
  readonly fresh: number;
  /** Windows whose Flights the service cannot list, whatever is asked. */
  readonly unread: number;
}

/** One step of one stream. `untilUs` is how far the stream has then been read. */
interface Step {
  readonly untilUs: number;
  readonly fresh: number;
  readonly unread: number;
}

interface BackfilledStream {
  readonly feed: Feed;
  readonly birdId: string;
  /** Reads on from `fromUs`, up to `endUs`. Each step is committed. */
  readonly read: (fromUs: number, endUs: number) => AsyncGenerator<Step>;
}

/** The final statuses of a Flight. */
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** Starts nothing new once `signal` aborts. Throws what the service or the store throws. */
export async function* backfill(
  options: BackfillOptions,
  signal: AbortSignal,
): AsyncGenerator<BackfillProgress> {
  const { store, fromUs, toUs, notify, poll } = options;
  const { inventory, streams } = await streamsOf(options);
  const sinceUs = await store.transaction((tx) => tx.inventory.knownSince(options.region.name));
  for (const [done, { feed, birdId, read }] of streams.entries()) {
    const { stream, cursorUs } = await store.transaction((tx) =>
      tx.streams.open(options.region.name, feed, birdId),
    );
    const firstUs =
      sinceUs && Math.max(sinceUs, inventory.newsSinceUs(birdId)) - poll.initialLookbackMs * 1000;
    const nextUs = cursorUs > 0 ? cursorUs - poll.overlapMs * 1000 : (firstUs ?? toUs);
    const endUs = notify ? toUs : Math.min(toUs, nextUs);
    const before = await store.transaction((tx) => tx.streams.backfilled(stream));
    // A backfill that began at another instant says nothing about this one.
    let atUs = before?.fromUs === fromUs ? Math.min(before.untilUs, toUs) : fromUs;
    const readToUs = Math.max(atUs, endUs);
    const step = {
      ...{ feed, bird: inventory.bird(birdId), streams: streams.length },
      ...{ readFromUs: atUs, readToUs },
    };
    if (atUs < endUs) {
      for await (const { untilUs, fresh, unread } of read(atUs, endUs)) {
        atUs = Math.max(atUs, Math.min(untilUs, toUs));
        await store.transaction((tx) => tx.streams.putBackfilled(stream, { fromUs, untilUs: atUs }));
        yield { ...step, done, share: (atUs - fromUs) / (toUs - fromUs), fresh, unread };
        if (signal.aborted) return;
      }
    }
    await store.transaction((tx) => tx.streams.putBackfilled(stream, { fromUs, untilUs: readToUs }));
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
  const wanted = wantedPeople(notify?.rules ?? [], notify?.forward ?? []);
  const inventory = new Inventory({
    ...{ ...options, region, nests, wanted, commit },
    nestsListed() {},
    birdsAdded() {},
  });
  await inventory.load();
  // The rules must judge what has changed since the last reading. Without rules that is left to the regular polls.
  if (notify) await inventory.poll();
  if (inventory.nests().length === 0) {
    throw new NestwatchError(
      'usage',
      `no Nest of region ${region} is known yet: run the daemon first, or \`nestwatch run --once\``,
    );
  }
  const watchedSinceUs = () => (notify ? options.fromUs : Number.POSITIVE_INFINITY);
  const shared = { ...options, region, client, inventory, commit, watchedSinceUs };
  const feeds = createFeeds(shared);
  const flights = createFlightReading({ ...shared, options });
  const birds = inventory.birds();
  const streams: BackfilledStream[] = [
    { feed: 'notification', birdId: '', read: logReading(feeds.createNotifications()) },
    ...birds.map(({ birdId }): BackfilledStream => {
      return { feed: 'bird_log', birdId, read: logReading(feeds.createBirdLog(birdId)) };
    }),
    ...birds.map(({ birdId }): BackfilledStream => ({ feed: 'flight', birdId, read: flights(birdId) })),
  ];
  return { inventory, streams };
}

/** Sweeps the window as regular polls sweep what is new. */
function logReading(log: LogStream): BackfilledStream['read'] {
  return async function* read(fromUs, endUs) {
    let position: Position | 'end' = startOf(fromUs - ANCHOR_MARGIN_US);
    let pageSize = log.pageSize();
    while (position !== 'end') {
      // Page numbers depend on the page size, so the size may only change at page 0 of an anchor.
      if (position.page === 0) pageSize = log.pageSize();
      // The service may treat a bound as exclusive and truncate it to whole seconds.
      const read = await log.readPage(position, pageSize, endUs + ANCHOR_MARGIN_US);
      pageSize = read.pageSize;
      const page = read.answer.value;
      const fresh = await log.keep(page.items);
      position = nextPosition(read.at, viewOf(page, pageSize));
      const untilUs: number = position === 'end' ? endUs : position.fromUs;
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

/** Reads the Flights that started in the window, in steps that limit memory. */
function createFlightReading({ options, region, inventory, commit, watchedSinceUs }: FlightReadingOptions) {
  const { client, clock, store, poll, fromUs, notify } = options;
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
      // These Flights ended long ago, so no failure message is still to come.
      reasonWaitUs: 0,
    },
    createFailureLogReader({ client, nestOf, pageSize: () => poll.pageSize }),
  );

  async function readPart(birdId: string, startUs: number, endUs: number): Promise<Step> {
    const rows = noRows();
    const window = { minStartUs: startUs - ANCHOR_MARGIN_US, maxStartUs: endUs };
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
      endsInLog: new Set<string>(),
      logsRead: new Set<string>(),
      successUs: Number.POSITIVE_INFINITY,
      observedAtUs,
      serviceNowUs,
    };
    for (const flight of ended) {
      if (notify || !reading.before.get(flight.id)?.open) await finder.consider(flight, reading, found);
    }
    const fresh = await commit({
      region,
      stream: { stream: row.stream, feed: 'flight' },
      events: found.candidates,
      facts: found.facts,
      flights: found.changes,
      quarantined: rows.quarantined,
    });
    return { untilUs: Math.min(rows.readToUs, endUs), fresh: fresh.length, unread: rows.unread.length };
  }

  return (birdId: string): BackfilledStream['read'] =>
    async function* read(startUs, endUs) {
      for (let atUs = startUs; atUs < endUs; ) {
        const step = await readPart(birdId, atUs, endUs);
        atUs = Math.max(step.untilUs, atUs + 1);
        yield step;
      }
    };
}

function byStart(a: Flight, b: Flight): number {
  return (a.startedAt?.us ?? 0) - (b.startedAt?.us ?? 0);
}
