/**
 * A backlog after an outage: pages are read, stored and decided on, alerts join groups, and old events are set aside
 * and summarised at the end. Compared with the bare read of the same pages and with their ingest alone, interleaved in
 * one run. All entries are much older than `max_alert_age`, so the summary has the most work.
 */
import { join } from 'node:path';
import { createAlerting } from '../../src/alerting/alerting.ts';
import type { Store } from '../../src/store/store.ts';
import type { Clock } from '../../src/time/clock.ts';
import { load, REGION } from '../config/load.ts';
import { bareRead, inFile, ingest, median, withServer } from './ingest.ts';
import { ENTRIES_PER_STREAM } from './page-server.ts';

const STREAMS = 8;

export interface BacklogFigures {
  readonly entriesPerSecond: number;
  /** How much faster than the entries occurred, which are a second apart in each stream. */
  readonly timesRealTime: number;
  /** The share of the bare read's rate. */
  readonly ratio: number;
  /** How many times as long as the ingest alone it takes. */
  readonly timesIngest: number;
  /** The same in processor time, which other programs on the machine do not change. */
  readonly timesIngestProcessor: number;
}

function tellIn(store: Store, clock: Clock) {
  const config = load(
    `${REGION}route: { receiver: hook }\nreceivers: [{ name: hook, webhook_configs: [{ url: "http://127.0.0.1:9/" }] }]\n`,
  );
  const report = (happening: { readonly what: string; readonly error?: unknown }) => {
    if (happening.what === 'trouble') throw happening.error;
  };
  const alerting = createAlerting({ store, config, clock, report, queued: () => {} });
  const stop = new AbortController();
  const running = alerting.run(stop.signal);
  return {
    wake: alerting.wake,
    async end() {
      stop.abort();
      await running;
      await alerting.drain();
      const told = await store.transaction((tx) =>
        tx.outbox.page({ limit: 10 }).then((one) => one.deliveries),
      );
      if (told.length !== 1)
        throw new Error(`the backlog was told in ${told.length} notifications, not in one`);
    },
  };
}

export async function benchBacklog(rounds = 5): Promise<BacklogFigures> {
  const bare: number[] = [];
  const drained: number[] = [];
  const times: number[] = [];
  const processorTimes: number[] = [];
  await withServer(async (url, folder) => {
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await bareRead(url));
      const alone = await measured(() => ingest(url, inFile(join(folder, `${round}-alone.db`))));
      const whole = await measured(() =>
        ingest(url, inFile(join(folder, `${round}.db`)), { alongside: tellIn }),
      );
      drained.push(whole.perSecond);
      times.push(alone.perSecond / whole.perSecond);
      processorTimes.push(whole.processorMs / alone.processorMs);
    }
  });
  const entriesPerSecond = median(drained);
  const seconds = (STREAMS * ENTRIES_PER_STREAM) / entriesPerSecond;
  return {
    entriesPerSecond,
    timesRealTime: ENTRIES_PER_STREAM / seconds,
    ratio: entriesPerSecond / median(bare),
    timesIngest: median(times),
    timesIngestProcessor: median(processorTimes),
  };
}

async function measured(work: () => Promise<number>) {
  const before = process.cpuUsage();
  const perSecond = await work();
  const { user, system } = process.cpuUsage(before);
  return { perSecond, processorMs: (user + system) / 1000 };
}

if (import.meta.main) console.log(await benchBacklog());
