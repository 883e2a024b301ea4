import { describe, expect, test } from 'vitest';
import { gapsAfter, reportedGaps } from '../../../src/intake/audit/audit-window.ts';
import type { GapRecord } from '../../../src/store/audit-store.ts';

const WINDOW = { fromUs: 100, toUs: 200 };
const found = (fromUs: number, toUs: number, missing = 1) => ({ fromUs, toUs, missing });
const gap = (changes: Partial<GapRecord> = {}): GapRecord => ({
  ...found(120, 130),
  seen: 1,
  notified: 0,
  ...changes,
});

describe('a gap', () => {
  test('is suspected when it is found, and reported when it is found again', () => {
    const first = gapsAfter([], WINDOW, [found(120, 130)]);
    expect(first).toEqual({ gaps: [gap()], missing: 0 });
    expect(reportedGaps(first.gaps).missing).toBe(0);
    const second = gapsAfter(first.gaps, WINDOW, [found(120, 130)]);
    expect(second).toEqual({ gaps: [gap({ seen: 2, notified: 1 })], missing: 1 });
    expect(reportedGaps(second.gaps)).toEqual({ missing: 1, sinceUs: 120 });
  });

  test('is reported once, however often it is found', () => {
    const { missing } = gapsAfter([gap({ seen: 2, notified: 1 })], WINDOW, [found(120, 130)]);
    expect(missing).toBe(0);
  });

  test('is the same one when it is found with other edges', () => {
    const after = gapsAfter([gap({ seen: 2, notified: 1 })], WINDOW, [found(110, 125)]);
    expect(after).toEqual({ gaps: [gap({ ...found(110, 125), seen: 3, notified: 1 })], missing: 0 });
  });

  test('that grows is reported for what is new, and one that shrinks is stored as smaller', () => {
    const known = [gap({ seen: 2, notified: 1 })];
    expect(gapsAfter(known, WINDOW, [found(120, 130, 3)])).toMatchObject({ missing: 2 });
    const larger = [gap({ missing: 3, seen: 2, notified: 3 })];
    expect(gapsAfter(larger, WINDOW, [found(120, 130)]).gaps[0]).toMatchObject({ missing: 1, notified: 1 });
  });

  test('has healed if an audit of its time does not find it, and stays if the audit was of another time', () => {
    const known = [gap({ seen: 2, notified: 1 }), gap({ ...found(20, 30), seen: 4, notified: 1 })];
    expect(gapsAfter(known, WINDOW, [])).toEqual({ gaps: [known[1]], missing: 0 });
  });

  test('that is the oldest comes first', () => {
    const known = [gap({ ...found(20, 30) }), gap({ ...found(300, 310) })];
    const { gaps } = gapsAfter(known, WINDOW, [found(150, 160), found(110, 115)]);
    expect(gaps.map(({ fromUs }) => fromUs)).toEqual([20, 110, 150, 300]);
  });
});
