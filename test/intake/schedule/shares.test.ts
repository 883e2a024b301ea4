import { expect, test } from 'vitest';
import { createShares } from '../../../src/intake/schedule/schedule.ts';

type Shares = ReturnType<typeof createShares>;

function use(shares: Shares, payer: Parameters<Shares['begin']>[0], requests: number): void {
  shares.begin(payer, requests);
  shares.end(payer, requests, requests);
}

test('a user of a quarter of the requests with a share of a quarter owes nothing', () => {
  const shares = createShares();
  const quarter = shares.open(0.25);
  use(shares, quarter, 5);
  expect(quarter.debt).toBe(15);
  use(shares, undefined, 15);
  expect(quarter.debt).toBe(0);
});

test('a running poll is owed as expected, and afterwards by what it took', () => {
  const shares = createShares();
  const quarter = shares.open(0.25);
  shares.begin(quarter, 5);
  expect(quarter.debt).toBe(15);
  shares.end(quarter, 5, 3);
  expect(quarter.debt).toBe(9);
});

test('nobody saves up unused requests', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  use(shares, undefined, 1_000);
  use(shares, half, 1);
  expect(half.debt).toBe(1);
});

test('who owes nothing owes nothing after others took less than expected', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  shares.begin(undefined, 3);
  shares.end(undefined, 3, 1);
  expect(half.debt).toBe(0);
});

test('requests of one share pay off another, by as many as there were', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  const tenth = shares.open(0.1);
  use(shares, tenth, 3);
  shares.begin(half, 9);
  shares.end(half, 9, 7);
  expect([half.debt, tenth.debt]).toEqual([7, 20]);
});

test('a share that was closed owes nothing more to anybody', () => {
  const shares = createShares();
  const half = shares.open(0.5);
  shares.close(half);
  use(shares, half, 10);
  expect(half.debt).toBe(0);
});
