import { expect, test } from 'vitest';
import { casesOf, longStory } from '../cases.ts';
import { killRun } from './kill-run.ts';

const kills = casesOf('kills', [1, 2, 3, 4, 5], [1]).length;

longStory(
  `killed at ${kills} random moments under load, the daemon loses nothing and repeats only under the same webhook-id`,
  async () => {
    const figures = await killRun({ kills, seed: 1 });
    expect(figures).toMatchObject({ kills, lost: [], repeatedUnderAnotherId: [], crashes: [] });
    expect(figures.events).toBeGreaterThan(20 * kills);
  },
);

test('with reloads of good and bad configurations between two kills, it follows the good ones and also loses nothing', async () => {
  const reloads = 8 * kills;
  const figures = await killRun({ kills, seed: 2, reloads });
  expect(figures).toMatchObject({
    reloads,
    wrongReloads: [],
    callsOfRefused: 0,
    lost: [],
    repeatedUnderAnotherId: [],
    crashes: [],
  });
  expect(figures.events).toBeGreaterThan(20 * kills);
});
