import { expect, test } from 'vitest';
import { inventoryKillRun } from './killed-reading-run.ts';

const kills = 4;

test(`killed ${kills} times while it reads an inventory that changed, the daemon makes exactly one event of each change [long]`, async () => {
  const { killedAfter, changes, ...wrong } = await inventoryKillRun(kills, 1);
  expect([killedAfter.length, changes]).toEqual([kills, 2 * kills + 1]);
  expect(wrong).toMatchObject({ lost: [], twice: [], invented: [], repeatedUnderAnotherId: [] });
});
