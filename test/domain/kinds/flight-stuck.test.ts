import { describe, expect, test } from 'vitest';
import type { FlightTail } from '../../../src/domain/alert/fact.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdVanished,
  flight,
  flightGone,
  inAir,
  minute,
  OF_DEFAULT,
  rule,
  storyOf,
  watch,
} from '../world.ts';

const TEN_MINUTES = 600_000;

describe('FlightStuck', () => {
  test('fires when a Flight takes three times as long as usual, and says how long it has taken', () => {
    const story = watch();
    expect(story.tell(29, inAir(0, 29, { usualMs: TEN_MINUTES })).alerts).toEqual([]);
    story.tell(30, inAir(0, 30, { usualMs: TEN_MINUTES }));
    const alert = story.the('FlightStuck');
    expect(alert).toMatchObject({
      id: `FlightStuck/${OF_DEFAULT.FlightStuck}/eu/bird/148890/flight/f-0`,
      scope: 'eu/bird/148890',
      state: 'firing',
      startsAtUs: minute(30),
      eventsTotal: 0,
      dueAtUs: null,
    });
    expect(alert.labels).toEqual({
      alertname: 'FlightStuck',
      bird: 'Translate blog',
      bird_id: '148890',
      flight_id: 'f-0',
      nest: 'Marketing',
      nest_id: '682',
      region: 'eu',
      severity: 'warning',
    });
    expect(alert.annotations).toEqual({
      summary: 'A Flight of Translate blog does not end in Marketing (EU)',
      description:
        'Active since 2 Jul 2026, 12:00 UTC, for more than 30 min. 99 % of its Flights take at most 10 min. Check in the service which step it is at, and cancel it there if it hangs.',
    });
  });

  test.each([
    ['nothing is known of the Bird', { usualMs: null }, 100_000, false],
    ['Flights are short, before a quarter of an hour', { usualMs: 1000 }, 14, false],
    ['Flights are short, after a quarter of an hour', { usualMs: 1000 }, 15, true],
    ['it was not read since then', { usualMs: TEN_MINUTES, readAt: 29 }, 60, false],
    ['it was read since then', { usualMs: TEN_MINUTES, readAt: 30 }, 60, true],
  ])('when %s', (_what, seen, at, fires) => {
    const story = storyOf([at, inAir(0, at, seen)]);
    expect(story.firing()).toEqual(fires ? ['FlightStuck warning'] : []);
    // Nothing is stored about a Flight that is in time.
    if (!fires) expect(story.alerts()).toEqual([]);
  });

  test('the rule can say how long is too long', () => {
    const story = watch([
      rule('FlightStuck', { match: parseMatchers('nest="Legal"'), maxDurationMs: 60_000 }),
      rule('FlightStuck', {
        match: parseMatchers('nest="Marketing"'),
        maxDurationMs: 7_200_000,
        severity: 'page',
      }),
    ]);
    story.tell(119, inAir(0, 119, { usualMs: 60_000 }));
    expect(story.firing()).toEqual([]);
    story.tell(121, inAir(0, 121, { usualMs: 60_000 }));
    expect(story.firing()).toEqual(['FlightStuck page']);
    expect(story.the('FlightStuck').annotations.description).toBe(
      'Active since 2 Jul 2026, 12:00 UTC, for more than 2 h. The rule allows no longer. Check in the service which step it is at, and cancel it there if it hangs.',
    );
  });

  test.each([
    [{}, 'It last wrote at 2 Jul 2026, 12:02 UTC, in step Translate. Cancel it in the service if it hangs.'],
    [{ scope: '' }, 'It last wrote at 2 Jul 2026, 12:02 UTC, in step 3. Cancel it'],
    [{ scope: '', step: '' }, 'It last wrote at 2 Jul 2026, 12:02 UTC. Cancel it'],
    [{ sort: 'start', scope: '', step: '' }, 'It wrote nothing since its take-off. Cancel it'],
    [{ wroteAtUs: 0 }, 'Check in the service which step it is at'],
  ] satisfies [Partial<FlightTail>, string][])('says what it wrote last: %o', (changes, sentence) => {
    const tail: FlightTail = {
      ...{ readAtUs: minute(29), wroteAtUs: minute(2), sort: 'log', scope: 'Translate', step: '3' },
      ...{ resumedAtUs: 0, ...changes },
    };
    const story = storyOf([30, inAir(0, 30, { usualMs: TEN_MINUTES, tail })]);
    expect(story.the('FlightStuck').annotations.description).toContain(sentence);
  });

  test.each(['succeeded', 'failed', 'cancelled'] as const)('resolves when it ends as %s', (status) => {
    const story = watch();
    story.tell(30, inAir(0, 30, { usualMs: TEN_MINUTES }));
    story.tell(36, flight(status, { started: 1, at: 35 }));
    expect(story.firing()).toContain('FlightStuck warning');
    story.tell(41, flight(status, { started: 0, at: 40 }));
    expect(story.the('FlightStuck')).toMatchObject({ state: 'resolved', endsAtUs: minute(40) });
    expect(story.the('FlightStuck').annotations.resolved_by).toBe(
      `the Flight ${status === 'cancelled' ? 'was cancelled' : status} on 2 Jul 2026, 12:40 UTC`,
    );
  });

  test('each Flight has its own alert, notified once', () => {
    const story = watch();
    story.tell(60, inAir(0, 60, { usualMs: TEN_MINUTES }), inAir(1, 60, { usualMs: TEN_MINUTES }));
    expect(story.tell(90, inAir(0, 90, { usualMs: TEN_MINUTES })).alerts).toEqual([]);
    expect(story.firing()).toHaveLength(2);
    story.tell(91, flightGone(1, 91));
    expect(story.firing()).toHaveLength(1);
    story.tell(92, birdVanished(92));
    expect(story.firing()).toEqual([]);
  });
});
