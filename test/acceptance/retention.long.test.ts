/**
 * Events that were notified once are not notified again after retention deleted them, however long the service
 * returns them.
 */
import { expect, test } from 'vitest';
import { pruneEachHour } from '../../src/app.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

const KEPT_HOURS = 3;

/** Three Birds, and a store with this retention. */
async function open(): Promise<readonly string[]> {
  stage = await createStage({
    regions: ['eu'],
    poll: { intervalMs: 1_500_000, maxIntervalMs: 1_500_000, inventoryIntervalMs: 3_600_000 },
    nests: { Marketing: ['one', 'two', 'three'] },
  });
  await stage.restart(() => stage.keepsFor(KEPT_HOURS / 24));
  return [...stage.eu.birds.keys()];
}

/** Every three hours each Bird fails and succeeds, is saved, and loses its connection; then the store is pruned. */
async function hoursPass(hours: number, birds: readonly string[]): Promise<void> {
  const world = stage.eu;
  for (let passed = 0; passed < hours; passed += 3) {
    for (const birdId of birds) {
      world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1000 });
      world.save(birdId);
    }
    world.disconnectConnection({ exhausted: true, wording: 'new' });
    await stage.minutesPass(30);
    for (const birdId of birds) world.startFlight(birdId, { endsAs: 'succeeded', fliesForMs: 1000 });
    await stage.minutesPass(150);
    while ((await stage.daemon().prune()) > 0);
  }
}

/** One a quarter of an hour. */
const FAILURES = 27;

test('a longer retention notifies of nothing again that the shorter one had deleted [long]', async () => {
  const birds = await open();
  await hoursPass(2 * KEPT_HOURS, birds);
  await hoursPass(4 * KEPT_HOURS, birds.slice(0, 2));
  const mails = stage.mails.length;
  await stage.restart(() => stage.keepsFor(30));
  await stage.minutesPass(26 * 60);
  expect(stage.repeated()).toEqual([]);
  const received = stage.mails.slice(mails).map(({ notification }) => notification);
  expect(received.filter(({ summary }) => summary)).toEqual([]);
  expect(received.flatMap(({ alerts }) => alerts.map(({ labels }) => labels.alertname))).not.toContain(
    'FlightFailed',
  );
});

test('a restart does not notify again of what did not change for longer than the retention [long]', async () => {
  const birds = await open();
  await hoursPass(KEPT_HOURS, birds);
  await hoursPass(2 * KEPT_HOURS, []);
  await stage.restart();
  await stage.minutesPass(60);
  expect(stage.repeated()).toEqual([]);
  // What happens afterwards is notified as usual.
  const failed = stage.eu.startFlight(birds[2]!, { endsAs: 'failed', fliesForMs: 1000 });
  await stage.minutesPass(30);
  expect(stage.forwarded().at(-1)).toBe(`eu/flight/${failed.id}/failed`);
});

test('a Flight that the service lists without a start is notified once, however often the store is pruned [long]', async () => {
  stage = await createStage({
    regions: ['eu'],
    nests: { Marketing: ['one'] },
    between: async (_request, pass) => {
      const { body, ...answer } = await pass();
      return { ...answer, body: body.replace(/"startDate":"[^"]*"/g, '"startDate":null') };
    },
  });
  await stage.minutesPass(5);
  const flight = stage.eu.startFlight(stage.bird('one'), { endsAs: 'cancelled', fliesForMs: 1000 });
  for (let times = 0; times < 6; times += 1) {
    await stage.minutesPass(10);
    while ((await stage.daemon().prune()) > 0);
  }
  await stage.restart();
  await stage.minutesPass(10);
  expect(stage.forwarded()).toEqual([`eu/flight/${flight.id}/cancelled`]);
});

test('a Bird that comes back after the retention is not notified of again, and watched as usual [long]', async () => {
  const hidden = new Set<string>();
  stage = await createStage({
    regions: ['eu'],
    poll: {
      intervalMs: 480_000,
      maxIntervalMs: 480_000,
      inventoryIntervalMs: 600_000,
      auditIntervalMs: 3_600_000,
    },
    nests: { Marketing: ['one', 'two'] },
    between: async (_request, pass) => {
      const { body, ...answer } = await pass();
      const listed: unknown = hidden.size > 0 && body.startsWith('[') ? JSON.parse(body) : undefined;
      if (!Array.isArray(listed)) return { ...answer, body };
      return { ...answer, body: JSON.stringify(listed.filter(({ id }) => !hidden.has(id))) };
    },
  });
  const world = stage.eu;
  const [bird, other] = [stage.bird('one'), stage.bird('two')];
  await stage.restart(() => stage.keepsFor(KEPT_HOURS / 24));
  await stage.minutesPass(10);
  const inTheAir = world.startFlight(bird);
  const received = world.startFlight(bird, { endsAs: 'failed', fliesForMs: 1000 });
  world.save(bird);
  await stage.minutesPass(30);
  world.startFlight(bird, { endsAs: 'succeeded', fliesForMs: 1000 });
  await stage.minutesPass(10);
  const known = () =>
    stage.store.transaction(async (tx) => (await tx.inventory.birds('eu')).map(({ birdId }) => birdId));
  const inFlight = () =>
    stage.store.transaction((tx) => tx.overdue.flights(world.nowUs(), world.nowUs() * 2, 10));
  expect(stage.forwarded()).toContain(`eu/flight/${received.id}/failed`);
  hidden.add(bird);
  await hoursPass(4 * KEPT_HOURS, [other]);
  expect(await known()).toEqual([other]);
  expect(await inFlight()).toEqual([]);
  const missed = world.startFlight(bird, { endsAs: 'failed', fliesForMs: 1000 });
  await stage.minutesPass(10);
  hidden.clear();
  await stage.minutesPass(26 * 60);
  expect(await known()).toEqual([bird, other].toSorted());
  expect(await inFlight()).toHaveLength(1);
  world.endFlight(inTheAir.id, 'failed');
  await stage.minutesPass(30);
  await stage.restart();
  await stage.minutesPass(60);
  const flights = [missed, inTheAir].map(({ id }) => `eu/flight/${id}/failed`);
  expect(stage.forwarded()).toEqual(expect.arrayContaining(flights));
  expect(stage.repeated()).toEqual([]);
});

test('an alert that fires for longer than the retention forgets its notified events, and nothing else [long]', async () => {
  stage = await createStage({
    regions: ['eu'],
    poll: { intervalMs: 600_000, maxIntervalMs: 600_000, inventoryIntervalMs: 3_600_000 },
    nests: { Marketing: ['one'] },
  });
  const world = stage.eu;
  const bird = stage.bird('one');
  await stage.restart(() => stage.keepsFor(KEPT_HOURS / 24));
  const failed: string[] = [];
  const failsAgain = async (times: number) => {
    for (let count = 0; count < times; count += 1) {
      const { id } = world.startFlight(bird, { endsAs: 'failed', fliesForMs: 1000 });
      failed.push(`eu/flight/${id}/failed`);
      await stage.minutesPass(15);
      while ((await stage.daemon().prune()) > 0);
    }
  };
  const stored = () =>
    stage.store.transaction(
      async (tx) => (await tx.events.page({ type: 'flight.failed', limit: 100 })).events.length,
    );
  await failsAgain(FAILURES);
  expect(await stored()).toBeLessThanOrEqual(21);
  await stage.restart();
  await failsAgain(2);
  world.startFlight(bird, { endsAs: 'succeeded', fliesForMs: 1000 });
  await stage.minutesPass(30);
  expect(stage.forwarded().filter((key) => key.endsWith('/failed'))).toEqual(failed);
  const received = stage.alerts().filter(({ labels }) => labels.bird_id === bird);
  const news = received
    .flatMap(({ events }) => events.map(({ key }) => key))
    .filter((key) => key.endsWith('/failed'));
  expect(news.toSorted()).toEqual(failed.toSorted());
  expect(received.at(-1)).toMatchObject({ status: 'resolved', events_total: failed.length });
});

test('the store is pruned each hour, also when the wall clock is set, and a stop meanwhile is no trouble', async () => {
  const clock = createVirtualClock();
  const prunedAtMin: number[] = [];
  const reported: unknown[] = [];
  const stop = new AbortController();
  let error: unknown;
  const prune = async () => {
    prunedAtMin.push(clock.monotonicMs() / 60_000);
    if (error) throw error;
    return 0;
  };
  const ended = pruneEachHour({ prune }, clock, (one) => reported.push(one), stop.signal);
  await clock.advance(15 * 60_000);
  clock.stepWall(-365 * 86_400_000);
  await clock.advance(60 * 60_000);
  clock.stepWall(6 * 365 * 86_400_000);
  error = new Error('the disk is full');
  await clock.advance(60 * 60_000);
  error = new NestwatchError('cancelled', 'The store is closed.');
  await clock.advance(60 * 60_000);
  expect(prunedAtMin).toEqual([10, 70, 130, 190]);
  expect(reported).toMatchObject([{ what: 'trouble', error: new Error('the disk is full') }]);
  stop.abort();
  await ended;
});

test.each([
  ['while the clock is ahead of the service by more than a day', false],
  ['while no service answers that could say so', true],
])('nothing is pruned %s [long]', async (_, isDown) => {
  await open();
  await stage.minutesPass(10);
  stage.eu.startFlight(stage.bird('one'), { endsAs: 'failed', fliesForMs: 1000 });
  await stage.minutesPass(30);
  const stored = () =>
    stage.store.transaction(async (tx) => (await tx.events.page({ limit: 100 })).events.length);
  const before = await stored();
  expect(before).toBeGreaterThan(0);
  if (isDown) stage.eu.goDown(503);
  stage.ourClockSteps(40 * 86_400);
  await stage.minutesPass(10);
  expect([await stage.daemon().prune(), await stored()]).toEqual([0, before]);
  stage.ourClockSteps(-40 * 86_400);
  stage.eu.comeUp();
  await stage.minutesPass(600);
  expect(await stage.daemon().prune()).toBeGreaterThan(0);
});
