/** Connections to many servers, as a receiver may cause them by redirects. */
import { type Pool, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createConnectionPools } from '../../src/http/connection-pools.ts';
import { LIMITS } from '../../src/limits.ts';
import { serveHttp } from './servers.ts';

const MOST = LIMITS.kept_origins.most;
const origin = (at: number) => new URL(`http://receiver-${at}.example`);

function openPools() {
  const pools = createConnectionPools({
    connections: 1,
    connectTimeoutMs: 5_000,
    timeoutMs: 5_000,
    maxBodyBytes: 1_000,
  });
  onTestFinished(() => pools.destroy());
  return pools;
}

test("the least recently used server's connections end when there are too many", () => {
  const pools = openPools();
  const all = Array.from({ length: MOST }, (_, at) => pools.to(origin(at)) as Pool);
  expect(pools.to(origin(0))).toBe(all[0]);
  pools.to(origin(MOST));
  expect(all.flatMap(({ closed }, at) => (closed ? [at] : []))).toEqual([1]);
  expect(pools.to(origin(1))).not.toBe(all[1]);
  expect(all.flatMap(({ closed }, at) => (closed ? [at] : []))).toEqual([1, 2]);
});

test('requests in flight still end as they should', async () => {
  const { url, close } = await serveHttp(() => ({ status: 200, body: 'late' }));
  onTestFinished(close);
  const pools = openPools();
  const asked = request(url, { dispatcher: pools.to(new URL(url)) as Pool });
  for (let at = 0; at < MOST; at += 1) pools.to(origin(at));
  const { body } = await asked;
  expect(await body.text()).toBe('late');
});
