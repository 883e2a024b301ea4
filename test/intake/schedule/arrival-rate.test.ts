import { describe, expect, test } from 'vitest';
import {
  addEvidence,
  expectedRate,
  MEMORY_MS,
  noEvidence,
  presentRate,
} from '../../../src/intake/schedule/poll-value.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const perHour = (evidence: ReturnType<typeof noEvidence>, averagePerHour: number) =>
  expectedRate(evidence, averagePerHour / HOUR) * HOUR;

describe('the expected rate', () => {
  test("is the feed's average as long as nothing is known", () => {
    expect(perHour(noEvidence(0), 6)).toBeCloseTo(6, 9);
  });

  test('comes from what was seen, as soon as that is more than half an entry', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 100, HOUR, 0);
    expect(perHour(evidence, 6)).toBeCloseTo(100.5 / (0.5 / 6 + 1), 9);
  });

  test('of a stream without entries sinks, but never to zero', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 0, 5 * HOUR, 0);
    expect(perHour(evidence, 6)).toBeCloseTo(0.5 / (0.5 / 6 + 5), 9);
  });

  test('forgets within a day: what is 12 hours old counts for 1/e', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 10, HOUR, 0);
    addEvidence(evidence, 0, 0, 12 * HOUR);
    expect(evidence.entries).toBeCloseTo(10 / Math.E, 9);
    expect(evidence.coveredMs).toBeCloseTo(HOUR / Math.E, 3);
  });

  test('of a feed without any entries is one entry in an hour', () => {
    expect(expectedRate(noEvidence(0)) * HOUR).toBeCloseTo(1, 9);
  });
});

describe('the current rate', () => {
  const now = (recent: ReturnType<typeof noEvidence>, longPerHour: number) =>
    presentRate(recent, longPerHour / HOUR) * HOUR;
  const seen = (entries: number, minutes: number) => {
    const evidence = noEvidence(0);
    addEvidence(evidence, entries, minutes * MINUTE, 0, MEMORY_MS.minutes);
    return evidence;
  };

  test('is the expected rate over hours as long as nothing else was seen', () => {
    expect(now(noEvidence(0), 6)).toBeCloseTo(6, 9);
  });

  test('of a Bird that wakes up grows with its first entries', () => {
    expect(now(seen(1, 1), 1 / 12)).toBeCloseTo(1.5 / (6 + 1 / 60), 9);
    expect(now(seen(3, 5), 1 / 12)).toBeGreaterThan(0.5);
  });

  test('of a burst that is over sinks within minutes', () => {
    const burst = seen(20, 5);
    const during = now(burst, 6);
    for (let minute = 5; minute < 45; minute += 5) {
      addEvidence(burst, 0, 5 * MINUTE, (minute + 5) * MINUTE, MEMORY_MS.minutes);
    }
    expect(now(burst, 6)).toBeLessThan(during / 5);
  });

  test('counts no more of a long time than the memory holds', () => {
    const evidence = seen(60, 60);
    expect([evidence.entries, evidence.coveredMs]).toEqual([20, 20 * MINUTE]);
  });
});
