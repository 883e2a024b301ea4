import { describe, expect, test } from 'vitest';
import { minute, regionHealth, rule, storyOf, storyUnder, watch, watchHealth } from '../world.ts';

const SECOND = 1 / 60;

describe('WatchImpaired', () => {
  test('fires when it is found again ten seconds later, and says what to do', () => {
    const story = storyOf([5, watchHealth('disk_low', { since: 5 })]);
    expect(story.alerts()).toEqual([]);
    story.tell(5 + 10 * SECOND, watchHealth('disk_low', { since: 5 }));
    expect(story.the('WatchImpaired')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(5),
      scope: 'all/watch',
      labels: { alertname: 'WatchImpaired', severity: 'warning', region: 'all', reason: 'disk_low' },
      annotations: { summary: 'Something is wrong', description: 'It is wrong.\nMend it.' },
    });
  });

  test('leaves nothing behind if it did not last', () => {
    const story = watch();
    story.tell(5, watchHealth('disk_low', { since: 5 }));
    story.tell(5 + 5 * SECOND, watchHealth('disk_low', { since: 5, isImpaired: false }));
    story.tell(6, watchHealth('disk_low', { since: 6 }));
    expect(story.alerts()).toEqual([]);
  });

  test('is updated with what is reported while it fires, and writes nothing if that is the same', () => {
    const story = watch();
    const now = (sentences?: readonly string[]) =>
      watchHealth('disk_low', { since: 5, ...(sentences && { sentences }) });
    story.tell(6, now());
    expect(story.tell(7, now()).alerts).toEqual([]);
    story.tell(8, now(['It is worse.', 'Mend it.']));
    expect(story.the('WatchImpaired')).toMatchObject({
      startsAtUs: minute(5),
      annotations: { description: 'It is worse.\nMend it.' },
    });
  });

  test('has one alert for each reason and region, and each ends by itself', () => {
    const story = watch();
    const eu = { region: 'eu', since: 5 };
    const all = [
      watchHealth('no_birds', { ...eu, severity: 'critical' }),
      watchHealth('no_birds', { ...eu, region: 'us', severity: 'critical' }),
      watchHealth('clock_wrong', eu),
      watchHealth('disk_low', { since: 5 }),
    ];
    story.tell(6, ...all);
    expect(story.firing()).toHaveLength(4);
    story.tell(7, watchHealth('no_birds', { ...eu, isImpaired: false }), regionHealth('up', 7));
    expect(
      story
        .alerts()
        .filter(({ state }) => state === 'resolved')
        .map(({ labels, annotations }) => [labels.reason, labels.region, annotations.resolved_by]),
    ).toEqual([['no_birds', 'eu', 'this no longer impairs the watch']]);
  });

  test('fires for a wrong clock in its own region, and not for one in another', () => {
    const story = storyOf([6, watchHealth('clock_wrong', { region: 'eu', since: 5 })]);
    expect(story.the('WatchImpaired').scope).toBe('eu');
    story.tell(7, watchHealth('clock_wrong', { region: 'us', since: 5, isImpaired: false }));
    expect(story.the('WatchImpaired').state).toBe('firing');
  });

  test('fires for what usually ends by itself after an hour, or later if its rule says so', () => {
    const story = watch();
    const unproven = watchHealth('feed_unproven', { region: 'eu', since: 5, endsByItself: true });
    story.tell(64.9, unproven);
    expect(story.alerts()).toEqual([]);
    story.tell(65, unproven);
    expect(story.firing()).toEqual(['WatchImpaired warning']);

    const patient = storyUnder([rule('WatchImpaired', { forMs: 7_200_000 })], [124.9, unproven]);
    expect(patient.alerts()).toEqual([]);
    patient.tell(125, unproven);
    expect(patient.firing()).toEqual(['WatchImpaired warning']);
  });

  test('as critical supersedes the warning of the same reason', () => {
    const story = storyOf([6, watchHealth('nobody_notified', { since: 5 })]);
    const sentences = ['Nobody is notified.', 'Mend it.'];
    story.tell(7, watchHealth('nobody_notified', { since: 5, severity: 'critical', sentences }));
    expect(story.firing()).toEqual(['WatchImpaired critical']);
    story.tell(8, watchHealth('nobody_notified', { since: 8, isImpaired: false }));
    expect(story.firing()).toEqual([]);
  });

  test('that comes and goes keeps firing until it has been over for half an hour', () => {
    const story = watch();
    for (let at = 0; at < 10; at += 2) {
      story.tell(at + 1, watchHealth('disk_low', { since: at }));
      story.tell(at + 1.5, watchHealth('disk_low', { since: at, isImpaired: false }));
    }
    expect(story.the('WatchImpaired')).toMatchObject({
      state: 'firing',
      annotations: { flapping: expect.any(String) },
    });
    story.pass(39);
    expect(story.the('WatchImpaired').state).toBe('firing');
    story.pass(40);
    expect(story.the('WatchImpaired').state).toBe('resolved');
  });
});
