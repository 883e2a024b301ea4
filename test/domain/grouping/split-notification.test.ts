import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BATCH_EVENTS,
  batchesOf,
  eventsOfEach,
  type Listed,
  PART_ALERTS,
  PART_EVENTS,
  partsOf,
} from '../../../src/domain/grouping/flush.ts';
import { MAX_EVENTS } from '../../../src/domain/grouping/notification.ts';

/** Alerts with this many events that were not notified yet. */
const listed = (untold: readonly number[], alertname = 'FlightFailed') =>
  untold.map((newEvents): Listed => ({ newEvents, alert: { alertname } }) as Listed);
const sizes = (untold: readonly number[]) => partsOf(listed(untold)).map((part) => part.length);

test('parts are full of alerts,', () => {
  expect(sizes([])).toEqual([]);
  expect(sizes(Array(PART_ALERTS).fill(1))).toEqual([PART_ALERTS]);
  expect(sizes(Array(PART_ALERTS + 1).fill(1))).toEqual([PART_ALERTS, 1]);
});

test('or of events, of which no alert lists more than the newest ones', () => {
  const full = PART_EVENTS / MAX_EVENTS;
  expect(sizes(Array(full).fill(MAX_EVENTS))).toEqual([full]);
  expect(sizes(Array(full + 1).fill(5_000))).toEqual([full, 1]);
});

test('of a cause that Birds share, all are listed that fit in a message', () => {
  expect(eventsOfEach(listed([3, 5_000]))).toBe(MAX_EVENTS);
  expect(eventsOfEach(listed([3, 400], 'SharedCause'))).toBe(PART_EVENTS);
  expect(eventsOfEach(listed([3, 5_000], 'SharedCause'))).toBe(PART_EVENTS / 2);
  expect(partsOf(listed([300, 300], 'SharedCause'))).toHaveLength(2);
});

test('every alert is in exactly one part, in order, and no part is too large [long]', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 3_000, size: 'max' }), (untold) => {
      const all = listed(untold);
      const parts = partsOf(all);
      expect(parts.flat()).toEqual(all);
      for (const part of parts) {
        expect(part.length).toBeGreaterThan(0);
        expect(part.length).toBeLessThanOrEqual(PART_ALERTS);
        const events = part.reduce((sum, one) => sum + Math.min(one.newEvents, MAX_EVENTS), 0);
        expect(events).toBeLessThanOrEqual(PART_EVENTS);
      }
    }),
    { numRuns: 50 },
  );
});

test('every event that was not notified is in exactly one batch, in order; all but the last are full', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 350 }), { maxLength: 30 }), (untold) => {
      const all = untold.map((count, at) => ({ ...listed([count])[0]!, afterSeq: at * 1_000 }));
      const batches = batchesOf(all);
      const seqs = (ones: readonly Listed[]) =>
        ones.flatMap((one) => Array.from({ length: one.newEvents }, (_, index) => one.afterSeq + index + 1));
      expect(batches.flatMap(seqs)).toEqual(seqs(all));
      const sizes = batches.map((batch) => seqs(batch).length);
      expect(sizes.slice(0, -1).every((size) => size === BATCH_EVENTS)).toBe(true);
      expect(sizes.every((size) => size > 0 && size <= BATCH_EVENTS)).toBe(true);
    }),
    { numRuns: 50 },
  );
});
