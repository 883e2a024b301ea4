import { describe, expect, test } from 'vitest';
import { minute, NO_BIRD, notification, storyOf, watch } from '../world.ts';

const ENTITY = { type: 'Connection', id: '77', name: 'Acme CMS' };

describe('ServiceNotification', () => {
  test('reports a notification of an unknown type', () => {
    const story = watch();
    story.tell(6, notification('QuotaReached', 5, { place: NO_BIRD, entity: ENTITY, message: '90 % used' }));
    const alert = story.the('ServiceNotification');
    expect(alert).toMatchObject({ state: 'firing', startsAtUs: minute(5), eventsTotal: 1 });
    expect(alert.labels).toMatchObject({
      severity: 'warning',
      type: 'notification.QuotaReached',
      entity_name: 'Acme CMS',
    });
    expect(alert.annotations).toEqual({
      summary: 'The service reports QuotaReached about Acme CMS in Marketing (EU)',
      description: '90 % used',
    });
  });

  test('also reports one without a type and about nothing', () => {
    const story = storyOf([6, notification('', 5, { place: { ...NO_BIRD, nestId: '', nest: '' } })]);
    expect(story.the('ServiceNotification').annotations.summary).toBe(
      'The service reports something without a type (EU)',
    );
  });

  test.each([
    ['ConnectionDisconnected', 'ConnectionDisconnected critical'],
    ['FlowDeactivated', 'BirdDeactivated critical'],
    ['FlowSuspended', 'BirdDeactivated warning'],
  ])('leaves %s to its own kind', (type, firing) => {
    const story = storyOf([6, notification(type, 5, { entity: { type: 'Flow', id: '148890' } })]);
    expect(story.firing()).toEqual([firing]);
  });

  test('types and entities have their own alerts; the same again joins', () => {
    const story = watch();
    story.tell(1, notification('QuotaReached', 1, { place: NO_BIRD, entity: ENTITY }));
    story.tell(2, notification('QuotaReached', 2, { place: NO_BIRD, entity: ENTITY }));
    story.tell(3, notification('TokenExpires', 3, { place: NO_BIRD, entity: ENTITY }));
    story.tell(4, notification('QuotaReached', 4, { place: NO_BIRD, entity: { ...ENTITY, id: '78' } }));
    expect(story.alerts().map((alert) => alert.eventsTotal)).toEqual([2, 1, 1]);
  });

  test('has a unique id that every store can keep, whatever the service calls things', () => {
    const story = watch();
    const long = '東'.repeat(500);
    for (const [index, name] of [long, `${long}a`, `${long}b`].entries())
      story.tell(1 + index, notification('東'.repeat(200), 1, { entity: { type: '東'.repeat(200), name } }));
    const ids = story.alerts().map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(Buffer.byteLength(id)).toBeLessThan(2_000);
    story.tell(5, notification('東'.repeat(200), 1, { entity: { type: '東'.repeat(200), name: long } }));
    expect(story.alerts().map((alert) => alert.eventsTotal)).toEqual([2, 1, 1]);
  });

  test('resolves after a quiet hour', () => {
    const story = storyOf([1, notification('QuotaReached', 1)]);
    story.pass(60);
    expect(story.firing()).toHaveLength(1);
    story.pass(61);
    expect(story.the('ServiceNotification').annotations.resolved_by).toBe('no further notification for 1 h');
  });

  test('history raises nothing', () => {
    expect(watch().tell(6, notification('QuotaReached', 5, { historic: true })).alerts).toEqual([]);
  });
});
