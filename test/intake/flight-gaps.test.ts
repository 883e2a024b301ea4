import { beforeEach, describe, expect, test } from 'vitest';
import {
  createFlightGaps,
  type FlightGaps,
  isTouching,
  type UnreadWindow,
} from '../../src/intake/flight-gaps.ts';

const DAY_US = 86_400e6;
const NOW_US = 1_000 * DAY_US;

let gaps: FlightGaps;
beforeEach(() => {
  gaps = createFlightGaps('eu', 30 * 86_400_000);
});

const window = (fromUs: number, toUs: number): UnreadWindow => ({
  fromUs: NOW_US + fromUs,
  toUs: NOW_US + toUs,
});
/** A poll that began at `fromUs` and found these unreadable. */
const polled = (birdId: string, fromUs: number, unread: UnreadWindow[] = []) =>
  gaps.after(birdId, { fromUs: NOW_US + fromUs, serviceNowUs: NOW_US, unread });
function keep(birdId: string, windows: readonly UnreadWindow[]) {
  const fact = gaps.factOf(birdId, windows);
  gaps.keep(birdId, windows);
  return fact;
}

describe('what cannot be read of the Flights', () => {
  test('is one gap where it touches, the oldest first', () => {
    expect(
      polled('1', -100, [window(-30, -20), window(-50, -45), window(-25, -10), window(-24, -22)]),
    ).toEqual([window(-50, -45), window(-30, -10)]);
    expect(isTouching(window(-50, -45), window(-30, -10))).toBe(false);
  });

  test('stays until a poll has looked there and could read it, or it is kept no longer', () => {
    keep('1', polled('1', -100, [window(-50, -45), window(-20, -10)]));
    expect(polled('1', -30)).toEqual([window(-50, -45)]);
    expect(polled('1', Number.POSITIVE_INFINITY, [window(-5, -4)])).toHaveLength(3);
    const later = { fromUs: NOW_US + 40 * DAY_US, serviceNowUs: NOW_US + 40 * DAY_US, unread: [] };
    expect(gaps.after('1', later)).toEqual([]);
    expect(polled('2', -30)).toEqual([]);
  });

  test('is told of all Birds together, once', () => {
    expect(keep('1', [])).toBeUndefined();
    expect(keep('1', [window(-50, -45)])).toMatchObject({ missing: 1, sinceUs: NOW_US - 50 });
    expect(keep('1', [window(-51, -45)])).toBeUndefined();
    expect(keep('2', [window(-20, -10)])).toMatchObject({ missing: 2, sinceUs: NOW_US - 51 });
    expect(gaps.of('2')).toEqual([window(-20, -10)]);
    expect(keep('1', [])).toMatchObject({ missing: 1, sinceUs: NOW_US - 20 });
    expect(keep('2', [])).toMatchObject({ missing: 0, sinceUs: 0 });
    expect(gaps.of('2')).toEqual([]);
  });
});
