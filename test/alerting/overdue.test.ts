import { beforeEach, describe, expect, test } from 'vitest';
import { createOverdue } from '../../src/alerting/overdue.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { usualDurationMs } from '../../src/domain/kinds/flight-stuck.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { TimeInterval } from '../../src/domain/muting/muting.ts';
import type { FlightRecord } from '../../src/store/event-store.ts';
import type { BirdRecord } from '../../src/store/sql/watched/nests-and-birds.ts';
import { rule } from '../domain/world.ts';
import { bird, flight } from '../store/contract/sample-records.ts';
import { openMemory, runTwice, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

const MINUTE_MS = 60_000;
const DAY_US = 86_400_000_000;

const SETTING = { timeIntervals: new Map<string, readonly TimeInterval[]>(), lookbackMs: 60 * MINUTE_MS };

let clock: VirtualClock;
let store: TestStore;
let read: boolean;
let looks: number;
beforeEach(async () => {
  clock = createVirtualClock();
  store = runTwice(await openMemory(clock));
  read = true;
  looks = 0;
});

/** The step of a life that has just begun. */
type Judge = ReturnType<typeof createOverdue>['judge'];

function begin(...rules: readonly Rule[]): Judge {
  const all = [...rules, ...DEFAULT_RULES];
  return createOverdue({
    ...SETTING,
    rules: all,
    clock,
    flightsReadUs: () => (read ? clock.nowUs() : undefined),
  }).judge;
}

/** Looks until nothing is left to judge; resolves to the number of Flights and Birds that were judged. */
async function look(step: Judge): Promise<number> {
  let judged = 0;
  for (;;) {
    const { done, remember } = await store.transaction((tx) => step(tx));
    remember?.();
    looks += 1;
    judged += done;
    if (done === 0) return judged;
  }
}

const firing = async () =>
  (await store.alerts.firing(undefined, 1000)).map(
    ({ alertname, labels }) => `${alertname} ${labels.flight_id ?? labels.bird}`,
  );

/** Birds with their Flights, which started this many minutes ago. */
async function world(
  birds: Readonly<Record<string, readonly Partial<FlightRecord>[]>>,
  triggerType = 'scheduled',
  status: Partial<BirdRecord> = {},
) {
  await store.transaction(async (tx) => {
    for (const [name, flights] of Object.entries(birds)) {
      const { stream } = await tx.streams.open('eu', 'flight', name);
      const statusSinceUs = clock.nowUs() - 30 * DAY_US;
      await tx.inventory.putBirds([bird(name, { name, triggerType, statusSinceUs, ...status })]);
      const records = flights.map((one, index) => flight(`${name}-${index}`, { stream, ...one }));
      await tx.flights.put(records);
      await tx.streams.advanceCursor(stream, Math.max(0, ...records.map((one) => one.startedAtUs)));
    }
  });
}

const ago = (minutes: number) => TEST_START_US - minutes * MINUTE_MS * 1000;
const landed = (minutesAgo: number, tookMinutes: number): Partial<FlightRecord> => ({
  startedAtUs: ago(minutesAgo),
  endedAtUs: ago(minutesAgo - tookMinutes),
  status: 'succeeded',
  open: false,
  ends: 1,
});

test.each([
  ['nineteen', Array.from({ length: 19 }, () => 5e6), null],
  ['twenty', Array.from({ length: 20 }, (_, index) => (index + 1) * 1e6), 20_000],
  ['two hundred, of which one is far off', [...Array.from({ length: 199 }, () => 3e6), 9e9], 3000],
  ['two hundred, of which three are', [...Array.from({ length: 197 }, () => 3e6), 9e9, 8e9, 9e9], 8_000_000],
])('what 99 of 100 do not take longer than, of %s', (_what, durations, expected) => {
  expect(usualDurationMs(durations)).toBe(expected);
});

describe('a look', () => {
  const history = Array.from({ length: 20 }, (_, index) => landed(300 + index * 10, 10));

  test('finds the Flights that have been active for too long, each by its own Bird', async () => {
    await world(
      {
        quick: [...history, { startedAtUs: ago(31) }, { startedAtUs: ago(29) }],
        unknown: [{ startedAtUs: ago(4000) }],
        undated: [...history, { startedAtUs: 0 }],
      },
      'event',
    );
    await look(begin());
    expect(await firing()).toEqual(['FlightStuck quick-20']);
  });

  test('of a rule that fails stops no other, and is told', async () => {
    await world({ quick: [...history, { startedAtUs: ago(31) }] });
    await look(begin(rule('FlightsUnusual', { timezone: 'IST', atLeast: 1 })));
    expect(await firing()).toEqual(['FlightStuck quick-20']);
    const aside = await store.transaction((tx) => tx.faults.list(clock.nowUs(), 10));
    expect(aside).toMatchObject([{ name: expect.stringContaining('FlightsUnusual by rule') }]);
  });

  test('comes when the earliest is due, and again soon while that waits for a reading', async () => {
    await world({ quick: [{ startedAtUs: ago(10) }] }, 'event');
    const limit = rule('FlightStuck', { maxDurationMs: 10 * MINUTE_MS + 12_500 });
    const begun = createOverdue({
      ...SETTING,
      rules: [limit, ...DEFAULT_RULES],
      clock,
      flightsReadUs: () => (read ? clock.nowUs() : clock.nowUs() - 3_000_000),
    });
    await look(begun.judge);
    expect(begun.nextMs() - clock.monotonicMs()).toBe(12_500);
    await clock.advance(12_500);
    // The last reading began before.
    read = false;
    await look(begun.judge);
    expect(begun.nextMs() - clock.monotonicMs()).toBe(5_000);
    expect(await firing()).toEqual([]);
    await clock.advance(5_000);
    await look(begun.judge);
    expect(await firing()).toEqual(['FlightStuck quick-0']);
  });

  test('happens once a minute, and reads nothing that is not due', async () => {
    await world({ quick: [...history, { startedAtUs: ago(16) }, { startedAtUs: ago(2) }] }, 'event');
    const step = begin();
    // The Flight that is older than a quarter of an hour, and the Bird.
    expect(await look(step)).toBe(2);
    expect(await look(step)).toBe(0);
    await world({ other: [{ startedAtUs: ago(40) }] }, 'event');
    await clock.advance(MINUTE_MS - 1);
    expect(await look(step)).toBe(0);
    await clock.advance(1);
    expect(await look(step)).toBe(2);
    await clock.advance(12 * MINUTE_MS);
    // Now the younger Flight is a quarter of an hour old.
    expect(await look(step)).toBe(1);
    await clock.advance(2 * MINUTE_MS);
    expect(await look(step)).toBe(1);
    expect(await firing()).toEqual(['FlightStuck quick-20']);
  });

  test('of a new life begins anew, by its own rules, and repeats nothing', async () => {
    await world({ quick: [...history, { startedAtUs: ago(40) }], slow: [{ startedAtUs: ago(40) }] }, 'event');
    await look(begin());
    await look(begin());
    expect(await firing()).toEqual(['FlightStuck quick-20']);
    const match = parseMatchers('bird="slow"');
    await look(begin(rule('FlightStuck', { match, maxDurationMs: 30 * MINUTE_MS })));
    expect((await firing()).toSorted()).toEqual(['FlightStuck quick-20', 'FlightStuck slow-0']);
  });

  test('judges nothing that was not read in this life, until it is read', async () => {
    await world({ quick: [...history, { startedAtUs: ago(40) }] }, 'event');
    read = false;
    const step = begin();
    await look(step);
    expect(await firing()).toEqual([]);
    read = true;
    await clock.advance(MINUTE_MS);
    await look(step);
    expect(await firing()).toEqual(['FlightStuck quick-20']);
  });

  test('judges what was not read for long every minute', async () => {
    await world({ quick: [...history, { startedAtUs: ago(40) }] }, 'event');
    read = false;
    const step = begin();
    const looked: number[] = [];
    for (let half = 0; half < 10; half += 1) {
      if ((await look(step)) > 0) looked.push(half / 2);
      await clock.advance(MINUTE_MS / 2);
    }
    expect(looked).toEqual([0, 0.5, 1, 2, 3, 4]);
  });

  test('notices that a Flight is no longer watched', async () => {
    await world({ quick: [...history, { startedAtUs: ago(40) }] }, 'event');
    const step = begin();
    await look(step);
    await world({ quick: [...history, { startedAtUs: ago(40), open: false }] }, 'event');
    await clock.advance(MINUTE_MS);
    await look(step);
    expect(await firing()).toEqual([]);
  });

  test('finds scheduled Birds that stopped, once a week of them is known', async () => {
    const daily = (days: number) => Array.from({ length: days }, (_, day) => landed(2200 + day * 1440, 5));
    await world({ known: daily(8), short: daily(7), recent: [...daily(8), landed(1500, 5)] });
    await look(begin());
    expect(await firing()).toEqual(['BirdStale known']);
  });

  test('queries nothing about Birds from which nothing is expected', async () => {
    const daily = Array.from({ length: 20 }, (_, day) => landed(9000 + day * 1440, 5));
    await world({ manual: daily }, 'manual');
    await look(begin());
    expect(await firing()).toEqual([]);
    await look(begin(rule('BirdStale', { expectEveryMs: 60 * MINUTE_MS })));
    expect(await firing()).toEqual(['BirdStale manual']);
  });

  test.each([
    ['was active when it was first seen, by its last Flight', { hasFirstStatus: true }, ['BirdStale late']],
    ['became active, by that', {}, []],
  ])('judges a Bird that %s', async (_, status, expected) => {
    const statusSinceUs = ago(10);
    await world({ late: [landed(40, 5)] }, 'manual', { statusSinceUs, ...status });
    await look(begin(rule('BirdStale', { expectEveryMs: 30 * MINUTE_MS })));
    expect(await firing()).toEqual(expected);
  });

  test('judges a Bird without Flights by when it was first seen', async () => {
    await world({ late: [] }, 'manual', { statusSinceUs: ago(10), hasFirstStatus: true });
    const step = begin(rule('BirdStale', { expectEveryMs: 30 * MINUTE_MS }));
    await look(step);
    expect(await firing()).toEqual([]);
    await clock.advance(21 * MINUTE_MS);
    await look(step);
    expect(await firing()).toEqual(['BirdStale late']);
  });

  test('expects nothing from a Bird that is suspended', async () => {
    const daily = Array.from({ length: 8 }, (_, day) => landed(2200 + day * 1440, 5));
    await world({ known: daily }, 'scheduled', { status: 'suspended' });
    await look(begin());
    expect(await firing()).toEqual([]);
  });

  test('processes many in small steps [long]', async () => {
    const names = Array.from({ length: 450 }, (_, index) => `b${index}`);
    await world(Object.fromEntries(names.map((name) => [name, [{ startedAtUs: ago(40) }]])));
    const step = begin(rule('FlightStuck', { maxDurationMs: 30 * MINUTE_MS }));
    expect(await look(step)).toBe(900);
    expect(looks).toBe(4);
    expect(await firing()).toHaveLength(450);
  });
});
