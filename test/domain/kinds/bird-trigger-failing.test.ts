import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../src/domain/alert/alert.ts';
import {
  birdLog,
  birdStatus,
  birdVanished,
  flightStarted,
  minute,
  notification,
  rule,
  storyOf,
  storyUnder,
  watch,
} from '../world.ts';

const TRACE = 'System.Net.Http.HttpRequestException: Connection refused (10.0.0.7:443)\n   at Sdk.Poll()';
const eventError = (at: number, seen = {}) => birdLog('EventError', at, { message: TRACE, ...seen });

describe('BirdTriggerFailing', () => {
  test('fires at the second EventError in a row and says how near the deactivation is', () => {
    const story = storyOf([1, eventError(1)]);
    expect(story.firing()).toEqual([]);
    story.tell(6, eventError(6));
    const alert = story.the('BirdTriggerFailing');
    expect(alert).toMatchObject({ state: 'firing', startsAtUs: minute(1), eventsTotal: 2, lastSeq: 2 });
    expect(alert.labels).toMatchObject({ severity: 'warning', bird: 'Translate blog' });
    expect(alert.labels.error).toBe('System.Net.Http.HttpRequestException: Connection refused (#)');
    expect(alert.annotations.summary).toBe(
      'The trigger of Translate blog in Marketing (EU) failed 2 times in a row (2 of 5 before the service deactivates it)',
    );
    expect(alert.annotations.description).toBe(TRACE);
  });

  test('keeps counting while it fires', () => {
    const story = watch();
    for (const at of [1, 6, 11, 16]) story.tell(at, eventError(at));
    expect(story.the('BirdTriggerFailing').annotations.summary).toContain('4 of 5');
    story.tell(21, eventError(21));
    expect(story.the('BirdTriggerFailing').annotations.summary).toMatch(/5 times in a row$/);
    expect(story.the('BirdTriggerFailing').eventsTotal).toBe(5);
  });

  test.each([
    ['a Flight starts', flightStarted(3)],
    ['the Bird is published', birdLog('Published', 3)],
    ['the Bird is activated', birdLog('Activated', 3)],
  ])('a series ends when %s', (_what, fact) => {
    const story = storyOf([1, eventError(1)], [4, fact]);
    expect(isForgettable(story.the('BirdTriggerFailing'))).toBe(true);
    story.tell(6, eventError(6));
    expect(story.firing()).toEqual([]);
    story.tell(7, eventError(7));
    expect(story.the('BirdTriggerFailing')).toMatchObject({ state: 'firing', startsAtUs: minute(6) });
  });

  test('a series ends with a Flight even if that was seen before the EventErrors around it', () => {
    const story = watch();
    story.tell(3.5, flightStarted(3));
    story.tell(4, eventError(1));
    story.tell(7, { ...eventError(6), flightBeforeUs: minute(3) });
    expect(story.firing()).toEqual([]);
    // A trigger failure that is found late belongs to the earlier series.
    story.tell(8, eventError(2));
    expect(story.firing()).toEqual([]);
    story.tell(9, { ...eventError(8.5), flightBeforeUs: minute(3) });
    expect(story.the('BirdTriggerFailing')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(6),
      eventsTotal: 2,
    });
  });

  test.each([
    ['the Bird is saved', birdLog('Saved', 3)],
    ['a Flight started before', flightStarted(0.5)],
    ['it is seen active', birdStatus('active', 3)],
  ])('a series continues when %s', (_what, fact) => {
    const story = storyOf([1, eventError(1)], [4, fact], [6, eventError(6)]);
    expect(story.firing()).toEqual(['BirdTriggerFailing warning']);
  });

  test('resolves when a Flight starts after the newest EventError', () => {
    const story = storyOf([6, eventError(1), eventError(6)], [8, flightStarted(5)]);
    expect(story.firing()).toHaveLength(1);
    story.tell(9, flightStarted(8));
    expect(story.the('BirdTriggerFailing')).toMatchObject({ state: 'resolved', endsAtUs: minute(8) });
    expect(story.the('BirdTriggerFailing').annotations.resolved_by).toBe(
      'a Flight started on 2 Jul 2026, 12:08 UTC',
    );
  });

  test('what occurred before the series ended no longer counts if it is seen late', () => {
    const story = storyOf([6, eventError(1), eventError(6)], [8, flightStarted(3)]);
    expect(story.tell(9, eventError(2)).alerts).toEqual([]);
    story.tell(10, eventError(9));
    expect(story.the('BirdTriggerFailing').annotations.summary).toContain('2 of 5');
  });

  test('an alert includes only the EventErrors of its series', () => {
    const story = watch([rule('BirdTriggerFailing', { threshold: 3 })]);
    story.tell(5, eventError(1), eventError(5));
    story.tell(6, flightStarted(3));
    story.tell(8, eventError(7), eventError(8));
    expect(story.the('BirdTriggerFailing')).toMatchObject({ state: 'firing', startsAtUs: minute(5) });
    expect(story.links().map((link) => link.event.occurredAtUs)).toEqual([minute(5), minute(7), minute(8)]);
  });

  test.each([
    ['its log says that it was deactivated', birdLog('Deactivated', 21.1)],
    [
      'the service notifies of it',
      notification('FlowDeactivated', 21.1, { entity: { type: 'Flow', id: '148890' } }),
    ],
    ['it is seen suspended', birdStatus('suspended', 22, 'active')],
    ['it is gone', birdVanished(22)],
  ])('resolves when %s', (_what, fact) => {
    const story = watch();
    for (const at of [1, 6, 11, 16, 21]) story.tell(at, eventError(at));
    story.tell(23, fact);
    expect(story.alerts().find((alert) => alert.alertname === 'BirdTriggerFailing')!.state).toBe('resolved');
  });

  test('a reading from before the newest EventError was seen says nothing about it', () => {
    const story = storyOf([6, eventError(1), eventError(2, { seenAt: 6 })]);
    expect(story.tell(7, birdStatus('suspended', 5)).alerts).toEqual([]);
  });

  test('becomes quiet after two hours, also below the threshold', () => {
    const firing = storyOf([6, eventError(1), eventError(6)]);
    firing.pass(126);
    expect(firing.the('BirdTriggerFailing')).toMatchObject({ state: 'resolved', endsAtUs: minute(126) });
    expect(firing.the('BirdTriggerFailing').annotations.resolved_by).toBe('the trigger did not fail for 2 h');
    const pending = storyOf([1, eventError(1)]);
    pending.pass(121);
    expect(isForgettable(pending.the('BirdTriggerFailing'))).toBe(true);
  });

  test('history counts, but only what is new is notified as news', () => {
    const story = storyOf([6, eventError(1, { historic: true, seenAt: 6 })]);
    expect(story.firing()).toEqual([]);
    const fresh = eventError(6);
    story.tell(7, fresh);
    expect(story.the('BirdTriggerFailing')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(1),
      lastSeq: 1,
    });
    expect(story.links().map((link) => link.event)).toEqual([fresh.event]);
  });

  test('history that was quiet long ago does not count', () => {
    const story = watch();
    expect(story.tell(300, eventError(1, { historic: true, seenAt: 300 })).alerts).toEqual([]);
  });

  test('takes another threshold', () => {
    const story = storyUnder([rule('BirdTriggerFailing', { threshold: 1 })], [1, eventError(1)]);
    expect(story.the('BirdTriggerFailing').annotations.summary).toContain('failed once (1 of 5');
  });

  test('keeps a bounded memory, and includes all that the greatest threshold counts [long]', () => {
    const story = watch([rule('BirdTriggerFailing', { threshold: 100 })]);
    const message = 'x'.repeat(30_000);
    for (let at = 1; at < 100; at += 1) story.tell(at, birdLog('EventError', at, { message }));
    expect(JSON.stringify(story.the('BirdTriggerFailing').memory).length).toBeLessThan(300_000);
    story.tell(100, birdLog('EventError', 100));
    expect(story.the('BirdTriggerFailing')).toMatchObject({
      state: 'firing',
      eventsTotal: 100,
      lastSeq: 100,
    });
    for (let at = 101; at < 250; at += 1) story.tell(at, birdLog('EventError', at, { message }));
    expect(JSON.stringify(story.the('BirdTriggerFailing').memory).length).toBeLessThan(5_000);
  });
});
