import { expect, test } from 'vitest';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { sleep } from '../../src/time/clock.ts';
import { type Between, createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

/** A region in which some answers are replaced. */
async function regionWhere(between: Between, options: StageOptions = {}): Promise<World> {
  stage = await createStage({ regions: ['eu'], between, ...options });
  return stage.eu;
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
const isNestList = ({ url }: HttpRequest) => /\/nests($|\?)/.test(url);
const health = () => stage.region().health.health;
const received = (alertname?: string) => stage.alerts(alertname);
const requestsOf = (...operations: string[]) =>
  stage.happenings.filter((one) => one.what === 'request' && operations.includes(one.operation)).length;

const STATUSES = [401, 403, 404, 429, 500, 503];
test.each(STATUSES)('a Nest whose Birds cannot be listed (%i) hides no other one [long]', async (status) => {
  const closed: string[] = [];
  const open: string[] = [];
  const world = await regionWhere(
    async (request, pass) => (isList(request, closed) ? answer(status) : pass()),
    {
      before(world) {
        // More of them in a row than the failures that make a region down.
        for (let count = 0; count < 3; count += 1) closed.push(settle(world, 1, 'Closed').nestId);
        open.push(...settle(world, 3).birdIds);
      },
    },
  );
  await stage.minutesPass(20);
  expect(stage.region().birds).toBe(3);
  const flights = open.map((birdId) => world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 }));
  await stage.minutesPass(15);
  expect(stage.forwarded().toSorted()).toEqual(flights.map(({ id }) => `eu/flight/${id}/failed`).toSorted());
  const why = stage.happenings.findLast((one) => one.what === 'poll' && one.feed === 'inventory');
  expect(why).toMatchObject({
    error: {
      message: expect.stringMatching(/^Birds of 3 of 4 Nests could not be listed, of \d+ \(Closed\), /),
    },
  });
  expect([...new Set(received().map(({ labels }) => labels.alertname))].toSorted()).toEqual([
    'FeedBehind',
    'FlightFailed',
  ]);
  expect(received('FeedBehind')[0]!.annotations.description).toContain('the inventory: last read');
});

test('a token that loses its rights to a Nest is not reported as refused by the region [long]', async () => {
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
  const { nestId } = settle(stage.eu, 20, 'Lost');
  await stage.minutesPass(10);
  closed = nestId;
  await stage.minutesPass(40);
  expect(received('RegionUnauthorized')).toEqual([]);
  expect(stage.happenings.some((one) => one.what === 'region_health' && one.health !== 'up')).toBe(false);
  expect(received('FeedBehind')[0]!.annotations.description).toContain('its reading fails: ');
});

test('a single 401 of a gateway is not reported, and reading continues [long]', async () => {
  let refusals = 1;
  await regionWhere(
    async (_request, pass) => (stage?.clock.monotonicMs() > 300_000 && refusals-- > 0 ? answer(401) : pass()),
    { before: (world) => void settle(world, 5) },
  );
  await stage.minutesPass(6);
  expect(refusals).toBeLessThan(1);
  expect(stage.happenings.some((one) => one.what === 'region_health' && one.health !== 'up')).toBe(false);
  expect(stage.happenings.filter((one) => one.what === 'poll' && one.failure !== undefined)).toEqual([]);
  await stage.minutesPass(10);
  expect(received()).toEqual([]);
});

test('a token that is refused with 403 everywhere is reported as refused [long]', async () => {
  let isRefused = false;
  await regionWhere(async (_request, pass) => (isRefused ? answer(403) : pass()), {
    before: (world) => void settle(world, 5),
  });
  await stage.minutesPass(10);
  isRefused = true;
  await stage.minutesPass(2);
  expect(health()).toBe('unauthorized');
  await stage.minutesPass(10);
  expect(received().map(({ labels }) => labels.alertname)).toEqual(['RegionUnauthorized']);
});

const MANY_NESTS = 100;
test('if one answer in five fails, the inventory of many Nests is still kept [long]', async () => {
  stage = await createStage({
    regions: ['eu'],
    requestsPerSecond: 20,
    before(world) {
      for (let count = 0; count < MANY_NESTS; count += 1) settle(world, 1);
    },
  });
  const world = stage.eu;
  world.behaviours.error500 = 0.2;
  settle(world, 1, 'New');
  await stage.minutesPass(15);
  expect(stage.region().birds).toBe(MANY_NESTS + 1);
});

test('that a region is away and back is reported even if the store was full at that moment [long]', async () => {
  let isFull = false;
  stage = await createStage({
    regions: ['eu'],
    isStoreFull: () => isFull,
    before: (world) => void settle(world, 3),
  });
  const world = stage.eu;
  await stage.minutesPass(10);
  isFull = true;
  world.goDown();
  await stage.minutesPass(5);
  isFull = false;
  await stage.minutesPass(2);
  expect(received().map(({ labels, status }) => [labels.alertname, status])).toEqual([
    ['RegionDown', 'firing'],
  ]);
  isFull = true;
  world.comeUp();
  await stage.minutesPass(10);
  isFull = false;
  await stage.minutesPass(5);
  expect(health()).toBe('up');
  expect(received('RegionDown').map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test("a service that asks for an hour's pause is reported meanwhile, with the rate that would be needed [long]", async () => {
  let isAsking = false;
  await regionWhere(async (_request, pass) => (isAsking ? answer(429, { 'retry-after': '3600' }) : pass()), {
    before: (world) => void settle(world, 3),
  });
  await stage.minutesPass(10);
  isAsking = true;
  await stage.minutesPass(11);
  expect(health()).toBe('up');
  expect(received()).toMatchObject([
    {
      labels: { alertname: 'FeedBehind' },
      annotations: {
        description: expect.stringMatching(
          /^the service asks to be left alone until \S+ 13:\d\d UTC, .*; it would take 0\.\d requests a second$/,
        ),
      },
    },
  ]);
  isAsking = false;
  await stage.minutesPass(15);
  expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('a Bird that cannot be read is reported by name, and so is its end [long]', async () => {
  let broken = 'none';
  const world = await regionWhere(
    async ({ url }, pass) => (url.includes(`/birds/${broken}/`) ? answer(500) : pass()),
    { before: (world) => void settle(world, 4) },
  );
  const { birdIds } = settle(world, 1, 'Broken');
  await stage.minutesPass(10);
  broken = birdIds[0]!;
  await stage.minutesPass(30);
  expect(received()).toMatchObject([
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
  expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('Nests and Birds whose format has changed are reported, and do not vanish [long]', async () => {
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
    expect(stage.region()).toMatchObject({ nests: 1, birds: 5 });
  }
  expect(received()).toMatchObject([
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
  expect(stage.region()).toMatchObject({ nests: 2, birds: 5 });
  expect(received().at(-1)).toMatchObject({
    labels: { alertname: 'SchemaDrift', feed: 'inventory' },
    status: 'resolved',
    annotations: { resolved_by: 'every Nest and Bird can be read again' },
  });
});

const MINUTES_BROKEN = 120;
const MINUTES_LOST = 60;

test('Birds that are listed but cannot be found cause no busy loop, and are reported [long]', async () => {
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
  await stage.minutesPass(MINUTES_LOST);
  expect(requestsOf('searchNests', 'searchBirds')).toBeLessThanOrEqual((13 * MINUTES_LOST) / 10);
  expect(received()).toMatchObject([
    {
      labels: { alertname: 'FeedBehind' },
      annotations: {
        description: expect.stringMatching(
          new RegExp(`of Bird (${lost.join('|')}) \\(.*at most 5 min are meant; its reading fails`),
        ),
      },
    },
  ]);
  isLost = false;
  await stage.minutesPass(15);
  expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
});

test('a Bird that is listed, but sometimes not found and sometimes refused, is reported and stays so [long]', async () => {
  let broken = 'none';
  let count = 0;
  await regionWhere(
    async ({ url }, pass) => {
      if (!url.includes(`/birds/${broken}/logs`)) return pass();
      count += 1;
      return answer(count % 2 === 0 ? 404 : 403);
    },
    { before: (world) => void settle(world, 3) },
  );
  await stage.minutesPass(10);
  broken = [...stage.eu.birds.keys()][0]!;
  await stage.minutesPass(MINUTES_BROKEN);
  expect(received().map(({ labels, status }) => [labels.alertname, status])).toEqual([
    ['FeedBehind', 'firing'],
  ]);
});

test.each([
  ['while all is well', []],
  ['after it could not be read', [500]],
])(
  'a Bird that was deleted %s causes the inventory to be read within minutes [long]',
  async (_when, failures) => {
    let broken = 'none';
    const world = await regionWhere(
      async ({ url }, pass) => (url.includes(`/birds/${broken}/`) ? answer(failures[0]!) : pass()),
      { poll: { inventoryIntervalMs: 3_600_000 }, before: (one) => void settle(one, 3) },
    );
    await stage.minutesPass(10);
    const birdId = [...world.birds.keys()][0]!;
    if (failures.length > 0) broken = birdId;
    await stage.minutesPass(2);
    world.deleteBird(birdId);
    broken = 'none';
    const readBefore = requestsOf('searchBirds');
    await stage.minutesPass(6);
    expect(requestsOf('searchBirds')).toBeGreaterThan(readBefore);
  },
);

test.each([
  ['as soon as it is deleted', 0],
  ['after one reading lacked it', 1],
])(
  'a deleted Bird is not reported as unread while the inventory fails %s [long]',
  async (_when, readings) => {
    let isBroken = false;
    const world = await regionWhere(
      async (request, pass) => (isBroken && isNestList(request) ? answer(500) : pass()),
      { poll: { inventoryIntervalMs: 1_200_000 }, before: (world) => void settle(world, 3) },
    );
    await stage.minutesPass(10);
    world.deleteBird([...world.birds.keys()][0]!);
    const readBefore = requestsOf('searchBirds');
    while (requestsOf('searchBirds') < readBefore + readings) await stage.clock.advance(10);
    isBroken = true;
    await stage.minutesPass(25);
    expect(stage.region().birds).toBe(3);
    isBroken = false;
    await stage.minutesPass(30);
    expect(stage.region().birds).toBe(2);
    // Of the lists only.
    expect(received().map(({ status, labels }) => [status, labels.reason, labels.severity])).toEqual([
      ['firing', 'inventory_failing', 'warning'],
      ['resolved', 'inventory_failing', 'warning'],
    ]);
  },
);

test('a Bird is not reported as unread if its list cannot tell whether it was deleted [long]', async () => {
  const world = await regionWhere(
    async (request, pass) => {
      const real = await pass();
      return isList(request, ['\\d+']) ? { ...real, body: real.body.replace('"id":', '"key":') } : real;
    },
    { before: (world) => void settle(world, 3) },
  );
  await stage.minutesPass(10);
  world.deleteBird([...world.birds.keys()].at(-1)!);
  await stage.minutesPass(30);
  expect(stage.region().birds).toBe(2);
  expect(received().map(({ labels }) => labels.alertname)).toEqual(['SchemaDrift']);
});

test('the cost of the inventory is known even if one of many Nests can never be read [long]', async () => {
  const closed: string[] = [];
  await regionWhere(async (request, pass) => (isList(request, closed) ? answer(403) : pass()), {
    poll: { inventoryIntervalMs: 10_000 },
    requestsPerSecond: 4,
    before(world) {
      closed.push(settle(world, 0, 'Closed').nestId);
      for (let count = 0; count < 40; count += 1) settle(world, 0);
    },
  });
  await stage.minutesPass(60);
  // That there are no Birds at all is reported as well.
  expect(received('FeedBehind')).toMatchObject([
    {
      labels: { alertname: 'FeedBehind' },
      annotations: {
        description: expect.stringMatching(
          /the inventory: .*it would take 4\.\d requests a second, 4\.0 are allowed$/,
        ),
      },
    },
  ]);
});

test.each(['suspend', 'unpublish'] as const)(
  'a Bird that was changed back from %s while the inventory is read is not reported from its older lists [long]',
  async (change) => {
    let isSlow = false;
    const world = await regionWhere(
      async (request, pass) => {
        const real = await pass();
        if (isSlow && isList(request, ['\\d+'])) await sleep(stage.clock, 1000);
        return real;
      },
      {
        before(world) {
          for (let count = 0; count < 60; count += 1) settle(world, count === 0 ? 1 : 0);
        },
      },
    );
    const birdId = [...world.birds.keys()][0]!;
    await stage.minutesPass(10);
    world[change](birdId);
    await stage.minutesPass(20);
    const receivedBefore = received().length;
    isSlow = true;
    const listedBefore = requestsOf('searchBirds');
    while (requestsOf('searchBirds') < listedBefore + 3) await stage.secondsPass(1);
    if (change === 'suspend') world.activate(birdId);
    else world.publish(birdId);
    await stage.minutesPass(20);
    isSlow = false;
    await stage.minutesPass(5);
    expect(received().slice(receivedBefore)).toMatchObject([{ status: 'resolved' }]);
  },
);

test('an answer about one Bird that may be older than the inventory is requested again [long]', async () => {
  let isLate = false;
  let isSuspended = false;
  const suspended = (real: HttpResponse) => ({
    ...real,
    body: real.body.replaceAll('"active"', '"suspended"'),
  });
  const world = await regionWhere(
    async (request, pass) => {
      const real = await pass();
      if (isSuspended && isList(request, ['\\d+'])) return suspended(real);
      if (!isLate || !/\/birds\/\d+$/.test(request.url)) return real;
      isLate = false;
      await sleep(stage.clock, 70_000);
      return suspended(real);
    },
    { poll: { inventoryIntervalMs: 60_000 }, before: (world) => void settle(world, 1) },
  );
  const birdId = [...world.birds.keys()][0]!;
  await stage.minutesPass(10);
  isLate = true;
  world.suspend(birdId);
  world.activate(birdId);
  await stage.minutesPass(10);
  expect(isLate).toBe(false);
  expect(received()).toEqual([]);
  // From the next readings of the inventory on, its status counts again.
  isSuspended = true;
  await stage.minutesPass(5);
  expect(received()).toMatchObject([{ status: 'firing', labels: { alertname: 'BirdDeactivated' } }]);
});

test.each([
  ['', 0],
  [', also of what came before a restart', 800],
  [', also where Nests are listed slowly after a restart', 12_000],
])(
  'a notification about an excluded Nest is kept and forwarded, and raises no alert%s [long]',
  async (_when, slowMs) => {
    let isSlow = false;
    const world = await regionWhere(
      async (request, pass) => {
        const real = await pass();
        if (isSlow && isNestList(request)) await sleep(stage.clock, slowMs);
        return real;
      },
      { excludedNests: ['Sandbox*'], before: (world) => void settle(world, 1) },
    );
    const { birdIds } = settle(world, 1, 'Sandbox of Ann');
    await stage.minutesPass(10);
    isSlow = slowMs > 0;
    const errors = () => {
      for (let count = 0; count < 5; count += 1) world.eventError(birdIds[0]!);
    };
    if (isSlow) await stage.restart(errors);
    else errors();
    await stage.minutesPass(20);
    const [key, ...others] = stage.forwarded();
    expect([key?.split('/').slice(0, 2), others]).toEqual([['eu', 'notification'], []]);
    expect(received()).toEqual([]);
    const event = await stage.store.transaction((tx) => tx.events.find(key!));
    expect(event).toMatchObject({ nest: 'Sandbox of Ann', attributes: { nest_excluded: true } });
  },
);

test('notifications are read after a restart as soon as the Nests are listed, even if the rest of the inventory is slow [long]', async () => {
  let isSlow = false;
  const world = await regionWhere(
    async (request, pass) => {
      if (isSlow && isList(request, ['\\d+'])) await sleep(stage.clock, 300_000);
      return pass();
    },
    { before: (world) => void settle(world, 1) },
  );
  await stage.minutesPass(10);
  isSlow = true;
  await stage.restart(() => {
    for (let count = 0; count < 5; count += 1) world.eventError([...world.birds.keys()][0]!);
  });
  await stage.minutesPass(1);
  expect(stage.forwarded().filter((key) => key.startsWith('eu/notification/'))).toHaveLength(1);
  isSlow = false;
  await stage.minutesPass(6);
});

test('the alerts of a region that is no longer configured end, and the others continue [long]', async () => {
  stage = await createStage({ nests: { Legal: ['Sync'] } });
  await stage.minutesPass(5);
  for (const region of ['eu', 'us']) stage.worlds[region]!.goDown(503);
  await stage.minutesPass(15);
  stage.drops('us');
  await stage.restart();
  await stage.minutesPass(15);
  const alerts = stage.alerts();
  const states = (region: string) =>
    alerts
      .filter(({ labels }) => labels.region === region && labels.alertname === 'RegionDown')
      .map(({ status, annotations }) => [status, annotations.resolved_by]);
  expect(states('us')).toEqual([
    ['firing', undefined],
    ['resolved', 'its region is no longer watched'],
  ]);
  expect(states('eu')).toEqual([['firing', undefined]]);
});
