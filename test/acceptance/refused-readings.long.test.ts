/** Requests that the service refuses, fails or answers slowly while it answers everything else. */
import { expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import { sleep } from '../../src/time/clock.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

const MANY_BIRDS = 16;
const BIRDS_OF_SLOW_LOGS = 80;
/** Waiting for each takes a minute or more. */
const FAILURES = 4;

const LOGS = /\/birds\/\d+\/logs/;

/**
 * Opens a region with this many Birds in one Nest, and one Bird in another. If `instead` returns an answer to a
 * request, it replaces the service's answer, from the start or once `begin` was called. Returns the ids.
 */
async function openRegion(
  birds: number,
  instead: (request: HttpRequest, pass: () => Promise<HttpResponse>) => Promise<HttpResponse> | undefined,
  when: 'at once' | 'later' = 'later',
) {
  let hasBegun = when === 'at once';
  stage = await createStage({
    regions: ['eu'],
    nests: { Legal: Array.from({ length: birds }, (_, at) => `Bird ${at}`), Other: ['Bad'] },
    between: (request, pass) => (hasBegun ? instead(request, pass) : undefined) ?? pass(),
  });
  const begin = (has = true) => {
    hasBegun = has;
  };
  const bad = { nestId: stage.nest('Other'), birdId: stage.bird('Bad') };
  return { birdIds: [...stage.eu.birds.keys()].slice(0, birds), bad, begin };
}

const answered = (status: number, headers: HttpResponse['headers'] = {}) =>
  Promise.resolve({ status, headers, body: '' });

/** A Flight of each of these Birds fails, one after another, and is forwarded within this many minutes. */
async function expectFailuresWithin(minutes: number, birdIds: readonly string[]): Promise<void> {
  const world = stage.eu;
  const keys: string[] = [];
  for (const birdId of birdIds) {
    const { id } = world.startFlight(birdId, { endsAs: 'failed' });
    world.endFlight(id, 'failed');
    keys.push(`eu/flight/${id}/failed`);
    await stage.minutesPass(minutes);
    expect(stage.forwarded()).toEqual(keys);
  }
}

/** The states of the region's health, in order. */
function healthsOf({ happenings }: Stage): string[] {
  return happenings.flatMap((one) => (one.what === 'region_health' ? [one.health] : []));
}

test('a stream that was refused for long is read soon after the limit allows it [long]', async () => {
  const { birdIds, begin } = await openRegion(1, ({ url }) =>
    url.includes(`/birds/${birdIds[0]}/flights`) ? answered(429) : undefined,
  );
  await stage.minutesPass(2);
  begin();
  await stage.minutesPass(30);
  begin(false);
  await expectFailuresWithin(1, birdIds);
});

test('a Bird is watched even if the service lists only its latest Flights [long]', async () => {
  const { birdIds, begin } = await openRegion(1, ({ url }) => {
    const { pathname, searchParams } = new URL(url);
    const sinceMs = Date.parse(searchParams.get('MinStartDate') ?? '1970-01-01');
    const isMuch = searchParams.has('Status') || sinceMs < stage.clock.nowUs() / 1000 - 7_200_000;
    return isMuch && pathname.endsWith(`/birds/${birdIds[0]}/flights`) ? answered(500) : undefined;
  });
  begin();
  await expectFailuresWithin(20, Array(6).fill(birdIds[0]!));
});

test('a region with one failing operation is not down: everything else is read [long]', async () => {
  const { birdIds, begin } = await openRegion(MANY_BIRDS, ({ url }) =>
    LOGS.test(url) ? answered(500) : undefined,
  );
  await stage.minutesPass(2);
  begin();
  await expectFailuresWithin(1, birdIds.slice(0, FAILURES));
  expect(healthsOf(stage)).toEqual(['up']);
});

const refusals = [
  ['429', 429, {}],
  ['503, asking for a pause', 503, { 'retry-after': '30' }],
  ['401', 401, {}],
] as const;
test.each(refusals)(
  'an operation that keeps being answered %s holds up nothing else [long]',
  async (_, status, headers) => {
    const { birdIds, begin } = await openRegion(MANY_BIRDS, ({ url }) =>
      LOGS.test(url) ? answered(status, headers) : undefined,
    );
    await stage.minutesPass(2);
    begin();
    // For this long the region itself may be refusing.
    await stage.minutesPass(4);
    const healthsBefore = healthsOf(stage).length;
    await expectFailuresWithin(1, birdIds.slice(0, FAILURES));
    const healths = healthsOf(stage);
    expect(healths.slice(healthsBefore)).toEqual([]);
    expect(healths.at(-1)).toBe('up');
    expect(healths.length).toBeLessThanOrEqual(status === 401 ? 5 : 1);

    begin(false);
    await stage.minutesPass(2);
    const before = stage.forwarded().length;
    stage.eu.suspend(birdIds[0]!);
    await stage.minutesPass(5);
    const logs = stage.forwarded().slice(before);
    expect(logs.filter((key) => key.includes('/bird_log/'))).toHaveLength(1);
  },
);

test('a service that limits the rate by 403 is watched as fast as it allows [long]', async () => {
  stage = await createStage({
    regions: ['eu'],
    behaviours: { eu: { requestsPerSecond: 1 } },
    nests: { Legal: ['1', '2', '3', '4', '5'] },
    between: async (_request, pass) => {
      const response = await pass();
      return response.status === 429 ? answered(403) : response;
    },
  });
  await stage.minutesPass(5);
  await expectFailuresWithin(1, [...stage.eu.birds.keys()]);
  const { total, byStatus } = stage.eu.requests();
  expect(byStatus['429']).toBeLessThan(total / 4);
  expect(healthsOf(stage)).toEqual(['up']);
});

test.each([401, 403, 429, 500, 503])(
  'if only the list of Nests keeps being answered %i, it is reported that nothing is watched [long]',
  async (status) => {
    const ofNests = ({ url }: HttpRequest) => (url.endsWith('/nests') ? answered(status) : undefined);
    await openRegion(1, ofNests, 'at once');
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

// One part of each size, and each way to refuse a request.
const parts = [
  ['log', 401],
  ['Bird', 429],
  ['Bird', 500],
  ['Nest', 503],
] as const;
test.each(parts)(
  'one %s that keeps being answered %i says nothing about its region [long]',
  async (what, status) => {
    const { birdIds, bad, begin } = await openRegion(10, ({ url }) => {
      const ofBird = `/birds/${bad.birdId}/`;
      const path = { log: `${ofBird}logs`, Bird: ofBird, Nest: `/nests/${bad.nestId}/` }[what];
      return url.includes(path) ? answered(status) : undefined;
    });
    begin();
    await stage.minutesPass(10);
    const before = healthsOf(stage);
    expect(before.length).toBeLessThanOrEqual(5);
    await expectFailuresWithin(5, birdIds.slice(0, FAILURES));
    expect(healthsOf(stage)).toEqual(before);
    expect(before.at(-1)).toBe('up');
  },
);

const waits = [
  ['is answered only after 25 s', 25_000, true],
  ['is never answered', 30_000, false],
] as const;
test.each(waits)(
  'an operation that %s does not keep the others waiting [long]',
  async (_, answerMs, isAnswered) => {
    const { birdIds, begin } = await openRegion(BIRDS_OF_SLOW_LOGS, ({ url }, pass) => {
      if (!LOGS.test(url)) return undefined;
      return sleep(stage.clock, answerMs).then(() => {
        if (isAnswered) return pass();
        throw new NestwatchError('timeout', 'no answer from eu.example within 30 s');
      });
    });
    await stage.minutesPass(3);
    begin();
    await stage.minutesPass(5);
    await expectFailuresWithin(1, birdIds.slice(0, FAILURES));
  },
);
