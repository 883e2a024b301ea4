import { describe, expect, test } from 'vitest';
import type { FlightTail } from '../../../src/domain/alert/fact.ts';
import { flightWaiting } from '../../../src/domain/kinds/flight-waiting.ts';
import type { History } from '../../../src/domain/kinds/judge.ts';
import {
  birdVanished,
  flight,
  flightGone,
  inAir,
  MARKETING,
  minute,
  rule,
  storyUnder,
  watch,
  wrote,
} from '../world.ts';

const HOUR_MS = 3_600_000;
const RULE = rule('FlightWaiting', { steps: ['*review*', '*approv*'], afterMs: 4 * HOUR_MS });

describe('FlightWaiting', () => {
  test('says at which step a Flight waits, and since when', () => {
    const story = watch([RULE]);
    expect(story.tell(246, wrote(0, { at: 7, readAt: 246 })).alerts).toEqual([]);
    story.tell(248, wrote(0, { at: 7, readAt: 247 }));
    const alert = story.the('FlightWaiting');
    expect(alert).toMatchObject({ state: 'firing', startsAtUs: minute(7), scope: 'eu/bird/148890' });
    expect(alert.labels).toMatchObject({ step: 'Wait for review', severity: 'info', bird: 'Translate blog' });
    expect(alert.labels.flight_id).toBeUndefined();
    expect(alert.annotations).toEqual({
      summary: 'Translate blog waits at step Wait for review in Marketing (EU)',
      description:
        'Waits since 2 Jul 2026, 12:07 UTC (4 h); last wrote in step "Wait for review". Flight f-0, started 2 Jul 2026, 12:00 UTC.',
    });
    // The same again changes nothing that is stored.
    expect(story.tell(250, wrote(0, { at: 7, readAt: 249 })).alerts).toEqual([]);
  });

  test('several Flights of a Bird share the alert, which ends with the last', () => {
    const story = watch([RULE]);
    story.tell(300, wrote(5, { at: 9, readAt: 300 }), wrote(0, { at: 7, readAt: 300 }));
    story.tell(301, wrote(6, { at: 8, readAt: 301 }));
    const said = () => story.the('FlightWaiting').annotations;
    expect(said().summary).toBe('3 Flights of Translate blog wait at step Wait for review in Marketing (EU)');
    expect(said().description).toBe(
      '3 Flights wait, the longest since 2 Jul 2026, 12:07 UTC (4 h); last wrote in step "Wait for review". The longest: Flight f-0, started 2 Jul 2026, 12:00 UTC.',
    );
    story.tell(310, wrote(0, { at: 305, step: 'Publish', readAt: 310, isWait: false }));
    story.tell(320, flight('cancelled', { started: 6, at: 320 }));
    expect(said().description).toMatch(/^Waits since 2 Jul 2026, 12:09 UTC \(5 h\)/);
    story.tell(
      330,
      wrote(5, { at: 329, step: 'Publish', readAt: 330, isWait: false, resumedAtUs: minute(325) }),
    );
    expect(story.the('FlightWaiting')).toMatchObject({
      state: 'resolved',
      ending: 'over',
      endsAtUs: minute(325),
      annotations: { resolved_by: 'went on at 2 Jul 2026, 17:25 UTC, after 5 h 16 min' },
    });
  });

  test('Flights of a Bird that wait at different steps have an alert for each step', () => {
    const story = watch([RULE]);
    story.tell(300, wrote(0, { at: 7, readAt: 300 }), wrote(1, { at: 7, step: 'Approve', readAt: 300 }));
    expect(story.firing()).toEqual(['FlightWaiting info', 'FlightWaiting info']);
    // It has moved from one to the other.
    story.tell(700, wrote(0, { at: 400, step: 'Approve', readAt: 700 }));
    const [alert] = story.alerts().filter(({ state }) => state === 'firing');
    expect(story.firing()).toEqual(['FlightWaiting info']);
    expect(alert!.annotations.description).toMatch(/^2 Flights wait/);
  });

  test.each([
    ['it ended', flight('succeeded', { started: 0, at: 400 }), 'over', 'the Flight succeeded on'],
    ['the service deleted it', flightGone(0, 400), 'gone', 'the service no longer knows the Flight'],
    ['its Bird is gone', birdVanished(400), 'gone', 'the Bird is gone'],
    [
      'it wrote again at the same step',
      wrote(0, { at: 399, readAt: 400 }),
      'over',
      'went on at 2 Jul 2026, 18:39 UTC, after 6 h 32 min',
    ],
    [
      'no rule names its step any more',
      wrote(0, { at: 7, readAt: 400, isWait: false }),
      'gone',
      'no rule says any more that Flights wait at Wait for review',
    ],
  ])('ends when %s', (_what, fact, ending, by) => {
    const story = storyUnder([RULE], [300, wrote(0, { at: 7, readAt: 300 })], [400, fact]);
    const { state, ending: how, annotations } = story.the('FlightWaiting');
    expect([state, how]).toEqual(['resolved', ending]);
    expect(annotations.resolved_by).toContain(by);
  });

  test('another rule, which does not name its step, does not end it', () => {
    const other = rule('FlightWaiting', { id: 'other', steps: ['*sign*'] });
    const story = watch([RULE, other]);
    const facts = [
      { ...wrote(0, { at: 7, readAt: 300 }), rule: RULE.id },
      { ...wrote(0, { at: 7, readAt: 300, isWait: false }), rule: 'other' },
    ];
    story.tell(300, ...facts);
    expect(story.firing()).toEqual(['FlightWaiting info']);
  });

  test('another Flight that ends does not end it', () => {
    const story = watch([RULE]);
    story.tell(300, wrote(0, { at: 7, readAt: 300 }));
    story.tell(310, flight('succeeded', { started: 1, at: 310 }), flightGone(2, 310));
    expect(story.firing()).toEqual(['FlightWaiting info']);
  });

  test('a Flight that wrote nothing but its take-off has no step', () => {
    const story = watch([rule('FlightWaiting', { steps: ['*'], afterMs: 4 * HOUR_MS })]);
    story.tell(300, wrote(0, { at: 0, step: '', readAt: 300, sort: 'start' }));
    expect(story.the('FlightWaiting').labels.step).toBeUndefined();
  });

  test('a hostile name of a step stays text', () => {
    const story = watch([RULE]);
    story.tell(300, wrote(0, { at: 7, step: `\u202e<b>review</b>\n${'x'.repeat(9000)}`, readAt: 300 }));
    const { labels, annotations } = story.the('FlightWaiting');
    expect(labels.step).toMatch(/^<b>review<\/b> x+…$/);
    expect(labels.step!.length).toBeLessThanOrEqual(200);
    expect(annotations.description).not.toContain('\u202e');
  });

  test('a wait directly after take-off has no step', () => {
    const story = watch([rule('FlightWaiting', { steps: ['*'] })]);
    const atTakeOff = { at: 1, step: '', sort: 'start' } as const;
    story.tell(60, inAir(0, 60, { usualMs: 60_000 }));
    story.tell(300, wrote(0, { ...atTakeOff, readAt: 300 }));
    story.tell(400, wrote(0, { ...atTakeOff, readAt: 400, isWait: false }));
    expect(story.alerts().map(({ annotations }) => annotations.resolved_by)).toEqual([
      'it waits at take-off',
      'no rule says any more that Flights wait at take-off',
    ]);
  });

  test('ends a FlightStuck alert of the same Flight', () => {
    const story = watch([RULE]);
    story.tell(60, inAir(0, 60, { usualMs: 60_000 }), inAir(1, 60, { usualMs: 60_000 }));
    story.tell(61, wrote(0, { at: 7, readAt: 61 }), wrote(1, { at: 7, readAt: 61, isWait: false }));
    expect(story.firing()).toEqual(['FlightStuck warning']);
    const ended = story.alerts().find(({ state }) => state === 'resolved');
    expect(ended).toMatchObject({
      ending: 'superseded',
      labels: { flight_id: 'f-0' },
      annotations: { resolved_by: 'it waits at step Wait for review' },
    });
  });
});

describe('what it makes of the end of a log', () => {
  const NOW = 600;
  const history = { areLogsRead: true } as History;
  const tailOf = (changes: Partial<FlightTail> = {}): FlightTail => ({
    ...{ readAtUs: minute(599), wroteAtUs: minute(7), sort: 'log', scope: 'Wait for review', step: '4' },
    ...{ resumedAtUs: 0, ...changes },
  });
  const judge = (tail: FlightTail | null, { logDueUs = minute(NOW + 30), started = 0, given = RULE } = {}) =>
    flightWaiting.judges!.judge(
      { place: MARKETING, stream: 1, flightId: 'f', startedAtUs: minute(started), logDueUs, tail } as never,
      history,
      given as never,
      minute(NOW),
    );

  test.each([
    ['the name of its step', {}, true],
    ['the id of its step', { scope: 'Go', step: 'review-1' }, true],
    ['the name in another case', { scope: 'REVIEW' }, true],
    ['another step', { scope: 'Translate' }, false],
    ['an error', { sort: 'error' }, false],
    ['an end', { sort: 'end' }, false],
    ['a sort that is not known', { sort: 'other' }, false],
  ] satisfies [string, Partial<FlightTail>, boolean][])('%s', async (_what, changes, isWait) => {
    const { fact, claims, logByUs } = await judge(tailOf(changes));
    expect(fact).toMatchObject({ fact: 'flight_wrote', isWait });
    expect([claims, logByUs]).toEqual([isWait, Infinity]);
  });

  test('a log that was not read is wanted, and for an hour FlightStuck waits for it', async () => {
    const claimed = async (logDueUs: number) => (await judge(null, { logDueUs })).claims;
    expect(await judge(null, { logDueUs: 0 })).toEqual({ nextUs: null, logByUs: Infinity, claims: true });
    expect(await claimed(minute(NOW - 59))).toBe(true);
    expect(await claimed(minute(NOW - 60))).toBe(false);
    // The service refused it.
    expect(await claimed(minute(NOW + 300))).toBe(false);
  });

  test('what was read before nobody wanted it, or is due to be read again, is not told', async () => {
    for (const logDueUs of [0, minute(NOW)]) {
      const judged = await judge(tailOf(), { logDueUs });
      expect(judged).toMatchObject({ claims: true, logByUs: Infinity });
      expect(judged.fact).toBeUndefined();
    }
  });

  test('a young Flight is judged when it is older', async () => {
    const judged = await judge(null, { started: 500 });
    expect(judged).toMatchObject({ nextUs: minute(740) });
    expect(judged.logByUs).toBeUndefined();
  });

  test.each([
    ['once it may have waited for long enough', 450, minute(690) + 1_000_000],
    ['not within an hour', 365, minute(659)],
    ['no sooner than others if it has', 359, Infinity],
  ])('the log of one that waits is read again %s', async (_what, at, expected) => {
    const { logByUs } = await judge(tailOf({ wroteAtUs: minute(at) - (expected === Infinity ? 1e6 : 0) }));
    expect(logByUs).toBe(expected);
  });

  test('a rule without steps wants nothing', async () => {
    expect(await judge(tailOf(), { given: rule('FlightWaiting') })).toEqual({ nextUs: null });
  });
});
