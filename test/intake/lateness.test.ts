import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLateness } from '../../src/intake/lateness.ts';

const SECOND_US = 1_000_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a feed learns, with the instant of each question and answer. */
function start(overlapSeconds: number) {
  let nowMs = 0;
  const lateness = createLateness(overlapSeconds * SECOND_US, { monotonicMs: () => nowMs });
  return {
    late(latenessUs: number, atMs: number): void {
      nowMs = atMs;
      lateness.late(latenessUs);
    },
    overlapUs(atMs: number): number {
      nowMs = atMs;
      return lateness.overlapUs();
    },
  };
}

describe('the overlap', () => {
  test('starts as configured', () => {
    expect(start(120).overlapUs(0)).toBe(120 * SECOND_US);
    expect(start(120).overlapUs(DAY_MS - HOUR_MS)).toBe(120 * SECOND_US);
  });

  test('shrinks to 10 s after a day in which nothing was late', () => {
    expect(start(120).overlapUs(DAY_MS)).toBe(10 * SECOND_US);
  });

  test('is twice the lateness, as soon as that is more', () => {
    const lateness = start(120);
    lateness.late(90 * SECOND_US, HOUR_MS);
    expect(lateness.overlapUs(HOUR_MS)).toBe(180 * SECOND_US);
  });

  test('never exceeds 10 minutes, unless more is configured', () => {
    const lateness = start(120);
    lateness.late(7 * HOUR_MS * 1000, 0);
    expect(lateness.overlapUs(0)).toBe(600 * SECOND_US);
    expect(start(1800).overlapUs(0)).toBe(1800 * SECOND_US);
  });

  test('is never below 10 s', () => {
    expect(start(0).overlapUs(0)).toBe(10 * SECOND_US);
  });

  test('ignores the rarest among thousands, unless they are recent', () => {
    const lateness = start(0);
    lateness.late(200 * SECOND_US, 0);
    for (let count = 0; count < 5_000; count += 1) lateness.late(15 * SECOND_US, 0);
    expect(lateness.overlapUs(HOUR_MS)).toBe(200 * SECOND_US);
    expect(lateness.overlapUs(2 * HOUR_MS)).toBe(30 * SECOND_US);
  });

  test('forgets what was late a day ago', () => {
    const lateness = start(120);
    lateness.late(250 * SECOND_US, 30 * HOUR_MS);
    expect(lateness.overlapUs(53 * HOUR_MS)).toBe(500 * SECOND_US);
    expect(lateness.overlapUs(54 * HOUR_MS)).toBe(10 * SECOND_US);
  });

  test('covers twice the 99.9th percentile of any day, and whatever was seen last [long]', () => {
    const anyLateness = fc.integer({ min: 0, max: 400 * SECOND_US });
    fc.assert(
      fc.property(fc.array(anyLateness, { minLength: 1, maxLength: 3_000, size: 'max' }), (seenUs) => {
        const lateness = start(0);
        for (const us of seenUs) lateness.late(us, 5 * HOUR_MS);
        const sorted = seenUs.toSorted((a, b) => a - b);
        const quantileUs = sorted[Math.ceil(0.999 * sorted.length) - 1]!;
        const overlapUs = lateness.overlapUs(5 * HOUR_MS);
        expect(overlapUs).toBeGreaterThanOrEqual(Math.min(600 * SECOND_US, 2 * quantileUs));
        expect(overlapUs).toBeGreaterThanOrEqual(sorted.at(-1)!);
        // Rounding keeps it within a tenth.
        const mostUs = Math.max(10 * SECOND_US, sorted.at(-1)!, 2.2 * quantileUs, 2.2 * SECOND_US);
        expect(overlapUs).toBeLessThanOrEqual(Math.min(600 * SECOND_US, mostUs));
      }),
      { numRuns: 100 },
    );
  });
});
