/** What the daemon answers when people ask why they were notified of an event, or why not. */
import { describe, expect, test } from 'vitest';
import { DEFAULT_RULES, defaultRule } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { World } from '../../src/simulator/world/world.ts';
import type { Transaction } from '../../src/store/store.ts';
import { dayAndTime } from '../../src/text/instant-words.ts';
import type { explanationJson } from '../../src/web/api/alert-json.ts';
import type { WebOptions } from '../../src/web/web-options.ts';
import { OF_DEFAULT, rule } from '../domain/world.ts';
import { serve } from '../web/served.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';
import { stageConfig } from './stage-config.ts';

let stage: Stage;

let birdId = '';
async function curtain(options: StageOptions = {}, past?: (world: World) => void) {
  stage = await createStage({
    regions: ['eu'],
    ...options,
    nests: { Marketing: ['Translate blog'] },
    triggerType: 'manual',
    before(world) {
      birdId = [...world.birds.keys()][0]!;
      if (past) world.at(world.nowUs() - 60_000_000, () => past(world));
    },
  });
  if (!past) await stage.minutesPass(2);
  return stage;
}

function fails(world = stage.eu, errorMessages = 'The TMS refused the job'): string {
  const flight = world.startFlight(birdId);
  world.endFlight(flight.id, 'failed', { errorMessages });
  return `eu/flight/${flight.id.toLowerCase()}/failed`;
}

/** Another Flight of the Bird succeeds. */
function lands(): string {
  const { id } = stage.eu.startFlight(birdId);
  stage.eu.endFlight(id, 'succeeded');
  return `eu/flight/${id.toLowerCase()}/succeeded`;
}

async function explain(key: string, change: Partial<WebOptions['alerting']> = {}) {
  const alerting = { ...stageConfig(['eu']), ...change };
  const { store, clock } = stage;
  const { ask, close } = await serve({ store, clock, alerting, impairments: () => stage.daemon().health() });
  const { status, json } = await ask<ReturnType<typeof explanationJson>>(`/api/v1/events/${key}/explain`);
  await close();
  return { status, ...json };
}

test('an event is found by its key with the id of the Flight in either case [long]', async () => {
  const { minutesPass } = await curtain();
  const key = fails();
  await minutesPass(1);
  const [, , id] = key.split('/');
  expect(await explain(key.replace(id!, id!.toUpperCase()))).toMatchObject({ status: 200, event: { key } });
});

describe('an event that was notified', () => {
  test('is explained step by step: seen, rule, alert, group, each delivery, forwarded', async () => {
    const { minutesPass } = await curtain();
    const key = fails();
    await minutesPass(3);
    expect(await explain(key)).toMatchObject({
      status: 200,
      event: { key, type: 'flight.failed', message: 'The TMS refused the job' },
      seen: { feed: 'flight', historic: false, delay_seconds: expect.any(Number) },
      rules: [{ alertname: 'FlightFailed', rule: expect.any(Number), built_in: true, threshold: 1 }],
      alerts: [{ labels: { alertname: 'FlightFailed', bird: 'Translate blog' }, state: 'firing', seq: 1 }],
      no_alert: null,
      waiting: [],
      notifications: [
        {
          receiver: 'ops',
          group_key: '{}:{alertname="FlightFailed", nest="Marketing", region="eu"}',
          reason: 'first',
          listed: true,
          deliveries: [
            { integration: 'email', state: 'delivered', attempts: 1 },
            { integration: 'webhook', state: 'delivered', attempts: 1 },
          ],
        },
      ],
      suppressions: [],
      forwards: [{ receiver: 'lake', state: 'delivered', deliveries: [{ state: 'delivered' }] }],
    });
  });

  test('is found by its key, plain or encoded', async () => {
    const { minutesPass } = await curtain();
    const key = fails();
    await minutesPass(1);
    const { seen } = await explain(encodeURIComponent(key));
    expect(seen).toEqual((await explain(key)).seen);
    expect(await explain('eu/flight/none/failed')).toEqual({
      status: 404,
      error:
        'Nothing is kept under eu/flight/none/failed, no event, alert, Bird, Flight, delivery or silence.',
    });
  });

  test('waits for its group at first [long]', async () => {
    const { secondsPass, minutesPass } = await curtain({ route: { groupWaitMs: 600_000 } });
    const key = fails();
    await minutesPass(2);
    const before = await explain(key);
    expect(before.notifications).toEqual([]);
    expect(before.waiting).toMatchObject([{ receiver: 'ops', muted: null, next_flush: expect.any(String) }]);
    await secondsPass(600);
    expect((await explain(key)).notifications).toMatchObject([{ receiver: 'ops' }]);
  });

  test('waits for the second receiver until somebody acknowledges it, and no longer [long]', async () => {
    const escalation = { afterMs: 1_800_000, receiver: 'lake' };
    const { minutesPass } = await curtain({ route: { escalation, groupIntervalMs: 600_000 } });
    const ours = { route: { ...stageConfig(['eu']).route, escalation } };
    const key = fails();
    await minutesPass(5);
    const { waiting, notifications } = await explain(key, ours);
    expect(waiting).toMatchObject([{ receiver: 'lake', muted: null, unless_acknowledged: true }]);
    expect(notifications).toMatchObject([{ receiver: 'ops' }]);
    // The configuration may no longer have an escalation.
    expect((await explain(key)).waiting).toEqual([]);
    await minutesPass(30);
    const received = await explain(key, ours);
    expect([received.waiting, received.notifications.map(({ receiver }) => receiver)]).toEqual([
      [],
      ['ops', 'lake'],
    ]);
    // What happens from now on is not escalated.
    const later = fails();
    await minutesPass(2);
    const { waiting: ofLater } = await explain(later, ours);
    expect(ofLater.map(({ receiver }) => receiver)).toEqual(['ops']);
    lands();
    await minutesPass(10);
    expect((await explain(later, ours)).waiting).toEqual([]);
  });

  test('can be one of many that are counted and not listed [long]', async () => {
    const { minutesPass } = await curtain({ route: { groupWaitMs: 300_000 } });
    const keys = Array.from({ length: 25 }, () => fails());
    await minutesPass(8);
    const answers = await Promise.all(keys.map((key) => explain(key)));
    const listed = answers.map(({ notifications }) => notifications.map(({ listed }) => listed));
    expect(listed.filter(([one]) => one === true)).toHaveLength(20);
    expect(listed.filter(([one]) => one === false)).toHaveLength(5);
    expect(listed.every((list) => list.length === 1)).toBe(true);
  });

  test('still has its notifications long after its alert was resolved [long]', async () => {
    const { minutesPass } = await curtain();
    const key = fails();
    await minutesPass(3);
    lands();
    await minutesPass(180);
    const { alerts, no_alert, notifications } = await explain(key);
    expect({ alerts, no_alert }).toEqual({ alerts: [], no_alert: null });
    expect(notifications).toMatchObject([{ reason: 'first', deliveries: [{}, {}] }]);
  });

  test('has the result of each attempt [long]', async () => {
    const { minutesPass } = await curtain({ answer: () => 503 });
    const key = fails();
    await minutesPass(3);
    const { notifications, forwards } = await explain(key);
    expect(notifications[0]?.deliveries).toMatchObject([
      { integration: 'email', state: 'delivered' },
      { integration: 'webhook', state: 'retry', last_error: expect.stringContaining('503') },
    ]);
    expect(forwards).toMatchObject([{ receiver: 'lake', state: 'retry' }]);
  });
});

describe('an event that was not notified', () => {
  test('of a type that raises nothing', async () => {
    const { minutesPass } = await curtain();
    const key = lands();
    await minutesPass(2);
    const { no_alert, rules } = await explain(key);
    expect({ no_alert, rules }).toEqual({
      no_alert: 'No kind of alert is raised by flight.succeeded.',
      rules: [],
    });
  });

  test('from before the watch, or one that no rule matches', async () => {
    const { minutesPass } = await curtain({}, fails);
    await minutesPass(2);
    const [event] = stage.eu.truth().events;
    const { seen, no_alert, forwards } = await explain(event!.key);
    expect(seen.historic).toBe(true);
    expect(no_alert).toBe(
      'It happened before nestwatch first watched the region: what is past raises no alert.',
    );
    expect(forwards).toMatchObject([{ receiver: 'lake', state: 'delivered' }]);
    expect((await explain(event!.key, { rules: [] })).no_alert).toBe('No rule for FlightFailed matches it.');
  });

  test('from before its Nest was added, which does not count as delay [long]', async () => {
    await curtain({ excludedNests: ['Marketing'] });
    const key = fails();
    await stage.minutesPass(70);
    await stage.regionsFollow({ nests: { include: ['*'], exclude: [] } });
    await stage.minutesPass(2);
    const { seen, no_alert, forwards } = await explain(key);
    expect(seen.historic).toBe(true);
    expect(no_alert).toBe(
      'It happened before nestwatch first watched the Bird: what is past raises no alert.',
    );
    expect(forwards).toMatchObject([{ receiver: 'lake', state: 'delivered' }]);
    expect(stage.happenings.filter((one) => 'latencyMs' in one && one.latencyMs !== undefined)).toEqual([]);
  });

  test('from before the watch, although an alert says that it was still true [long]', async () => {
    const { minutesPass } = await curtain({}, (world) => {
      for (let time = 0; time < 5; time += 1) world.eventError(birdId);
    });
    await minutesPass(2);
    const event = stage.eu.truth().events.find(({ type }) => type === 'bird_log.Deactivated');
    expect((await explain(event!.key)).no_alert).toBe(
      'It happened before nestwatch first watched the region, so no alert lists it; but what it says still held then, ' +
        `and BirdDeactivated says that (BirdDeactivated/${OF_DEFAULT.BirdDeactivated}/eu/bird/${birdId}/critical).`,
    );
  });

  test('because a silence mutes it now, and whose silence', async () => {
    const { minutesPass } = await curtain();
    await stage.silence('bird="Translate blog"', 60);
    const key = fails();
    await minutesPass(3);
    const { notifications, waiting } = await explain(key);
    expect(notifications).toEqual([]);
    expect(waiting).toMatchObject([
      { receiver: 'ops', muted: expect.stringMatching(/^silenced: by ann: we know/) },
    ]);
  });

  test('because it was over before the silence was [long]', async () => {
    const { minutesPass } = await curtain();
    await stage.silence('bird="Translate blog"', 60);
    const key = fails();
    await minutesPass(3);
    lands();
    await minutesPass(120);
    const { notifications, suppressions, no_alert } = await explain(key);
    expect({ notifications, no_alert }).toEqual({ notifications: [], no_alert: null });
    expect(suppressions).toMatchObject([
      { receiver: 'ops', reason: 'silenced', detail: expect.stringContaining('by ann: we know') },
    ]);
  });

  test('because it waits for its `for`, and then because it was over before [long]', async () => {
    const rules = [{ ...defaultRule('FlightFailed'), forMs: 600_000 }];
    const { clock, minutesPass } = await curtain({ rules });
    const ours = { rules: stageConfig(['eu'], { rules }).rules };
    const atUs = clock.nowUs();
    const key = fails();
    await minutesPass(3);
    expect((await explain(key, ours)).no_alert).toBe(
      `FlightFailed fires on ${dayAndTime(atUs + 600_000_000)}, when this has lasted for 10 min, as \`for\` of its rule asks, unless it is over before.`,
    );
    lands();
    await minutesPass(3);
    expect((await explain(key, ours)).no_alert).toBe(
      'FlightFailed did not fire for it: it was over before it had lasted for 10 min, as `for` of its rule asks.',
    );
  });

  test('because it waits for its `for` with a hundred others, all of which are notified then [long]', async () => {
    const rules = [{ ...defaultRule('FlightFailed'), forMs: 600_000 }];
    const { minutesPass } = await curtain({ rules });
    const ours = { rules: stageConfig(['eu'], { rules }).rules };
    const keys = Array.from({ length: 110 }, () => fails());
    await minutesPass(5);
    for (const key of [keys[0]!, keys[109]!]) {
      const { alerts, no_alert } = await explain(key, ours);
      expect(alerts).toEqual([]);
      expect(no_alert).toMatch(/^FlightFailed fires on .*, when this has lasted for 10 min/);
    }
    await minutesPass(10);
    for (const key of keys) {
      const { alerts, no_alert, notifications } = await explain(key, ours);
      expect([alerts.length, alerts[0]?.events_total, no_alert]).toEqual([1, 110, null]);
      expect(notifications).toMatchObject([{ receiver: 'ops' }]);
    }
  });

  test('because it was over in time, although others wait in the same alert [long]', async () => {
    const rules = [{ ...defaultRule('FlightFailed'), forMs: 600_000 }];
    const { minutesPass } = await curtain({ rules });
    const ours = { rules: stageConfig(['eu'], { rules }).rules };
    const over = [fails(), fails()];
    await minutesPass(3);
    lands();
    await minutesPass(3);
    const waiting = fails();
    await minutesPass(3);
    for (const key of over) expect((await explain(key, ours)).no_alert).toMatch(/it was over before it had/);
    expect((await explain(waiting, ours)).no_alert).toMatch(/^FlightFailed fires on /);
  });

  test('because it is counted, and then because there were not enough [long]', async () => {
    const rules = [{ ...defaultRule('FlightFailed'), threshold: 3, forEach: 'error' as const }];
    const { minutesPass } = await curtain({ rules });
    const ours = { rules: stageConfig(['eu'], { rules }).rules };
    // Another alert of the Bird fires, and has a memory as well.
    for (const _ of [1, 2, 3]) fails(stage.eu, 'Quota');
    const key = fails();
    await minutesPass(3);
    expect((await explain(key, ours)).no_alert).toBe(
      'It is counted for FlightFailed, which fires when the threshold of its rule is reached.',
    );
    await minutesPass(15);
    expect((await explain(key, ours)).no_alert).toBe(
      'FlightFailed did not fire for it: the threshold of its rule was not reached, or what came later had ended it already.',
    );
  });

  test('because its instant is unknown, and the watch had just begun [long]', async () => {
    let old = '';
    const { minutesPass } = await curtain(
      {
        between: async (_request, pass) => {
          const { body, ...answer } = await pass();
          return { ...answer, body: body.replace(/"(startDate|duration|eventType)":[^,}]*/g, '"$1":null') };
        },
      },
      (world) => {
        old = fails(world);
      },
    );
    await minutesPass(3);
    expect((await explain(old)).no_alert).toBe(
      'FlightFailed did not fire for it: the service does not say when it started, so that it may be older than the watch of its region, or what came later had ended it already.',
    );
    const key = fails();
    await minutesPass(3);
    expect((await explain(key)).alerts).toHaveLength(1);
  });

  test('because a storm is folded, which is notified later and does not count as suppressed [long]', async () => {
    const { minutesPass } = await curtain({
      foldStormsMs: 600_000,
      digests: [{ name: 'often', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
    });
    const keys: string[] = [];
    for (const _ of [1, 2, 3, 4]) {
      keys.push(fails());
      await minutesPass(2);
    }
    const before = await explain(keys[3]!);
    expect(before.notifications).toEqual([]);
    expect(before.waiting).toMatchObject([{ receiver: 'ops', muted: null }]);
    expect(before.suppressions).toMatchObject([{ reason: 'receiver_cap', notified_later: true }]);
    await minutesPass(70);
    const after = await explain(keys[3]!);
    expect(after.notifications).toMatchObject([{ receiver: 'ops', listed: true }]);
    expect(after.suppressions).toMatchObject([{ reason: 'receiver_cap', notified_later: true }]);
    const counted = (tx: Transaction) => tx.digests.countSuppressed('ops', 0, stage.clock.nowUs());
    expect(await stage.store.transaction(counted)).toEqual([{ reason: 'receiver_cap', count: 1 }]);
    const [first] = stage.digests.map(({ notification }) => notification.digest);
    expect(first).toMatchObject({ flights: { failed: 4 }, suppressed: [] });
  });

  test('because its Nest is excluded by the configuration [long]', async () => {
    await curtain({ excludedNests: ['Marketing'] });
    for (let count = 0; count < 5; count += 1) stage.eu.eventError(birdId);
    await stage.minutesPass(5);
    const { no_alert } = await explain(stage.forwarded()[0]!);
    expect(no_alert).toMatch(/^Its Nest is not watched: /);
  });
});

test('a rule is named, and one that counts an event below its threshold says so beside the alert', async () => {
  const many = rule('EventMatched', {
    ...{ id: 'many', threshold: 3, windowMs: 600_000, forEach: 'nest' },
    match: parseMatchers('type="flight.failed"'),
  });
  const other = rule('EventMatched', { ...many, id: 'other', threshold: 2 });
  const rules = [many, other, ...DEFAULT_RULES];
  const { minutesPass } = await curtain({ rules });
  fails();
  await minutesPass(1);
  const key = fails();
  await minutesPass(3);
  const { rules: decided, alerts, no_alert } = await explain(key, { rules });
  expect(decided).toMatchObject([
    { alertname: 'FlightFailed', name: null },
    { alertname: 'EventMatched', rule: 0, name: 'many', threshold: 3 },
    { alertname: 'EventMatched', rule: 1, name: 'other', threshold: 2 },
  ]);
  expect(alerts.map(({ labels }) => labels.alertname)).toEqual(['EventMatched', 'FlightFailed']);
  expect(no_alert).toBe(
    'It is counted for EventMatched (rule many), which fires when the threshold of its rule is reached.',
  );
});
