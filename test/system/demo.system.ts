/** The demo, checked with Prometheus' linter and a real browser. */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WORDS } from '../domain/kinds/kind-words.ts';
import { openDemo } from './live-prometheus.ts';
import { openBrowser } from './pages/open-browser.ts';

let demo: Awaited<ReturnType<typeof openDemo>>;

beforeAll(async () => {
  demo = await openDemo();
});

afterAll(async () => {
  expect(await demo.stop()).toBe(0);
});

test('promtool accepts the metrics of a running daemon', async () => {
  const body = await (await fetch(`${demo.page}metrics`)).text();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: body,
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
});

test('the pages show the failure and its delivery in a real browser', async () => {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(demo.page);
    expect(await page.content()).toContain(WORDS.FlightFailed.firing);
    await page.goto(`${demo.page}deliveries`);
    expect(await page.content()).toContain('Delivered');
  } finally {
    await browser.close();
  }
});
