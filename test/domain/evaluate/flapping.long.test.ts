import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../src/domain/alert/alert.ts';
import { isSettled } from '../../../src/domain/grouping/group.ts';
import {
  birdLog,
  birdStatus,
  connectionLost,
  flight,
  minute,
  NO_BIRD,
  notification,
  regionHealth,
  rule,
  storyUnder,
  watch,
} from '../world.ts';

const RUNS = 100;

const failed = (at: number, message = '') => flight('failed', { started: at - 1, at, message });
const landed = (at: number) => flight('succeeded', { started: at - 0.5, at });

describe('for', () => {
  const rules = [rule('FlightFailed', { forMs: 600_000 })];

  test('an alert that does not last is never notified, and leaves nothing behind', () => {
    const story = storyUnder(rules, [1, failed(1)]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', lastSeq: 0, dueAtUs: minute(11) });
    expect(isForgettable(story.the('FlightFailed'))).toBe(false);
    story.tell(6, landed(6));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', dueAtUs: null });
    expect(isSettled(story.the('FlightFailed'), [])).toBe(true);
    story.pass(60);
    expect(story.firing()).toEqual([]);
    expect(story.links()).toEqual([]);
  });

  test('what is dated ahead of our clock, which may be slow, counts as true since now', () => {
    const atOnce = storyUnder([rule('FlightFailed')], [1, failed(61)]);
    expect(atOnce.the('FlightFailed').state).toBe('firing');
    const later = storyUnder(rules, [1, failed(61)]);
    expect(later.the('FlightFailed')).toMatchObject({ state: 'pending', dueAtUs: minute(11) });
  });

  test('one that lasts fires by time alone, with everything that came meanwhile', () => {
    const story = storyUnder(rules, [1, failed(1, 'first')], [6, failed(5, 'second')]);
    story.pass(10.9);
    expect(story.firing()).toEqual([]);
    story.pass(11);
    expect(story.the('FlightFailed')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(1),
      eventsTotal: 2,
      lastSeq: 2,
      dueAtUs: minute(5 + 1440),
    });
    expect(story.the('FlightFailed').labels.error).toBe('first');
    expect(story.links().map(({ event }) => event.message)).toEqual(['first', 'second']);
    story.tell(20, landed(19));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(19) });
  });

  test('is already over for a failure that is read late', () => {
    const story = storyUnder(rules, [20, failed(1)]);
    expect(story.firing()).toEqual(['FlightFailed warning']);
  });

  test('starts again after the end, and the notified state stays as it was meanwhile', () => {
    const story = storyUnder(rules, [20, failed(1)], [30, landed(29)]);
    const over = story.the('FlightFailed');
    story.tell(40, failed(40, 'again'));
    expect(story.the('FlightFailed')).toMatchObject({
      state: 'resolved',
      endsAtUs: minute(29),
      annotations: over.annotations,
      labels: over.labels,
    });
    expect(isForgettable(story.the('FlightFailed'))).toBe(false);
    story.pass(50);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', startsAtUs: minute(40), lastSeq: 2 });
    expect(story.the('FlightFailed').labels.error).toBe('again');
  });

  test('ends by quiet before it fires, if that is shorter', () => {
    const story = watch([rule('BirdTriggerFailing', { forMs: 3_600_000, resolveAfterMs: 600_000 })]);
    story.tell(2, birdLog('EventError', 1), birdLog('EventError', 2));
    story.pass(12);
    expect(story.the('BirdTriggerFailing')).toMatchObject({ state: 'pending', memory: null, dueAtUs: null });
  });

  test('a worse alert of the same subject takes over its time', () => {
    const story = watch([rule('ConnectionDisconnected', { forMs: 600_000 })]);
    story.tell(1, connectionLost(1, 'Retrying'));
    story.tell(8, connectionLost(8, 'all retries exhausted'));
    story.pass(10.9);
    expect(story.firing()).toEqual([]);
    story.pass(11);
    expect(story.firing()).toEqual(['ConnectionDisconnected critical']);
    story.pass(20);
    expect(story.alerts().map(({ id, state }) => [id.split('/').at(-1), state])).toEqual([
      ['warning', 'pending'],
      ['critical', 'firing'],
    ]);
  });

  test('one that was already notified does not wait again when it becomes worse', () => {
    const story = watch([rule('BirdDeactivated', { forMs: 600_000 })]);
    story.tell(1, birdStatus('suspended', 1, 'active'));
    story.pass(11);
    expect(story.firing()).toEqual(['BirdDeactivated warning']);
    story.tell(15, notification('FlowDeactivated', 14, { place: NO_BIRD, entity: { id: '148890' } }));
    expect(story.firing()).toEqual(['BirdDeactivated critical']);
  });

  test('includes all that came while it waited, however many, and stays small meanwhile [long]', () => {
    const story = watch(rules);
    for (let at = 0; at < 140; at += 1) story.tell(8, failed(1 + at / 20, `no. ${at} ${'x'.repeat(9000)}`));
    expect(story.links()).toEqual([]);
    expect(JSON.stringify({ ...story.the('FlightFailed'), annotations: {} }).length).toBeLessThan(15_000);
    story.pass(11);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', eventsTotal: 140, lastSeq: 140 });
    expect(story.links().map(({ event }) => event.message.split(' x')[0])).toEqual(
      Array.from({ length: 140 }, (_, at) => `no. ${at}`),
    );
  });

  test('includes nothing of what was over before its time, even if that came in one batch', () => {
    const story = watch(rules);
    story.tell(20, failed(1, 'told'));
    story.tell(22, landed(21));
    story.tell(24, failed(23, 'over'), failed(23.5, 'over'), landed(24));
    story.tell(25, failed(24.5, 'over'), failed(24.6, 'over'), failed(24.7, 'over'));
    story.tell(27, landed(26));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', lastSeq: 1 });
    story.tell(30, failed(29, 'lasting'), failed(30, 'lasting'));
    story.pass(40);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', eventsTotal: 2, lastSeq: 3 });
    story.tell(41, failed(41, 'more'));
    expect(story.links().map(({ event }) => event.message)).toEqual(['told', 'lasting', 'lasting', 'more']);
  });
});

describe('keep_firing_for', () => {
  const rules = [rule('FlightFailed', { keepFiringForMs: 600_000, flapping: null, threshold: 2 })];

  test('is counted from now if the end is dated ahead of our clock', () => {
    const plain = storyUnder([rule('FlightFailed')], [1, failed(1)], [2, landed(62)]);
    expect(plain.the('FlightFailed').state).toBe('resolved');
    const keeping = rule('FlightFailed', { keepFiringForMs: 600_000 });
    const kept = storyUnder([keeping], [1, failed(1)], [2, landed(62)]);
    const held = { untilUs: minute(12) };
    expect(kept.the('FlightFailed')).toMatchObject({ state: 'firing', flapping: { held } });
  });

  test('holds the end back, and then says when it was', () => {
    const story = storyUnder(rules, [2, failed(1), failed(2)], [7, landed(6)]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', endsAtUs: 0, dueAtUs: minute(16) });
    story.pass(16);
    expect(story.the('FlightFailed')).toMatchObject({
      state: 'resolved',
      endsAtUs: minute(6),
      dueAtUs: null,
    });
    expect(story.the('FlightFailed').annotations.resolved_by).toBe(
      'a Flight that started on 2 Jul 2026, 12:05 UTC succeeded',
    );
    expect(story.the('FlightFailed').ending).toBe('over');
  });

  test('continues the same episode if it fires again meanwhile', () => {
    const story = storyUnder(rules, [2, failed(1, 'a'), failed(2, 'a')], [6, landed(6)], [8, failed(7, 'b')]);
    // One failure is below the threshold: it waits, and the end is still held back.
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', lastSeq: 2 });
    story.tell(9, failed(9, 'b'));
    expect(story.the('FlightFailed')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(1),
      eventsTotal: 4,
      lastSeq: 4,
    });
    expect(story.the('FlightFailed').labels.error).toBe('a');
    story.pass(60);
    expect(story.firing()).toEqual(['FlightFailed warning']);
  });

  test('what was counted while the end was held back still counts afterwards', () => {
    const story = storyUnder(rules, [2, failed(1), failed(2)], [6, landed(6)], [15, failed(15)]);
    story.pass(16);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', dueAtUs: minute(25) });
    story.tell(20, failed(20));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', startsAtUs: minute(15), lastSeq: 4 });
  });

  test('an end that was read late is not held back', () => {
    const story = storyUnder(rules, [2, failed(1), failed(2)], [40, landed(6)]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(6) });
  });

  test('an alert that a worse one replaces ends at once', () => {
    const story = watch([rule('ConnectionDisconnected', { keepFiringForMs: 3_600_000 })]);
    story.tell(1, connectionLost(1, 'Retrying'));
    story.tell(3, connectionLost(3, 'exhausted'));
    expect(story.firing()).toEqual(['ConnectionDisconnected critical']);
  });

  test('also applies to alerts of regions', () => {
    const story = watch([rule('RegionDown', { keepFiringForMs: 600_000 })]);
    story.tell(0, regionHealth('down', 0));
    story.pass(1);
    story.tell(5, regionHealth('up', 5));
    story.tell(7, regionHealth('down', 7));
    story.pass(14);
    expect(story.firing()).toEqual(['RegionDown critical']);
    expect(story.the('RegionDown').startsAtUs).toBe(minute(0));
    story.tell(20, regionHealth('up', 20));
    story.pass(30);
    expect(story.firing()).toEqual([]);
  });
});

describe('flapping', () => {
  const rules = [rule('FlightFailed', { flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 } })];
  const flapped = () => {
    const story = watch(rules);
    for (const at of [0, 10, 20]) {
      story.tell(at + 1, failed(at + 1));
      if (at < 20) story.tell(at + 6, landed(at + 6));
    }
    return story;
  };

  test('begins with the change that is one too many, and holds the alert', () => {
    const story = flapped();
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', startsAtUs: minute(21) });
    expect(story.the('FlightFailed').annotations.flapping).toBe(
      'it changed 4 times or more within 1 h, so it stays open until it has been calm for 30 min',
    );
    story.tell(26, landed(26));
    story.tell(31, failed(31));
    story.tell(36, landed(36));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', eventsTotal: 2, lastSeq: 4 });
    expect(story.the('FlightFailed').annotations.flapping).toBeTruthy();
    story.pass(65);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.pass(66);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(36) });
  });

  test('starts again once it was calm', () => {
    const story = flapped();
    story.tell(26, landed(26));
    story.pass(56);
    story.tell(60, failed(60));
    expect(story.the('FlightFailed').annotations).not.toHaveProperty('flapping');
    story.tell(61, landed(61));
    expect(story.firing()).toEqual([]);
  });

  test('is not what takes longer than the window', () => {
    const story = watch(rules);
    for (const at of [0, 35, 70, 105]) {
      story.tell(at + 1, failed(at + 1));
      expect(story.the('FlightFailed').annotations).not.toHaveProperty('flapping');
      story.tell(at + 6, landed(at + 6));
      expect(story.firing()).toEqual([]);
    }
  });

  test('can be turned off', () => {
    const story = watch([rule('FlightFailed', { flapping: null })]);
    for (let at = 0; at < 40; at += 2) {
      story.tell(at + 1, failed(at + 1));
      story.tell(at + 2, landed(at + 2));
      expect(story.firing()).toEqual([]);
    }
    expect(story.the('FlightFailed').flapping).toEqual({ changesUs: [] });
  });
});

test('whatever is held back: no failure is lost or notified twice, and calm ends it all [long]', () => {
  const step = fc.record({
    fails: fc.boolean(),
    minutes: fc.integer({ min: 0, max: 40 }),
    late: fc.integer({ min: 0, max: 15 }),
  });
  const setting = fc.record({
    keepFiringForMs: fc.constantFrom(0, 300_000, 3_600_000),
    flapping: fc.constantFrom(null, { changes: 3, withinMs: 3_600_000, calmMs: 1_200_000 }),
  });
  fc.assert(
    fc.property(setting, fc.array(step, { maxLength: 40, size: 'max' }), (change, steps) => {
      const story = watch([rule('FlightFailed', change)]);
      const failures: string[] = [];
      let now = 10;
      for (const { fails, minutes, late } of steps) {
        now += minutes;
        story.pass(now);
        const fact = fails ? failed(now - late) : landed(now - late);
        if (fails) failures.push(fact.event.key);
        story.tell(now, fact);
      }
      expect(story.links().map(({ event }) => event.key)).toEqual(failures);
      story.tell(now + 1, landed(now + 1));
      story.pass(now + 2000);
      expect(story.firing()).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});
