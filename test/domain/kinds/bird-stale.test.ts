import { describe, expect, test } from 'vitest';
import {
  birdIdle,
  birdStatus,
  birdVanished,
  flightStarted,
  minute,
  OF_DEFAULT,
  rule,
  storyOf,
  watch,
} from '../world.ts';

const HOUR_MS = 3_600_000;

describe('BirdStale', () => {
  test('fires at one and a half times the longest known pause', () => {
    const story = watch();
    expect(story.tell(89, birdIdle(0, 89, { usualMs: HOUR_MS })).alerts).toEqual([]);
    story.tell(90, birdIdle(0, 90, { usualMs: HOUR_MS }));
    const alert = story.the('BirdStale');
    expect(alert).toMatchObject({
      id: `BirdStale/${OF_DEFAULT.BirdStale}/eu/bird/148890`,
      state: 'firing',
      startsAtUs: minute(90),
      dueAtUs: null,
    });
    expect(alert.labels).toMatchObject({ bird: 'Translate blog', nest: 'Marketing', severity: 'warning' });
    expect(alert.annotations).toEqual({
      summary: 'Translate blog starts no Flights in Marketing (EU)',
      description:
        'Its last Flight started on 2 Jul 2026, 12:00 UTC; there were never more than 1 h between two Flights.',
    });
    expect(story.tell(120, birdIdle(0, 120, { usualMs: HOUR_MS })).alerts).toEqual([]);
  });

  test.each([
    ['nobody knows how often it flies', birdIdle(0, 100_000), 100_000, false],
    ['it flies very often, before a quarter of an hour', birdIdle(0, 14, { usualMs: 1000 }), 14, false],
    ['it flies very often, after a quarter of an hour', birdIdle(0, 15, { usualMs: 1000 }), 15, true],
    ['its Flights were not read since then', birdIdle(0, 89, { usualMs: HOUR_MS }), 600, false],
  ])('when %s', (_what, fact, at, fires) => {
    const story = storyOf([at, fact]);
    expect(story.firing()).toEqual(fires ? ['BirdStale warning'] : []);
    if (!fires) expect(story.alerts()).toEqual([]);
  });

  test('the rule can say how often Flights should start', () => {
    const story = watch([rule('BirdStale', { expectEveryMs: 25 * HOUR_MS })]);
    story.tell(1499, birdIdle(0, 1499, { hasFlown: false }));
    expect(story.firing()).toEqual([]);
    story.tell(1500, birdIdle(0, 1500, { hasFlown: false }));
    expect(story.the('BirdStale').annotations.description).toBe(
      'No Flight was seen since 2 Jul 2026, 12:00 UTC; one is expected every 25 h.',
    );
  });

  const stale = () => {
    const story = storyOf([100, birdIdle(0, 100, { usualMs: HOUR_MS })]);
    return story;
  };

  test.each([
    ['a Flight starts', flightStarted(101), 101, 'a Flight started on 2 Jul 2026, 13:41 UTC'],
    ['the Bird is suspended', birdStatus('suspended', 102, 'active'), 102, 'the Bird is no longer active'],
    ['the Bird is gone', birdVanished(103), 103, 'the Bird is gone'],
  ])('resolves when %s', (_what, fact, at, by) => {
    const story = stale();
    story.tell(105, fact);
    expect(story.the('BirdStale')).toMatchObject({ state: 'resolved', endsAtUs: minute(at) });
    expect(story.the('BirdStale').annotations.resolved_by).toBe(by);
  });

  test.each([
    ['a Flight that started before comes to light', flightStarted(-5)],
    ['the Bird is seen active', birdStatus('active', 104)],
  ])('keeps firing when %s', (_what, fact) => {
    const story = stale();
    expect(story.tell(105, fact).alerts).toEqual([]);
    expect(story.firing()).toContain('BirdStale warning');
  });

  test('keeps firing when a Flight is found that is itself too long ago', () => {
    const story = stale();
    story.tell(105, flightStarted(10));
    expect(story.firing()).toEqual(['BirdStale warning']);
    story.tell(106, flightStarted(17));
    expect(story.firing()).toEqual([]);
  });
});
