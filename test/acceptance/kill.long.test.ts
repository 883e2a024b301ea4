import { expect, test } from 'vitest';
import { killRun } from './kill-run.ts';

const kills = 3;

test(`killed at ${kills} random moments under load, the daemon loses nothing and repeats only under the same webhook-id [long]`, async () => {
  const figures = await killRun({ kills, seed: 1 });
  expect(figures).toMatchObject({ kills, lost: [], repeatedUnderAnotherId: [], crashes: [] });
  expect(figures).toMatchObject({ untraced: [], tracedUnderAnotherId: [] });
  expect(figures.events).toBeGreaterThan(20 * kills);
});

test('with reloads of good and bad configurations between two kills, it follows the good ones and also loses nothing [long]', async () => {
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
