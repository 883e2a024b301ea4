/** What the service refuses, fails at or is slow to answer while it answers everything else. */
import { afterEach, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpResponse } from '../../src/http/transport.ts';
import { sleep } from '../../src/time/clock.ts';
import { casesOf } from '../cases.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

/** What the health of the region became, one after another. */
function healthsOf({ happenings }: Stage): string[] {
  return happenings.flatMap((one) => (one.what === 'region_health' ? [one.health] : []));
}

test('a stream that was refused for long is read soon after the limit lets it', async () => {
  let birdId = '';
  let isRefusing = false;
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Legal' });
      birdId = world.addBird(nest.id, { name: 'Contracts', triggerType: 'manual' }).id;
      world.addBird(nest.id, { name: 'Reviews', triggerType: 'manual' });
    },
    between: (service) => ({
      ...service,
      send: (request) =>
        isRefusing && request.url.includes(`/birds/${birdId}/flights`)
          ? Promise.resolve({ status: 429, headers: {}, body: '' })
          : service.send(request),
    }),
  });
  await stage.minutesPass(2);
  isRefusing = true;
  await stage.minutesPass(30);
  const world = stage.worlds.eu!;
  const { id } = world.startFlight(birdId, { endsAs: 'failed' });
  world.endFlight(id, 'failed');
  isRefusing = false;
  await stage.minutesPass(1);
  expect(stage.forwarded()).toEqual([`eu/flight/${id}/failed`]);
});

test('a Bird is watched though the service fails to list anything but its latest Flights', async () => {
  let birdId = '';
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Legal' });
      birdId = world.addBird(nest.id, { name: 'Contracts', triggerType: 'manual' }).id;
      for (const name of ['Reviews', 'Claims']) world.addBird(nest.id, { name, triggerType: 'manual' });
    },
    between: (service) => ({
      ...service,
      send(request) {
        const { pathname, searchParams } = new URL(request.url);
        const isList = pathname.endsWith(`/birds/${birdId}/flights`);
        const sinceMs = Date.parse(searchParams.get('MinStartDate') ?? '1970-01-01');
        const isMuch = searchParams.has('Status') || sinceMs < stage.clock.nowUs() / 1000 - 7_200_000;
        return isList && stage && isMuch
          ? Promise.resolve({ status: 500, headers: {}, body: '' })
          : service.send(request);
      },
    }),
  });
  const world = stage.worlds.eu!;
  const keys: string[] = [];
  for (let round = 0; round < 9; round += 1) {
    const { id } = world.startFlight(birdId, { endsAs: 'failed' });
    world.endFlight(id, 'failed');
    keys.push(`eu/flight/${id}/failed`);
    await stage.minutesPass(20);
    expect(stage.forwarded()).toEqual(keys);
  }
});

test('a region of which one operation fails is not down: whatever else it answers is read', async () => {
  const birdIds: string[] = [];
  let isFailing = false;
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Legal' });
      for (let at = 0; at < 40; at += 1) {
        birdIds.push(world.addBird(nest.id, { name: `Bird ${at}`, triggerType: 'manual' }).id);
      }
    },
    between: (service) => ({
      ...service,
      send: (request) =>
        isFailing && /\/birds\/\d+\/logs/.test(request.url)
          ? Promise.resolve({ status: 500, headers: {}, body: '' })
          : service.send(request),
    }),
  });
  await stage.minutesPass(2);
  isFailing = true;
  const world = stage.worlds.eu!;
  const keys: string[] = [];
  for (const birdId of birdIds.slice(0, 10)) {
    const { id } = world.startFlight(birdId, { endsAs: 'failed' });
    world.endFlight(id, 'failed');
    keys.push(`eu/flight/${id}/failed`);
    await stage.minutesPass(1);
    expect(stage.forwarded()).toEqual(keys);
  }
  expect(healthsOf(stage)).toEqual(['up']);
});

const refusals = [
  ['429', 429, {}],
  ['429, asking for a pause', 429, { 'retry-after': '30' }],
  ['503', 503, {}],
  ['503, asking for a pause', 503, { 'retry-after': '30' }],
  ['401', 401, {}],
] as const;
const oneOfEach = [refusals[0], refusals[3], refusals[4]];
test.each(casesOf('refused readings: how an operation is refused', refusals, oneOfEach))(
  'an operation that is answered %s for good holds up nothing else',
  async (_, status, headers) => {
    const birdIds: string[] = [];
    let isRefusing = false;
    stage = await openStage({
      regions: ['eu'],
      before(world) {
        const nest = world.addNest({ name: 'Legal' });
        for (let at = 0; at < 40; at += 1) {
          birdIds.push(world.addBird(nest.id, { name: `Bird ${at}`, triggerType: 'manual' }).id);
        }
      },
      between: (service) => ({
        ...service,
        send: (request) =>
          isRefusing && /\/birds\/\d+\/logs/.test(request.url)
            ? Promise.resolve({ status, headers, body: '' } as HttpResponse)
            : service.send(request),
      }),
    });
    await stage.minutesPass(2);
    isRefusing = true;
    // So long it may be the region that refuses.
    await stage.minutesPass(4);
    const healthsBefore = healthsOf(stage).length;
    const world = stage.worlds.eu!;
    const keys: string[] = [];
    for (const birdId of birdIds.slice(0, 10)) {
      const { id } = world.startFlight(birdId, { endsAs: 'failed' });
      world.endFlight(id, 'failed');
      keys.push(`eu/flight/${id}/failed`);
      await stage.minutesPass(1);
      expect(stage.forwarded()).toEqual(keys);
    }
    const healths = healthsOf(stage);
    expect(healths.slice(healthsBefore)).toEqual([]);
    expect(healths.at(-1)).toBe('up');
    expect(healths.length).toBeLessThanOrEqual(status === 401 ? 5 : 1);

    isRefusing = false;
    await stage.minutesPass(2);
    const before = stage.forwarded().length;
    world.suspend(birdIds[0]!);
    await stage.minutesPass(5);
    expect(
      stage
        .forwarded()
        .slice(before)
        .filter((key) => key.includes('/bird_log/')),
    ).toHaveLength(1);
  },
);

test.each([401, 403, 429, 500, 503])(
  'where the list of Nests alone is answered %i for good, it is said that nothing is watched',
  async (status) => {
    stage = await openStage({
      regions: ['eu'],
      before(world) {
        world.addBird(world.addNest({ name: 'Legal' }).id, { name: 'Contracts', triggerType: 'manual' });
      },
      between: (service) => ({
        ...service,
        send: (request) =>
          request.url.endsWith('/nests')
            ? Promise.resolve({ status, headers: {}, body: '' })
            : service.send(request),
      }),
    });
    await stage.minutesPass(20);
    const { impairments } = await stage.daemon().health();
    expect(impairments.map(({ reason }) => reason)).toContain('inventory_failing');
    const { summary } = impairments.find(({ reason }) => reason === 'inventory_failing')!;
    expect(summary).toContain(
      `The Nests of EU cannot be listed, so nothing of it is watched: searchNests of eu: the service answered ${status}`,
    );
    expect(healthsOf(stage).at(-1)).toBe('up');
  },
);

const parts = [
  ['log', 401],
  ['log', 429],
  ['log', 503],
  ['Bird', 401],
  ['Bird', 429],
  ['Bird', 500],
  ['Bird', 503],
  ['Nest', 401],
  ['Nest', 503],
] as const;
// A part of each size, and each way to refuse a request.
const fewParts = [parts[0], parts[4], parts[8]];
test.each(casesOf('refused readings: parts of a region that are refused', parts, fewParts))(
  'one %s that is answered %i for good says nothing about its region',
  async (what, status) => {
    let refusedPath = '';
    const birdIds: string[] = [];
    stage = await openStage({
      regions: ['eu'],
      before(world) {
        const [legal, other] = [world.addNest({ name: 'Legal' }), world.addNest({ name: 'Other' })];
        for (let at = 0; at < 10; at += 1) {
          birdIds.push(world.addBird(legal.id, { name: `Bird ${at}`, triggerType: 'manual' }).id);
        }
        const bad = world.addBird(other.id, { name: 'Bad', triggerType: 'manual' });
        const ofBird = `/birds/${bad.id}/`;
        refusedPath = { log: `${ofBird}logs`, Bird: ofBird, Nest: `/nests/${other.id}/` }[what]!;
      },
      between: (service) => ({
        ...service,
        send: (request) =>
          request.url.includes(refusedPath)
            ? Promise.resolve({ status, headers: {}, body: '' })
            : service.send(request),
      }),
    });
    await stage.minutesPass(10);
    const before = healthsOf(stage);
    expect(before.length).toBeLessThanOrEqual(5);
    const keys: string[] = [];
    const world = stage.worlds.eu!;
    for (const birdId of birdIds) {
      const { id } = world.startFlight(birdId, { endsAs: 'failed' });
      world.endFlight(id, 'failed');
      keys.push(`eu/flight/${id}/failed`);
      await stage.minutesPass(5);
      expect(stage.forwarded()).toEqual(keys);
    }
    expect(healthsOf(stage)).toEqual(before);
    expect(before.at(-1)).toBe('up');
  },
);

const waits = [
  ['is answered only after 25 s', 25_000, true],
  ['is never answered', 30_000, false],
] as const;
test.each(casesOf('refused readings: operations that take long', waits, waits.slice(1)))(
  'an operation that %s does not keep the others waiting',
  async (_, answerMs, isAnswered) => {
    const birdIds: string[] = [];
    let isSlow = false;
    stage = await openStage({
      regions: ['eu'],
      before(world) {
        const nest = world.addNest({ name: 'Legal' });
        for (let at = 0; at < 200; at += 1) {
          birdIds.push(world.addBird(nest.id, { name: `Bird ${at}`, triggerType: 'manual' }).id);
        }
      },
      between: (service) => ({
        ...service,
        async send(request) {
          if (!isSlow || !/\/birds\/\d+\/logs/.test(request.url)) return service.send(request);
          await sleep(stage.clock, answerMs);
          if (isAnswered) return service.send(request);
          throw new NestwatchError('timeout', 'no answer from eu.example within 30 s');
        },
      }),
    });
    await stage.minutesPass(3);
    isSlow = true;
    await stage.minutesPass(5);
    const world = stage.worlds.eu!;
    const keys: string[] = [];
    for (const birdId of birdIds.slice(0, 10)) {
      const { id } = world.startFlight(birdId, { endsAs: 'failed' });
      world.endFlight(id, 'failed');
      keys.push(`eu/flight/${id}/failed`);
      await stage.minutesPass(1);
      expect(stage.forwarded()).toEqual(keys);
    }
  },
);
