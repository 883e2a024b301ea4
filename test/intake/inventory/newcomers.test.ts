import { beforeEach, expect, test } from 'vitest';
import { Newcomers } from '../../../src/intake/inventory/compare-listed.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../../virtual-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let clock: VirtualClock;
let store: TestStore;
beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
});

/** For how many minutes the events of a Bird that comes now have been news; undefined: as long as there are any. */
function newsMinutes(newcomers: Newcomers): number | undefined {
  const nowUs = clock.nowUs();
  const sinceUs = newcomers.newsSinceUs(nowUs);
  return sinceUs === undefined ? undefined : (nowUs - sinceUs) / 60e6;
}

test('for a new Bird, news begins an hour before the last reading that lacked it', async () => {
  const newcomers = new Newcomers({ region: 'eu', store, clock });
  await newcomers.load();
  expect(newsMinutes(newcomers)).toBeUndefined();
  newcomers.readWhole(clock.monotonicMs(), clock.nowUs());
  await clock.advance(5 * MINUTE_MS);
  expect(newsMinutes(newcomers)).toBe(65);
});

test.each([
  ['the machine slept, or our clock was set forward', 8 * HOUR_MS, 8 * 60 + 65],
  ['our clock was set back', -8 * HOUR_MS, 65],
])('no news is taken for history if meanwhile %s', async (_what, byMs, minutes) => {
  const newcomers = new Newcomers({ region: 'eu', store, clock });
  newcomers.readWhole(clock.monotonicMs(), clock.nowUs());
  await clock.advance(5 * MINUTE_MS);
  clock.stepWall(byMs);
  expect(newsMinutes(newcomers)).toBe(minutes);
});

test.each([
  [3 * HOUR_MS, 4 * 60],
  [-3 * HOUR_MS, 60],
])('a new life begins where the previous one stored a reading of %i ms ago', async (agoMs, minutes) => {
  const readUs = TEST_START_US - agoMs * 1000;
  await store.streams.putReads('eu', [{ feed: 'inventory', readUs }]);
  const newcomers = new Newcomers({ region: 'eu', store, clock });
  await newcomers.load();
  expect(newsMinutes(newcomers)).toBe(minutes);
});
