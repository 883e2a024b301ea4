import { expect, test } from 'vitest';
import { createBytesInFlight } from '../../src/http/http-exchange.ts';

const MIB = 1024 * 1024;

/** Whether it has ended after all promise jobs have run. */
async function hasEnded(promise: Promise<void> | undefined): Promise<boolean> {
  let ended = false;
  void Promise.resolve(promise).then(() => {
    ended = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return ended;
}

test('up to the limit answers continue, above it only the first one and small ones', async () => {
  let waits = 0;
  const bytes = createBytesInFlight(4 * MIB, () => {
    waits += 1;
  });
  const [first, second, third, small] = [{}, {}, {}, {}];
  expect(await hasEnded(bytes.take(first, MIB))).toBe(true);
  expect(await hasEnded(bytes.take(second, 3 * MIB))).toBe(true);
  expect(waits).toBe(0);
  const secondGoesOn = bytes.take(second, 1);
  const thirdGoesOn = bytes.take(third, MIB);
  expect(await hasEnded(secondGoesOn)).toBe(false);
  expect(await hasEnded(thirdGoesOn)).toBe(false);
  expect(waits).toBe(2);
  expect(await hasEnded(bytes.take(first, 10 * MIB))).toBe(true);
  expect(await hasEnded(bytes.take(small, 1000))).toBe(true);
  bytes.release(first);
  expect(await hasEnded(secondGoesOn)).toBe(true);
  expect(await hasEnded(thirdGoesOn)).toBe(false);
  bytes.release(second);
  expect(await hasEnded(thirdGoesOn)).toBe(true);
});

test('a request that stops waiting holds nothing any more', async () => {
  const bytes = createBytesInFlight(MIB, () => {});
  const [first, second] = [{}, {}];
  await bytes.take(first, MIB);
  const goesOn = bytes.take(second, MIB);
  expect(await hasEnded(goesOn)).toBe(false);
  bytes.release(second);
  expect(await hasEnded(goesOn)).toBe(true);
  bytes.release(first);
  expect(await hasEnded(bytes.take({}, MIB))).toBe(true);
});
