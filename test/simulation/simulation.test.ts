import { expect, test } from 'vitest';
import { createDelays } from './delays.ts';
import { runSeed } from './run.ts';

const HOURS = 2;

/** Each of these found a fault once, or shows much of what can go wrong. */
const KNOWN_SEEDS = [2, 5, 8, 15, 28, 36, 55, 63, 70, 74, 86];

/** Worlds without a history of their own; `main.ts --seeds` walks as many others as there is time for. */
const PLAIN_SEEDS = Array.from({ length: 10 }, (_, index) => 2_077_800 + index);

test.each([...KNOWN_SEEDS, ...PLAIN_SEEDS])(
  'nothing is lost, invented, repeated or unexplained in the world of seed %i',
  async (seed) => {
    const { findings, events } = await runSeed(seed, { hours: HOURS });
    expect(findings, `node test/simulation/main.ts --seed ${seed} --hours ${HOURS}`).toEqual([]);
    expect(events).toBeGreaterThan(10);
  },
);

test('the same seed gives the same run, to the last accepted byte', async () => {
  const [first, second, other] = [
    await runSeed(7, { hours: 1.5 }),
    await runSeed(7, { hours: 1.5 }),
    await runSeed(8, { hours: 1.5 }),
  ];
  expect(second.digest).toBe(first.digest);
  expect(second.requests).toBe(first.requests);
  expect(other.digest).not.toBe(first.digest);
});

test('delays are counted to two percent', () => {
  const delays = createDelays();
  expect(delays.quantile(0.5)).toBeUndefined();
  delays.add(Array.from({ length: 1000 }, (_, index) => index * 100));
  expect(delays.quantile(0.5)! / 50_000).toBeCloseTo(1, 1);
  expect(delays.quantile(0.99)! / 99_000).toBeCloseTo(1, 1);
});
