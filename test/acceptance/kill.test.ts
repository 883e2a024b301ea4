import { expect, test } from 'vitest';
import { killRun } from './kill-run.ts';

test('killed at random moments under load, the daemon loses nothing and repeats only under the same webhook-id', async () => {
  const figures = await killRun({ kills: 5, seed: 1 });
  expect(figures).toMatchObject({ kills: 5, lost: [], repeatedUnderAnotherId: [], crashes: [] });
  expect(figures.events).toBeGreaterThan(100);
}, 90_000);
