/** What a dashboard shows right after a restart is what is known, not that nothing is. */
import { afterEach, expect, test } from 'vitest';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

test('up to when each feed is verified does not fall to 0', async () => {
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const { id } = world.addNest({ name: 'Production' });
      for (const name of ['Publish', 'Translate']) world.addBird(id, { name, triggerType: 'event' });
    },
  });
  const verified = () =>
    stage
      .daemon()
      .regions()[0]!
      .feeds.map(({ feed, verifiedUntilUs }) => [feed, verifiedUntilUs] as const);
  await stage.minutesPass(90);
  const before = verified();
  for (const [, us] of before) expect(us).toBeGreaterThan(0);
  stage.worlds.eu!.behaviours.latencyMs = 5_000;
  await stage.restart();
  await stage.secondsPass(12);
  for (const [index, [, us]] of verified().entries()) {
    expect(us).toBeGreaterThan(before[index]![1] - 6 * 3_600e6);
  }
});
