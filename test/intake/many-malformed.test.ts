import { expect, test } from 'vitest';
import { createCommit } from '../../src/intake/commit.ts';
import { LIMITS } from '../../src/limits.ts';
import type { Happening } from '../../src/report.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const { most } = LIMITS.malformed_items;

test.each([
  [most - 1, most - 1, 0],
  [most, most, 0],
  [most + 1, most, 1],
  [20 * most, most, 1],
])('of %d malformed entries in one answer, %d are set aside', async (given, kept, reached) => {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const heard: Happening[] = [];
  const report = (one: Happening) => heard.push(one);
  const commit = createCommit({ store, rules: [], forward: [], clock, report, changed() {} });
  const stream = await store.streams.open('eu', 'notification', '');
  const quarantined = Array.from({ length: given }, (_, at) => ({ raw: `{"at":${at}}`, reason: 'no id' }));
  await commit({ region: 'eu', stream, quarantined });
  const counts = heard.flatMap((one) => (one.what === 'quarantined' ? one.count : []));
  expect(counts).toEqual([kept]);
  const limits = heard.filter((one) => one.what === 'limit_reached' && one.limit === 'malformed_items');
  expect(limits).toHaveLength(reached);
});
