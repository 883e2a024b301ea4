import { describe, expect, test } from 'vitest';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

/** One region with one Bird in Production. `history` sets up what happened before the first start. */
async function oneBird(
  history: (world: World, birdId: string) => void = () => {},
  rules: readonly Rule[] = [],
  poll: NonNullable<StageOptions['poll']> = {},
  settings: StageOptions = {},
) {
  stage = await createStage({
    ...{ regions: ['eu'], rules, poll, nests: { Production: ['Publish'] }, ...settings },
    before: (world) => history(world, [...world.birds.keys()][0]!),
  });
  return { world: stage.eu, birdId: stage.bird('Publish'), nestId: stage.nest('Production') };
}

/** The notifications received, in order, such as `FlightFailed firing critical`. */
const received = () =>
  stage.alerts().map(({ labels, status }) => `${labels.alertname} ${status} ${labels.severity}`);

test('a Bird that had stopped before nestwatch first saw it is late by its last Flight [long]', async () => {
  const match = parseMatchers('bird="Publish"');
  const expected = rule('BirdStale', { match, expectEveryMs: 60 * 60_000 });
  const { world, birdId } = await oneBird(
    (past, id) =>
      past.at(past.nowUs() - 40 * 60_000_000, () => {
        past.startFlight(id, { endsAs: 'succeeded', fliesForMs: 60_000 });
      }),
    [expected],
  );
  await stage.minutesPass(18);
  expect(received()).toEqual([]);
  await stage.minutesPass(4);
  expect(received()).toEqual(['BirdStale firing warning']);
  // After reactivation the count starts again.
  world.suspend(birdId);
  await stage.minutesPass(10);
  world.activate(birdId);
  await stage.minutesPass(50);
  expect(received().filter((one) => one.startsWith('BirdStale'))).toEqual([
    'BirdStale firing warning',
    'BirdStale resolved warning',
  ]);
});

test('a Bird whose last Flight was long before the first start is late at once, and says since when', async () => {
  const expected = rule('BirdStale', {
    match: parseMatchers('bird="Publish"'),
    expectEveryMs: 24 * 3_600_000,
  });
  await oneBird(
    (past, id) => {
      for (const days of [30, 3]) {
        const startedAtUs = past.nowUs() - days * 86_400_000_000;
        past.startFlight(id, { startedAtUs, endsAs: 'succeeded', fliesForMs: 60_000 });
      }
    },
    [expected],
  );
  await stage.minutesPass(5);
  const [alert] = stage.alerts();
  expect(received()).toEqual(['BirdStale firing warning']);
  expect(alert!.annotations.description).toBe(
    'Its last Flight started on 29 Jun 2026, 12:00 UTC; one is expected every 24 h.',
  );
  expect(stage.forwarded()).toEqual([]);
});

test('a Bird whose trigger fails is reported before the service deactivates it, then its deactivation, then that it is active again [long]', async () => {
  const { world, birdId } = await oneBird();
  await stage.minutesPass(1);
  world.eventError(birdId);
  await stage.minutesPass(5);
  expect(received()).toEqual([]);
  world.eventError(birdId);
  await stage.minutesPass(2);
  expect(received()).toEqual(['BirdTriggerFailing firing warning']);
  for (let count = 0; count < 3; count += 1) {
    world.eventError(birdId);
    await stage.minutesPass(3);
  }
  expect(received()).toContain('BirdDeactivated firing critical');
  const [deactivated] = stage.alerts('BirdDeactivated');
  // The Bird log and the notification of the same deactivation make one alert.
  expect(deactivated!.labels).toMatchObject({ bird: 'Publish', nest: 'Production', bird_id: birdId });
  // Programs are told that the trigger's alert is over; people have it in the same message.
  expect(received()).toContain('BirdTriggerFailing resolved warning');
  const mailed = stage.mails.flatMap(({ notification }) => notification.alerts);
  expect(mailed.map(({ labels, status }) => `${labels.alertname} ${status}`)).not.toContain(
    'BirdTriggerFailing resolved',
  );
  expect(mailed.at(-1)!.annotations.switched_off).toMatch(/^after its trigger failed again and again: ./);
  world.activate(birdId);
  await stage.minutesPass(3);
  expect(received().filter((one) => one.startsWith('BirdDeactivated'))).toEqual(
    expect.arrayContaining(['BirdDeactivated resolved critical']),
  );
  const end = received().length;
  await stage.minutesPass(60);
  expect(received()).toHaveLength(end);
});

test('until it is deactivated in a storm: people are not told that this is over later either [long]', async () => {
  const { world, birdId, nestId } = await oneBird(undefined, [], {}, { foldStormsMs: 30 * 60_000 });
  await stage.minutesPass(1);
  for (let count = 0; count < 2; count += 1) world.eventError(birdId);
  await stage.minutesPass(3);
  world.startFlight(world.addBird(nestId, { name: 'Other', triggerType: 'manual' }).id, {
    endsAs: 'failed',
  });
  await stage.minutesPass(6);
  for (let count = 0; count < 3; count += 1) world.eventError(birdId);
  await stage.minutesPass(90);
  expect(received()).toContain('BirdTriggerFailing resolved warning');
  const mailed = stage.mails.flatMap(({ notification }) => notification.alerts);
  expect(mailed.map(({ labels, status }) => `${labels.alertname} ${status}`)).toEqual([
    'BirdTriggerFailing firing',
    'FlightFailed firing',
    'BirdDeactivated firing',
  ]);
  const reasons = stage.happenings.flatMap((one) => (one.what === 'suppressed' ? [one.reason] : []));
  expect(reasons.at(-1)).toBe('inhibited');
});

test('a Bird whose trigger fails now and then, with Flights in between, is not reported [long]', async () => {
  const { world, birdId } = await oneBird();
  for (let count = 0; count < 4; count += 1) {
    world.eventError(birdId);
    await stage.minutesPass(3);
    world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(3);
  }
  expect(received()).toEqual([]);
});

test('a Bird that was added while nestwatch was away: everything that happened to it is reported', async () => {
  const { world, nestId } = await oneBird();
  await stage.minutesPass(6);
  await stage.restart(async () => {
    const { id } = world.addBird(nestId, { name: 'New', triggerType: 'event' });
    world.startFlight(id, { endsAs: 'failed', fliesForMs: 1_000 });
    await stage.minutesPass(90);
  });
  await stage.minutesPass(3);
  expect(received()).toEqual(['FlightFailed firing warning']);
});

test('a Bird whose status and name the service omits for a while is still the same Bird [long]', async () => {
  let isLeftOut = false;
  stage = await createStage({
    regions: ['eu'],
    nests: { Production: ['Publish'] },
    between: async (request, pass) => {
      const response = await pass();
      if (!isLeftOut || !/\/birds(\/\d+)?$/.test(request.url)) return response;
      return {
        ...response,
        body: response.body.replaceAll(/"(status|name)":"(active|Publish)"/g, '"$1":null'),
      };
    },
  });
  await stage.minutesPass(1);
  const [birdId] = [...stage.eu.birds.keys()];
  for (let count = 0; count < 2; count += 1) stage.eu.eventError(birdId!);
  isLeftOut = true;
  await stage.minutesPass(12);
  expect(received()).toEqual(['BirdTriggerFailing firing warning']);
  stage.eu.startFlight(birdId!, { endsAs: 'failed' });
  await stage.minutesPass(2);
  isLeftOut = false;
  await stage.minutesPass(6);
  const alerts = stage.alerts();
  expect(received().filter((one) => one.startsWith('BirdDeactivated'))).toEqual([]);
  expect(alerts.find(({ labels }) => labels.alertname === 'FlightFailed')!.labels.bird).toBe('Publish');
});

test('a Bird that a person suspends is reported as a warning, within a poll [long]', async () => {
  const { world, birdId } = await oneBird();
  await stage.minutesPass(1);
  world.suspend(birdId);
  await stage.secondsPass(60);
  expect(received()).toEqual(['BirdDeactivated firing warning']);
  world.activate(birdId);
  await stage.minutesPass(3);
  expect(received()).toEqual(['BirdDeactivated firing warning', 'BirdDeactivated resolved warning']);
});

test('a lost connection is a warning while it is retried, and critical when all retries are exhausted [long]', async () => {
  const rules = [rule('ConnectionDisconnected', { resolveAfterMs: 2 * 3_600_000 })];
  const { world, nestId } = await oneBird(undefined, rules, { intervalMs: 300_000 });
  await stage.minutesPass(1);
  const connection = { nestId, entityId: '77', entityName: 'Phrase TMS', wording: 'old' } as const;
  world.disconnectConnection({ ...connection, exhausted: false });
  await stage.minutesPass(6);
  expect(received()).toEqual(['ConnectionDisconnected firing warning']);
  world.disconnectConnection({ ...connection, exhausted: true });
  await stage.minutesPass(8);
  expect(received()).toContain('ConnectionDisconnected firing critical');
  // After the rule's `resolve_after` without a new notification, it counts as connected again.
  await stage.minutesPass(3 * 60);
  expect(received().at(-1)).toBe('ConnectionDisconnected resolved critical');
});

test('a notification of an unknown type is reported, not dropped', async () => {
  const { world } = await oneBird();
  await stage.minutesPass(1);
  world.appendNotification({
    fields: {
      eventType: 'QuotaExceeded',
      entityType: 'Plan',
      entityId: 3,
      entityName: 'Team',
      message: '<b>No more Flights</b>',
    },
  });
  await stage.minutesPass(2);
  expect(received()).toEqual(['ServiceNotification firing warning']);
  expect(stage.received()[0]!.alerts[0]!.events[0]!.message).toBe('<b>No more Flights</b>');
});

test('on a first start a Bird that was deactivated before, and is active again, is not reported', async () => {
  await oneBird((world, birdId) => {
    world.at(world.nowUs() - 1_200e6, () => {
      for (let count = 0; count < 5; count += 1) world.eventError(birdId);
    });
    world.at(world.nowUs() - 600e6, () => world.activate(birdId));
  });
  await stage.minutesPass(10);
  expect(received()).toEqual([]);
});

describe('the inventory', () => {
  test('a Bird that moves to another Nest keeps its history under its new name [long]', async () => {
    const { world, birdId } = await oneBird();
    await stage.minutesPass(1);
    const flight = world.startFlight(birdId);
    await stage.minutesPass(1);
    world.moveBird(birdId, world.addNest({ name: 'Archive' }).id);
    world.renameBird(birdId, 'Publish (old)');
    await stage.minutesPass(12);
    world.endFlight(flight.id, 'failed');
    await stage.minutesPass(3);
    expect(stage.received().at(-1)!.alerts[0]!.labels).toMatchObject({
      nest: 'Archive',
      bird: 'Publish (old)',
    });
  });

  test('the alerts of a Bird that is deleted are resolved, and its 404s are no outage [long]', async () => {
    const { world, birdId, nestId } = await oneBird();
    world.addBird(nestId, { name: 'Another', triggerType: 'manual' });
    await stage.minutesPass(1);
    world.startFlight(birdId, { endsAs: 'failed' });
    await stage.minutesPass(2);
    world.deleteBird(birdId);
    await stage.minutesPass(20);
    expect(received()).toEqual(['FlightFailed firing warning', 'FlightFailed resolved warning']);
  });

  test('late news about a deleted Bird is reported, and its alert ends as well [long]', async () => {
    const { world, birdId, nestId } = await oneBird();
    world.addBird(nestId, { name: 'Another', triggerType: 'manual' });
    await stage.minutesPass(1);
    const deactivatedUs = world.nowUs();
    world.deleteBird(birdId);
    await stage.minutesPass(12);
    world.appendNotification({
      nestId,
      createdAtUs: deactivatedUs,
      fields: {
        entityId: Number(birdId),
        entityName: 'Publish',
        entityType: 'Flow',
        eventType: 'FlowDeactivated',
        message: 'The event has failed 5 times in a row',
      },
    });
    await stage.minutesPass(20);
    expect(received()).toEqual(['BirdDeactivated firing critical', 'BirdDeactivated resolved critical']);
  });

  test('the alert of a Bird that was added and deleted between two readings of the inventory ends [long]', async () => {
    const { world, nestId } = await oneBird();
    await stage.minutesPass(11);
    const { id } = world.addBird(nestId, { name: 'Short', triggerType: 'event' });
    for (let times = 0; times < 5; times += 1) world.eventError(id);
    await stage.minutesPass(1);
    world.deleteBird(id);
    await stage.minutesPass(30);
    expect(received()).toEqual(['BirdDeactivated firing critical', 'BirdDeactivated resolved critical']);
  });

  test('a Bird that appears later is watched from its first Flight on [long]', async () => {
    const { world, nestId } = await oneBird();
    await stage.minutesPass(7);
    const late = world.addBird(nestId, { name: 'Newcomer', triggerType: 'manual' });
    const { id } = world.startFlight(late.id, { endsAs: 'failed' });
    await stage.minutesPass(7);
    expect(stage.forwarded()).toEqual([
      expect.stringMatching(/^eu\/inventory\/\w{32}$/),
      `eu/flight/${id}/failed`,
    ]);
    expect(received()).toEqual(['FlightFailed firing warning']);
  });
});
