import { expect, test } from 'vitest';
import { runDelayDaemon } from './delay-daemon.ts';

const MINUTES = 10;
const OPTIONS = {
  birds: 40,
  flightsPerHour: 480,
  failureShare: 0.3,
  minutes: MINUTES,
  requestsPerSecond: 1.2,
};

test('the daemon compared with a uniform reader gives the same figures each time [long]', async () => {
  const figures = async () => {
    const outcome = await runDelayDaemon(OPTIONS);
    const windows = [
      [0, 300],
      [0, MINUTES * 60],
    ] as const;
    return windows.map(([fromS, toS]) => ({
      ours: outcome.ours(fromS, toS),
      uniform: outcome.uniform(fromS, toS),
    }));
  };
  const first = await figures();
  expect(await figures()).toEqual(first);
  for (const { ours, uniform } of first) {
    expect(ours.entries).toBe(uniform.entries);
    expect(ours.meanS).not.toBe(uniform.meanS);
    expect(ours.meanS).toBeLessThan(0.9 * uniform.meanS);
  }
});
