import { expect, test } from 'vitest';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

const received = (alertname = 'FeedBehind') =>
  stage
    .alerts(alertname)
    .map(({ status, annotations }) => ({ status, description: annotations.description }));
/** The names of so many Birds. */
const birds = (count: number) => Array.from({ length: count }, (_, at) => `Bird ${at}`);

test('a region with more Birds than its rate allows reports it, until there are fewer [long]', async () => {
  stage = await createStage({ regions: ['eu'], requestsPerSecond: 0.25, nests: { Marketing: birds(60) } });
  await stage.minutesPass(25);
  expect(received()).toMatchObject([
    { status: 'firing', description: expect.stringMatching(/ \d\.\d requests a second, 0\.3 are allowed$/) },
  ]);
  const world = stage.eu;
  for (const birdId of [...world.birds.keys()].slice(10)) world.deleteBird(birdId);
  await stage.minutesPass(60);
  expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('the Birds of the first Nests are read while a first listing of very many Nests goes on [long]', async () => {
  const nests = Object.fromEntries(birds(120).map((name) => [`Nest of ${name}`, [name]]));
  stage = await createStage({ regions: ['eu'], requestsPerSecond: 1, nests });
  stage.eu.startFlight(stage.bird('Bird 0'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  expect(stage.region().started).toBe(false);
  expect(received('FlightFailed').map(({ status }) => status)).toEqual(['firing']);
  await stage.minutesPass(5);
  expect(stage.region()).toMatchObject({ started: true, birds: 120 });
});

test('a region with few Birds polls each at the interval, and sends no further requests [long]', async () => {
  stage = await createStage({ regions: ['eu'], nests: { Marketing: birds(10) } });
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
  stage = await createStage({ regions: ['eu'], poll: { intervalMs: 120_000 }, nests: { P: ['Publish'] } });
  const birdId = stage.bird('Publish');
  await stage.minutesPass(5);
  const world = stage.eu;
  const first = world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.clock.advanceUntil(() => stage.forwarded().includes(`eu/flight/${first.id}/failed`));
  // The second failure follows right after the first one was seen.
  const second = world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.secondsPass(15);
  expect(stage.forwarded()).toContain(`eu/flight/${second.id}/failed`);
});

test('Flights that were long active at the first start are known within minutes, even if the rate is low [long]', async () => {
  const flights: string[] = [];
  stage = await createStage({
    regions: ['eu'],
    // Each poll takes 2.2 requests: more than the rate allows for a poll every 30 s.
    requestsPerSecond: 2,
    forward: [],
    nests: { Marketing: birds(30) },
    before(world) {
      for (const bird of world.birds.values()) {
        world.at(world.nowUs() - 3 * 3_600_000_000, () =>
          flights.push(
            world.startFlight(bird.id, { fliesForMs: 3 * 3_600_000 + 8 * 60_000, endsAs: 'failed' }).id,
          ),
        );
      }
    },
  });
  await stage.minutesPass(13);
  const told = stage.alerts().flatMap(({ events }) => events.map(({ key }) => key));
  expect(told.toSorted()).toEqual(flights.map((id) => `eu/flight/${id}/failed`).toSorted());
});
