import { expect, test } from 'vitest';
import { annotate, eventLabels, tidyLabels, whereabouts } from '../../../src/domain/alert/labels.ts';
import { defaultRule } from '../../../src/domain/kinds/kinds.ts';
import { flight, MARKETING, NO_BIRD } from '../world.ts';

test('forward can match the place, the feed and the type of an event', () => {
  expect(eventLabels(flight('failed', { started: 0, at: 5 }).event)).toEqual({
    region: 'eu',
    feed: 'flight',
    type: 'flight.failed',
    nest_id: '682',
    nest: 'Marketing',
    bird_id: '148890',
    bird: 'Translate blog',
  });
});

test('labels are sorted, clean and never empty', () => {
  const labels = tidyLabels({ b: ' x\ny ', a: '1', c: '', d: ' \u200b ' });
  expect(Object.entries(labels)).toEqual([
    ['a', '1'],
    ['b', 'x y'],
  ]);
});

test("a rule's annotations win, and empty ones are omitted", () => {
  const rule = { ...defaultRule('FlightFailed'), annotations: { summary: 'ours', runbook_url: '' } };
  expect(annotate({ rule, labels: {} }, 'theirs', '')).toEqual({ summary: 'ours' });
});

test.each([
  [MARKETING, 'in Marketing (EU)'],
  [{ ...MARKETING, nest: '' }, 'in Nest 682 (EU)'],
  [{ ...MARKETING, nest: ' \u200b ' }, 'in Nest 682 (EU)'],
  [{ ...NO_BIRD, nest: '', nestId: '' }, '(EU)'],
])('%j is %s', (place, expected) => {
  expect(whereabouts(place)).toBe(expected);
});
