/** Right after a restart a dashboard shows what is known, not zeros. */
import { expect, test } from 'vitest';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

test('the instant up to which each feed is verified does not fall to 0 [long]', async () => {
  stage = await createStage({ regions: ['eu'], nests: { Production: ['Publish', 'Translate'] } });
  const verified = () =>
    stage.region().feeds.map(({ feed, verifiedUntilUs }) => [feed, verifiedUntilUs] as const);
  await stage.minutesPass(90);
  const before = verified();
  for (const [, us] of before) expect(us).toBeGreaterThan(0);
  stage.eu.behaviours.latencyMs = 5_000;
  await stage.restart();
  // Immediately, while the first requests are being sent, and after their answers.
  for (const seconds of [0, 12]) {
    await stage.secondsPass(seconds);
    for (const [index, [, us]] of verified().entries()) {
      expect(us).toBeGreaterThan(before[index]![1] - 6 * 3_600e6);
    }
  }
});

test('the oldest reading of each feed does not fall to 0, and nothing is called quiet before everything is read [long]', async () => {
  stage = await createStage({ regions: ['eu'], nests: { Production: ['Publish', 'Translate'] } });
  const oldest = () => stage.region().reads.map(({ oldestReadUs }) => oldestReadUs);
  const reasons = async () => (await stage.daemon().health()).impairments.map(({ reason }) => reason);
  expect(oldest()).toEqual([0, 0, 0, 0]);
  expect(await reasons()).toEqual(['first_pass']);
  await stage.minutesPass(30);
  expect(await reasons()).toEqual([]);
  const before = oldest();
  stage.eu.behaviours.latencyMs = 10_000;
  await stage.restart(() => stage.clock.advance(3_600_000));
  expect(await reasons()).toContain('first_pass');
  for (const [index, us] of oldest().entries()) {
    // What was saved half a minute before the end may be from the reading before the last.
    expect(us).toBeGreaterThanOrEqual(before[index]! - 301e6);
    expect(us).toBeLessThanOrEqual(before[index]!);
  }
  stage.eu.behaviours.latencyMs = 0;
  await stage.minutesPass(3);
  expect(await reasons()).toEqual([]);
  for (const us of oldest()) expect(us).toBeGreaterThan(stage.clock.nowUs() - 300e6);
});
