import { expect, test } from 'vitest';
import { sleep } from '../../src/clock.ts';
import { openRegion, type Reply } from './region.ts';

/** A service that allows so many requests a second, in buckets of one second; nobody told us. */
function createLimit(perSecond: number) {
  let tokens = perSecond;
  let filledAtMs = 0;
  return (nowMs: number): boolean => {
    tokens = Math.min(perSecond, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
    filledAtMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

async function watch(perSecond: number, minutes: number, headers: Record<string, string>) {
  const admits = createLimit(perSecond);
  let counting = false;
  let accepted = 0;
  let refused = 0;
  const region = openRegion(
    async (): Promise<Reply> => {
      await sleep(region.clock, 80);
      const isAccepted = admits(region.clock.monotonicMs());
      if (counting && isAccepted) accepted += 1;
      if (counting && !isAccepted) refused += 1;
      return isAccepted ? { body: '[]' } : { status: 429, headers };
    },
    { requestsPerSecond: 50, startPerSecond: 2 },
  );
  const { client, clock } = region;
  let isOver = false;
  const worker = async () => {
    while (!isOver) await client.searchNests().catch(() => {});
  };
  const workers = Array.from({ length: 8 }, worker);
  await clock.advance(60_000);
  counting = true;
  await clock.advance(minutes * 60_000);
  isOver = true;
  const closed = client.close();
  await clock.advance(1000);
  await Promise.all([...workers, closed]);
  return { refusedShare: refused / (accepted + refused), used: accepted / (perSecond * minutes * 60) };
}

test.each([
  ['without Retry-After', {}],
  ['with Retry-After', { 'retry-after': '2' }],
  ['with a garbled Retry-After', { 'retry-after': 'in a while' }],
])(
  'of a service that allows 3 requests a second, 429 %s, after a minute under 2 %% are refused and over 85 %% used',
  async (_how, headers) => {
    for (const minutes of [2, 30]) {
      const { refusedShare, used } = await watch(3, minutes, headers as Record<string, string>);
      expect(refusedShare).toBeLessThan(0.02);
      expect(used).toBeGreaterThan(0.85);
    }
  },
);

test('other limits are found as well', async () => {
  for (const perSecond of [1, 12, 40]) {
    const { refusedShare, used } = await watch(perSecond, 10, {});
    expect(refusedShare).toBeLessThan(0.02);
    expect(used).toBeGreaterThan(0.85);
  }
});
