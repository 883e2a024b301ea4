import { expect, test } from 'vitest';
import { createShares } from '../../../src/intake/schedule/shares.ts';

test('who used a quarter of the requests for its share of a quarter owes nothing', () => {
  const shares = createShares();
  const quarter = shares.open(0.25);
  shares.charge(quarter, 5);
  expect(quarter.debt).toBe(15);
  shares.charge(undefined, 15);
  expect(quarter.debt).toBe(0);
});

test('nobody saves up what it did not use', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  shares.charge(undefined, 1_000);
  shares.charge(half, 1);
  expect(half.debt).toBe(1);
});

test('requests of one share pay off another, and what was counted too high is taken back', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  const tenth = shares.open(0.1);
  shares.charge(tenth, 3);
  shares.charge(half, 7);
  expect([half.debt, tenth.debt]).toEqual([7, 20]);
  shares.charge(half, -2);
  expect([half.debt, tenth.debt]).toEqual([5, 22]);
});

test('a share that was closed owes nothing more to anybody', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  shares.close(half);
  shares.charge(half, 10);
  expect(half.debt).toBe(0);
});
