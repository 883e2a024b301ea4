import { expect, test } from 'vitest';
import { createLoopWatch } from '../../src/observe/loop-watch.ts';
import { createVirtualClock } from '../virtual-clock.ts';

/** The clock of an event loop that can be kept busy: then time passes, and no timer fires. */
function busyLoop() {
  const clock = createVirtualClock();
  let busyMs = 0;
  return {
    advance: clock.advance,
    pending: clock.pending,
    isBusyFor(ms: number) {
      busyMs += ms;
    },
    clock: { ...clock, monotonicMs: () => clock.monotonicMs() + busyMs },
  };
}

test('a loop that is never busy has no long turn', async () => {
  const { clock, advance } = busyLoop();
  const watch = createLoopWatch(clock);
  await advance(10_000);
  expect(watch.longestTurnMs()).toBe(0);
});

test('the longest of several turns is shown once, and then the longest since', async () => {
  const { clock, advance, isBusyFor } = busyLoop();
  const watch = createLoopWatch(clock);
  for (const ms of [300, 1200, 50]) {
    await advance(1000);
    isBusyFor(ms);
  }
  await advance(1000);
  const longest = watch.longestTurnMs();
  expect(longest).toBeGreaterThanOrEqual(1180);
  expect(longest).toBeLessThanOrEqual(1200);
  await advance(1000);
  expect(watch.longestTurnMs()).toBe(0);
});

test('the turn in which it is asked counts up to then, and the rest of it afterwards', async () => {
  const { clock, advance, isBusyFor } = busyLoop();
  const watch = createLoopWatch(clock);
  await advance(1000);
  isBusyFor(500);
  expect(watch.longestTurnMs()).toBeGreaterThanOrEqual(480);
  isBusyFor(100);
  await advance(1000);
  const rest = watch.longestTurnMs();
  expect(rest).toBeGreaterThanOrEqual(100);
  expect(rest).toBeLessThanOrEqual(120);
});

test('a watch that was stopped leaves no timer', async () => {
  const { clock, advance, pending } = busyLoop();
  const watch = createLoopWatch(clock);
  await advance(1000);
  watch.stop();
  expect(pending()).toBe(0);
});
