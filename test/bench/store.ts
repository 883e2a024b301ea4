/**
 * How fast the store takes events, durably, on a real file. Run it alone: `node test/bench/store.ts [--rows 1000000]`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Event } from '../../src/alerts/event.ts';
import { systemClock } from '../../src/clock.ts';
import { formatInstant } from '../../src/instant.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';

export interface StoreRate {
  readonly name: string;
  readonly entriesPerSecond: number;
}

const START_US = Date.UTC(2026, 6, 2) * 1000;
const STREAMS = 200;

/** Inserts about `rows` events in every way that is measured, into one store that grows. */
export async function benchStore({ rows = 100_000, fillTo = 0 } = {}): Promise<StoreRate[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nestwatch-bench-'));
  const store = await openSqliteStore({ path: join(directory, 'store.db'), clock: systemClock() });
  try {
    const streams = await openStreams(store);
    const source = createSource();
    if (fillTo > 0) await insertPages(store, streams, pages(source, fillTo, 1000), 4);
    const at = fillTo > 0 ? `, at ${fillTo.toLocaleString('en')} rows` : '';
    const rates: StoreRate[] = [];
    for (const [name, pageSize, callers] of [
      ['100 a transaction, one caller', 100, 1],
      ['500 a transaction, one caller', 500, 1],
      ['100 a transaction, 8 callers', 100, 8],
    ] as const) {
      const batch = pages(source, rows, pageSize);
      rates.push({ name: name + at, entriesPerSecond: await insertPages(store, streams, batch, callers) });
      if (callers === 8) {
        const again = await insertPages(store, streams, batch, callers);
        rates.push({ name: `the same again, nothing new${at}`, entriesPerSecond: again });
      }
    }
    return rates;
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
}

interface Page {
  readonly bird: number;
  readonly events: readonly Event[];
}

async function openStreams(store: Store): Promise<number[]> {
  return store.transaction(async (tx) => {
    const streams: number[] = [];
    for (let bird = 0; bird < STREAMS; bird += 1) {
      streams.push((await tx.openStream('eu', 'bird_log', `${148_000 + bird}`)).stream);
    }
    return streams;
  });
}

/** Every caller takes the next page as soon as its last one is durable. Returns entries a second. */
async function insertPages(
  store: Store,
  streams: readonly number[],
  batch: readonly Page[],
  callers: number,
): Promise<number> {
  let next = 0;
  let entries = 0;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let page = batch[next++]; page; page = batch[next++]) {
        const { bird, events } = page;
        const stream = streams[bird]!;
        await store.transaction(async (tx) => {
          await tx.insertEvents(stream, events);
          await tx.advanceCursor(stream, events.at(-1)!.occurredAtUs);
        });
        entries += events.length;
      }
    }),
  );
  return entries / ((performance.now() - startedMs) / 1000);
}

interface Source {
  next(bird: number): Event;
}

function pages(source: Source, rows: number, pageSize: number): Page[] {
  return Array.from({ length: Math.ceil(rows / pageSize) }, (_, page) => {
    const bird = (page * 7) % STREAMS;
    return { bird, events: Array.from({ length: pageSize }, () => source.next(bird)) };
  });
}

/** Bird logs as the service writes them: their JSON is about 330 bytes here. */
function createSource(): Source {
  let count = 0;
  return {
    next(bird) {
      count += 1;
      const occurredAtUs = START_US + count * 40_000 + ((count * 7919) % 30_000);
      const hex = Math.floor(occurredAtUs / 1000)
        .toString(16)
        .padStart(12, '0');
      const tail = ((count * 2_654_435_761) % 2 ** 32).toString(16).padStart(12, '0');
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7a3c-9f00-${tail}`;
      return {
        key: `eu/bird_log/${id}`,
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
    },
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000' },
      'fill-to': { type: 'string', default: '0' },
    },
  });
  for (const rate of await benchStore({ rows: Number(values.rows), fillTo: Number(values['fill-to']) })) {
    process.stdout.write(
      `${Math.round(rate.entriesPerSecond).toLocaleString('en').padStart(9)} entries/s  ${rate.name}\n`,
    );
  }
}
