import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { FlightWindows, noRows } from '../../../src/intake/flights/flight-windows.ts';
import type { ServiceClient } from '../../../src/service/client.ts';
import type { Flight } from '../../../src/service/resources.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;
const NOW_US = TEST_START_US;

type FlightFilter = NonNullable<Parameters<ServiceClient['searchFlights']>[2]>;

interface Started {
  readonly id: string;
  readonly us: number;
  readonly status: string;
}

/** How the service answers requests for the list. */
interface Listing {
  /** The most Flights in an answer. */
  cap: number;
  order: 'oldest' | 'newest' | 'any';
  /** The precision to which bounds and starts are cut before they are compared. */
  unitUs: number;
  isExclusive: boolean;
}

/** The list of one Bird's Flights, as a service may return it. */
function openList() {
  const flights: Started[] = [];
  const listing: Listing = { cap: Number.POSITIVE_INFINITY, order: 'oldest', unitUs: 1, isExclusive: false };
  const clock = createVirtualClock();
  let requests = 0;

  function isAsked(
    { us, status }: Started,
    { minStartUs, maxStartUs, status: asked }: FlightFilter,
  ): boolean {
    const { unitUs, isExclusive } = listing;
    const cut = (instantUs: number) => Math.floor(instantUs / unitUs);
    if (minStartUs !== undefined && cut(us) < cut(minStartUs) + (isExclusive ? 1 : 0)) return false;
    if (maxStartUs !== undefined && cut(us) > cut(maxStartUs) - (isExclusive ? 1 : 0)) return false;
    return asked === undefined || asked === status;
  }

  const order = {
    oldest: (a: Started, b: Started) => a.us - b.us,
    newest: (a: Started, b: Started) => b.us - a.us,
    any: (a: Started, b: Started) => a.id.localeCompare(b.id),
  };
  const client = {
    async searchFlights(_nest: string, birdId: string, filter: FlightFilter = {}) {
      requests += 1;
      const listed = flights.filter((one) => isAsked(one, filter)).sort(order[listing.order]);
      const value = listed.slice(0, listing.cap).map(({ id, us, status }) => {
        const startedAt = { us, text: '' };
        return {
          ok: true,
          entry: { id, birdId, nestId: '1', status, errorMessages: '', startedAt } as Flight,
        };
      });
      return { value, serverTimeUs: clock.nowUs() };
    },
  } as unknown as ServiceClient;
  const windows = new FlightWindows({ client, clock, nestOf: () => '1' });

  return {
    flights,
    listing,
    clock,
    /** Starts several Flights, spread evenly over a time. */
    burst(name: string, count: number, fromUs: number, withinUs: number, status = 'failed'): void {
      for (let at = 0; at < count; at += 1) {
        flights.push({ id: `${name}${at}`, us: fromUs + Math.floor((at * withinUs) / count), status });
      }
    },
    /** A poll since an instant: returns the Flights that it finds, and the requests that it takes. */
    async poll(sinceUs: number, birdId = '7') {
      const rows = noRows();
      requests = 0;
      await windows.readNewest(birdId, sinceUs, rows, 0);
      return { ids: new Set(rows.flights.keys()), unread: rows.unread, requests };
    },
  };
}

let list: ReturnType<typeof openList>;
const SINCE_US = NOW_US - HOUR_US;

beforeEach(() => {
  list = openList();
});

describe('a burst', () => {
  test('without signs that the list was cut off is read by about a dozen requests', async () => {
    list.burst('a', 25, NOW_US - 600 * SECOND_US, 1_000);
    const { ids, requests } = await list.poll(SINCE_US);
    expect([ids.size, requests]).toEqual([25, expect.any(Number)]);
    expect(requests).toBeLessThanOrEqual(12);
  });

  test('that stays the newest is read by two requests, and what follows it is found', async () => {
    list.burst('a', 25, NOW_US - 600 * SECOND_US, 1_000);
    await list.poll(SINCE_US);
    expect(await list.poll(SINCE_US)).toMatchObject({ requests: 2 });
    list.burst('b', 1, NOW_US - 300 * SECOND_US, 0);
    expect((await list.poll(SINCE_US)).ids.has('b0')).toBe(true);
  });

  test('and what follows it are found if the list is cut off right after it', async () => {
    list.listing.cap = 25;
    list.burst('a', 25, NOW_US - 600 * SECOND_US, 1_000);
    await list.poll(SINCE_US);
    list.burst('b', 60, NOW_US - 500 * SECOND_US, 60 * SECOND_US);
    expect((await list.poll(SINCE_US)).ids.size).toBe(85);
  });

  test('is read again if another Bird has shown since that lists are cut off', async () => {
    Object.assign(list.listing, { cap: 25, order: 'newest' });
    list.burst('a', 25, NOW_US - 600 * SECOND_US, 1_000);
    await list.poll(SINCE_US);
    list.burst('late', 30, NOW_US - 700 * SECOND_US, SECOND_US);
    expect((await list.poll(SINCE_US)).ids.size).toBe(25);
    await list.poll(SINCE_US, '8');
    expect((await list.poll(SINCE_US)).ids.size).toBe(55);
  });

  test.each([
    ['before', 'newest', -0.5],
    ['after', 'oldest', 0.5],
  ] as const)('does not hide what started right %s it', async (_, order, seconds) => {
    Object.assign(list.listing, { cap: 25, order });
    const momentUs = NOW_US - 600 * SECOND_US;
    list.burst('a', 25, momentUs, 1_000);
    list.burst('b', 5, momentUs + seconds * SECOND_US, 1_000);
    expect(await list.poll(SINCE_US)).toMatchObject({ unread: [], ids: { size: 30 } });
  });

  test('that may still continue is read again', async () => {
    list.burst('a', 25, NOW_US - SECOND_US, 1_000);
    await list.poll(SINCE_US);
    expect((await list.poll(SINCE_US)).requests).toBeGreaterThan(2);
    await list.clock.advance(10_000);
    await list.poll(SINCE_US);
    expect((await list.poll(SINCE_US)).requests).toBe(2);
  });
});

/**
 * Clusters of Flights within an hour, few of them at one moment with one status, because those could not be told
 * apart.
 */
const clusters = fc.array(
  fc.record({
    count: fc.integer({ min: 1, max: 60 }),
    agoUs: fc.integer({ min: 0, max: HOUR_US - 1 }),
    withinUs: fc.constantFrom(SECOND_US, 4 * SECOND_US, 60 * SECOND_US, 1_800 * SECOND_US),
    status: fc.constantFrom('failed', 'succeeded', 'active'),
  }),
  { maxLength: 6 },
);

test('whatever has started, and however the list is cut off and compared, each Flight is found [long]', async () => {
  await fc.assert(
    fc.asyncProperty(
      clusters,
      fc.constantFrom(20, 25, 100, Number.POSITIVE_INFINITY),
      fc.constantFrom('oldest' as const, 'newest' as const, 'any' as const),
      fc.constantFrom(1, 1_000),
      fc.boolean(),
      async (all, cap, order, unitUs, isExclusive) => {
        const own = openList();
        Object.assign(own.listing, { cap, order, unitUs, isExclusive });
        for (const [at, { count, agoUs, withinUs, status }] of all.entries()) {
          own.burst(`${at}-`, count, Math.max(NOW_US - agoUs - withinUs, SINCE_US + 1), withinUs, status);
          // Later ones appear in addition to what was read.
          if (at % 2 === 0) await own.poll(SINCE_US - SECOND_US);
        }
        for (let poll = 0; poll < 2; poll += 1) {
          const { ids, unread } = await own.poll(SINCE_US - SECOND_US);
          expect(unread).toEqual([]);
          expect(ids.size).toBe(own.flights.length);
        }
      },
    ),
  );
});
