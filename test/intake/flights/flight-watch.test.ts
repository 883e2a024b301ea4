import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { NestwatchError } from '../../../src/errors.ts';
import { createCommit } from '../../../src/intake/commit.ts';
import { createFlightWatches, type FlightWatch } from '../../../src/intake/flights/flight-watch.ts';
import type { Happening } from '../../../src/report.ts';
import type { FlightFilter, ServiceClient } from '../../../src/service/client.ts';
import type { Flight, FlightLogEntry, Parsed } from '../../../src/service/resources.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { formatInstant } from '../../../src/time/instant.ts';
import { changed } from '../../store/changed-transaction.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../../virtual-clock.ts';

const SECOND_US = 1_000_000;
const MINUTE_US = 60 * SECOND_US;
const HOUR_US = 60 * MINUTE_US;
const OVERLAP_US = 2 * MINUTE_US;

let clock: VirtualClock;
let store: Store;
let watch: FlightWatch;
/** What the service shows, by id. */
let shown: Map<string, Flight>;
/** Ids that `searchFlights` leaves out, as where a Flight is read that the list does not hold. */
let unlisted: Set<string>;
let log: Parsed<FlightLogEntry>[];
let asked: string[];
/** Rows of an answer at the most. */
let cap: number;
/** Thrown instead of an answer by the operation of this name. */
let trouble: Record<string, unknown>;
/** Ids of which `getFlight` answers 500. */
let unreadable: Set<string>;
/** Rows of an answer that is not too large. */
let receivable: number;
/** To what instants are cut before the service compares them. */
let comparedUs: number;
/** What the windows are compared as. */
let isExclusive: boolean;
let health: string;
let hasSlack: boolean;
let tellsTime: boolean;
/** By how much the service's clock is ahead of ours. */
let aheadUs: number;
let lateUs: number[];
let happenings: Happening[];
let facts: Fact[];
let commits: number;

const instant = (us: number) => ({ us, text: formatInstant(us) });
const BIRD = {
  region: 'eu',
  birdId: '148890',
  nestId: '682',
  name: 'Translate blog',
  status: 'active',
  triggerType: 'event',
  present: true,
  statusSinceUs: TEST_START_US,
};
const names = { nest: () => 'Marketing', bird: () => 'Translate blog', nestOf: () => '682' };

function answer<T>(value: T) {
  const nowUs = clock.nowUs() + aheadUs;
  return { value, serverTimeUs: tellsTime ? Math.floor(nowUs / SECOND_US) * SECOND_US : null };
}

function met(operation: string): void {
  asked.push(operation);
  if (operation in trouble) throw trouble[operation];
}

const client = {
  async searchFlights(_nestId: string, _birdId: string, filter: FlightFilter = {}) {
    const { minStartUs = 0, maxStartUs = Number.POSITIVE_INFINITY, status } = filter;
    met(status === undefined ? 'list' : `list ${status}`);
    const cut = (us: number) => (us === Number.POSITIVE_INFINITY ? us : Math.floor(us / comparedUs));
    const edgeUs = isExclusive ? 1 : 0;
    const rows = [...shown.values()].filter(
      (one) =>
        !unlisted.has(one.id) &&
        cut(one.startedAt?.us ?? minStartUs) >= cut(minStartUs) + edgeUs &&
        cut(one.startedAt?.us ?? 0) <= cut(maxStartUs) - edgeUs &&
        (status === undefined || one.status === status),
    );
    if (rows.length > receivable) throw new NestwatchError('too_large', 'more than 16 MiB');
    return answer(rows.slice(0, cap).map((entry): Parsed<Flight> => parsed(entry)));
  },
  async getFlight(_nestId: string, _birdId: string, flightId: string) {
    met('get');
    if (unreadable.has(flightId)) throw new NestwatchError('unavailable', 'the service answered 500');
    const flight = shown.get(flightId);
    if (!flight) throw new NestwatchError('not_found', 'there is no such Flight');
    return answer(parsed(flight));
  },
  async getFlightLogs() {
    met('log');
    return answer({ items: log, totalCount: log.length, page: 0, pageSize: 50 });
  },
  slack: () => hasSlack,
  health: () => ({ health, reason: '', sinceUs: 0 }),
} as unknown as ServiceClient;

function parsed(entry: Flight): Parsed<Flight> {
  return entry.id === 'malformed' ? { ok: false, raw: '{"id":null}', reason: 'no id' } : { ok: true, entry };
}

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openSqliteStore({ path: ':memory:', clock });
  shown = new Map();
  unlisted = new Set();
  log = [];
  asked = [];
  cap = Number.POSITIVE_INFINITY;
  trouble = {};
  unreadable = new Set();
  receivable = Number.POSITIVE_INFINITY;
  comparedUs = 1;
  isExclusive = false;
  health = 'up';
  hasSlack = true;
  tellsTime = true;
  aheadUs = 0;
  lateUs = [];
  happenings = [];
  facts = [];
  commits = 0;
  watch = openWatch();
});
afterEach(() => store.close());

function openWatch(): FlightWatch {
  const commit = createCommit({
    store,
    rules: [],
    forward: [],
    clock,
    report: (happening) => happenings.push(happening),
    changed: () => {},
  });
  return createFlightWatches({
    region: 'eu',
    client,
    store,
    commit(batch) {
      commits += 1;
      facts.push(...(batch.facts ?? []));
      return commit(batch);
    },
    clock,
    random: () => 0.99,
    report: (happening) => happenings.push(happening),
    names,
    status: () => 'active',
    retentionMs: 30 * 86_400_000,
    pageSize: () => 100,
    overlapUs: () => OVERLAP_US,
    late: (us) => lateUs.push(us),
    firstFromUs: () => TEST_START_US - HOUR_US,
    watchedSinceUs: () => TEST_START_US,
    reasonWaitUs: MINUTE_US,
  })('148890');
}

/** Shows a Flight that started so many seconds ago; `null` for a start that is not given. */
function show(id: string, secondsAgo: number | null, given: Partial<Flight> = {}): void {
  const startedAt = secondsAgo === null ? null : instant(clock.nowUs() - Math.round(secondsAgo * SECOND_US));
  const plain = { birdId: '148890', nestId: '682', status: 'active', errorMessages: '' };
  shown.set(id, { ...plain, id, startedAt, durationSeconds: null, ...given });
}

const ends = (id: string, given: Partial<Flight>) => shown.set(id, { ...shown.get(id)!, ...given });
const pass = (seconds: number) => clock.advance(seconds * 1000);
const told = async () => (await watch.poll()).fresh.map(({ type, key }) => `${type} ${key.split('/')[2]}`);

function line(eventType: number | string, secondsAgo: number, given: Partial<FlightLogEntry> = {}) {
  const createdAt = instant(clock.nowUs() - secondsAgo * SECOND_US);
  const entry = { id: `${eventType}`, createdAt, eventType, message: '', stepId: '', scope: '', ...given };
  return { ok: true, entry: entry as FlightLogEntry } as const;
}

describe('a Flight', () => {
  test('is told when it ends, with the instant of start and duration, and once', async () => {
    show('a', 20);
    expect(await told()).toEqual([]);
    expect([watch.openCount(), watch.mayRest(false)]).toEqual([1, false]);
    await pass(30);
    ends('a', { status: 'succeeded', durationSeconds: 25 });
    const { fresh } = await watch.poll();
    expect(fresh.map(({ type, occurredAtUs }) => [type, occurredAtUs])).toEqual([
      ['flight.succeeded', TEST_START_US + 5 * SECOND_US],
    ]);
    expect(await told()).toEqual([]);
  });

  test('whose record was deleted by retention is not told again in a later life', async () => {
    show('a', 20);
    await watch.poll();
    await pass(30);
    ends('a', { status: 'succeeded', durationSeconds: 25 });
    expect(await told()).toEqual(['flight.succeeded a']);
    await store.transaction((tx) => tx.upkeep.prune(clock.nowUs(), 100));
    watch = openWatch();
    expect(await told()).toEqual([]);
  });

  test('of which no start is known is not told again in a later life, whatever retention deleted', async () => {
    await store.transaction((tx) => tx.inventory.putBirds([BIRD]));
    show('undated', null, { status: 'succeeded' });
    expect(await told()).toEqual(['flight.succeeded undated']);
    for (const seconds of [1, 40 * 86_400]) {
      await pass(seconds);
      await store.transaction((tx) => tx.upkeep.prune(clock.nowUs(), 100));
      watch = openWatch();
      expect(await told()).toEqual([]);
    }
  });

  test('that is active again and ends again is told again', async () => {
    show('a', 20, { status: 'succeeded', durationSeconds: 10 });
    await watch.poll();
    ends('a', { status: 'active', durationSeconds: null });
    expect(await told()).toEqual([]);
    ends('a', { status: 'cancelled', durationSeconds: 15 });
    const { fresh } = await watch.poll();
    expect(fresh.map(({ key }) => key)).toEqual(['eu/flight/a/cancelled#2']);
  });

  test('of a status not known today is told once, at its start, and watched on', async () => {
    show('a', 20, { status: 'paused' });
    const { fresh } = await watch.poll();
    expect(fresh.map(({ type, occurredAtUs }) => [type, occurredAtUs])).toEqual([
      ['flight.paused', TEST_START_US - 20 * SECOND_US],
    ]);
    expect(watch.openCount()).toBe(1);
    expect(await told()).toEqual([]);
  });

  test('without a status is watched and not told', async () => {
    show('a', 20, { status: '' });
    expect(await told()).toEqual([]);
    expect(watch.openCount()).toBe(1);
  });

  test('that was there and is there no more is watched no longer a minute later, until it comes back', async () => {
    show('a', 20);
    await watch.poll();
    const flight = shown.get('a')!;
    shown.clear();
    await watch.poll();
    await pass(59);
    await watch.poll();
    expect(watch.openCount()).toBe(1);
    await pass(1);
    await watch.poll();
    expect(watch.openCount()).toBe(0);
    shown.set('a', flight);
    await watch.poll();
    expect(watch.openCount()).toBe(1);
  });

  test('that is not readable is set aside', async () => {
    show('malformed', 20);
    await watch.poll();
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'quarantined', reason: 'no id' }));
  });
});

describe('a failed Flight', () => {
  test('is told with the step of its log and the instant of its end there', async () => {
    await pass(60);
    log = [
      line(1, 20),
      line(5, 9, { isRetried: true, message: 'tried again' }),
      line(5, 9, { isSkipped: true, message: 'passed over' }),
      { ok: false, raw: '', reason: 'malformed' },
      line(5, 10, { message: 'Segment limit', stepId: 'translate' }),
      line(3, 8),
    ];
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    const [event] = (await watch.poll()).fresh;
    expect(event).toMatchObject({
      message: 'Segment limit',
      occurredAtUs: clock.nowUs() - 8 * SECOND_US,
      attributes: { step_id: 'translate' },
    });
  });

  test('ends by its log with the failure, where no line says that it ended', async () => {
    log = [line('5', 10, { message: 'Segment limit' })];
    show('a', -20, { status: 'failed', durationSeconds: 9 });
    const [event] = (await watch.poll()).fresh;
    expect(event?.occurredAtUs).toBe(clock.nowUs() - 10 * SECOND_US);
  });

  test('whose log tells of the future ended when it was seen', async () => {
    await pass(60);
    log = [line(2, -7_200)];
    show('a', 20, { status: 'failed', errorMessages: 'No quota', durationSeconds: 9_000 });
    const [event] = (await watch.poll()).fresh;
    expect(event?.occurredAtUs).toBe(clock.nowUs());
  });

  test('without a reason waits for it for a minute', async () => {
    await pass(60);
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    expect(await watch.poll()).toMatchObject({ again: true, fresh: [] });
    show('b', 20, { status: 'failed', durationSeconds: 9 });
    await pass(50);
    expect(await watch.poll()).toMatchObject({ again: true, fresh: [] });
    ends('a', { errorMessages: 'No quota' });
    const { again, fresh } = await watch.poll();
    expect([again, fresh.map(({ message }) => message)]).toEqual([true, ['No quota']]);
    await pass(59);
    expect(await watch.poll()).toMatchObject({ again: true, fresh: [] });
    await pass(1);
    expect((await watch.poll()).fresh.map(({ key, message }) => [key, message])).toEqual([
      ['eu/flight/b/failed', ''],
    ]);
    expect(await watch.poll()).toMatchObject({ again: false, fresh: [] });
  });

  test('waits on in a new life, and not once time has gone backwards', async () => {
    await pass(60);
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    await watch.poll();
    await pass(40);
    watch = openWatch();
    expect(await watch.poll()).toMatchObject({ again: true, fresh: [] });
    await pass(20);
    watch = openWatch();
    expect(await told()).toEqual(['flight.failed a']);
    show('b', 20, { status: 'failed', durationSeconds: 9 });
    await watch.poll();
    aheadUs = -HOUR_US;
    expect(await told()).toEqual(['flight.failed b']);
  });

  test('without a reason is told before the success of a Flight that started later', async () => {
    await pass(60);
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    expect(await told()).toEqual([]);
    show('earlier', 25, { status: 'succeeded', durationSeconds: 5 });
    show('no start', null, { status: 'succeeded' });
    expect(await told()).toEqual(['flight.succeeded no start', 'flight.succeeded earlier']);
    expect(await told()).toEqual([]);
    show('b', 10, { status: 'succeeded', durationSeconds: 5 });
    shown = new Map([...shown].reverse());
    expect(await told()).toEqual(['flight.failed a', 'flight.succeeded b']);
  });

  test('that waits for its reason is told also where it cannot be read any more', async () => {
    await pass(60);
    show('undated', null);
    expect(await told()).toEqual([]);
    ends('undated', { status: 'failed' });
    show('gone', 20, { status: 'failed', durationSeconds: 9 });
    show('unreadable', 20, { status: 'failed', durationSeconds: 9 });
    expect(await told()).toEqual([]);
    shown.delete('gone');
    shown.delete('undated');
    unlisted = unreadable = new Set(['unreadable']);
    for (let count = 0; count < 5; count += 1) {
      await pass(10);
      expect(await told()).toEqual([]);
    }
    await pass(10);
    const { fresh } = await watch.poll();
    const seenUs = TEST_START_US + 61 * SECOND_US;
    expect(fresh.map(({ key, occurredAtUs }) => [key.split('/')[2], occurredAtUs])).toEqual([
      ['undated', clock.nowUs()],
      ['gone', seenUs],
      ['unreadable', seenUs],
    ]);
    expect(watch.openCount()).toBe(0);
  });

  test.each(['unavailable', 'rate_limited', 'cancelled'] as const)(
    'that waits for its reason is told when that is over also where its Bird cannot be read: %s',
    async (code) => {
      await pass(60);
      show('a', 20, { status: 'failed', durationSeconds: 9 });
      show('b', 20);
      expect(await told()).toEqual([]);
      // The wait is measured on the service's clock.
      clock.stepWall(3 * 3_600_000);
      aheadUs = -3 * HOUR_US;
      await watch.poll();
      const before = asked.length;
      trouble = { list: new NestwatchError(code, 'no answer') };
      const events = () => happenings.filter(({ what }) => what === 'event').length;
      await pass(59);
      await expect(watch.poll()).rejects.toThrow('no answer');
      expect(events()).toBe(0);
      await pass(1);
      await expect(watch.poll()).rejects.toThrow('no answer');
      expect(events()).toBe(1);
      await expect(watch.poll()).rejects.toThrow('no answer');
      expect(asked.slice(before)).toEqual(['list', 'list', 'list']);
      trouble = {};
      expect(await told()).toEqual([]);
    },
  );

  test('that waits for its reason is told at once where its Bird is there no more, also in a new life', async () => {
    await pass(60);
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    expect(await told()).toEqual([]);
    watch = openWatch();
    trouble = { list: new NestwatchError('not_found', 'no such Bird') };
    await expect(watch.poll()).rejects.toThrow('no such Bird');
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'event', type: 'flight.failed' }));
    expect(watch.openCount()).toBe(0);
    await store.close();
    store = await openSqliteStore({ path: ':memory:', clock });
    watch = openWatch();
    commits = 0;
    await expect(watch.poll()).rejects.toThrow('no such Bird');
    expect(commits).toBe(0);
  });

  test('without a message has its log read also where the pace leaves no room, up to some in a poll', async () => {
    hasSlack = false;
    await pass(60);
    log = [line(5, 10, { message: 'Segment limit' })];
    for (let at = 0; at < 50; at += 1) show(`${at}`, 20 + at, { status: 'failed', durationSeconds: 9 });
    const told: number[] = [];
    for (let again = true; again; await pass(10)) {
      asked = [];
      const polled = await watch.poll();
      again = polled.again;
      told.push(polled.fresh.filter(({ message }) => message === 'Segment limit').length);
      expect(asked.filter((one) => one === 'log').length).toBeLessThanOrEqual(20);
    }
    expect(told).toEqual([20, 20, 10]);
  });

  test('without a message has its log read once, and once more at the end, where the pace leaves no room', async () => {
    hasSlack = false;
    await pass(60);
    show('a', 20, { status: 'failed', durationSeconds: 9 });
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(await told()).toEqual([]);
      await pass(10);
    }
    expect(asked.filter((one) => one === 'log')).toHaveLength(1);
    log = [line(5, 10, { message: 'Segment limit' })];
    expect((await watch.poll()).fresh.map(({ message }) => message)).toEqual(['Segment limit']);
    expect(asked.filter((one) => one === 'log')).toHaveLength(2);
  });

  test('has no log read where the pace leaves no room, or the log is in trouble', async () => {
    hasSlack = false;
    show('a', 20, { status: 'failed', errorMessages: 'No quota', durationSeconds: 9 });
    await pass(30);
    ends('a', { durationSeconds: 40 });
    expect(await told()).toEqual(['flight.failed a']);
    expect(asked).not.toContain('log');
    hasSlack = true;
    trouble = { log: new NestwatchError('unavailable', 'the service answered 503') };
    show('b', 5, { status: 'failed', errorMessages: 'No quota', durationSeconds: 5 });
    expect(await told()).toEqual(['flight.failed b']);
    trouble = { log: new TypeError('a bug') };
    show('c', 5, { status: 'failed', errorMessages: 'No quota', durationSeconds: 5 });
    await expect(watch.poll()).rejects.toThrow('a bug');
  });

  test('of before the watch is history, by its end, its log or its start, and its log is not read for less', async () => {
    log = [line(3, 600)];
    show('by its end', 1_800, { status: 'failed', durationSeconds: 60 });
    show('by its log', 1_800, { status: 'failed', durationSeconds: null });
    show('by its start', 1_800, { status: 'cancelled', durationSeconds: -1 });
    show('no start at all', null, { status: 'succeeded' });
    await watch.poll();
    expect(asked.filter((one) => one === 'log')).toHaveLength(1);
    const history = happenings.flatMap((one) => (one.what === 'event' ? [one.historic] : []));
    expect(history).toEqual([true, true, true, true]);
  });

  test('of which nothing says when it was is news where only later ones were asked for', async () => {
    await pass(300);
    show('dated', 10, { status: 'succeeded', durationSeconds: 5 });
    await watch.poll();
    await pass(30);
    show('undated', null, { status: 'failed', errorMessages: 'No quota' });
    await watch.poll();
    show('silent', null, { status: 'failed' });
    expect(await told()).toEqual([]);
    await pass(61);
    expect(await told()).toEqual(['flight.failed silent']);
    await pass(3_600);
    // An hourly review asks for older ones, too.
    show('old', null, { status: 'failed', errorMessages: 'No quota' });
    await watch.poll();
    const history = happenings.flatMap((one) => (one.what === 'event' ? [one.historic] : []));
    expect(history).toEqual([false, false, false, true]);
  });

  test('of before the watch is news when its log tells that it ended since', async () => {
    await pass(60);
    log = [line(3, 20)];
    show('a', 300, { status: 'failed', errorMessages: 'No quota', durationSeconds: null });
    await watch.poll();
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'event', historic: false }));
  });

  test('without any start is news by its log alone, which is read also where the pace leaves no room', async () => {
    await pass(60);
    hasSlack = false;
    log = [line(3, 20)];
    show('a', null, { status: 'failed', errorMessages: 'No quota', durationSeconds: null });
    await watch.poll();
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'event', historic: false }));
  });
});

describe('a poll', () => {
  test('that finds nothing new writes nothing, and counts what it knows', async () => {
    show('a', 20);
    await watch.poll();
    const before = happenings.length;
    commits = 0;
    expect(await watch.poll()).toMatchObject({ again: false, fresh: [], requests: 1 });
    expect(commits).toBe(0);
    expect(happenings.slice(before)).toEqual([
      { what: 'duplicates', region: 'eu', feed: 'flight', count: 1 },
    ]);
  });

  test('reads an answer that may be cut in halves, and one that is too large', async () => {
    for (let at = 0; at < 60; at += 1) show(`${at}`, at * 50, { status: 'succeeded', durationSeconds: 1 });
    cap = 25;
    expect((await watch.poll()).fresh).toHaveLength(60);
    for (let at = 0; at < 60; at += 1) show(`n${at}`, at * 0.2, { status: 'succeeded', durationSeconds: 0 });
    receivable = 20;
    expect((await watch.poll()).fresh).toHaveLength(60);
    expect(happenings).not.toContainEqual(expect.objectContaining({ what: 'missing' }));
    trouble = { list: new NestwatchError('timeout', 'no answer') };
    await expect(watch.poll()).rejects.toThrow('no answer');
    trouble = { list: new TypeError('a bug') };
    await expect(watch.poll()).rejects.toThrow('a bug');
  });

  test('asks for one or two open Flights that the list lacks by their ids, for more by their status', async () => {
    for (const id of ['a', 'b', 'c']) show(id, 20);
    await watch.poll();
    unlisted = new Set(['a', 'b']);
    asked = [];
    await watch.poll();
    expect(asked).toEqual(['list', 'get', 'get']);
    unlisted.add('c');
    asked = [];
    await watch.poll();
    expect(asked).toEqual(['list', 'list active', 'get', 'get', 'get']);
  });

  test('fails with the region, and not with one Flight that the service cannot show', async () => {
    show('a', 20);
    show('b', 20);
    await watch.poll();
    unlisted = new Set(['a', 'b']);
    for (const code of ['rate_limited', 'cancelled'] as const) {
      trouble = { get: new NestwatchError(code, code) };
      await expect(watch.poll()).rejects.toThrow(code);
    }
    trouble = { get: new TypeError('a bug') };
    await expect(watch.poll()).rejects.toThrow('a bug');
    trouble = {};
    unreadable = new Set(['a']);
    health = 'down';
    await expect(watch.poll()).rejects.toThrow('500');
    health = 'up';
    ends('b', { status: 'cancelled' });
    expect(await told()).toEqual(['flight.cancelled b']);
    expect(watch.openCount()).toBe(1);
  });

  test('asks ever more rarely for a Flight that the service cannot show, until it can', async () => {
    show('a', 20);
    await watch.poll();
    unlisted = unreadable = new Set(['a']);
    const askedAt: number[] = [];
    for (let seconds = 0; seconds < 12_000; seconds += 30) {
      asked = [];
      await watch.poll();
      if (asked.includes('get')) askedAt.push(seconds);
      await pass(30);
    }
    expect(askedAt).toEqual([0, 30, 90, 210, 450, 930, 1_890, 3_810, 7_410, 11_010]);
    unreadable = new Set();
    ends('a', { status: 'cancelled' });
    await pass(3_600);
    expect(await told()).toEqual(['flight.cancelled a']);
  });

  test('takes a Flight as gone only after two answers in a row that say so', async () => {
    show('a', 20);
    await watch.poll();
    const flight = shown.get('a')!;
    for (let count = 0; count < 3; count += 1) {
      shown.clear();
      await watch.poll();
      shown.set('a', flight);
      await pass(60);
      await watch.poll();
    }
    unlisted.add('a');
    shown.clear();
    await watch.poll();
    shown.set('a', { ...flight, status: 'cancelled' });
    await pass(60);
    expect(await told()).toEqual(['flight.cancelled a']);
  });

  test('finds more open Flights than one answer holds without asking for each', async () => {
    for (let at = 0; at < 60; at += 1) show(`${at}`, 86_400 + at * 3_600);
    cap = 25;
    await watch.poll();
    expect(watch.openCount()).toBe(60);
    await pass(60);
    asked = [];
    await watch.poll();
    expect(asked).not.toContain('get');
    expect(asked.length).toBeLessThan(12);
  });

  test('asks for all that is active where the start of an open Flight is not known', async () => {
    for (const id of ['a', 'b', 'c']) show(id, null);
    await watch.poll();
    unlisted = new Set(['a', 'b', 'c']);
    asked = [];
    await watch.poll();
    expect(asked).toEqual(['list', 'list active', 'get', 'get', 'get']);
  });

  test('of a service that tells no time goes by our clock', async () => {
    tellsTime = false;
    show('a', 20);
    await watch.poll();
    expect(watch.cursorUs()).toBe(clock.nowUs() - 20 * SECOND_US);
    unlisted.add('a');
    ends('a', { status: 'cancelled' });
    expect((await watch.poll()).fresh[0]?.occurredAtUs).toBe(clock.nowUs());
  });

  test('begins no earlier than the first reading did, also for an open Flight', async () => {
    show('before', 3_700);
    show('known', 3_000);
    await watch.poll();
    asked = [];
    await watch.poll();
    expect(asked).toEqual(['list', 'get']);
  });

  test('may leave out an unpublished Bird once its Flights were read to the end, and not before', async () => {
    show('a', 20);
    await watch.poll();
    expect(watch.mayRest(true)).toBe(false);
    ends('a', { status: 'succeeded', durationSeconds: 25 });
    await pass(60);
    expect([watch.mayRest(true), watch.mayRest(false)]).toEqual([false, false]);
    // A review that comes too soon may have missed one that is shown late.
    await watch.poll();
    expect(watch.mayRest(false)).toBe(false);
    await pass(3_700);
    await watch.poll();
    expect(watch.mayRest(false)).toBe(true);
    await pass(24 * 3_600);
    expect(watch.mayRest(false)).toBe(false);
  });

  test('begins a little before open Flights of the last quarter of an hour', async () => {
    show('old', 3_500);
    show('young', 200);
    show('new', 0);
    await watch.poll();
    expect(watch.cursorUs()).toBe(clock.nowUs());
    asked = [];
    await watch.poll();
    expect(asked).toEqual(['list', 'get']);
  });

  test('of a new life goes on with what the store knows', async () => {
    show('a', 20);
    show('b', 30, { status: 'succeeded', durationSeconds: 5 });
    show('long ago', 3_000);
    await watch.poll();
    watch = openWatch();
    asked = [];
    expect(await told()).toEqual([]);
    expect([asked, watch.openCount()]).toEqual([['list', 'get'], 2]);
  });

  test('forgets ended Flights of long ago, which the store still knows', async () => {
    const lookedUp: string[] = [];
    const { transaction } = store;
    store.transaction = (work) =>
      transaction((tx) =>
        work(
          changed(tx, {
            flights: {
              find(stream, flights) {
                lookedUp.push(...flights.map(({ flightId }) => flightId));
                return tx.flights.find(stream, flights);
              },
            },
          }),
        ),
      );
    show('a', 20, { status: 'succeeded', durationSeconds: 5 });
    await watch.poll();
    await pass(1_200);
    for (let round = 0; round < 3; round += 1) {
      await pass(1_200);
      show(`later ${round}`, 0, { status: 'succeeded', durationSeconds: 0 });
      expect(await watch.poll()).toMatchObject({ fresh: [{ type: 'flight.succeeded' }] });
    }
    // The hourly review met it once more.
    expect(lookedUp).toEqual(['a', 'later 0', 'a', 'later 1', 'later 2']);
    const started = facts.flatMap((fact) => (fact.fact === 'flight_started' ? [fact.flightId] : []));
    expect(started).toEqual(['a', 'later 0', 'later 1', 'later 2']);
  });
});

describe('a Flight that comes late', () => {
  test('is told to the overlap by the time since it started', async () => {
    show('a', 1);
    await watch.poll();
    await pass(30);
    show('b', 50);
    show('c', 1);
    await watch.poll();
    // The service's clock counts whole seconds, and the one that has begun.
    expect(lateUs).toEqual([51 * SECOND_US]);
    expect(facts.flatMap((fact) => (fact.fact === 'flight_started' ? fact.historic : []))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('says nothing of the overlap after a pause, in which it may have come at any time', async () => {
    show('a', 1);
    await watch.poll();
    await pass(700);
    show('b', 705);
    await watch.poll();
    expect(lateUs).toEqual([]);
  });

  test('beyond the overlap is recovered by a review, and doubles the overlap', async () => {
    show('a', 1);
    await watch.poll();
    for (let minute = 0; minute < 59; minute += 1) {
      await pass(60);
      show(`${minute}`, 0, { status: 'succeeded', durationSeconds: 0 });
      await watch.poll();
    }
    show('missed', 1_000, { status: 'cancelled', durationSeconds: 5 });
    for (let poll = 0; poll < 3; poll += 1) {
      await pass(60);
      await watch.poll();
    }
    expect(happenings).toContainEqual({ what: 'recovered', region: 'eu', feed: 'flight', count: 1 });
    expect(lateUs).toEqual([OVERLAP_US]);
    expect(watch.verifiedUs()).toBeGreaterThan(TEST_START_US);
  });

  test('by more than a day is found by the daily reading of all that failed or is active', async () => {
    show('a', 1);
    await watch.poll();
    await pass(3_600);
    show('failed', 3_000, { status: 'failed', errorMessages: 'No quota', durationSeconds: 5 });
    show('newer', 0);
    unlisted.add('failed');
    for (let hours = 0; hours < 52; hours += 1) {
      await watch.poll();
      await pass(3_600);
      if (hours === 30) unlisted.clear();
    }
    expect(asked).toContain('list failed');
    expect(happenings).toContainEqual({ what: 'recovered', region: 'eu', feed: 'flight', count: 1 });
  });
});

describe('a Flight that started before what a first start reads', () => {
  const started = 3 * 3_600;

  test('and fails before its Bird is first asked for, is found by the first reading of all that failed', async () => {
    await pass(60);
    const durationSeconds = started - 30;
    show('missed', started, { status: 'failed', errorMessages: 'No quota', durationSeconds });
    show('over', started, { status: 'failed', errorMessages: 'No quota', durationSeconds: 5 });
    show('undated', started, { status: 'failed', errorMessages: 'No quota' });
    expect(await told()).toEqual([]);
    await pass(3_600);
    expect(await told()).toEqual(['flight.failed missed']);
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'event', historic: false }));
    expect(facts.filter(({ fact }) => fact === 'flight_started')).toHaveLength(1);
  });

  test('is news where it was in the air at the first reading', async () => {
    show('a', started);
    await watch.poll();
    await pass(30);
    ends('a', { status: 'failed', errorMessages: 'No quota', durationSeconds: started + 10 });
    expect(await told()).toEqual(['flight.failed a']);
  });
});

describe('Flights too dense for an answer', () => {
  const failed = { status: 'failed', errorMessages: 'No quota', durationSeconds: 0 };
  /** Starts so many of them, evenly within so much time. */
  function burst(name: string, count: number, withinUs: number): void {
    for (let at = 0; at < count; at += 1)
      show(`${name}${at}`, 600 - (at * withinUs) / count / SECOND_US, failed);
  }
  const gaps = () => facts.flatMap((fact) => (fact.fact === 'feed_gap' ? [fact.missing] : []));
  const missing = () => happenings.filter(({ what }) => what === 'missing').length;

  beforeEach(async () => {
    // Later, so that a burst is no history and is looked at by reviews.
    await pass(900);
  });

  test('within a second are read all the same, whether too large or cut', async () => {
    receivable = 25;
    burst('large', 200, SECOND_US);
    const { fresh, requests } = await watch.poll();
    expect([fresh.length, gaps()]).toEqual([200, [0]]);
    expect(requests).toBeLessThan(320);
    receivable = Number.POSITIVE_INFINITY;
    cap = 25;
    show('known', 0, failed);
    await pass(3_600);
    burst('cut', 200, SECOND_US);
    expect((await watch.poll()).fresh).toHaveLength(201);
    expect([gaps(), missing()]).toEqual([[0], 0]);
  });

  test('at one moment are told as missing where no answer holds them; what follows is told, and nothing is proven', async () => {
    receivable = 25;
    burst('large', 30, 0);
    show('later', 10, failed);
    expect(await told()).toEqual(['flight.failed later']);
    const burstUs = clock.nowUs() - 600 * SECOND_US;
    expect([gaps(), missing()]).toEqual([[1], 1]);
    for (let hours = 0; hours < 3; hours += 1) {
      await pass(3_600);
      await watch.poll();
      expect(watch.verifiedUs()).toBeLessThanOrEqual(burstUs);
    }
    expect([gaps(), missing()]).toEqual([[1], 1]);
    receivable = Number.POSITIVE_INFINITY;
    await pass(3_600);
    expect(await told()).toHaveLength(30);
    expect(gaps()).toEqual([1, 0]);
    expect(watch.verifiedUs()).toBeGreaterThan(burstUs);
  });

  test('at one moment are known to be missing in a new life, whose polls begin behind them', async () => {
    await store.transaction((tx) => tx.inventory.putBirds([BIRD]));
    receivable = 25;
    burst('large', 30, 0);
    await watch.poll();
    const burstUs = clock.nowUs() - 600 * SECOND_US;
    await pass(1_800);
    show('later', 10, failed);
    await watch.poll();
    await pass(26 * 3_600);
    watch = openWatch();
    for (let count = 0; count < 3; count += 1) await watch.poll();
    expect(watch.verifiedUs()).toBeGreaterThan(0);
    expect(watch.verifiedUs()).toBeLessThanOrEqual(burstUs);
    expect([gaps(), missing()]).toEqual([[1, 1], 1]);
  });

  test('at one moment are tried anew by the daily reading when they are older than a day, and told', async () => {
    receivable = 25;
    burst('large', 30, 0);
    await watch.poll();
    await pass(26 * 3_600);
    show('later', 10, failed);
    expect(await told()).toEqual(['flight.failed later']);
    await watch.poll();
    expect(gaps()).toEqual([1]);
    receivable = Number.POSITIVE_INFINITY;
    // Those that failed would be found without.
    for (let at = 0; at < 30; at += 1) ends(`large${at}`, { status: 'succeeded' });
    await pass(3_600);
    expect(await told()).toEqual([]);
    await pass(24 * 3_600);
    expect(await told()).toHaveLength(30);
    expect(gaps()).toEqual([1, 0]);
    await pass(3_600);
    await watch.poll();
    expect(watch.verifiedUs()).toBeGreaterThan(clock.nowUs() - HOUR_US);
  });

  test('at one moment are no longer told as missing when their Bird is gone', async () => {
    receivable = 25;
    burst('large', 30, 0);
    await watch.poll();
    watch.gone();
    await pass(1);
    expect(gaps()).toEqual([1, 0]);
  });

  test('at one moment are found by their status', async () => {
    receivable = 25;
    burst('large', 20, 0);
    for (let at = 0; at < 20; at += 1) show(`s${at}`, 600, { status: 'succeeded', durationSeconds: 0 });
    expect((await watch.poll()).fresh).toHaveLength(40);
    expect(gaps()).toEqual([0]);
  });

  test('at one moment are no gap where nothing shows that answers are cut', async () => {
    burst('many', 30, 0);
    expect((await watch.poll()).fresh).toHaveLength(30);
    await watch.poll();
    expect(gaps()).toEqual([0]);
  });

  test('at one moment are told as missing where answers are known to be cut', async () => {
    cap = 25;
    burst('spread', 40, 30 * SECOND_US);
    burst('dense', 30, 0);
    expect((await watch.poll()).fresh.length).toBeGreaterThan(40);
    expect(gaps()).toEqual([1]);
    // Longer answers than a cut one: there is no such limit any more.
    cap = Number.POSITIVE_INFINITY;
    await pass(3_600);
    await watch.poll();
    expect(gaps()).toEqual([1, 0]);
  });

  test.each([true, false])(
    'of a service that compares whole seconds are told as missing (%s)',
    async (exclusive) => {
      comparedUs = SECOND_US;
      isExclusive = exclusive;
      receivable = 25;
      burst('large', 30, SECOND_US / 2);
      expect((await watch.poll()).requests).toBeLessThan(250);
      expect(gaps()).toEqual([1]);
      // It is not tried anew until the next review.
      expect((await watch.poll()).requests).toBeLessThan(40);
      expect(gaps()).toEqual([1]);
    },
  );

  test('of a service that compares whole seconds are no gap where nothing shows that answers are cut', async () => {
    comparedUs = SECOND_US;
    burst('many', 30, SECOND_US / 2);
    expect((await watch.poll()).fresh).toHaveLength(30);
    isExclusive = true;
    await pass(3_600);
    await watch.poll();
    expect(gaps()).toEqual([0]);
  });

  test('among all that is active are told as missing as well', async () => {
    receivable = 25;
    for (let at = 0; at < 30; at += 1) show(`${at}`, 100_000);
    await watch.poll();
    expect(gaps()).toEqual([1]);
  });
});

describe('a backlog', () => {
  test('of more Flights than a poll should hold is read from its oldest end, each once', async () => {
    await pass(30);
    show('known', 0, { status: 'succeeded', durationSeconds: 0 });
    await watch.poll();
    await pass(7_200);
    cap = 1_000;
    for (let at = 0; at < 5_000; at += 1)
      show(`${at}`, 7_000 - at, { status: 'succeeded', durationSeconds: 0 });
    show('no start at all', null);
    const seen: number[] = [];
    for (let more = true; more; ) {
      const polled = await watch.poll();
      more = polled.more;
      seen.push(...polled.fresh.map(({ attributes }) => Number(attributes.started_at_us)));
      expect(polled.fresh.length).toBeLessThan(4_500);
      if (polled.fresh.length > 0) expect(Math.max(...seen)).toBe(watch.cursorUs());
    }
    expect(new Set(seen).size).toBe(5_000);
    expect(seen).toHaveLength(5_000);
  });

  test('of a first reading is not passed over for an active Flight at its newer end', async () => {
    cap = 1_000;
    for (let at = 0; at < 5_000; at += 1)
      show(`${at}`, 3_550 - at / 2, { status: 'succeeded', durationSeconds: 0 });
    show('active', 1);
    const seen = new Set<string>();
    for (let more = true; more; ) {
      const polled = await watch.poll();
      more = polled.more;
      for (const { key } of polled.fresh) seen.add(key);
    }
    expect(seen.size).toBe(5_000);
  });
});

test('a Bird of which the store has only the cursor is read from there', async () => {
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', '148890');
    await tx.streams.advanceCursor(stream, TEST_START_US - 60 * SECOND_US);
  });
  show('before', 600, { status: 'succeeded', durationSeconds: 1 });
  show('after', 30, { status: 'succeeded', durationSeconds: 1 });
  expect(await told()).toEqual(['flight.succeeded after']);
});
