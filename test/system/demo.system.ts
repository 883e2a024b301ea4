/** The demo beside Prometheus' linter and a real browser. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WORDS } from '../domain/kinds/kind-words.ts';
import { openDemo } from './live-prometheus.ts';

let demo: Awaited<ReturnType<typeof openDemo>>;
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-system-'));

beforeAll(async () => {
  demo = await openDemo();
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  expect(await demo.stop()).toBe(0);
});

test('promtool has nothing to say about the metrics of a running daemon', async () => {
  const body = await (await fetch(`${demo.page}metrics`)).text();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: body,
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
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
      demo.page,
    ],
    { encoding: 'utf8', timeout: 60_000 },
  );
  expect(stdout).toContain(WORDS.FlightFailed.firing);
  expect(stdout).toContain('Delivered');
});
