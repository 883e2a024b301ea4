import { describe, expect, test } from 'vitest';
import type { Finding } from '../../../src/cli/upkeep/examine-finding.ts';
import { type AskPage, examinePageSize } from '../../../src/cli/upkeep/examine-log.ts';
import { examineService } from '../../../src/cli/upkeep/examine-region.ts';
import type { RegionConfig } from '../../../src/config/sections/regions-section.ts';
import { secret } from '../../../src/secret.ts';
import { createServiceClient } from '../../../src/service/client.ts';
import type { Behaviours } from '../../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../../src/simulator/world/world.ts';
import { baseUrl, stageConfig } from '../../acceptance/stage-config.ts';
import { simulatorTransport } from '../../simulator/simulator-transport.ts';
import { wroteStep } from '../../simulator/wrote-step.ts';
import { createVirtualClock } from '../../virtual-clock.ts';

interface Case {
  readonly behaviours?: Partial<Behaviours>;
  readonly token?: string;
  readonly requestsPerSecond?: number;
  readonly nests?: Partial<RegionConfig['nests']>;
  readonly aheadMs?: number;
  /** Parameters that the service ignores. */
  readonly ignores?: readonly string[];
  /** The requests that the service answers with 404. */
  readonly isMissing?: (url: URL) => boolean;
  /** And those with 403. */
  readonly isForbidden?: (url: URL) => boolean;
  /** Called for each request to the service. */
  readonly asked?: (world: World, url: URL) => void;
  /** Called while new entries are awaited. */
  readonly meanwhile?: (world: World) => void;
}

/** Examines a simulated region with some history; resolves to the findings by their subject. */
async function examined({
  behaviours = {},
  token = 'token',
  requestsPerSecond = 50,
  nests = {},
  aheadMs = 0,
  ignores = [],
  isMissing = () => false,
  isForbidden = () => false,
  asked = () => {},
  meanwhile,
}: Case) {
  const clock = createVirtualClock();
  const world = createWorld({ region: 'eu', clock, random: seededRandom(5), token: 'token', behaviours });
  const nest = world.addNest({ name: 'Marketing' });
  const bird = world.addBird(nest.id, { name: 'Translate blog', triggerType: 'event' });
  world.addBird(nest.id, { name: 'Sync', triggerType: 'manual' });
  const beganUs = world.nowUs();
  for (let index = 0; index < 60; index += 1) {
    const atUs = beganUs + index * 30_000_000 + 345_678;
    world.at(atUs, () =>
      world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan' } }),
    );
    if (index % 4 > 0) continue;
    const endsAs = index % 8 === 0 ? 'failed' : 'succeeded';
    world.at(atUs, () => world.startFlight(bird.id, { endsAs, fliesForMs: 5_000 }));
  }
  await clock.advance(60 * 30_000 + 60_000);
  const [region] = stageConfig(['eu'], { requestsPerSecond }).regions;
  let refused = 0;
  const simulated = simulatorTransport({ [baseUrl('eu')]: world });
  const client = createServiceClient({
    region: { ...region!, token: secret(token) },
    transport: {
      ...simulated,
      async send(request) {
        const url = new URL(request.url);
        asked(world, url);
        if (isMissing(url)) return { status: 404, headers: {}, body: '{}' };
        if (isForbidden(url)) return { status: 403, headers: {}, body: '{}' };
        for (const name of ignores) url.searchParams.delete(name);
        return simulated.send({ ...request, url: url.href });
      },
    },
    clock,
    random: seededRandom(6),
    startPerSecond: requestsPerSecond,
    report(happening) {
      if (happening.what === 'request' && happening.failure === 'rate_limited') refused += 1;
    },
  });
  meanwhile?.(world);
  const ours = { ...clock, nowUs: () => clock.nowUs() - aheadMs * 1000 };
  const found = new Map<string, Finding>();
  let isDone = false;
  const options = {
    region: { ...region!, nests: { ...region!.nests, ...nests } },
    poll: stageConfig(['eu']).poll,
    watchMs: 20_000,
  };
  const working = (async () => {
    for await (const one of examineService(client, ours, options, () => refused)) found.set(one.about, one);
  })().finally(() => {
    isDone = true;
  });
  await clock.advanceUntil(() => isDone, 600_000);
  await working;
  return (about: string) => found.get(about) ?? { state: 'absent', found: '', advice: '' };
}

describe('of a service that behaves well', () => {
  test('everything is good', async () => {
    const of = await examined({});
    expect(of('token')).toMatchObject({ state: 'good', found: 'it reads 1 Nest; 2 Birds in the first 1' });
    expect(of('clock')).toMatchObject({ state: 'good' });
    expect(of('page_size')).toMatchObject({ state: 'good', found: 'pages of 1000 are returned' });
    expect(of('precision').found).toBe('instants are shown to the microsecond (notifications)');
    expect(of('bounds').found).toBe('both bounds are inclusive, compared to the microsecond');
    expect(of('order')).toMatchObject({ state: 'good' });
    expect(of('total_count')).toMatchObject({
      state: 'good',
      found: 'totalCount is true (60 of the notifications)',
    });
    expect(of('flights').found).toMatch(/^15 Flights of Bird \d+, newest first, none cut off$/);
    expect(of('filters')).toMatchObject({ state: 'good' });
    expect(of('visible_delay')).toMatchObject({ state: 'unknown', found: 'no new entry within 20 s' });
    expect(of('rate')).toMatchObject({ state: 'good', found: '100 requests in a row, none refused' });
  });
});

describe('the logs of Flights in the air', () => {
  const meanwhile = (world: World) => {
    for (const [at, { id }] of [...world.birds.values()].entries()) {
      const flight = world.startFlight(id, { startedAtUs: world.nowUs() - at * 60_000_000 - 12_000_000 });
      if (at > 0) wroteStep(world, flight.id, 'Wait for \u202eapproval');
    }
  };

  test('show in which steps they last wrote', async () => {
    expect((await examined({ meanwhile }))('flight_logs')).toMatchObject({
      state: 'good',
      found: expect.stringMatching(
        /^Flight \S+ of Bird \d+ is in the air and wrote last: "Get entry", then "Convert document", then "Translate", at 2 Jul/,
      ),
    });
  });

  test('are not shown if there are none, or if the service refuses them', async () => {
    expect((await examined({}))('flight_logs').state).toBe('absent');
    const isMissing = (url: URL) => /\/flights\/.*\/logs$/.test(url.pathname);
    const of = await examined({ meanwhile, isMissing });
    expect(of('flight_logs').state).toBe('bad');
    expect(of('rate').state).toBe('good');
  });
});

describe('each deviation of the service is found', () => {
  test.each([
    ['inclusive', 'microsecond'],
    ['inclusive', 'millisecond'],
    ['inclusive', 'second'],
    ['exclusive', 'microsecond'],
    ['exclusive', 'millisecond'],
    ['exclusive', 'second'],
  ] as const)('bounds %s, compared to the %s', async (bounds, comparedPrecision) => {
    const of = await examined({ behaviours: { bounds, comparedPrecision } });
    expect(of('bounds').found).toBe(`both bounds are ${bounds}, compared to the ${comparedPrecision}`);
  });

  test.each(['millisecond', 'second'] as const)(
    'instants shown to the %s hide what the bounds are',
    async (shown) => {
      const of = await examined({ behaviours: { shownPrecision: shown } });
      expect(of('precision').found).toBe(`instants are shown to the ${shown} (notifications)`);
      expect(of('bounds').state).toBe('unknown');
    },
  );

  test.each([
    ['clamp', 'clamped'],
    ['refuse', 'refused'],
  ] as const)('pages that are too large: %s', async (overMaxPageSize, words) => {
    const of = await examined({ behaviours: { maxPageSize: 37, overMaxPageSize } });
    expect(of('page_size')).toMatchObject({
      state: 'note',
      found: `pages of up to 37 are returned, larger ones are ${words}`,
      advice: 'Set poll.page_size: 37.',
    });
    expect(of('bounds').state).toBe('good');
  });

  test.each([60, 37, 20, 0])(
    'pages of at most 37, of %i entries, if the service says neither their size nor a count',
    async (entries) => {
      const ask: AskPage = async ({ page, pageSize }) => {
        const size = Math.min(pageSize, 37);
        const length = Math.max(0, Math.min(size, entries - page * size));
        const items = Array.from({ length }, (_, index) => ({
          ok: true as const,
          entry: { id: String(page * size + index), createdAt: { us: 0, text: '' } },
        }));
        return { items, totalCount: null, page: null, pageSize: null };
      };
      // If everything fits on one page, no limit shows.
      const expected = entries > 37 ? { largest: 37, beyond: 'clamped' } : { largest: 1000, beyond: 'none' };
      expect(await examinePageSize(ask, 1000)).toEqual(expected);
    },
  );

  test('a count that is cut off', async () => {
    const of = await examined({ behaviours: { totalCountCap: 40 } });
    expect(of('total_count')).toMatchObject({
      state: 'note',
      found: 'totalCount is untrue: it says 40 and shows 60',
    });
    const inPages = await examined({ behaviours: { totalCountCap: 40, maxPageSize: 20 } });
    expect(inPages('total_count').found).toBe(
      'totalCount is untrue: it says 40, and there are more behind them',
    );
  });

  test('a count that lags', async () => {
    const of = await examined({ behaviours: { totalCountStaleMs: 600_000 } });
    expect(of('total_count').found).toMatch(/^totalCount is untrue: it says 4\d and shows 60$/);
  });

  test.each([
    ['oldest_first', 'oldest first'],
    ['by_id', 'in no order of time'],
  ] as const)('Flights %s', async (flightsOrder, words) => {
    const of = await examined({ behaviours: { flightsOrder } });
    expect(of('flights').found).toContain(`, ${words}, none cut off`);
  });

  test('a list of Flights that is cut off', async () => {
    const of = await examined({ behaviours: { flightsCap: 5 } });
    expect(of('flights')).toMatchObject({ state: 'note', found: expect.stringContaining('cut off after 5') });
  });

  test('a list that is cut off at its newest end', async () => {
    const of = await examined({ behaviours: { flightsCap: 5, flightsOrder: 'oldest_first' } });
    expect(of('flights').found).toContain('cut off after 5');
  });

  test('a Flight that starts between two requests does not look like a list that is cut off', async () => {
    let starts = 0;
    const of = await examined({
      asked: (world, url) => {
        if (!url.pathname.endsWith('/flights')) return;
        starts += 1;
        world.startFlight(url.pathname.split('/').at(-2)!, { endsAs: 'succeeded', fliesForMs: 5_000 });
      },
    });
    expect(starts).toBeGreaterThan(4);
    expect(of('flights').found).toMatch(/, newest first, none cut off$/);
  });

  test('a limit of requests', async () => {
    const of = await examined({ behaviours: { requestsPerSecond: 4 } });
    expect(of('rate')).toMatchObject({
      state: 'note',
      advice: expect.stringMatching(/^Set requests_per_second: /),
    });
    expect(of('rate').found).toMatch(/^\d+ refusals? \(429\) among 100 requests; then /);
  });

  test('requests in a row that fail for another reason than their rate', async () => {
    let asked = 0;
    const of = await examined({
      isMissing: ({ pathname }) => {
        if (pathname.endsWith('/nests')) asked += 1;
        return pathname.endsWith('/nests') && asked % 2 === 0;
      },
    });
    expect(of('rate')).toEqual({
      about: 'rate',
      state: 'note',
      found: '50 of 100 requests in a row failed, first with: searchNests of eu: the service answered 404',
      assumed: 'up to 50 requests a second (requests_per_second), fewer once requests are refused',
      advice: expect.stringMatching(/^Check regions\.eu\.base_url: /),
    });
  });

  test.each([
    [['from', 'to'], 'bounds', 'from and to are ignored (notifications)'],
    [['Status', 'status'], 'filters', 'ignored: Status of Flights, Status of Birds'],
    [['MinStartDate'], 'filters', 'ignored: MinStartDate'],
  ])('filters that are ignored: %j', async (ignores, about, found) => {
    const of = await examined({ ignores });
    expect(of(about)).toMatchObject({ state: 'bad', found });
  });

  test('entries that become visible late', async () => {
    const of = await examined({
      behaviours: { lateShare: 1, lateMinMs: 6_000, lateMaxMs: 7_000 },
      meanwhile: (world) => world.appendNotification({ fields: { eventType: 'Announcement' } }),
    });
    expect(of('visible_delay')).toMatchObject({ state: 'good' });
    expect(of('visible_delay').found).toMatch(/^1 new entry within 20 s, seen after [67] s at the latest$/);
  });
});

describe('no other deviation of the service is misleading', () => {
  const GOOD: readonly (readonly [about: string, found: RegExp])[] = [
    ['token', /^it reads 1 Nest; 2 Birds/],
    ['page_size', /^pages of 1000 are returned$/],
    ['bounds', /^both bounds are inclusive, compared to the microsecond$/],
    ['order', /^pages are in the order that is asked for$/],
    ['total_count', /^totalCount is true/],
    ['flights', /newest first, none cut off$/],
    ['filters', /date work$/],
  ];

  test.each<Partial<Behaviours>>([
    { trimsZeros: true },
    { startDateWithoutZ: true },
    { errorMessagesLateMs: 60_000 },
    { defaultLogPageSize: 7, defaultNotificationPageSize: 7 },
    { numbersAsText: 1 },
    { nullFields: 0.3 },
    { missingFields: 0.3 },
    { extraKeys: 1 },
    { unknownEnums: 0.3 },
    { latencyMs: 300 },
    { slow: 0.2 },
    { tooManyRequests: 0.1 },
    { tooManyRequests: 0.1, retryAfter: 'date' },
    { tooManyRequests: 0.1, retryAfter: 'garbled' },
    { tooManyRequests: 0.1, retryAfter: 'none' },
    { error500: 0.05, error502: 0.05, error503: 0.05, error504: 0.05 },
    { html: 0.05, htmlOk: 0.05 },
    { reset: 0.05, cut: 0.05, truncated: 0.05 },
  ])('%j', async (behaviours) => {
    const of = await examined({ behaviours });
    for (const [about, found] of GOOD) {
      const { state, found: words } = of(about);
      // What could not be tested is reported as such, and nothing is made up.
      if (state === 'good' || state === 'note') expect(words, about).toMatch(found);
      else expect(['absent', 'unknown', 'bad'], about).toContain(state);
    }
    // Whatever the service does, something is learned about it.
    expect(of('token').state).not.toBe('absent');
  });

  test('entries of one instant, and what is older than the service keeps', async () => {
    const ties = await examined({ behaviours: { instantStepMs: 60_000 } });
    expect(ties('bounds').state).toBe('unknown');
    expect(ties('order').state).toBe('good');
    const kept = await examined({ behaviours: { retentionMs: 900_000 } });
    expect(kept('total_count')).toMatchObject({
      state: 'good',
      found: expect.stringMatching(/^totalCount is true \(\d\d? /),
    });
    expect(kept('bounds').found).toBe('both bounds are inclusive, compared to the microsecond');
  });
});

describe('what keeps nestwatch from watching:', () => {
  test('a token that is refused', async () => {
    const of = await examined({ token: 'another' });
    expect(of('token')).toMatchObject({
      state: 'bad',
      advice: 'The token was refused (401): create a new one and replace it.',
    });
    expect(of('rate').state).toBe('absent');
  });

  test('a token without rights in a Nest, unless that Nest is not watched', async () => {
    let nestId = '';
    const withoutRights: Case = {
      meanwhile: (world) => {
        nestId = world.addNest({ name: 'Staff' }).id;
      },
      isForbidden: ({ pathname }) => pathname.endsWith(`/nests/${nestId}/birds`),
    };
    const of = await examined(withoutRights);
    expect(of('token')).toMatchObject({
      state: 'bad',
      found: expect.stringMatching(/^it reads 2 Nests; 2 Birds in the first 2; it may not read Nest /),
    });
    const ofOthers = await examined({ ...withoutRights, nests: { exclude: ['Staff'] } });
    expect(ofOthers('token')).toMatchObject({
      state: 'good',
      found: 'it reads 1 Nest; 2 Birds in the first 1',
    });
  });

  test('patterns that leave out every Nest', async () => {
    const of = await examined({ nests: { include: ['Sales'] } });
    expect(of('token')).toMatchObject({
      state: 'bad',
      found: 'of its 1 Nest none matches nests.include ("Sales") without being excluded: nothing is watched',
      advice: 'Correct regions.eu.nests.',
    });
  });

  test('Birds that are not found, although their Nests are listed', async () => {
    const of = await examined({
      isMissing: ({ pathname }) => pathname.endsWith('/birds'),
    });
    expect(of('inventory')).toMatchObject({
      state: 'bad',
      found: 'searchBirds of eu: the service answered 404',
      advice: expect.stringMatching(/^Check regions\.eu\.base_url: GET .*\/nests must answer/),
    });
  });

  test('notifications that cannot be read, while the rest is examined', async () => {
    const of = await examined({ isMissing: ({ pathname }) => pathname.endsWith('/notifications') });
    expect(of('notifications')).toMatchObject({
      state: 'bad',
      found: 'getNotifications of eu: the service answered 404',
    });
    expect(of('flights').state).toBe('good');
    expect(of('page_size').state).toBe('good');
    expect(of('rate').state).toBe('good');
  });

  test('no stream can be read', async () => {
    const of = await examined({ isMissing: ({ pathname }) => /notifications$|logs$/.test(pathname) });
    expect(of('bird_log').state).toBe('bad');
    expect(of('flights').state).toBe('good');
    expect(of('page_size').state).toBe('absent');
    expect(of('rate').state).toBe('good');
  });

  test.each([
    [90_900, 'note', "the service's clock is 90 s ahead of this one"],
    [-90_000, 'note', "the service's clock is 90 s behind this one"],
    [3_601_000, 'bad', "the service's clock is 60 min ahead of this one"],
  ])('clocks that differ by %i ms', async (aheadMs, state, found) => {
    const of = await examined({ aheadMs });
    expect(of('clock')).toMatchObject({ state, found });
  });

  test('clocks that agree are not taken to differ because the Birds are listed slowly', async () => {
    const of = await examined({
      asked: ({ behaviours }, { pathname }) => {
        behaviours.latencyMs = pathname.endsWith('/birds') ? 14_000 : 0;
      },
    });
    expect(of('clock')).toMatchObject({ state: 'good' });
  });
});
