import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { publicNames } from './public-names.ts';

const KEPT = new URL('../config/public-names.txt', import.meta.url);

/** A name that is gone breaks what somebody depends on: README says how long it must still be read. */
test('every name that was promised is there, and new ones are promised by `vitest -u`', async () => {
  const names = await publicNames();
  const promised = readFileSync(KEPT, 'utf8').trimEnd().split('\n');
  expect(promised.filter((name) => !names.includes(name))).toEqual([]);
  await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(KEPT.pathname);
});
