import { afterEach, expect, test } from 'vitest';
import type { World } from '../../src/simulator/world.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/transport.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

/** A region in which some answers are others than the service's own. */
async function regionWhere(
  answerTo: (request: HttpRequest, pass: () => Promise<HttpResponse>) => Promise<HttpResponse>,
  options: StageOptions = {},
): Promise<World> {
  const between = (service: Transport): Transport => ({
    send: (request) => answerTo(request, () => service.send(request)),
    close: () => service.close(),
  });
  stage = await openStage({ regions: ['eu'], between, ...options });
  return stage.worlds.eu!;
}

function answer(status: number, headers: Record<string, string> = {}, body = '{}'): HttpResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

function settle(world: World, birds: number, name = 'Marketing') {
  const { id } = world.addNest({ name });
  const birdIds = Array.from(
    { length: birds },
    (_, at) => world.addBird(id, { name: `${name} ${at}`, triggerType: 'event' }).id,
  );
  return { nestId: id, birdIds };
}

const isList = ({ url }: HttpRequest, nestIds: readonly string[]) =>
  nestIds.some((nestId) => new RegExp(`/nests/${nestId}/birds($|\\?)`).test(url));
const health = () => stage.daemon().regions()[0]!.health.health;
const told = (alertname?: string) =>
  stage
    .told()
    .flatMap(({ alerts }) => alerts)
    .filter(({ labels }) => alertname === undefined || labels.alertname === alertname);
const requestsOf = (...operations: string[]) =>
  stage.happenings.filter((one) => one.what === 'request' && operations.includes(one.operation)).length;

test.each([403, 404, 500])('a Nest whose Birds cannot be listed (%i) hides no other one', async (status) => {
  const closed: string[] = [];
  const open: string[] = [];
  const world = await regionWhere(
    async (request, pass) => (isList(request, closed) ? answer(status) : pass()),
    {
      before(world) {
        // More of them in a row than failures that make a region down.
        for (let count = 0; count < 3; count += 1) closed.push(settle(world, 1, 'Closed').nestId);
        open.push(...settle(world, 3).birdIds);
      },
    },
  );
  await stage.minutesPass(20);
  expect(stage.daemon().regions()[0]!.birds).toBe(3);
  const flights = open.map((birdId) => world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 }));
  await stage.minutesPass(15);
  expect(stage.forwarded().toSorted()).toEqual(flights.map(({ id }) => `eu/flight/${id}/failed`).toSorted());
  const why = stage.happenings.findLast((one) => one.what === 'poll' && one.feed === 'inventory');
  expect(why).toMatchObject({
    error: {
      message: expect.stringMatching(/^Birds of 3 of 4 Nests could not be listed, of \d+ \(Closed\), /),
    },
  });
  expect([...new Set(told().map(({ labels }) => labels.alertname))].toSorted()).toEqual([
    'FeedBehind',
    'FlightFailed',
  ]);
  expect(told('FeedBehind')[0]!.annotations.description).toContain('the inventory: last read');
});

test('a token that loses its rights to a Nest is not refused by the region', async () => {
  let closed = 'none';
  await regionWhere(
    async (request, pass) => (request.url.includes(`/nests/${closed}/`) ? answer(403) : pass()),
    {
      before(world) {
        settle(world, 1);
        for (let count = 0; count < 20; count += 1) settle(world, 0, 'Closed');
      },
    },
  );
  const { nestId } = settle(stage.worlds.eu!, 20, 'Lost');
  await stage.minutesPass(10);
  closed = nestId;
  await stage.minutesPass(40);
  expect(told('RegionUnauthorized')).toEqual([]);
  expect(stage.happenings.some((one) => one.what === 'region_health' && one.health !== 'up')).toBe(false);
  expect(told('FeedBehind')[0]!.annotations.description).toContain('its reading fails, the log says why');
});

test('a token that is refused with 403 everywhere is', async () => {
  let isRefused = false;
  await regionWhere(async (_request, pass) => (isRefused ? answer(403) : pass()), {
    before: (world) => void settle(world, 5),
  });
  await stage.minutesPass(10);
  isRefused = true;
  await stage.minutesPass(2);
  expect(health()).toBe('unauthorized');
  await stage.minutesPass(10);
  expect(told().map(({ labels }) => labels.alertname)).toEqual(['RegionUnauthorized']);
});

test('where one answer in five fails, the inventory of a hundred Nests is kept all the same', async () => {
  stage = await openStage({
    regions: ['eu'],
    requestsPerSecond: 20,
    before(world) {
      for (let count = 0; count < 100; count += 1) settle(world, 1);
    },
  });
  const world = stage.worlds.eu!;
  world.behaviours.error500 = 0.2;
  settle(world, 1, 'New');
  await stage.minutesPass(15);
  expect(stage.daemon().regions()[0]!.birds).toBe(101);
});

test('that a region is away, and that it is back, is told though the store was full at that moment', async () => {
  let isFull = false;
  stage = await openStage({
    regions: ['eu'],
    isStoreFull: () => isFull,
    before: (world) => void settle(world, 3),
  });
  const world = stage.worlds.eu!;
  await stage.minutesPass(10);
  isFull = true;
  world.goDown();
  await stage.minutesPass(5);
  isFull = false;
  await stage.minutesPass(2);
  expect(told().map(({ labels, status }) => [labels.alertname, status])).toEqual([['RegionDown', 'firing']]);
  isFull = true;
  world.comeUp();
  await stage.minutesPass(10);
  isFull = false;
  await stage.minutesPass(5);
  expect(health()).toBe('up');
  expect(told('RegionDown').map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('a service that asks for an hour of silence is told while it lasts, with the rate that would be needed', async () => {
  let isAsking = false;
  await regionWhere(async (_request, pass) => (isAsking ? answer(429, { 'retry-after': '3600' }) : pass()), {
    before: (world) => void settle(world, 3),
  });
  await stage.minutesPass(10);
  isAsking = true;
  await stage.minutesPass(1);
  isAsking = false;
  await stage.minutesPass(10);
  expect(health()).toBe('up');
  expect(told()).toMatchObject([
    {
      labels: { alertname: 'FeedBehind' },
      annotations: {
        description: expect.stringMatching(
          /^the service asks to be left alone until \S+ 13:\d\d UTC, .*; it would take 0\.\d requests a second$/,
        ),
      },
    },
  ]);
  await stage.minutesPass(70);
  expect(told().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('a Bird that cannot be read is told by its name, and that it can be read again', async () => {
  let broken = 'none';
  const world = await regionWhere(
    async ({ url }, pass) => (url.includes(`/birds/${broken}/`) ? answer(500) : pass()),
    { before: (world) => void settle(world, 4) },
  );
  const { birdIds } = settle(world, 1, 'Broken');
  await stage.minutesPass(10);
  broken = birdIds[0]!;
  await stage.minutesPass(30);
  expect(told()).toMatchObject([
    {
      labels: { alertname: 'FeedBehind' },
      annotations: {
        description: expect.stringMatching(
          new RegExp(
            `of Bird ${broken} \\(Broken 0\\): last read \\d+ min ago, at most 5 min are meant; its reading fails`,
          ),
        ),
      },
    },
  ]);
  broken = 'none';
  await stage.minutesPass(10);
  expect(told().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('Nests and Birds whose form has changed are told, and do not vanish', async () => {
  let renamed: string | undefined;
  const world = await regionWhere(
    async (request, pass) => {
      const real = await pass();
      if (!renamed || !new RegExp(`/${renamed}($|\\?)`).test(request.url)) return real;
      return { ...real, body: real.body.replaceAll('"id":', '"key":') };
    },
    { before: (world) => void settle(world, 5) },
  );
  await stage.minutesPass(20);
  for (const list of ['birds', 'nests']) {
    renamed = list;
    await stage.minutesPass(30);
    expect(stage.daemon().regions()[0]).toMatchObject({ nests: 1, birds: 5 });
  }
  expect(told()).toMatchObject([
    {
      labels: { alertname: 'SchemaDrift', feed: 'inventory' },
      annotations: {
        summary: '5 Nests or Birds could not be read in region EU',
        description: expect.stringContaining('a Bird: no usable id'),
      },
    },
  ]);
  expect(stage.happenings.filter(({ what }) => what === 'quarantined')).toMatchObject([
    { feed: 'inventory', count: 5 },
    { feed: 'inventory', count: 1 },
  ]);
  renamed = undefined;
  const gone = world.addBird(world.addNest({ name: 'Brief' }).id, { name: 'Brief', triggerType: 'event' }).id;
  await stage.minutesPass(10);
  world.deleteBird(gone);
  await stage.minutesPass(15);
  expect(stage.daemon().regions()[0]).toMatchObject({ nests: 2, birds: 5 });
});

test('Birds that are listed and cannot be found do not make the inventory hot', async () => {
  const lost: string[] = [];
  let isLost = false;
  await regionWhere(
    async ({ url }, pass) =>
      isLost && lost.some((birdId) => url.includes(`/birds/${birdId}/`)) ? answer(404) : pass(),
    {
      before(world) {
        for (let count = 0; count < 5; count += 1) lost.push(settle(world, 3).birdIds[0]!);
      },
    },
  );
  await stage.minutesPass(30);
  isLost = true;
  await stage.minutesPass(10);
  stage.happenings.splice(0);
  await stage.minutesPass(60);
  expect(requestsOf('searchNests', 'searchBirds')).toBeLessThanOrEqual(13 * 6);
  expect(told()).toEqual([]);
});

test('a notification about an excluded Nest is kept and forwarded, and raises no alert', async () => {
  stage = await openStage({
    regions: ['eu'],
    excludedNests: ['Sandbox*'],
    before: (world) => void settle(world, 1),
  });
  const world = stage.worlds.eu!;
  const { birdIds } = settle(world, 1, 'Sandbox of Ann');
  await stage.minutesPass(10);
  for (let count = 0; count < 5; count += 1) world.eventError(birdIds[0]!);
  await stage.minutesPass(20);
  const [key, ...others] = stage.forwarded();
  expect([key?.split('/').slice(0, 2), others]).toEqual([['eu', 'notification'], []]);
  expect(told()).toEqual([]);
  const event = await stage.store.transaction((tx) => tx.event(key!));
  expect(event).toMatchObject({ nest: 'Sandbox of Ann', attributes: { nest_excluded: true } });
});
