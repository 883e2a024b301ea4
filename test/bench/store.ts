/**
 * How fast the store writes events durably to a real file. Run it alone: `node test/bench/store.ts --fill-to
 * 1000000`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Event } from '../../src/domain/alert/event.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/time/clock.ts';
import { formatInstant } from '../../src/time/instant.ts';

export interface StoreRate {
  readonly name: string;
  readonly entriesPerSecond: number;
}

const START_US = Date.UTC(2026, 6, 2) * 1000;
const HOUR_US = 3_600_000_000;
const STREAMS = 200;

interface Page {
  readonly stream: number;
  readonly events: readonly Event[];
}

interface Case {
  readonly name: string;
  readonly pages: readonly Page[];
  /** Each caller writes its next page as soon as its last one is durable. */
  readonly callers: number;
}

/** Inserts `rows` events in each of the measured ways into one store that holds `fillTo` events before. */
export async function benchStore({ rows = 100_000, fillTo = 20_000 } = {}): Promise<StoreRate[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nestwatch-bench-'));
  const store = await openSqliteStore({ path: join(directory, 'store.db'), clock: systemClock() });
  try {
    const streams = await openStreams(store);
    // The first rows also warm up the compiled code.
    for (let filled = 0; filled < fillTo; filled += 20_000) {
      await insert(store, { name: '', pages: newer(streams, 20_000, 500, filled), callers: 8 });
    }
    const hundreds = newer(streams, rows, 100, fillTo + rows);
    const cases: Case[] = [
      { name: 'pages of 100, one after another', pages: newer(streams, rows, 100, fillTo), callers: 1 },
      { name: 'pages of 100, 8 at a time', pages: hundreds, callers: 8 },
      { name: 'the same pages again: nothing is new', pages: hundreds, callers: 8 },
      { name: 'pages of 500, 8 at a time', pages: newer(streams, rows, 500, fillTo + 2 * rows), callers: 8 },
      { name: 'pages of 100 of history, all over the same hours', pages: history(streams, rows), callers: 8 },
    ];
    const rates: StoreRate[] = [];
    for (const one of cases) rates.push({ name: one.name, entriesPerSecond: await insert(store, one) });
    return rates;
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
}

async function openStreams(store: Store): Promise<number[]> {
  return store.transaction(async (tx) => {
    const streams: number[] = [];
    for (let bird = 0; bird < STREAMS; bird += 1) {
      streams.push((await tx.streams.open('eu', 'bird_log', `${148_000 + bird}`)).stream);
    }
    return streams;
  });
}

/** Returns entries per second. */
async function insert(store: Store, { pages, callers }: Case): Promise<number> {
  let next = 0;
  let entries = 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let page = pages[next++]; page; page = pages[next++]) {
        const { stream, events } = page;
        await store.transaction(async (tx) => {
          await tx.events.insert(stream, events);
          await tx.streams.advanceCursor(stream, events.at(-1)!.occurredAtUs);
        });
        entries += events.length;
      }
    }),
  );
  return entries / ((performance.now() - startedMs) / 1000);
}

/** Pages of changing streams, each newer than the one before it. */
function newer(streams: readonly number[], rows: number, pageSize: number, first: number): Page[] {
  return Array.from({ length: rows / pageSize }, (_, page) => {
    const bird = (page * 7) % STREAMS;
    const number = first + page * pageSize;
    return {
      stream: streams[bird]!,
      events: Array.from({ length: pageSize }, (_, index) =>
        birdLog(bird, number + index, START_US + (number + index) * 40_000),
      ),
    };
  });
}

/** What a first start reads: every stream's page of one hour, then of the next. */
function history(streams: readonly number[], rows: number): Page[] {
  return Array.from({ length: rows / 100 }, (_, page) => {
    const bird = page % STREAMS;
    const hour = Math.floor(page / STREAMS);
    const firstUs = START_US - (1000 - hour) * HOUR_US + bird * 7_919_000;
    return {
      stream: streams[bird]!,
      events: Array.from({ length: 100 }, (_, index) =>
        birdLog(bird, page * 100 + index, firstUs + index * 30_000_000),
      ),
    };
  });
}

/** A Bird log as the service writes it: about 330 bytes of JSON. */
function birdLog(bird: number, number: number, occurredAtUs: number): Event {
  const hex = Math.floor(occurredAtUs / 1000)
    .toString(16)
    .padStart(12, '0');
  const tail = ((number * 2_654_435_761) % 2 ** 32).toString(16).padStart(12, '0');
  return {
    key: `eu/bird_log/${hex.slice(0, 8)}-${hex.slice(8)}-7a3c-9f00-${tail}`,
    region: 'eu',
    feed: 'bird_log',
    type: 'bird_log.EventError',
    occurredAt: formatInstant(occurredAtUs),
    occurredAtUs,
    observedAtUs: occurredAtUs + 3_000_000,
    nestId: '682',
    nest: 'Marketing',
    birdId: `${148_000 + bird}`,
    bird: `Translate blog ${bird}`,
    message: 'Subscription failed: System.TimeoutException: the operation has timed out after 30 s',
    attributes: { event_failed_by: 'Subscription', error_type: 'RequestTimeOut', user_id: '1209' },
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000' },
      'fill-to': { type: 'string', default: '20000' },
    },
  });
  for (const rate of await benchStore({ rows: Number(values.rows), fillTo: Number(values['fill-to']) })) {
    const figure = Math.round(rate.entriesPerSecond).toLocaleString('en').padStart(9);
    process.stdout.write(`${figure} entries/s  ${rate.name}\n`);
  }
}
