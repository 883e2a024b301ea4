import { describe, expect, test } from 'vitest';
import { connectionLost, minute, NO_BIRD, notification, OF_DEFAULT, rule, storyOf, watch } from '../world.ts';

const RETRYING = 'Connection check failed. Retrying connection, please wait.';
const EXHAUSTED = 'Connection check failed and all retries were exhausted. Please reconnect.';
const NEW_WORDING =
  'We noticed a disconnection while periodically checking. All retries exceeded. Please reconnect.';

describe('ConnectionDisconnected', () => {
  test.each([
    [RETRYING, 'warning', 'Connection Acme CMS is lost in Marketing (EU): the service is retrying'],
    [EXHAUSTED, 'critical', 'Connection Acme CMS is lost in Marketing (EU): it must be reconnected'],
    [NEW_WORDING, 'critical', 'Connection Acme CMS is lost in Marketing (EU): it must be reconnected'],
    [
      'Words nobody has seen yet',
      'critical',
      'Connection Acme CMS is lost in Marketing (EU): it must be reconnected',
    ],
    [
      'Retrying ended: retries EXHAUSTED',
      'critical',
      'Connection Acme CMS is lost in Marketing (EU): it must be reconnected',
    ],
  ])('%s: %s', (message, severity, summary) => {
    const story = storyOf([6, connectionLost(5, message)]);
    const alert = story.the('ConnectionDisconnected');
    expect(alert).toMatchObject({
      id: `ConnectionDisconnected/${OF_DEFAULT.ConnectionDisconnected}/eu/entity/Connection/77/${severity}`,
      scope: 'eu/entity/Connection/77',
      startsAtUs: minute(5),
      eventsTotal: 1,
    });
    expect(alert.labels).toEqual({
      alertname: 'ConnectionDisconnected',
      entity_id: '77',
      entity_name: 'Acme CMS',
      entity_type: 'Connection',
      nest: 'Marketing',
      nest_id: '682',
      region: 'eu',
      severity,
    });
    expect(alert.annotations).toEqual({ summary, description: message });
  });

  test('when the retries are exhausted, a critical alert supersedes the warning', () => {
    const story = storyOf([1, connectionLost(1, RETRYING)], [3, connectionLost(2.35, EXHAUSTED)]);
    expect(story.firing()).toEqual(['ConnectionDisconnected critical']);
    const [warning, critical] = story.alerts();
    expect(warning).toMatchObject({ state: 'resolved', endsAtUs: minute(2.35), eventsTotal: 1 });
    expect(warning!.annotations.resolved_by).toBe('it is critical now');
    expect(warning!.ending).toBe('superseded');
    expect(critical).toMatchObject({ state: 'firing', eventsTotal: 1, lastSeq: 1 });
  });

  test('a critical alert includes the warnings that follow, in any order', () => {
    const story = watch();
    story.tell(3, connectionLost(2, EXHAUSTED));
    story.tell(4, connectionLost(1, RETRYING));
    story.tell(1444, connectionLost(1443, RETRYING));
    expect(story.the('ConnectionDisconnected')).toMatchObject({ eventsTotal: 3 });
    expect(story.firing()).toEqual(['ConnectionDisconnected critical']);
  });

  test('resolves when a daily check passed without a new one', () => {
    const story = storyOf([1, connectionLost(1, EXHAUSTED)], [1441, connectionLost(1441, EXHAUSTED)]);
    story.pass(1441 + 26 * 60 - 1);
    expect(story.firing()).toHaveLength(1);
    story.pass(1441 + 26 * 60);
    expect(story.the('ConnectionDisconnected').annotations.resolved_by).toBe(
      'it was not reported as lost again for 26 h',
    );
  });

  test('history fires if it is within that time, and resolves by when it occurred', () => {
    const story = storyOf([60, connectionLost(1, EXHAUSTED, { historic: true, seenAt: 60 })]);
    expect(story.the('ConnectionDisconnected')).toMatchObject({ lastSeq: 0, dueAtUs: minute(1 + 26 * 60) });
    const later = watch();
    expect(later.tell(2000, connectionLost(1, EXHAUSTED, { historic: true, seenAt: 2000 })).alerts).toEqual(
      [],
    );
  });

  test('an older one that is seen later does not shorten the wait', () => {
    const story = watch();
    story.tell(60, connectionLost(60, EXHAUSTED));
    story.tell(61, connectionLost(1, EXHAUSTED, { historic: true, seenAt: 61 }));
    expect(story.the('ConnectionDisconnected').dueAtUs).toBe(minute(60 + 26 * 60));
  });

  test('with a rule that ends it at once, it is still notified', () => {
    const story = watch([rule('ConnectionDisconnected', { resolveAfterMs: 0 })]);
    story.tell(1, connectionLost(1, EXHAUSTED));
    expect(story.firing()).toHaveLength(1);
    story.pass(1);
    expect(story.firing()).toEqual([]);
  });

  test('connections are distinguished by their id, or without one by their name', () => {
    const story = storyOf([1, connectionLost(1, EXHAUSTED)]);
    for (const name of ['DeepL', 'Acme/CMS']) {
      story.tell(2, notification('ConnectionDisconnected', 2, { place: NO_BIRD, entity: { name } }));
    }
    expect(story.alerts().map((alert) => alert.id)).toEqual([
      `ConnectionDisconnected/${OF_DEFAULT.ConnectionDisconnected}/eu/entity/Connection/77/critical`,
      `ConnectionDisconnected/${OF_DEFAULT.ConnectionDisconnected}/eu/entity//DeepL/critical`,
      `ConnectionDisconnected/${OF_DEFAULT.ConnectionDisconnected}/eu/entity//Acme%2FCMS/critical`,
    ]);
  });

  test('a connection of the whole organisation has no Nest', () => {
    const story = storyOf([1, connectionLost(1, EXHAUSTED, { place: { ...NO_BIRD, nestId: '', nest: '' } })]);
    expect(story.the('ConnectionDisconnected').labels).not.toHaveProperty('nest_id');
    expect(story.the('ConnectionDisconnected').annotations.summary).toContain('is lost (EU): ');
  });
});
