import { describe, expect, test } from 'vitest';
import { addEvidence, expectedRate, noEvidence } from '../../../src/intake/schedule/arrival-rate.ts';

const HOUR = 3_600_000;
const perHour = (evidence: ReturnType<typeof noEvidence>, averagePerHour: number) =>
  expectedRate(evidence, averagePerHour / HOUR) * HOUR;

describe('the expected rate', () => {
  test('is the average of the feed as long as nothing is known', () => {
    expect(perHour(noEvidence(0), 6)).toBeCloseTo(6, 9);
  });

  test('comes from what was seen, as soon as that is more than half an entry', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 100, HOUR, 0);
    expect(perHour(evidence, 6)).toBeCloseTo(100.5 / (0.5 / 6 + 1), 9);
  });

  test('of a stream in which nothing comes sinks, and never to nothing', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 0, 5 * HOUR, 0);
    expect(perHour(evidence, 6)).toBeCloseTo(0.5 / (0.5 / 6 + 5), 9);
  });

  test('forgets within hours: what is 6 hours old counts for 1/e', () => {
    const evidence = noEvidence(0);
    addEvidence(evidence, 10, HOUR, 0);
    addEvidence(evidence, 0, 0, 6 * HOUR);
    expect(evidence.entries).toBeCloseTo(10 / Math.E, 9);
    expect(evidence.coveredMs).toBeCloseTo(HOUR / Math.E, 3);
  });

  test('of a feed that has shown nothing is an entry in a day', () => {
    expect(expectedRate(noEvidence(0)) * 24 * HOUR).toBeCloseTo(1, 9);
  });
});
