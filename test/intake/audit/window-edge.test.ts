import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findEdge, windowEdge } from '../../../src/intake/audit/audit-window.ts';
import { ANCHOR_MARGIN_US } from '../../../src/intake/logs/sweep.ts';

const SECOND_US = 1_000_000;
const at = (seconds: number) => seconds * SECOND_US;

describe('an edge', () => {
  test.each<[string, number[], number, number]>([
    ['stays where it should be when nothing is near', [90, 110], 100, 100],
    ['moves to the margin before an entry', [100.5], 100, 99.4],
    ['moves to the margin behind an entry', [99.5], 100, 100.6],
    ['moves over a burst to the nearer end', [99, 100, 101, 102], 100, 97.9],
    ['lies between two entries that leave just enough room', [98.9, 101.1], 100, 100],
  ])('%s', (_, seconds, target, expected) => {
    const edge = windowEdge(seconds.map(at), at(target), { lowUs: at(0), highUs: at(200) });
    expect(edge).toEqual({ us: Math.round(at(expected)), isQuiet: true });
  });

  test('stays within its bounds, even if it is not quiet there', () => {
    const bounds = { lowUs: at(99), highUs: at(101) };
    expect(windowEdge([at(100)], at(100), bounds)).toEqual({ us: at(100), isQuiet: false });
    expect(windowEdge([at(99.5)], at(100), bounds)).toEqual({ us: at(100.6), isQuiet: true });
  });

  test('that is quiet has no entry within the margin, and there is none nearer to the target', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 25, size: 'max' }),
        fc.integer({ min: 5, max: 55 }),
        (seconds, target) => {
          const instantsUs = seconds.toSorted((a, b) => a - b).map(at);
          const isQuietAt = (us: number) => instantsUs.every((one) => Math.abs(one - us) >= ANCHOR_MARGIN_US);
          const edge = windowEdge(instantsUs, at(target), { lowUs: 0, highUs: at(60) });
          expect(edge.isQuiet).toBe(isQuietAt(edge.us));
          for (let us = 0; us <= at(60); us += 100_000) {
            if (isQuietAt(us))
              expect(Math.abs(us - at(target))).toBeGreaterThanOrEqual(Math.abs(edge.us - at(target)));
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('is searched within ten minutes, among what the store has there', async () => {
    const asked: unknown[] = [];
    const entries = async (window: unknown) => {
      asked.push(window);
      return [{ occurredAtUs: at(5_000) }];
    };
    const edge = await findEdge(entries, at(5_000), { lowUs: at(4_990), highUs: at(99_999) });
    expect(edge).toEqual({ us: at(5_000) - ANCHOR_MARGIN_US, isQuiet: true });
    expect(asked).toEqual([{ fromUs: at(4_990) - ANCHOR_MARGIN_US, toUs: at(5_600) + ANCHOR_MARGIN_US }]);
  });
});
