/** What only shows over hours: Flights that hang, Birds that stop, failures that come and go. */
import { describe, expect, test } from 'vitest';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { node, tree } from '../domain/route-tree.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

const HOUR = 60;
const DAY = 24 * HOUR;

async function oneBird(
  rules: readonly Rule[] = [],
  triggerType: 'scheduled' | 'event' = 'scheduled',
  pollMinutes = 1,
  daysBefore = 0,
) {
  stage = await createStage({
    regions: ['eu'],
    nests: { Production: ['Publish'] },
    triggerType,
    // Rare polls, so that days pass quickly.
    poll: {
      intervalMs: pollMinutes * 60_000,
      inventoryIntervalMs: Math.max(pollMinutes, 10) * 60_000,
      auditIntervalMs: 86_400_000,
      maxIntervalMs: Math.max(pollMinutes, 5) * 60_000,
      ...(daysBefore > 0 && { initialLookbackMs: daysBefore * DAY * 60_000 }),
    },
    rules,
    before(world) {
      const [birdId] = [...world.birds.keys()];
      for (let day = daysBefore; day > 0; day -= 1) {
        const startedAtUs = world.nowUs() - (day * DAY - 1) * 60e6;
        const { id } = world.startFlight(birdId!, { startedAtUs });
        world.endFlight(id, 'succeeded', { endedAtUs: startedAtUs + 60e6 });
      }
    },
  });
  await stage.minutesPass(1);
  return { world: stage.eu, birdId: stage.bird('Publish') };
}

const received = () => stage.told();
const last = () => stage.received().at(-1)!.alerts[0]!;

/** Flights of a few minutes each, one after another. */
async function fly(world: World, birdId: string, count: number, minutes: number): Promise<void> {
  for (let flown = 0; flown < count; flown += 1) {
    world.startFlight(birdId, { endsAs: 'succeeded', fliesForMs: minutes * 60_000 });
    await stage.minutesPass(minutes + 1);
  }
}

const UNKNOWN_HOURS = 5;

describe('a Flight that hangs', () => {
  test("is reported when it takes three times as long as the Bird's usual Flights, and resolves when it ends [long]", async () => {
    const { world, birdId } = await oneBird([], 'event');
    await fly(world, birdId, 20, 10);
    expect(received()).toEqual([]);
    const flight = world.startFlight(birdId);
    await stage.minutesPass(29);
    expect(received()).toEqual([]);
    await stage.minutesPass(4);
    expect(received()).toEqual(['FlightStuck firing']);
    expect(last().labels).toMatchObject({ bird: 'Publish', flight_id: flight.id, severity: 'warning' });
    expect(last().annotations.description).toMatch(
      /^Active since .*, for more than 30 min\. 99 % of its Flights take at most 10 min/,
    );
    await stage.minutesPass(HOUR);
    world.endFlight(flight.id, 'succeeded');
    await stage.minutesPass(3);
    expect(received()).toEqual(['FlightStuck firing', 'FlightStuck resolved']);
  });

  test('is not reported for a Bird whose durations are unknown, unless the rule gives a limit [long]', async () => {
    const { world, birdId } = await oneBird([], 'event');
    await fly(world, birdId, 19, 2);
    world.startFlight(birdId);
    await stage.minutesPass(UNKNOWN_HOURS * HOUR);
    expect(received()).toEqual([]);
    await stage.close();
    const limited = await oneBird([rule('FlightStuck', { maxDurationMs: 7_200_000 })], 'event');
    const flight = limited.world.startFlight(limited.birdId);
    await stage.minutesPass(2 * HOUR);
    expect(received()).toEqual([]);
    await stage.minutesPass(2);
    expect(received()).toEqual(['FlightStuck firing']);
    limited.world.endFlight(flight.id, 'failed');
    await stage.minutesPass(3);
    expect(received()).toEqual(expect.arrayContaining(['FlightStuck resolved', 'FlightFailed firing']));
  });

  test('is reported once across restarts, including one during which it ended [long]', async () => {
    const { world, birdId } = await oneBird([rule('FlightStuck', { maxDurationMs: 3_600_000 })], 'event');
    const flight = world.startFlight(birdId);
    await stage.minutesPass(30);
    await stage.restart();
    await stage.minutesPass(33);
    expect(received()).toEqual(['FlightStuck firing']);
    await stage.restart();
    await stage.minutesPass(30);
    expect(received()).toEqual(['FlightStuck firing']);
    world.endFlight(flight.id, 'cancelled');
    await stage.restart();
    await stage.minutesPass(3);
    expect(received()).toEqual(['FlightStuck firing', 'FlightStuck resolved']);
  });

  test("is not reported if it is in time but our clock is ahead of the service's [long]", async () => {
    const { world, birdId } = await oneBird([rule('FlightStuck', { maxDurationMs: 3_600_000 })], 'event');
    stage.ourClockSteps(2 * HOUR * 60);
    const flight = world.startFlight(birdId);
    await stage.minutesPass(50);
    world.endFlight(flight.id, 'succeeded');
    await stage.minutesPass(3);
    expect(received().filter((one) => one.startsWith('FlightStuck'))).toEqual([]);
    world.startFlight(birdId);
    await stage.minutesPass(68);
    expect(received()).toContain('FlightStuck firing');
  });

  test('is not reported while the region is down: it may have ended [long]', async () => {
    const { world, birdId } = await oneBird([rule('FlightStuck', { maxDurationMs: 3_600_000 })], 'event');
    const flight = world.startFlight(birdId);
    await stage.minutesPass(30);
    world.goDown(503);
    await stage.minutesPass(20);
    world.endFlight(flight.id, 'succeeded');
    await stage.minutesPass(HOUR);
    world.comeUp();
    await stage.minutesPass(15);
    expect(received().filter((one) => one.startsWith('Flight'))).toEqual([]);
  });
});

describe('a scheduled Bird that stops starting Flights', () => {
  test('is reported by its own habits once a week is known, and resolves with the next Flight [long]', async () => {
    const { world, birdId } = await oneBird([], 'scheduled', 30, 7);
    world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(36 * HOUR - 5);
    expect(received()).toEqual([]);
    // The next reading comes within half an hour.
    await stage.minutesPass(45);
    expect(received()).toEqual(['BirdStale firing']);
    expect(last().annotations).toMatchObject({
      summary: 'Publish starts no Flights in Production (EU)',
      description: expect.stringMatching(
        /^Its last Flight started on .*; there were never more than 24 h between two Flights\.$/,
      ),
    });
    world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(35);
    expect(received().at(-1)).toBe('BirdStale resolved');
  });

  test('is not reported by habit before a week is known, or if it is not scheduled [long]', async () => {
    const { world, birdId } = await oneBird([], 'scheduled', 30);
    const { id: other } = world.addBird(world.addNest({ name: 'B' }).id, {
      name: 'On event',
      triggerType: 'event',
    });
    for (let hour = 0; hour < 6; hour += 1) {
      world.startFlight(birdId, { endsAs: 'succeeded' });
      world.startFlight(other, { endsAs: 'succeeded' });
      await stage.minutesPass(HOUR);
    }
    await stage.minutesPass(12 * HOUR);
    expect(received()).toEqual([]);
  });

  test('is reported after `expect_every`, counted from the first start if it never had a Flight [long]', async () => {
    const { world, birdId } = await oneBird([rule('BirdStale', { expectEveryMs: 3_600_000 })]);
    await stage.minutesPass(57);
    expect(received()).toEqual([]);
    await stage.minutesPass(7);
    expect(received()).toEqual(['BirdStale firing']);
    world.suspend(birdId);
    await stage.minutesPass(3);
    expect(received()).toEqual(expect.arrayContaining(['BirdStale resolved', 'BirdDeactivated firing']));
    await stage.minutesPass(3 * HOUR);
    expect(received().filter((one) => one === 'BirdStale firing')).toHaveLength(1);
    // It is active again: the hour starts over.
    world.activate(birdId);
    await stage.minutesPass(55);
    expect(received().filter((one) => one === 'BirdStale firing')).toHaveLength(1);
    await stage.minutesPass(10);
    expect(received().filter((one) => one === 'BirdStale firing')).toHaveLength(2);
  });

  test('is not reported if it had a Flight while the region was down, or while nestwatch was [long]', async () => {
    const { world, birdId } = await oneBird([rule('BirdStale', { expectEveryMs: 3_600_000 })]);
    world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(30);
    world.goDown(503);
    await stage.minutesPass(20);
    world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(20);
    await stage.restart();
    await stage.minutesPass(5);
    world.comeUp();
    await stage.minutesPass(15);
    expect(received().filter((one) => one.startsWith('BirdStale'))).toEqual([]);
  });
});

describe('failures that come and go', () => {
  test('a flapping Bird is reported once, its alert fires until it is calm, and no failure is lost [long]', async () => {
    const { world, birdId } = await oneBird([], 'event');
    const failed: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      failed.push(world.startFlight(birdId, { endsAs: 'failed' }).id);
      await stage.minutesPass(4);
      world.startFlight(birdId, { endsAs: 'succeeded' });
      await stage.minutesPass(4);
    }
    // The third time that it fires within an hour is one change too many.
    expect(received().filter((one) => one === 'FlightFailed resolved')).toHaveLength(2);
    const flapping = stage
      .received()
      .filter(({ alerts }) => alerts.some(({ annotations }) => annotations.flapping !== undefined));
    expect(flapping[0]!.alerts[0]!.annotations.flapping).toBe(
      'it changed 4 times or more within 1 h, so it stays open until it has been calm for 30 min',
    );
    await stage.minutesPass(35);
    expect(received().filter((one) => one === 'FlightFailed resolved')).toHaveLength(3);
    const events = stage.alerts().flatMap((alert) => alert.events);
    expect(events.map(({ key }) => key).toSorted()).toEqual(
      failed.map((id) => `eu/flight/${id}/failed`).toSorted(),
    );
  });

  test('half of the last ten Flights: reported once, resolved when it is less than half [long]', async () => {
    const half: Rule = rule('FlightFailed', { ratio: 0.5, ofLast: 10 });
    const { world, birdId } = await oneBird([half], 'event');
    const flies = async (pattern: string) => {
      for (const one of pattern) {
        world.startFlight(birdId, { endsAs: one === 'x' ? 'failed' : 'succeeded' });
        await stage.minutesPass(2);
      }
    };
    await flies('.x.x.x.x.');
    expect(received()).toEqual([]);
    await flies('x');
    expect(received()).toEqual(['FlightFailed firing']);
    expect(last().annotations.summary).toBe('5 of the last 10 Flights of Publish failed in Production (EU)');
    expect(last().events_total).toBe(5);
    // The window moves on: a success takes the place of a success.
    await flies('.');
    expect(received()).toEqual(['FlightFailed firing']);
    await flies('.');
    expect(received()).toEqual(['FlightFailed firing', 'FlightFailed resolved']);
  });
});

test('malformed entries are reported once for their feed, and the alert ends a day later [long]', async () => {
  const { world, birdId } = await oneBird([], 'event', 30);
  world.appendBirdLog(birdId, { raw: { id: undefined, createdAt: 'yesterday' } });
  await stage.minutesPass(35);
  expect(received()).toEqual(['SchemaDrift firing']);
  expect(last().labels).toMatchObject({ region: 'eu', feed: 'bird_log', severity: 'warning' });
  expect(last().annotations.summary).toBe('1 Bird log entry could not be read in region EU');
  await stage.minutesPass(DAY + 35);
  expect(received().at(-1)).toBe('SchemaDrift resolved');
});

test('of two rules of a kind, each notifies of what it matches, even while the other still fires [long]', async () => {
  const critical = rule('FlightFailed', {
    match: parseMatchers('error=~".*quota.*"'),
    severity: 'critical',
    labels: { team: 'pager' },
  });
  stage = await createStage({
    regions: ['eu'],
    rules: [critical, rule('FlightFailed', { severity: 'warning' })],
    // The lake takes the place of the pager: it receives the events routed there.
    forward: [],
    route: tree(
      node('', { groupWaitMs: 10_000, groupIntervalMs: 60_000 }, [
        node('team="pager"', { receiver: 'lake', continue: true }),
        node(''),
      ]),
    ),
    nests: { Production: ['Publish'] },
  });
  const { minutesPass, eu, bird } = stage;
  await minutesPass(2);
  const ends = async (status: 'failed' | 'succeeded', errorMessages = '') => {
    const { id } = eu.startFlight(bird('Publish'));
    eu.endFlight(id, status, { errorMessages });
    await minutesPass(3);
    return `eu/flight/${id.toLowerCase()}/${status}`;
  };
  await ends('failed', 'Timeout');
  const key = await ends('failed', 'The quota is exceeded');
  expect(stage.forwarded()).toEqual([key]);
  await ends('succeeded');
  // That the pager's route leads to nobody who takes alerts is reported as well.
  const states = stage.alerts('FlightFailed');
  expect(
    states.map(({ status, labels, events }) => [status, labels.severity, labels.team, events.length]),
  ).toEqual([
    ['firing', 'warning', undefined, 1],
    ['firing', 'critical', 'pager', 1],
    ['firing', 'warning', undefined, 0],
    ['resolved', 'warning', undefined, 0],
    ['resolved', 'critical', 'pager', 0],
  ]);
});
