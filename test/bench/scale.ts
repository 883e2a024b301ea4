/**
 * What watching very many Birds takes: memory over time, and processor time per request. The daemon and the service
 * run in separate processes, so that the daemon's figures are its own. Run it alone: `node test/bench/scale.ts
 * --birds 10000 --hours 24`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileAsProgram, forkAsProgram } from './as-program.ts';
import type { DaemonSettings, Sample } from './scale-daemon.ts';
import type { ServiceSettings } from './scale-service.ts';

export interface ScaleSettings {
  readonly regions: number;
  /** In each region. */
  readonly birds: number;
  readonly hours: number;
  /** The limit in each region. */
  readonly requestsPerSecond: number;
  readonly flightsPerBirdAndDay: number;
  /** Where the store is created; a new directory there is removed at the end. */
  readonly folder: string;
}

export const SCALE: ScaleSettings = {
  regions: 2,
  birds: 10_000,
  hours: 24,
  requestsPerSecond: 50,
  flightsPerBirdAndDay: 12,
  folder: tmpdir(),
};

const DAEMON = join(import.meta.dirname, 'scale-daemon.ts');

/** Calls `told` with each sample, and resolves to all of them. */
async function runScale(
  settings: ScaleSettings,
  told: (sample: Sample, storeMiB: number) => void,
  execArgv: readonly string[] = [],
): Promise<Sample[]> {
  const regions = Array.from({ length: settings.regions }, (_, at) => `region${at}`);
  const folder = mkdtempSync(join(settings.folder, 'nestwatch-scale-'));
  const storePath = join(folder, 'store.db');
  const service = fork(join(import.meta.dirname, 'scale-service.ts'));
  let daemon: ChildProcess | undefined;
  try {
    service.send({ ...settings, regions } satisfies ServiceSettings);
    const [{ port }] = (await once(service, 'message')) as [{ port: number }];
    const options = ['--expose-gc', ...execArgv];
    compileAsProgram(DAEMON, options);
    daemon = forkAsProgram(DAEMON, [], options);
    const samples: Sample[] = [];
    daemon.on('message', (sample) => {
      samples.push(sample as Sample);
      told(sample as Sample, statSync(storePath).size / 2 ** 20);
    });
    daemon.send({ ...settings, regions, storePath, port } satisfies DaemonSettings);
    const [code] = await once(daemon, 'exit');
    if (code !== 0) throw new Error(`the daemon's process ended with ${code}`);
    return samples;
  } finally {
    daemon?.kill();
    service.disconnect();
    rmSync(folder, { recursive: true });
  }
}

export async function printScale(settings: ScaleSettings, execArgv: readonly string[] = []): Promise<void> {
  const { regions, birds, hours, requestsPerSecond, flightsPerBirdAndDay } = settings;
  console.log(
    `${birds.toLocaleString('en')} Birds × ${regions} regions for ${hours} h at up to ${requestsPerSecond} requests/s a region, ` +
      `${flightsPerBirdAndDay} Flights a Bird and day (Zipf 1.1)`,
  );
  console.log(
    '   hour  RSS MiB  (most)  heap MiB   requests/s   events/s   CPU µs/request   of a core   store MiB   times real time',
  );
  let before: Sample | undefined;
  const samples = await runScale(
    settings,
    (sample, storeMiB) => {
      const seconds = (sample.hours - (before?.hours ?? 0)) * 3600;
      const requests = sample.requests - (before?.requests ?? 0);
      const figures = [
        sample.hours.toFixed(2).padStart(7),
        sample.rssMiB.toFixed(0).padStart(8),
        sample.mostRssMiB.toFixed(0).padStart(7),
        (sample.heapMiB?.toFixed(0) ?? '').padStart(9),
        (requests / seconds || 0).toFixed(1).padStart(12),
        ((sample.events - (before?.events ?? 0)) / seconds || 0).toFixed(1).padStart(10),
        ((sample.cpuSeconds * 1e6) / requests || 0).toFixed(0).padStart(16),
        `${((sample.cpuSeconds / seconds) * 100 || 0).toFixed(1)} %`.padStart(11),
        storeMiB.toFixed(0).padStart(11),
        (seconds / (sample.wallSeconds - (before?.wallSeconds ?? 0)) || 0).toFixed(0).padStart(17),
      ];
      console.log(figures.join(' '));
      for (const trouble of sample.troubles) console.log(`   ${trouble}`);
      before = sample;
    },
    execArgv,
  );
  const last = samples.at(-1)!;
  const half = samples.find((sample) => sample.heapMiB !== undefined && sample.hours > 0) ?? last;
  const secondHalf = samples.filter((sample) => sample.hours > half.hours);
  const middle = secondHalf[Math.floor((secondHalf.length - 1) / 2)] ?? last;
  const most = (some: readonly Sample[]) => Math.max(...some.map((sample) => sample.mostRssMiB));
  const earlier = secondHalf.filter((sample) => sample.hours <= middle.hours);
  const later = secondHalf.filter((sample) => sample.hours > middle.hours);
  console.log(
    `most RSS ${most(samples).toFixed(0)} MiB, as seen each minute (aim: at most 200); ${last.peakRssMiB.toFixed(0)} MiB for a moment`,
  );
  if (later.length === 0) return;
  console.log(
    `second half: most RSS ${most(earlier).toFixed(0)} MiB, then ${most(later).toFixed(0)} MiB; ` +
      `heap ${half.heapMiB?.toFixed(1)} MiB, then ${last.heapMiB?.toFixed(1)} MiB`,
  );
}

if (import.meta.main) {
  const number = (fallback: number) => ({ type: 'string', default: String(fallback) }) as const;
  const { values } = parseArgs({
    options: {
      regions: number(SCALE.regions),
      birds: number(SCALE.birds),
      hours: number(SCALE.hours),
      rate: number(SCALE.requestsPerSecond),
      flights: number(SCALE.flightsPerBirdAndDay),
      folder: { type: 'string', default: SCALE.folder },
      'node-option': { type: 'string', multiple: true, default: [] },
    },
  });
  await printScale(
    {
      regions: Number(values.regions),
      birds: Number(values.birds),
      hours: Number(values.hours),
      requestsPerSecond: Number(values.rate),
      flightsPerBirdAndDay: Number(values.flights),
      folder: values.folder,
    },
    values['node-option'],
  );
}
