import { afterEach, expect, test } from 'vitest';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const received = (alertname = 'FeedBehind') =>
  stage
    .received()
    .flatMap(({ alerts }) =>
      alerts
        .filter(({ labels }) => labels.alertname === alertname)
        .map(({ status, annotations }) => ({ status, description: annotations.description })),
    );

test('a region with more Birds than its rate allows reports it, until there are fewer [long]', async () => {
  const birds: string[] = [];
  stage = await openStage({
    regions: ['eu'],
    requestsPerSecond: 0.25,
    before(world) {
      const nest = world.addNest({ name: 'Marketing' });
      for (let count = 0; count < 60; count += 1) {
        birds.push(world.addBird(nest.id, { name: `Bird ${count}`, triggerType: 'scheduled' }).id);
      }
    },
  });
  await stage.minutesPass(25);
  expect(received()).toMatchObject([
    { status: 'firing', description: expect.stringMatching(/ \d\.\d requests a second, 0\.3 are allowed$/) },
  ]);
  const world = stage.worlds.eu!;
  for (const birdId of birds.slice(10)) world.deleteBird(birdId);
  await stage.minutesPass(60);
  expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('the Birds of the first Nests are read while a first listing of very many Nests goes on [long]', async () => {
  let first = '';
  stage = await openStage({
    regions: ['eu'],
    requestsPerSecond: 1,
    before(world) {
      for (let count = 0; count < 120; count += 1) {
        const nest = world.addNest({ name: `Nest ${count}` });
        const bird = world.addBird(nest.id, { name: `Bird ${count}`, triggerType: 'scheduled' });
        if (count === 0) first = bird.id;
      }
    },
  });
  stage.worlds.eu!.startFlight(first, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  expect(stage.daemon().regions()[0]!.started).toBe(false);
  expect(received('FlightFailed').map(({ status }) => status)).toEqual(['firing']);
  await stage.minutesPass(5);
  expect(stage.daemon().regions()[0]).toMatchObject({ started: true, birds: 120 });
});

test('a region with few Birds polls each at the interval, and sends no further requests [long]', async () => {
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Marketing' });
      for (let count = 0; count < 10; count += 1) {
        world.addBird(nest.id, { name: `Bird ${count}`, triggerType: 'scheduled' });
      }
    },
  });
  await stage.minutesPass(10);
  const before = stage.happenings.length;
  await stage.minutesPass(30);
  const requests = stage.happenings
    .slice(before)
    .flatMap((one) => (one.what === 'request' ? [one.operation] : []));
  const of = (operation: string) => requests.filter((one) => one === operation).length;
  // Within its first hour, a Bird's poll also reads failed and active Flights once.
  const more = { searchFlights: 2, getBirdLogs: 0 };
  for (const [operation, once] of Object.entries(more)) {
    expect(of(operation)).toBeGreaterThan(10 * 55);
    expect(of(operation)).toBeLessThanOrEqual(10 * (61 + once));
  }
  expect(of('getNotifications')).toBeGreaterThanOrEqual(59);
  expect(received()).toEqual([]);
});

test('after a failure the Bird is polled again before its interval is over', async () => {
  let birdId = '';
  stage = await openStage({
    regions: ['eu'],
    poll: { intervalMs: 120_000 },
    before(world) {
      birdId = world.addBird(world.addNest({ name: 'P' }).id, { name: 'Publish', triggerType: 'event' }).id;
    },
  });
  await stage.minutesPass(5);
  const world = stage.worlds.eu!;
  const first = world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.clock.advanceUntil(() => stage.forwarded().includes(`eu/flight/${first.id}/failed`));
  // The second failure follows right after the first one was seen.
  const second = world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.secondsPass(15);
  expect(stage.forwarded()).toContain(`eu/flight/${second.id}/failed`);
});

test('Flights that were long active at the first start are known within minutes, even if the rate is low [long]', async () => {
  const flights: string[] = [];
  stage = await openStage({
    regions: ['eu'],
    // Each poll takes 2.2 requests: more than the rate allows for a poll every 30 s.
    requestsPerSecond: 2,
    forward: [],
    before(world) {
      const nest = world.addNest({ name: 'Marketing' });
      for (let count = 0; count < 30; count += 1) {
        const bird = world.addBird(nest.id, { name: `Bird ${count}`, triggerType: 'event' });
        world.at(world.nowUs() - 3 * 3_600_000_000, () =>
          flights.push(
            world.startFlight(bird.id, { fliesForMs: 3 * 3_600_000 + 8 * 60_000, endsAs: 'failed' }).id,
          ),
        );
      }
    },
  });
  await stage.minutesPass(13);
  const told = stage
    .received()
    .flatMap(({ alerts }) => alerts.flatMap(({ events }) => events.map(({ key }) => key)));
  expect(told.toSorted()).toEqual(flights.map((id) => `eu/flight/${id}/failed`).toSorted());
});
