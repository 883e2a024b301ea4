import { expect, test } from 'vitest';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { sleep } from '../../src/time/clock.ts';
import { bucketLimit, keepAsking as refusedNowAndThen, windowLimit } from '../bench/refusals.ts';
import { openRegion, type Reply } from './region.ts';

const SEEDS = [1, 2];
const MINUTES_BEFORE_FALL = 10;
const QUOTAS = [1, 8];

/** Eight clients send requests without a pause, until the returned function stops them. */
function keepAsking({ client, clock }: ReturnType<typeof openRegion>): () => Promise<void> {
  let isOver = false;
  const ask = async () => {
    while (!isOver) await client.searchNests().catch(() => {});
  };
  const asking = Array.from({ length: 8 }, ask);
  return async () => {
    isOver = true;
    const closed = client.close();
    await clock.advance(1000);
    await Promise.all([...asking, closed]);
  };
}

/** A region that answers within 80 ms, and what it accepted and refused since that was last counted. */
function limited(perSecond: number, headers: Record<string, string> = {}) {
  let counts = { accepted: 0, refused: 0 };
  const region = openRegion(
    async (): Promise<Reply> => {
      await sleep(region.clock, 80);
      const isAccepted = limit.admits(region.clock.monotonicMs());
      counts[isAccepted ? 'accepted' : 'refused'] += 1;
      return isAccepted ? { body: '[]' } : { status: 429, headers };
    },
    { requestsPerSecond: 50, startPerSecond: 2 },
  );
  const limit = { admits: bucketLimit(perSecond) };
  const leave = keepAsking(region);
  const counted = () => {
    const before = counts;
    counts = { accepted: 0, refused: 0 };
    return before;
  };
  return { clock: region.clock, limit, leave, counted };
}

async function watch(perSecond: number, minutes: number, headers: Record<string, string>) {
  const { clock, leave, counted } = limited(perSecond, headers);
  await clock.advance(60_000);
  counted();
  await clock.advance(minutes * 60_000);
  const { accepted, refused } = counted();
  await leave();
  return { refusedShare: refused / (accepted + refused), used: accepted / (perSecond * minutes * 60) };
}

const sumOf = (minutes: readonly { readonly accepted: number; readonly refused: number }[]) => ({
  accepted: minutes.reduce((sum, minute) => sum + minute.accepted, 0),
  refused: minutes.reduce((sum, minute) => sum + minute.refused, 0),
});

test.each([
  ['without Retry-After', {}],
  ['with Retry-After', { 'retry-after': '2' }],
  ['with a garbled Retry-After', { 'retry-after': 'in a while' }],
])(
  'of a service that allows 3 requests a second, 429 %s, after a minute under 2 %% are refused and over 85 %% used [long]',
  async (_how, headers) => {
    for (const minutes of [2, 30]) {
      const { refusedShare, used } = await watch(3, minutes, headers as Record<string, string>);
      expect(refusedShare).toBeLessThan(0.02);
      expect(used).toBeGreaterThan(0.85);
    }
  },
);

test('other limits are found as well [long]', async () => {
  for (const perSecond of [1, 12, 40]) {
    const { refusedShare, used } = await watch(perSecond, 10, {});
    expect(refusedShare).toBeLessThan(0.02);
    expect(used).toBeGreaterThan(0.85);
  }
});

const shares = [
  [0.1, 0.12],
  [0.01, 0.2],
] as const;
test.each(shares)(
  'if a share of %f is refused at random, the rate does not go down to a trickle',
  async (shed, least) => {
    for (const seed of SEEDS) {
      const minutes = await refusedNowAndThen({ ceiling: 10, shed, seed }, 15);
      const { accepted } = sumOf(minutes.slice(5));
      expect(accepted / (10 * 60 * 10 * (1 - shed))).toBeGreaterThan(least);
    }
  },
);

const pauses = [
  ['3', 0.1],
  ['1', 0.2],
] as const;
test.each(pauses)(
  'also if random refusals ask for a pause of %s s, apart from the pauses [long]',
  async (retryAfter, least) => {
    const service = { ceiling: 10, shed: 0.1, retryAfter: () => retryAfter };
    for (const seed of SEEDS) {
      const minutes = await refusedNowAndThen({ ...service, seed }, 25);
      const { accepted } = sumOf(minutes.slice(15));
      expect(accepted / (10 * 60 * 10 * 0.9)).toBeGreaterThan(least);
    }
  },
);

test.each([
  ['10 s', 10_000],
  ['1 min', 60_000],
])('a quota for each %s is respected, although only its end is refused [long]', async (_, windowMs) => {
  const retryAfter = (nowMs: number) => String(Math.ceil((windowMs - (nowMs % windowMs)) / 1000));
  for (const perSecond of QUOTAS) {
    const limits = [{ fromMinute: 0, admits: windowLimit((perSecond * windowMs) / 1000, windowMs) }];
    const minutes = (await refusedNowAndThen({ ceiling: 20, limits, retryAfter }, 30)).slice(10);
    const { accepted, refused } = sumOf(minutes);
    expect(refused / (accepted + refused)).toBeLessThan(perSecond === 1 ? 0.1 : 0.03);
    expect(accepted / (perSecond * 60 * 20)).toBeGreaterThan(0.93);
  }
});

test('a limit is respected beside random refusals', async () => {
  const limits = [{ fromMinute: 0, admits: bucketLimit(4) }];
  const minutes = (await refusedNowAndThen({ ceiling: 10, limits, shed: 0.01 }, 30)).slice(10);
  const { accepted, refused } = sumOf(minutes);
  expect(refused / (accepted + refused)).toBeLessThan(0.04);
  expect(accepted / (4 * 60 * 20)).toBeGreaterThan(0.7);
});

/** Seconds of successful answers after these faults until the rate is at 80 % of its limit again. */
async function recovery(
  ceiling: number,
  seed: number,
  faults: readonly { seconds: number; share: number; reply: Reply }[],
): Promise<number> {
  const random = seededRandom(seed);
  let fault: { share: number; reply: Reply } | undefined;
  const region = openRegion(
    async (): Promise<Reply> => {
      await sleep(region.clock, 80);
      return fault && random() < fault.share ? fault.reply : { body: '[]' };
    },
    { requestsPerSecond: ceiling, startPerSecond: 2 },
  );
  const { client, clock } = region;
  let isOver = false;
  const worker = async () => {
    while (!isOver) {
      await client.ready();
      if (!isOver) await client.searchNests().catch(() => {});
    }
  };
  const workers = Array.from({ length: 8 }, worker);
  await clock.advance(30_000);
  for (const one of faults) {
    fault = one;
    await clock.advance(one.seconds * 1000);
  }
  fault = undefined;
  let seconds = 0;
  while (client.rate() < 0.8 * ceiling) {
    await clock.advance(1000);
    seconds += 1;
    expect(seconds).toBeLessThan(600);
  }
  isOver = true;
  const closed = client.close();
  await clock.advance(1000);
  await Promise.all([...workers, closed]);
  return seconds;
}

const slowDown: Reply = { status: 429, headers: { 'retry-after': '2' } };
const clean = { seconds: 8, share: 0, reply: {} };

test.each([1, 2, 3, 4])('after a short spell of 429 the rate is back within a minute (%i)', async (seed) => {
  const spell = [{ seconds: 20, share: 0.6, reply: slowDown }];
  expect(await recovery(5, seed, spell)).toBeLessThanOrEqual(40);
  expect(await recovery(30, seed, spell)).toBeLessThanOrEqual(40);
});

test('after bursts of 429 among other faults the rate is back within a minute', async () => {
  const burst = { seconds: 7, share: 1, reply: slowDown };
  const faults = [{ status: 500 }, { body: '<html>' }].flatMap((reply) => [
    burst,
    clean,
    { seconds: 7, share: 1, reply },
    clean,
  ]);
  expect(await recovery(30, 1, [...faults, burst])).toBeLessThanOrEqual(40);
});

test('a limit that has fallen is found within two minutes, with few requests refused meanwhile [long]', async () => {
  const { clock, limit, leave, counted } = limited(50);
  await clock.advance(MINUTES_BEFORE_FALL * 60_000);
  limit.admits = bucketLimit(3, clock.monotonicMs());
  counted();
  await clock.advance(120_000);
  expect(counted().refused).toBeLessThan(60);
  await clock.advance(120_000);
  const { accepted, refused } = counted();
  expect(refused / (accepted + refused)).toBeLessThan(0.02);
  expect(accepted / (3 * 120)).toBeGreaterThan(0.85);
  await leave();
});
