import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../src/domain/alert/alert.ts';
import { minute, OF_DEFAULT, regionHealth, rule, storyOf, watch } from '../world.ts';

describe('RegionDown', () => {
  test('fires when the region has been down for a minute', () => {
    const story = storyOf([5, regionHealth('down', 5, '503 Service Unavailable')]);
    expect(story.the('RegionDown')).toMatchObject({ state: 'pending', dueAtUs: minute(6) });
    story.pass(6);
    const alert = story.the('RegionDown');
    expect(alert).toMatchObject({
      id: `RegionDown/${OF_DEFAULT.RegionDown}/eu/region`,
      scope: 'eu',
      state: 'firing',
      startsAtUs: minute(5),
      dueAtUs: null,
    });
    expect(alert.labels).toEqual({ alertname: 'RegionDown', region: 'eu', severity: 'critical' });
    expect(alert.annotations).toEqual({
      summary:
        'Region EU does not answer: its Birds cannot be watched. Nothing is lost: what happens meanwhile is read and told once it answers. See whether the service has an outage, and whether this machine reaches it',
      description: '503 Service Unavailable',
    });
  });

  test('fires at once if it has already lasted long enough', () => {
    const story = storyOf([9, regionHealth('down', 5)]);
    expect(story.firing()).toEqual(['RegionDown critical']);
  });

  test('a short outage is forgotten', () => {
    const story = storyOf([5, regionHealth('down', 5)], [5.5, regionHealth('up', 5.5)]);
    expect(isForgettable(story.the('RegionDown'))).toBe(true);
    story.pass(10);
    expect(story.firing()).toEqual([]);
  });

  test('a further reading while it is down changes neither its start nor when it fires', () => {
    const story = storyOf([5, regionHealth('down', 5, 'timeout')], [5.5, regionHealth('down', 5.5, '503')]);
    expect(story.the('RegionDown').dueAtUs).toBe(minute(6));
    story.pass(6);
    story.tell(7, regionHealth('down', 5, 'reset'));
    expect(story.the('RegionDown')).toMatchObject({
      startsAtUs: minute(5),
      annotations: { description: 'reset' },
    });
    expect(story.tell(8, regionHealth('down', 5, 'reset')).alerts).toEqual([]);
  });

  test.each([
    ['up', 'the region answers again'],
    ['unauthorized', 'the region answers again, but refuses the token'],
  ] as const)('resolves when the region is %s', (health, by) => {
    const story = storyOf([9, regionHealth('down', 5)], [12, regionHealth(health, 11)]);
    const alert = story.alerts().find((one) => one.alertname === 'RegionDown')!;
    expect(alert).toMatchObject({ state: 'resolved', endsAtUs: minute(11) });
    expect(alert.annotations.resolved_by).toBe(by);
  });

  test('waits again before it fires again', () => {
    const story = watch();
    story.tell(9, regionHealth('down', 5));
    story.tell(12, regionHealth('up', 11));
    story.tell(20, regionHealth('down', 20));
    expect(story.the('RegionDown')).toMatchObject({ state: 'resolved', dueAtUs: minute(21) });
    story.pass(21);
    expect(story.the('RegionDown')).toMatchObject({ state: 'firing', startsAtUs: minute(20) });
  });
});

describe('RegionUnauthorized', () => {
  test('fires at once, and only an answer ends it', () => {
    const story = storyOf([5, regionHealth('unauthorized', 5, '401 Unauthorized')]);
    expect(story.firing()).toEqual(['RegionUnauthorized critical']);
    story.tell(9, regionHealth('down', 6));
    expect(story.firing()).toEqual(['RegionDown critical', 'RegionUnauthorized critical']);
    story.tell(12, regionHealth('up', 11));
    expect(story.firing()).toEqual([]);
  });

  test('with `for` it waits, and is forgotten if the region is down meanwhile', () => {
    const story = watch([rule('RegionUnauthorized', { forMs: 300_000 })]);
    story.tell(5, regionHealth('unauthorized', 5));
    story.tell(6, regionHealth('down', 6));
    story.pass(20);
    expect(story.firing()).toEqual(['RegionDown critical']);
  });
});
