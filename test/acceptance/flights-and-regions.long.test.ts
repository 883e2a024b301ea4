import { describe, expect, test } from 'vitest';
import type { World } from '../../src/simulator/world/world.ts';
import { howMany } from '../../src/text/instant-words.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

const DAY_S = 86_400;

const HOURS_IN_THE_AIR = 13;
const DAYS_AT_REST = 2;
/** How late a Flight of an unpublished Bird appears, and how many hours finding it may take. */
const LATE_FLIGHTS = [
  ['8 minutes', 'two hours', 8, 2],
  ['20 minutes', 'a day', 20, 24.5],
] as const;

let stage: Stage;

/** One region with one Bird of this id. */
async function openOneBird(
  triggerType: 'event' | 'manual' | 'scheduled',
  options: Pick<StageOptions, 'poll' | 'behaviours'> = {},
): Promise<string> {
  stage = await createStage({ ...options, regions: ['eu'], nests: { Legal: ['Sync'] }, triggerType });
  return stage.bird('Sync');
}

const failures = () => stage.alerts('FlightFailed');

describe('a Flight is watched until it ends', () => {
  test(`one that started ${howMany(HOURS_IN_THE_AIR, 'hour')} before its failure is alerted within two polls [long]`, async () => {
    const birdId = await openOneBird('manual');
    const world = stage.eu;
    await stage.minutesPass(1);
    const { id } = world.startFlight(birdId);
    await stage.minutesPass(HOURS_IN_THE_AIR * 60);
    // Shorter Flights of the same Bird move the cursor far beyond the start of the long one.
    for (let count = 0; count < 5; count += 1) {
      world.startFlight(birdId, { endsAs: 'succeeded' });
      await stage.minutesPass(30);
    }
    const failedAtUs = world.nowUs();
    world.endFlight(id, 'failed', { errorMessages: 'Nobody approved the term base' });
    await stage.secondsPass(60 + 15);
    const [alert] = failures();
    expect(alert?.events[0]?.message).toBe('Nobody approved the term base');
    // Two polls of 30 s, and a `group_wait` of 10 s.
    expect((alert!.receivedAtUs - failedAtUs) / 1e6).toBeLessThanOrEqual(70);
  });

  test('one that was active before nestwatch first started is alerted when it fails [long]', async () => {
    let flightId = '';
    stage = await createStage({
      regions: ['eu'],
      nests: { Legal: ['Long review'] },
      before(world) {
        flightId = world.startFlight([...world.birds.keys()][0]!, {
          startedAtUs: world.nowUs() - 5 * DAY_S * 1e6,
        }).id;
      },
    });
    await stage.minutesPass(3);
    stage.eu.endFlight(flightId, 'failed');
    await stage.minutesPass(2);
    expect(failures()).toHaveLength(1);
  });

  test('a skipped error in a Flight that succeeds raises nothing, and neither does a retried one', async () => {
    const birdId = await openOneBird('event');
    stage.eu.startFlight(birdId, { endsAs: 'succeeded', skippedErrors: 2, retriedErrors: 1 });
    await stage.minutesPass(10);
    expect(stage.forwarded()).toHaveLength(1);
    expect(stage.received()).toEqual([]);
  });

  test('a message that comes later than the status is still in the event [long]', async () => {
    const birdId = await openOneBird('event', { behaviours: { eu: { errorMessagesLateMs: 8_000 } } });
    stage.eu.startFlight(birdId, {
      endsAs: 'failed',
      fliesForMs: 29_000,
      errorMessages: 'Out of credits',
    });
    await stage.minutesPass(3);
    expect(failures()[0]?.events[0]?.message).toMatch(/\S/);
    expect(failures()).toHaveLength(1);
  });
});

describe('a Bird that is unpublished', () => {
  let birdId = '';
  /** Everything else is polled rarely, so that a test gets through a day quickly. */
  const SELDOM = { intervalMs: 1_200_000, maxIntervalMs: 3_600_000, inventoryIntervalMs: 3_600_000 };

  async function openWithBird(poll: NonNullable<StageOptions['poll']> = {}): Promise<World> {
    birdId = await openOneBird('scheduled', { poll });
    await stage.minutesPass(5);
    return stage.eu;
  }

  test('just after one of its Flights failed: the failure raises an alert like any other [long]', async () => {
    // The inventory sees it before its Flights are polled again.
    const world = await openWithBird({ intervalMs: 120_000, inventoryIntervalMs: 5_000 });
    world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
    await stage.secondsPass(2);
    world.unpublish(birdId);
    await stage.minutesPass(5);
    expect(failures()).toHaveLength(1);
  });

  test.each(LATE_FLIGHTS)(
    'a Flight that the service shows %s late is found within %s [long]',
    async (_late, _within, minutes, hours) => {
      const world = await openWithBird(hours > 12 ? SELDOM : {});
      world.unpublish(birdId);
      await stage.minutesPass(minutes + 1);
      const startedAtUs = world.nowUs() - minutes * 60e6;
      const { id } = world.startFlight(birdId, { startedAtUs });
      world.endFlight(id, 'failed');
      await stage.minutesPass(hours * 60);
      expect(stage.forwarded()).toContain(`eu/flight/${id}/failed`);
    },
  );

  test('again, after it was published and had a Flight between two readings of the inventory [long]', async () => {
    const world = await openWithBird();
    world.unpublish(birdId);
    await stage.minutesPass(121);
    world.publish(birdId);
    await stage.secondsPass(5);
    world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
    await stage.secondsPass(5);
    world.unpublish(birdId);
    await stage.minutesPass(3);
    expect(failures()).toHaveLength(1);
  });

  test('is asked for its Flights once a day after they have been read to the end [long]', async () => {
    const world = await openWithBird({ ...SELDOM, auditIntervalMs: 3_600_000 });
    world.unpublish(birdId);
    await stage.minutesPass(120);
    const asked = () => world.requests().byOperation.searchFlights ?? 0;
    const before = asked();
    await stage.secondsPass(DAYS_AT_REST * DAY_S);
    // One request each for a window, for failed and for active Flights.
    expect(asked() - before).toBe(3 * DAYS_AT_REST);
  });
});

describe('one region is down', () => {
  test('and delays nothing in the other; the outage and its end are reported [long]', async () => {
    stage = await createStage({ nests: { Production: ['Publish'] } });
    const { eu, us } = stage.worlds;
    await stage.minutesPass(2);
    eu!.goDown('reset');
    const delaysS: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      const { id } = us!.startFlight(stage.bird('Publish', 'us'), { endsAs: 'failed', fliesForMs: 1_000 });
      const endedAtUs = us!.nowUs() + 1e6;
      await stage.minutesPass(1);
      const call = stage.calls.find(({ body }) => body.includes(`us/flight/${id}/failed`));
      delaysS.push((call!.receivedAtUs - endedAtUs) / 1e6);
    }
    // No event waits longer than one poll interval of its own region, whatever happens in the other region.
    expect(Math.max(...delaysS)).toBeLessThanOrEqual(31);
    const names = () =>
      stage.alerts().map(({ labels, status }) => `${labels.region} ${labels.alertname} ${status}`);
    expect(names()).toContain('eu RegionDown firing');

    eu!.comeUp();
    await stage.minutesPass(10);
    expect(names()).toContain('eu RegionDown resolved');
    expect(names().filter((name) => name.startsWith('us Region'))).toEqual([]);
  });

  test('what happened meanwhile is notified afterwards [long]', async () => {
    stage = await createStage({ nests: { P: ['Publish'] } });
    const { eu } = stage;
    await stage.minutesPass(2);
    eu.goDown(503);
    await stage.minutesPass(5);
    const { id } = eu.startFlight(stage.bird('Publish'), { endsAs: 'failed' });
    await stage.minutesPass(90);
    eu.comeUp();
    await stage.minutesPass(5);
    expect(stage.forwarded()).toEqual([`eu/flight/${id}/failed`]);
    expect(failures()).toHaveLength(1);
  });
});
