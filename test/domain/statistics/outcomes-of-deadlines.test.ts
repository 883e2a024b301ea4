import { expect, test } from 'vitest';
import { outcomesOf } from '../../../src/domain/statistics/deadlines.ts';

test('the last deadline was missed if a Flight landed only after the one that follows it', () => {
  const due = [
    { atUs: 100, fromUs: 0 },
    { atUs: 200, fromUs: 100 },
  ];
  const flights = [{ flightId: 'f', startedAtUs: 250, endedAtUs: 310, status: 'succeeded' }];
  const outcomes = (nextUs?: number) => outcomesOf(due, flights, nextUs).map(({ outcome }) => outcome);
  expect(outcomes(300)).toEqual(['missed', 'missed']);
  expect(outcomes()).toEqual(['missed', 'late']);
});
