import { expect, test } from 'vitest';
import { createBell, sleep } from '../../src/time/clock.ts';
import { createVirtualClock } from '../virtual-clock.ts';

async function hasEnded(promise: Promise<unknown>): Promise<boolean> {
  let ended = false;
  void promise.then(() => {
    ended = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return ended;
}

test('a sleep ends after its time, or as soon as its signal aborts, and leaves no timer behind', async () => {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const short = sleep(clock, 1_000);
  const long = sleep(clock, 60_000, stop.signal);
  await clock.advance(1_000);
  expect(await hasEnded(short)).toBe(true);
  expect(await hasEnded(long)).toBe(false);
  stop.abort();
  expect(await hasEnded(long)).toBe(true);
  expect(clock.pending()).toBe(0);
});

test('a ring wakes up a waiter, and one that nobody heard is kept for the next wait', async () => {
  const clock = createVirtualClock();
  const bell = createBell(clock);
  const waiting = bell.wait(60_000);
  bell.ring();
  expect(await hasEnded(waiting)).toBe(true);
  expect(await waiting).toBe(true);
  bell.ring();
  expect(await hasEnded(bell.wait(60_000))).toBe(true);
  const later = bell.wait(60_000);
  expect(await hasEnded(later)).toBe(false);
  await clock.advance(60_000);
  expect(await hasEnded(later)).toBe(true);
  expect(await later).toBe(false);
  expect(clock.pending()).toBe(0);
});

test('a wait without a time limit ends with its signal', async () => {
  const stop = new AbortController();
  const waiting = createBell(createVirtualClock()).wait(Number.POSITIVE_INFINITY, stop.signal);
  expect(await hasEnded(waiting)).toBe(false);
  stop.abort();
  expect(await hasEnded(waiting)).toBe(true);
});
