import { describe, expect, test } from 'vitest';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdLog,
  birdStatus,
  birdVanished,
  minute,
  NO_BIRD,
  notification,
  OF_DEFAULT,
  rule,
  storyOf,
  watch,
} from '../world.ts';

const FLOW = { type: 'Flow', id: '148890', name: 'Translate blog' };
const FIVE_TIMES = 'The event has failed 5 times in a row';
const flowDeactivated = (at: number) =>
  notification('FlowDeactivated', at, { entity: FLOW, message: FIVE_TIMES });

describe('BirdDeactivated', () => {
  test.each([
    [
      'notification FlowDeactivated',
      flowDeactivated(5),
      'critical',
      'The service deactivated Translate blog in Marketing (EU)',
    ],
    [
      'Bird log Deactivated',
      birdLog('Deactivated', 5),
      'critical',
      'The service deactivated Translate blog in Marketing (EU)',
    ],
    [
      'Bird log Deactivated by a person',
      birdLog('Deactivated', 5, { attributes: { initiator: 'ann@example.com' } }),
      'warning',
      'Translate blog in Marketing (EU) was deactivated by ann@example.com',
    ],
    [
      'notification FlowSuspended',
      notification('FlowSuspended', 5, { entity: FLOW }),
      'warning',
      'Translate blog in Marketing (EU) was suspended',
    ],
    [
      'a status that left active',
      birdStatus('suspended', 5, 'active'),
      'warning',
      'Translate blog in Marketing (EU) is no longer active: it is suspended',
    ],
  ])('fires by %s', (_what, fact, severity, summary) => {
    const story = storyOf([6, fact]);
    const alert = story.the('BirdDeactivated');
    expect(alert).toMatchObject({
      id: `BirdDeactivated/${OF_DEFAULT.BirdDeactivated}/eu/bird/148890/${severity}`,
      scope: 'eu/bird/148890',
      state: 'firing',
      startsAtUs: minute(5),
      dueAtUs: null,
    });
    expect(alert.labels).toMatchObject({
      severity,
      bird_id: '148890',
      bird: 'Translate blog',
      nest: 'Marketing',
    });
    expect(alert.annotations.summary).toBe(summary);
  });

  test.each([
    ['a person suspends it, in its log', birdLog('Suspended', 5)],
    ['it is seen suspended at first sight', birdStatus('suspended', 5)],
    ['it was not active before', birdStatus('suspended', 5, 'unpublished')],
    ['it is activated', birdLog('Activated', 5)],
    [
      'a deactivation of history is over',
      birdLog('Deactivated', 5, { historic: true, birdStatus: 'active' }),
    ],
    ['history does not say whether it still is', birdLog('Deactivated', 5, { historic: true })],
  ])('does not fire if %s', (_what, fact) => {
    expect(watch().tell(6, fact).alerts).toEqual([]);
  });

  test('a deactivation in history that is still true fires, and its event is not notified as news', () => {
    const story = watch();
    story.tell(
      60,
      birdLog('Deactivated', 5, { historic: true, birdStatus: 'suspended', message: FIVE_TIMES }),
    );
    expect(story.the('BirdDeactivated')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(5),
      lastSeq: 0,
    });
    expect(story.the('BirdDeactivated').annotations.description).toBe(FIVE_TIMES);
  });

  test('notification, log and status about one deactivation are one alert', () => {
    const story = watch();
    story.tell(6, flowDeactivated(5));
    story.tell(7, birdLog('Deactivated', 5));
    story.tell(8, birdStatus('suspended', 8, 'active'));
    const alert = story.the('BirdDeactivated');
    expect(alert).toMatchObject({ eventsTotal: 2, lastSeq: 2, startsAtUs: minute(5) });
    expect(alert.annotations.description).toBe(FIVE_TIMES);
  });

  test('a status seen first is superseded when the service says that it was the cause', () => {
    const story = storyOf([6, birdStatus('suspended', 6, 'active')], [7, flowDeactivated(5.5)]);
    expect(story.firing()).toEqual(['BirdDeactivated critical']);
    const warning = story.alerts().find((alert) => alert.labels.severity === 'warning')!;
    expect(warning).toMatchObject({ state: 'resolved', lastSeq: 0 });
    expect(warning.annotations.resolved_by).toBe('it is critical now');
    expect(warning.ending).toBe('superseded');
  });

  test("a person's change in the log explains a firing alert", () => {
    const story = watch();
    story.tell(6, birdStatus('suspended', 6, 'active'));
    story.tell(7, birdLog('Suspended', 5, { message: 'Suspended by Ada' }));
    expect(story.the('BirdDeactivated')).toMatchObject({ state: 'firing', eventsTotal: 1 });
    expect(story.the('BirdDeactivated').annotations).toEqual({
      summary: 'Translate blog in Marketing (EU) is no longer active: it is suspended',
      description: 'Suspended by Ada',
    });
  });

  test('resolves when a later reading sees the Bird active again', () => {
    const story = watch();
    story.tell(6, birdLog('Deactivated', 5, { seenAt: 6 }));
    story.tell(6.5, birdStatus('suspended', 5.9));
    story.tell(7, birdStatus('active', 5.5));
    story.tell(7, birdStatus('active', 6));
    expect(story.firing()).toHaveLength(1);
    story.tell(9, birdStatus('active', 8));
    expect(story.the('BirdDeactivated')).toMatchObject({ state: 'resolved', endsAtUs: minute(8) });
  });

  test('goes on while the status has not followed yet, and resolves when it never does', () => {
    const story = watch();
    story.tell(6, flowDeactivated(5));
    story.tell(7, birdStatus('active', 6.1));
    story.tell(12, birdStatus('active', 11));
    expect(story.firing()).toEqual(['BirdDeactivated critical']);
    story.tell(17, birdStatus('active', 16.1));
    expect(story.the('BirdDeactivated')).toMatchObject({ state: 'resolved', endsAtUs: minute(16.1) });
  });

  test('a reading that saw it inactive sets a later limit for other readings', () => {
    const story = watch();
    story.tell(6, birdLog('Deactivated', 5, { seenAt: 6 }));
    story.tell(8, birdStatus('suspended', 8, 'active'));
    story.tell(9, birdStatus('active', 7));
    expect(story.firing()).toHaveLength(1);
  });

  test('resolves at a later activation in its log, and at no earlier one', () => {
    const story = storyOf([6, birdLog('Deactivated', 5)], [7, birdLog('Activated', 4)]);
    expect(story.firing()).toHaveLength(1);
    story.tell(8, birdLog('Activated', 6, { attributes: { initiator: 'ann@example.com' } }));
    expect(story.the('BirdDeactivated').annotations.resolved_by).toBe(
      'the Bird was activated by ann@example.com on 2 Jul 2026, 12:06 UTC',
    );
  });

  test('what is told late, after it was activated again, ends with the next reading', () => {
    const story = storyOf(
      [1, birdLog('Deactivated', 0)],
      [3, birdLog('Activated', 2)],
      [4, flowDeactivated(0)],
    );
    expect(story.firing()).toHaveLength(1);
    story.tell(5, birdStatus('active', 5));
    expect(story.firing()).toEqual([]);
  });

  test('a reading that saw it inactive does not say when that began', () => {
    const story = watch();
    story.tell(6, birdLog('Deactivated', 5));
    story.tell(8, birdStatus('suspended', 8, 'active'));
    story.tell(9, birdLog('Activated', 7));
    expect(story.firing()).toEqual([]);
  });

  test('an earlier reading that arrives late does not lower the limit', () => {
    const story = watch();
    story.tell(6, birdLog('Deactivated', 5, { seenAt: 6 }));
    story.tell(7, birdStatus('suspended', 5.5, 'active'));
    story.tell(8, birdStatus('active', 5.8));
    expect(story.firing()).toHaveLength(1);
  });

  test('resolves when the Bird is deleted', () => {
    const story = storyOf([6, flowDeactivated(5)], [9, birdVanished(8)]);
    expect(story.firing()).toEqual([]);
  });

  test('fires again after it was active, as the same alert', () => {
    const story = watch();
    story.tell(6, birdLog('Deactivated', 5));
    story.tell(7, birdStatus('suspended', 7));
    story.tell(8, birdStatus('active', 8));
    story.tell(20, birdLog('Deactivated', 19));
    expect(story.the('BirdDeactivated')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(19),
      eventsTotal: 1,
      lastSeq: 2,
    });
  });

  test('a Bird that the inventory does not know is named by the entity of the notification', () => {
    const story = watch();
    const entity = { type: 'Workflow', id: '9', name: 'Ghost' };
    story.tell(6, notification('FlowDeactivated', 5, { place: NO_BIRD, entity }));
    const alert = story.the('BirdDeactivated');
    expect(alert).toMatchObject({
      id: `BirdDeactivated/${OF_DEFAULT.BirdDeactivated}/eu/bird/9/critical`,
      scope: 'eu/bird/9',
    });
    expect(alert.labels).toMatchObject({ bird_id: '9', bird: 'Ghost' });
  });

  test('without any entity the notification still raises an alert', () => {
    const story = storyOf([6, notification('FlowDeactivated', 5, { place: NO_BIRD })]);
    expect(story.firing()).toEqual(['ServiceNotification warning']);
  });

  test('a severity in the rule leaves one alert, however it was learned', () => {
    const story = watch([
      rule('BirdDeactivated', { severity: 'page', match: parseMatchers('bird="Translate blog"') }),
    ]);
    story.tell(6, birdStatus('suspended', 6, 'active'));
    story.tell(7, flowDeactivated(5.5));
    expect(story.the('BirdDeactivated')).toMatchObject({ labels: { severity: 'page' }, eventsTotal: 1 });
  });
});
