import { expect, test } from 'vitest';
import { FailingOperations } from '../../src/service/failing-operations.ts';

test('an operation fails alone from its fourth failure in a row on, as long as others were answered lately', () => {
  const failing = new FailingOperations();
  const fails = (atMs: number) => failing.failed('getBirdLogs', atMs);
  expect([fails(0), fails(1), fails(2), fails(3)]).toEqual([false, false, false, false]);
  failing.answered('searchFlights', 10);
  expect([fails(11), fails(30_009), fails(30_010)]).toEqual([true, true, false]);
  failing.answered('searchNests', 40_000);
  expect(fails(40_001)).toBe(true);
});

test('an operation that was answered begins anew, and says nothing of itself', () => {
  const failing = new FailingOperations();
  const fails = () => failing.failed('getBirdLogs', 5);
  fails();
  failing.answered('searchFlights', 5);
  failing.answered('getBirdLogs', 5);
  expect([fails(), fails(), fails(), fails()]).toEqual([false, false, false, false]);
});
