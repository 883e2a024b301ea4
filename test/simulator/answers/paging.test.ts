import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instantText } from '../../../src/simulator/answers/wire.ts';
import { type Behaviours, DEFAULT_BEHAVIOURS } from '../../../src/simulator/world/behaviours.ts';
import { firstFrom, insert, remove } from '../../../src/simulator/world/state.ts';
import { TEST_START_US } from '../../virtual-clock.ts';
import { ask, createBirdTrial, createTrial } from '../ask.ts';

/** A world with one notification at each of these distances (in microseconds) before noon. */
function withNotifications(beforeUs: readonly number[], behaviours: Partial<Behaviours> = {}) {
  const trial = createTrial(behaviours);
  const ids = beforeUs.map((us) => trial.world.appendNotification({ createdAtUs: TEST_START_US - us }).id);
  const page = (query: string) => ask(trial.world, `GET /notifications?${query}`);
  const found = (query: string) => page(query).items.map(({ id }) => ids.indexOf(String(id)));
  return { ...trial, ids, page, found };
}

describe('pages of a list', () => {
  const seven = [7, 6, 5, 4, 3, 2, 1].map((second) => second * 1_000_000);

  test.each([
    ['', [6, 5, 4, 3, 2, 1, 0]],
    ['ascending=true', [0, 1, 2, 3, 4, 5, 6]],
    ['ascending=TRUE&pageSize=3', [0, 1, 2]],
    ['ascending=true&pageSize=3&page=2', [6]],
    ['ascending=true&pageSize=3&page=3', []],
    ['pageSize=3', [6, 5, 4]],
    ['pageSize=3&page=2', [0]],
    ['pageSize=3&page=3', []],
    ['page=2147483647&pageSize=1000', []],
    ['page=&pageSize=3', [6, 5, 4]],
    ['from=2026-07-02T11:59:58Z', [6, 5]],
    ['to=2026-07-02T11:59:54Z&ascending=true', [0, 1]],
    ['from=2026-07-02T13:59:58%2B02:00&pageSize=1&page=1', [5]],
    ['from=2026-07-02T12:00:00Z&to=2026-07-02T11:00:00Z', []],
  ])('"%s" returns %j', (query, expected) => {
    expect(withNotifications(seven).found(query)).toEqual(expected);
  });

  test('the count is of all matches, on every page', () => {
    const { page } = withNotifications(seven);
    expect(page('pageSize=2&page=1').json).toMatchObject({ totalCount: 7, page: 1, pageSize: 2 });
    expect(page('pageSize=2&page=9').json).toMatchObject({ totalCount: 7, page: 9, items: [] });
    expect(page('from=2026-07-02T11:59:58Z').json.totalCount).toBe(2);
  });

  test('a page size above the maximum is clamped, and the answer says so', () => {
    const { page } = withNotifications(seven, { maxPageSize: 3 });
    expect(page('pageSize=100').json).toMatchObject({ pageSize: 3, totalCount: 7 });
    expect(page('pageSize=100').items).toHaveLength(3);
    expect(page('').json.pageSize).toBe(3);
  });

  test('or it is refused', () => {
    const { page } = withNotifications(seven, { maxPageSize: 3, overMaxPageSize: 'refuse' });
    expect(page('pageSize=4').json.errors).toEqual({
      pageSize: ['The field pageSize must be between 1 and 3.'],
    });
    expect(page('pageSize=3').status).toBe(200);
  });

  test('Bird logs have pages of 20, notifications of 10, unless the behaviours say otherwise', () => {
    const { world, path } = createBirdTrial('event', { defaultLogPageSize: 5 });
    expect(ask(world, `GET ${path}/logs`).json.pageSize).toBe(5);
    world.behaviours.defaultLogPageSize = 20;
    expect(ask(world, `GET ${path}/logs`).json.pageSize).toBe(20);
  });

  test('entries of one instant keep one order over all pages, however many there are', () => {
    const { found, page } = withNotifications(Array<number>(25).fill(0));
    const pages = [0, 1, 2].flatMap((at) => found(`ascending=true&page=${at}&pageSize=10`));
    expect(pages).toEqual(Array.from({ length: 25 }, (_, at) => at));
    expect(page('from=2026-07-02T12:00:00Z&to=2026-07-02T12:00:00Z').json.totalCount).toBe(25);
  });

  test('the pages of any list, of any size, add up to the list', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 30, size: 'max' }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        (before, pageSize, ascending) => {
          const { found } = withNotifications(before);
          const walked: number[] = [];
          for (let page = 0; page <= Math.ceil(before.length / pageSize); page += 1) {
            walked.push(...found(`page=${page}&pageSize=${pageSize}&ascending=${ascending}`));
          }
          const inOrder = before.map((us, at) => ({ us, at })).sort((a, b) => b.us - a.us || a.at - b.at);
          expect(walked).toEqual((ascending ? inOrder : inOrder.reverse()).map(({ at }) => at));
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('bounds and precision', () => {
  // At 11:59:59.998765, .999000 and 12:00:00.000000.
  const three = [1235, 1000, 0];

  test.each([
    ['inclusive', 'microsecond', 'from=2026-07-02T11:59:59.998765Z', [0, 1, 2]],
    ['exclusive', 'microsecond', 'from=2026-07-02T11:59:59.998765Z', [1, 2]],
    ['inclusive', 'microsecond', 'from=2026-07-02T11:59:59.998766Z', [1, 2]],
    ['inclusive', 'microsecond', 'to=2026-07-02T11:59:59.999Z', [0, 1]],
    ['exclusive', 'microsecond', 'to=2026-07-02T11:59:59.999Z', [0]],
    ['inclusive', 'millisecond', 'from=2026-07-02T11:59:59.9989Z', [0, 1, 2]],
    ['exclusive', 'millisecond', 'from=2026-07-02T11:59:59.998Z', [1, 2]],
    ['inclusive', 'millisecond', 'to=2026-07-02T11:59:59.998Z', [0]],
    ['exclusive', 'millisecond', 'to=2026-07-02T11:59:59.998Z', []],
    ['inclusive', 'second', 'from=2026-07-02T11:59:59.999999Z', [0, 1, 2]],
    ['exclusive', 'second', 'from=2026-07-02T11:59:59Z', [2]],
    ['inclusive', 'second', 'to=2026-07-02T11:59:59Z', [0, 1]],
    ['exclusive', 'second', 'to=2026-07-02T12:00:00.9Z', [0, 1]],
  ] as const)('%s, by the %s: "%s" returns %j', (bounds, comparedPrecision, query, expected) => {
    const { found } = withNotifications(three, { bounds, comparedPrecision });
    expect(found(`${query}&ascending=true`)).toEqual(expected);
  });

  test.each([
    [{}, '2026-07-02T12:00:00.120300Z'],
    [{ shownPrecision: 'millisecond' }, '2026-07-02T12:00:00.120Z'],
    [{ shownPrecision: 'second' }, '2026-07-02T12:00:00Z'],
    [{ shownPrecision: 'second', trimsZeros: true }, '2026-07-02T12:00:00Z'],
    [{ trimsZeros: true }, '2026-07-02T12:00:00.1203Z'],
    [{ shownPrecision: 'millisecond', trimsZeros: true }, '2026-07-02T12:00:00.12Z'],
  ] as const)('with %j an instant is written %s', (behaviours, text) => {
    expect(instantText({ ...DEFAULT_BEHAVIOURS, ...behaviours }, TEST_START_US + 120_300)).toBe(text);
  });

  test('a whole second has no fraction if zeros are trimmed', () => {
    expect(instantText({ ...DEFAULT_BEHAVIOURS, trimsZeros: true }, TEST_START_US)).toBe(
      '2026-07-02T12:00:00Z',
    );
  });
});

describe('what may be untrue or deleted', () => {
  test('entries are late by the given times, and then in the place of their instant', async () => {
    const { world, clock, found } = withNotifications([], { lateShare: 1, lateMinMs: 5000, lateMaxMs: 5000 });
    const late = world.disconnectConnection({ exhausted: true, wording: 'new' });
    world.behaviours.lateShare = 0;
    await clock.advance(1000);
    const punctual = world.disconnectConnection({ exhausted: true, wording: 'new' });
    const ids = () => ask(world, 'GET /notifications?ascending=true').items.map(({ id }) => id);
    expect(found('')).toHaveLength(1);
    expect(world.truth().events.map(({ key }) => key)).toEqual([`eu/notification/${punctual.id}`]);
    await clock.advance(3999);
    expect(ids()).toEqual([punctual.id]);
    await clock.advance(1);
    expect(ids()).toEqual([late.id, punctual.id]);
    expect(world.truth().events.at(-1)).toMatchObject({
      key: `eu/notification/${late.id}`,
      occurredAtUs: TEST_START_US,
      visibleAtUs: TEST_START_US + 5_000_000,
    });
  });

  test('the share of late entries is as configured [long]', () => {
    const { world } = withNotifications([], { lateShare: 0.25, lateMinMs: 1000, lateMaxMs: 60_000 });
    for (let at = 0; at < 2000; at += 1) world.appendNotification();
    const waitsMs = world.truth().events.length;
    expect(waitsMs).toBeGreaterThan(1420);
    expect(waitsMs).toBeLessThan(1580);
  });

  test('coarse instants make ties', async () => {
    const { world, clock } = withNotifications([], { instantStepMs: 10_000 });
    for (let at = 0; at < 4; at += 1) {
      world.disconnectConnection({ exhausted: true, wording: 'new' });
      await clock.advance(4000);
    }
    const instants = ask(world, 'GET /notifications').items.map(({ createdAt }) =>
      String(createdAt).slice(11, 19),
    );
    expect(instants).toEqual(['12:00:10', '12:00:00', '12:00:00', '12:00:00']);
  });

  test('totalCount may be capped or stale while all entries exist', async () => {
    const { world, clock, page } = withNotifications([5, 4, 3, 2, 1], { totalCountCap: 3 });
    expect(page('').json.totalCount).toBe(3);
    expect(page('').items).toHaveLength(5);
    world.behaviours.totalCountCap = 0;
    world.behaviours.totalCountStaleMs = 10_000;
    await clock.advance(9999);
    expect(page('').json.totalCount).toBe(0);
    await clock.advance(1);
    expect(page('').json.totalCount).toBe(5);
  });

  test('what is past the retention is gone, also from the count, and the truth knows since when', () => {
    const { found, page, world } = withNotifications([3_600_000_001, 3_600_000_000, 1], {
      retentionMs: 3_600_000,
    });
    expect(found('ascending=true')).toEqual([1, 2]);
    expect(page('from=2026-07-01T00:00:00Z').json.totalCount).toBe(2);
    // The first one expired before anybody could have seen it.
    expect(world.truth().events).toHaveLength(1);
  });

  test('an ended Flight goes with the retention, an active one stays', async () => {
    const { world, clock, bird, path } = createBirdTrial('manual', { retentionMs: 60_000 });
    const ended = world.startFlight(bird.id, { fliesForMs: 1000, endsAs: 'failed' });
    const active = world.startFlight(bird.id);
    await clock.advance(61_001);
    const flights = `${path}/flights`;
    expect(ask(world, `GET ${flights}`).list.map(({ id }) => id)).toEqual([active.id]);
    expect(ask(world, `GET ${flights}/${ended.id}`).status).toBe(404);
    expect(world.truth().events[0]).toMatchObject({ goneAtUs: TEST_START_US + 61_000_000 });
  });

  test.each([
    ['newest_first', 0, [2, 1, 0]],
    ['oldest_first', 0, [0, 1, 2]],
    ['newest_first', 2, [2, 1]],
    ['oldest_first', 2, [0, 1]],
  ] as const)(
    'searchFlights in the order %s with a cap of %i returns %j',
    async (flightsOrder, flightsCap, expected) => {
      const { world, clock, bird, path } = createBirdTrial('manual', { flightsOrder, flightsCap });
      const ids: string[] = [];
      for (let at = 0; at < 3; at += 1) {
        ids.push(world.startFlight(bird.id, { endsAs: 'succeeded' }).id);
        await clock.advance(60_000);
      }
      const rows = ask(world, `GET ${path}/flights`).list;
      expect(rows.map(({ id }) => ids.indexOf(String(id)))).toEqual(expected);
      world.behaviours.flightsOrder = 'by_id';
      world.behaviours.flightsCap = 0;
      const byId = ask(world, `GET ${path}/flights`).list.map(({ id }) => id);
      expect(byId).toEqual([...ids].sort());
    },
  );

  test('errorMessages may come later than the status, and startDate without its Z', async () => {
    const late = { errorMessagesLateMs: 3000, startDateWithoutZ: true };
    const { world, clock, bird, path } = createBirdTrial('manual', late);
    const flight = world.startFlight(bird.id);
    world.endFlight(flight.id, 'failed', { errorMessages: 'late words' });
    const row = () => ask(world, `GET ${path}/flights/${flight.id}`).json;
    expect(row()).toMatchObject({ status: 'failed', startDate: '2026-07-02T12:00:00.000000' });
    expect(row()).not.toHaveProperty('errorMessages');
    await clock.advance(3000);
    expect(row().errorMessages).toBe('late words');
  });
});

describe('lists by instant', () => {
  const instantOf = (item: { us: number }) => item.us;

  test('items are in order, ties in order of insertion, and can be found and removed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 9 })),
        fc.integer({ min: 0, max: 9 }),
        (instants, from) => {
          const list: { us: number; at: number }[] = [];
          for (const [at, us] of instants.entries()) insert(list, instantOf, { us, at });
          expect(list).toEqual(
            instants.map((us, at) => ({ us, at })).sort((a, b) => a.us - b.us || a.at - b.at),
          );
          expect(firstFrom(list, instantOf, from)).toBe(instants.filter((us) => us < from).length);
          const victim = list[0];
          if (!victim) return;
          expect(remove(list, instantOf, victim)).toBe(true);
          expect(remove(list, instantOf, victim)).toBe(false);
          expect(list).toHaveLength(instants.length - 1);
        },
      ),
    );
  });
});
