import { beforeEach, expect, test } from 'vitest';
import { createStoreClock, type StoreClock } from '../../src/time/clock.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

const SECOND_US = 1_000_000;

let own: VirtualClock;
let clock: StoreClock;

beforeEach(() => {
  own = createVirtualClock(TEST_START_US);
  clock = createStoreClock(own);
});

/** The store clock's time, in seconds from the start. */
const shown = () => (clock.nowUs() - TEST_START_US) / SECOND_US;

/** The store reports its time, in seconds from the start; the answer takes a while. */
async function hear(storeSeconds: number, tookMs = 0): Promise<void> {
  const askedMs = clock.monotonicMs();
  await own.advance(tookMs);
  clock.heard(TEST_START_US + storeSeconds * SECOND_US, askedMs);
}

test("shows the machine's time until the store was heard, and the store’s from then on", async () => {
  expect(shown()).toBe(0);
  await own.advance(1_000);
  expect([shown(), clock.ownAheadUs()]).toEqual([1, 0]);
  await hear(61);
  expect([shown(), clock.ownAheadUs()]).toEqual([61, -60 * SECOND_US]);
  await own.advance(2_500);
  expect(shown()).toBe(63.5);
});

test("is not affected by changes of the machine's clock", async () => {
  await hear(0);
  own.stepWall(3_600_000);
  expect([shown(), clock.ownAheadUs()]).toEqual([0, 3_600 * SECOND_US]);
  own.stepWall(-7_200_000);
  await own.advance(500);
  expect([shown(), clock.ownAheadUs()]).toEqual([0.5, -3_600 * SECOND_US]);
});

test('follows the store’s clock when that is set, forward or back', async () => {
  await hear(0);
  await hear(3_600);
  expect(shown()).toBe(3_600);
  await hear(-60);
  expect(shown()).toBe(-60);
});

test.each([
  [0, 2],
  [1, 2],
  [2, 2],
  [2.5, 2.5],
  [-0.5, 1.5],
])('of an answer that took 2 s and says %d s it believes as much as it must: %d', async (said, believed) => {
  await hear(0);
  await hear(said, 2_000);
  expect(shown()).toBe(believed);
});
