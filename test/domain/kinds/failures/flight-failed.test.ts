import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../../src/domain/alert/alert.ts';
import { parseMatchers } from '../../../../src/domain/matchers/matcher.ts';
import {
  birdVanished,
  flight,
  flightStarted,
  MARKETING,
  minute,
  OF_DEFAULT,
  rule,
  storyOf,
  storyUnder,
  watch,
} from '../../world.ts';

const TIMEOUT =
  'Upload of "brief 7.docx" to https://cms.example.com/files/91 timed out after 30 s\n   at Sdk.Run()';

type Seen = Omit<Parameters<typeof flight>[1], 'started' | 'at'>;
const failed = (started: number | null, at: number, seen: Seen = {}) =>
  flight('failed', { started, at, ...seen });
const succeeded = (started: number | null, at: number) => flight('succeeded', { started, at });

describe('FlightFailed', () => {
  test('fires at a failure and says what failed, where and why', () => {
    const story = watch();
    const failure = failed(0, 5, { message: TIMEOUT });
    story.tell(6, failure);
    const alert = story.the('FlightFailed');
    expect(alert).toMatchObject({
      id: `FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/148890`,
      scope: 'eu/bird/148890',
      state: 'firing',
      startsAtUs: minute(5),
      endsAtUs: 0,
      eventsTotal: 1,
      lastSeq: 1,
    });
    expect(alert.labels).toEqual({
      alertname: 'FlightFailed',
      bird: 'Translate blog',
      bird_id: '148890',
      error: 'Upload of … to https://cms.example.com/… timed out after # s',
      nest: 'Marketing',
      nest_id: '682',
      region: 'eu',
      severity: 'warning',
    });
    expect(alert.annotations).toEqual({
      summary: 'Flight of Translate blog failed in Marketing (EU)',
      description: TIMEOUT,
    });
    expect(story.links()).toEqual([{ alertId: alert.id, seq: 1, event: failure.event }]);
  });

  test('resolves when a Flight that started later succeeds', () => {
    const story = storyOf([6, failed(0, 5)], [10, succeeded(7, 9)]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(9), memory: null });
    expect(story.the('FlightFailed').annotations.resolved_by).toBe(
      'a Flight that started on 2 Jul 2026, 12:07 UTC succeeded',
    );
    expect(story.the('FlightFailed').ending).toBe('over');
    expect(story.links()).toHaveLength(1);
  });

  test.each([
    ['a Flight that started earlier succeeds', succeeded(-1, 9)],
    ['a Flight that started at the same instant succeeds', succeeded(0, 9)],
    ['a Flight is cancelled', flight('cancelled', { started: 7, at: 9 })],
    ['a Flight starts', flightStarted(7)],
  ])('keeps firing when %s', (_what, fact) => {
    const story = storyOf([6, failed(0, 5)]);
    expect(story.tell(10, fact).alerts).toEqual([]);
    expect(story.firing()).toEqual(['FlightFailed warning']);
  });

  test('waits for a success after the latest of the failed Flights', () => {
    const story = storyOf([6, failed(4, 5), failed(1, 6)], [7, succeeded(3, 7)]);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.tell(8, succeeded(4.5, 8));
    expect(story.firing()).toEqual([]);
  });

  test('notifies of a failure that is seen after the success of a Flight that started later', () => {
    const story = storyOf([10, succeeded(7, 9)], [30, failed(0, 29)]);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.tell(40, succeeded(31, 39));
    expect(story.firing()).toEqual([]);
  });

  test.each([0, 1])(
    'a page with a failure and a later success fires and resolves in any order (%i)',
    (turn) => {
      const story = watch();
      const facts = [failed(0, 5), succeeded(1, 4)];
      story.tell(6, ...(turn === 0 ? facts : facts.toReversed()));
      expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', eventsTotal: 1, lastSeq: 1 });
    },
  );

  test('resolves after a quiet day, counted from when the last failure was seen', () => {
    const story = storyOf([6, failed(0, 5, { seenAt: 6 })], [60, failed(50, 55, { seenAt: 60 })]);
    story.pass(60 + 1439);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.pass(60 + 1440);
    const alert = story.the('FlightFailed');
    expect(alert).toMatchObject({ state: 'resolved', endsAtUs: minute(60 + 1440), eventsTotal: 2 });
    expect(alert.annotations.resolved_by).toBe('there was no further failure for 1 d');
    expect(alert.ending).toBe('quiet');
  });

  test('never resolves by quiet if the rule says so', () => {
    const story = storyUnder([rule('FlightFailed', { resolveAfterMs: null })], [6, failed(0, 5)]);
    expect(story.the('FlightFailed').dueAtUs).toBeNull();
  });

  test('a further failure joins the alert, whose labels stay and whose description is updated', () => {
    const story = watch();
    story.tell(6, failed(0, 5, { message: 'first cause' }));
    story.tell(9, failed(7, 8, { message: 'second cause' }));
    const alert = story.the('FlightFailed');
    expect(alert).toMatchObject({ eventsTotal: 2, lastSeq: 2, startsAtUs: minute(5) });
    expect(alert.labels.error).toBe('first cause');
    expect(alert.annotations.description).toBe('second cause');
  });

  test('a failure after the end begins a new episode of the same alert', () => {
    const story = watch();
    story.tell(6, failed(0, 5, { message: 'first cause' }));
    story.tell(10, succeeded(7, 9));
    story.tell(20, failed(15, 19, { message: 'second cause' }));
    const alert = story.the('FlightFailed');
    expect(alert).toMatchObject({
      state: 'firing',
      startsAtUs: minute(19),
      endsAtUs: 0,
      eventsTotal: 1,
      lastSeq: 2,
    });
    expect(alert.labels.error).toBe('second cause');
    expect(alert.annotations.resolved_by).toBeUndefined();
  });

  test('a Flight that ends as failed a second time is a further event', () => {
    const story = storyOf([6, failed(0, 5, { id: 'f' })], [9, failed(0, 8, { id: 'f' })]);
    expect(story.the('FlightFailed').eventsTotal).toBe(2);
  });

  test('history raises nothing', () => {
    const story = watch();
    expect(story.tell(6, failed(0, 5, { historic: true })).alerts).toEqual([]);
  });

  test('ends when the Bird is deleted', () => {
    const story = storyOf([6, failed(0, 5)], [20, birdVanished(19)]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(19) });
  });

  test('a Flight without a start date counts as started at its end minus its duration', () => {
    const story = storyOf([6, failed(null, 5)], [8, succeeded(4, 7)]);
    expect(story.firing()).toHaveLength(1);
    story.tell(9, succeeded(null, 8));
    expect(story.firing()).toEqual([]);
  });

  describe('with a threshold of 3 within 10 minutes', () => {
    const rules = [rule('FlightFailed', { threshold: 3, windowMs: 600_000 })];

    test('does not fire before the third, then includes all three', () => {
      const story = storyUnder(rules, [1, failed(0, 1)], [4, failed(3, 4)]);
      expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', lastSeq: 0, eventsTotal: 0 });
      story.tell(8, failed(6, 8));
      const alert = story.the('FlightFailed');
      expect(alert).toMatchObject({ state: 'firing', startsAtUs: minute(1), eventsTotal: 3, lastSeq: 3 });
      expect(alert.annotations.summary).toBe(
        '3 or more Flights of Translate blog failed within 10 min in Marketing (EU)',
      );
      expect(story.links().map((link) => link.event.occurredAtUs)).toEqual([minute(1), minute(4), minute(8)]);
    });

    test('once it fires, each failure joins', () => {
      const story = watch(rules);
      for (const at of [1, 2, 3, 60]) story.tell(at, failed(at - 1, at));
      expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', eventsTotal: 4, lastSeq: 4 });
    });

    test('counts by when they failed, not by when they were seen', () => {
      const story = storyUnder(rules, [30, failed(0, 1)], [30, failed(3, 12)], [30, failed(6, 13)]);
      expect(story.firing()).toEqual([]);
      story.tell(31, failed(6, 5));
      expect(story.firing()).toEqual(['FlightFailed warning']);
      expect(story.the('FlightFailed').eventsTotal).toBe(3);
    });

    test('forgets failures that stay below it', () => {
      const story = storyUnder(rules, [1, failed(0, 1)]);
      expect(isForgettable(story.the('FlightFailed'))).toBe(false);
      story.pass(12);
      expect(isForgettable(story.the('FlightFailed'))).toBe(true);
      story.tell(13, failed(0, 13), failed(0, 14));
      expect(story.firing()).toEqual([]);
    });

    test('starts counting again after the end of an episode', () => {
      const story = watch(rules);
      for (const at of [1, 2, 3]) story.tell(at, failed(at - 1, at));
      story.tell(4, succeeded(3, 4));
      story.tell(5, failed(4, 5));
      expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', lastSeq: 3 });
      expect(isForgettable(story.the('FlightFailed'))).toBe(false);
      for (const at of [6, 7]) story.tell(at, failed(at - 1, at));
      expect(story.the('FlightFailed')).toMatchObject({
        state: 'firing',
        startsAtUs: minute(5),
        eventsTotal: 3,
      });
    });

    test('keeps a bounded memory of waiting failures [long]', () => {
      const story = watch([rule('FlightFailed', { threshold: 3, windowMs: 0 })]);
      for (let at = 1; at < 200; at += 1) {
        story.tell(at, failed(at - 1, at, { message: 'x'.repeat(100_000) }));
      }
      expect(JSON.stringify(story.the('FlightFailed').memory).length).toBeLessThan(10_000);
    });
  });

  test('for_each: flight gives each Flight its own alert, and one success ends them all', () => {
    const story = watch([rule('FlightFailed', { forEach: 'flight' })]);
    story.tell(6, failed(0, 5, { id: 'a' }), failed(1, 6, { id: 'b' }));
    expect(story.alerts().map((alert) => [alert.id, alert.labels.flight_id])).toEqual([
      [`FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/148890/flight/a`, 'a'],
      [`FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/148890/flight/b`, 'b'],
    ]);
    story.tell(10, succeeded(2, 9));
    expect(story.firing()).toEqual([]);
  });

  test('for_each: error gives each error its own alert', () => {
    const story = watch([rule('FlightFailed', { forEach: 'error' })]);
    for (const [at, message] of [
      [1, 'No credits left for order 17'],
      [2, 'No credits left for order 18'],
      [3, 'File not found'],
    ] as const) {
      story.tell(at, failed(at - 1, at, { message }));
    }
    expect(story.alerts().map((alert) => [alert.labels.error, alert.eventsTotal])).toEqual([
      ['No credits left for order #', 2],
      ['File not found', 1],
    ]);
  });

  test('the first matching rule decides; its labels and annotations are added', () => {
    const prod = rule('FlightFailed', {
      match: parseMatchers('nest=~"Mark.*"'),
      severity: 'critical',
      labels: { team: 'loc-ops', nest: 'not this', empty: '' },
      annotations: { runbook_url: 'https://wiki.example.com', summary: 'Look at the wiki' },
    });
    const story = watch([rule('FlightFailed', { match: parseMatchers('nest="Sandbox"') }), prod]);
    story.tell(6, failed(0, 5));
    const alert = story.the('FlightFailed');
    expect(alert).toMatchObject({ id: `FlightFailed/${prod.id}/eu/bird/148890`, rule: prod.id });
    expect(alert.labels).toMatchObject({ severity: 'critical', team: 'loc-ops', nest: 'Marketing' });
    expect(alert.labels).not.toHaveProperty('empty');
    expect(alert.annotations).toEqual({
      runbook_url: 'https://wiki.example.com',
      summary: 'Look at the wiki',
    });
  });

  test('rules are matched before the severity is known', () => {
    const story = watch([
      rule('FlightFailed', { match: parseMatchers('severity="warning"'), labels: { a: 'b' } }),
    ]);
    story.tell(6, failed(0, 5));
    expect(story.the('FlightFailed').labels).not.toHaveProperty('a');
  });

  test('missing names are replaced by ids', () => {
    const story = storyOf([6, failed(0, 5, { place: { ...MARKETING, nest: '', bird: '' } })]);
    const alert = story.the('FlightFailed');
    expect(alert.annotations.summary).toBe('Flight of Bird 148890 failed in Nest 682 (EU)');
    expect(alert.labels).not.toHaveProperty('nest');
  });

  test('a renamed Bird keeps its alert', () => {
    const story = watch();
    story.tell(6, failed(0, 5));
    story.tell(9, failed(7, 8, { place: { ...MARKETING, bird: 'Translate news' } }));
    expect(story.the('FlightFailed').labels.bird).toBe('Translate blog');
  });

  test('hostile names are cleaned and cut, long messages are capped', () => {
    const story = watch();
    const place = { ...MARKETING, bird: `\u202eevil\u0007\n name ${'😀'.repeat(300)}` };
    story.tell(6, failed(0, 5, { place, message: '😀'.repeat(5000) }));
    const alert = story.the('FlightFailed');
    expect(alert.labels.bird).toMatch(/^evil name 😀+…$/u);
    expect([...alert.labels.bird!]).toHaveLength(200);
    expect([...alert.annotations.description!]).toHaveLength(2000);
  });
});
