import { expect, test } from 'vitest';
import { runDelayDaemon } from './delay-daemon.ts';

test('the daemon has entries sooner than a uniform reader, and the same ones [long]', async () => {
  const minutes = 10;
  const { ours, uniform } = await runDelayDaemon({
    birds: 40,
    flightsPerHour: 480,
    failureShare: 0.3,
    minutes,
    requestsPerSecond: 1.2,
  });
  for (const untilS of [300, minutes * 60]) {
    expect(ours(0, untilS).entries).toBe(uniform(0, untilS).entries);
    expect(ours(0, untilS).meanS).toBeLessThan(0.9 * uniform(0, untilS).meanS);
  }
});
