/** The demo beside a real Prometheus, its linter and a real browser. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WORDS } from '../domain/kinds/kind-words.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

let demo: ChildProcess;
let page: string;
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-system-'));

beforeAll(async () => {
  demo = spawn(process.execPath, [MAIN, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
  page = await said(demo, /page +(http:\S+\/)/);
  // The story's first failure is mailed after some seconds: from then on there is something to see.
  await said(demo, /mail .*(FlightFailed)/);
});

afterAll(async () => {
  demo.kill('SIGTERM');
  if (demo.exitCode === null) await once(demo, 'exit');
  rmSync(folder, { recursive: true });
  expect(demo.exitCode).toBe(0);
});

/** Resolves with what the pattern's group caught in the output. */
function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout!.on('data', (chunk) => {
    text += String(chunk);
    const match = pattern.exec(text);
    if (match) resolve(match[1]!);
  });
  child.once('exit', (code) => reject(new Error(`the demo ended with ${code}:\n${text}`)));
  return promise;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

test('promtool has nothing to say about the metrics of a running daemon', async () => {
  const body = await (await fetch(`${page}metrics`)).text();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: body,
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
});

test('a real Prometheus scrapes it', async () => {
  const port = await freePort();
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    `scrape_configs: [{ job_name: nestwatch, scrape_interval: 1s, static_configs: [{ targets: ["${new URL(page).host}"] }] }]`,
  );
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ask = async (query: string) => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result.map(({ value }) => Number(value[1]));
    } catch {
      // It is still starting.
      return [];
    }
  };
  try {
    await expect.poll(() => ask('up{job="nestwatch"}'), { timeout: 60_000, interval: 500 }).toEqual([1]);
    await expect
      .poll(() => ask('sum(nestwatch_flights_total{status="failed"})'), { timeout: 60_000, interval: 500 })
      .not.toEqual([]);
    expect(await ask('count(nestwatch_region_up == 1)')).toEqual([2]);
    expect(await ask('sum(nestwatch_alerts{alertname="FlightFailed"}) > 0')).toHaveLength(1);
  } finally {
    prometheus.kill('SIGTERM');
    await once(prometheus, 'exit');
  }
});

test('the page shows the failure in a real browser', () => {
  const { stdout } = spawnSync(
    'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--user-data-dir=${join(folder, 'chromium')}`,
      '--dump-dom',
      page,
    ],
    { encoding: 'utf8', timeout: 60_000 },
  );
  expect(stdout).toContain(WORDS.FlightFailed.firing);
  expect(stdout).toContain('Delivered');
});
