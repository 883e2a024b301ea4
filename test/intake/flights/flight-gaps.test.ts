import { beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import type { Batch } from '../../../src/intake/commit.ts';
import { FlightGaps, isTouching, type UnreadWindow } from '../../../src/intake/flights/flight-gaps.ts';
import type { Happening } from '../../../src/report.ts';
import { bird } from '../../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';

const DAY_US = 86_400e6;
const NOW_US = 1_000 * DAY_US;

let clock: VirtualClock;
let store: TestStore;
let gaps: FlightGaps;
let happenings: Happening[];
/** How many were reported to alerting as missing, and since when. */
let reported: unknown[];
/** Nothing is committed until it resolves. */
let stuck: Promise<void>;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  happenings = [];
  reported = [];
  stuck = Promise.resolve();
  gaps = openGaps();
});

function openGaps(): FlightGaps {
  return new FlightGaps({
    region: 'eu',
    retentionMs: 30 * 86_400_000,
    store,
    async commit({ facts = [] }: Batch) {
      await stuck;
      for (const fact of facts) {
        if (fact.fact === 'feed_gap')
          reported.push([fact.missing, fact.sinceUs === 0 ? 0 : fact.sinceUs - NOW_US]);
      }
      return [];
    },
    report: (happening) => happenings.push(happening),
  });
}

const window = (fromUs: number, toUs: number): UnreadWindow => ({
  fromUs: NOW_US + fromUs,
  toUs: NOW_US + toUs,
});
/** A poll that began at `fromUs` and found these unreadable. */
const polled = (birdId: string, fromUs: number, unread: UnreadWindow[] = []) =>
  gaps.after(birdId, { fromUs: NOW_US + fromUs, serviceNowUs: NOW_US, unread });

/** Stores them, and keeps them here as a poll does; returns the number of records that this took. */
async function keep(birdId: string, windows: readonly UnreadWindow[]): Promise<number> {
  await gaps.open(birdId);
  const written = await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', birdId);
    const records = gaps.recordsOf(birdId, stream, windows, 0, 0);
    await tx.audits.put(records);
    return records.length;
  });
  gaps.keep(birdId, windows);
  return written;
}

async function putBird(birdId: string, present: boolean): Promise<void> {
  await store.inventory.putBirds([bird(birdId, { present, triggerType: 'event', statusSinceUs: NOW_US })]);
}

describe('unreadable Flights', () => {
  test('are one gap where they touch, the oldest first', () => {
    expect(
      polled('1', -100, [window(-30, -20), window(-50, -45), window(-25, -10), window(-24, -22)]),
    ).toEqual([window(-50, -45), window(-30, -10)]);
    expect(isTouching(window(-50, -45), window(-30, -10))).toBe(false);
  });

  test('stay until a poll looked there and could read them, or they are older than the retention', async () => {
    await keep('1', polled('1', -100, [window(-50, -45), window(-20, -10)]));
    expect(polled('1', -30)).toEqual([window(-50, -45)]);
    expect(polled('1', Number.POSITIVE_INFINITY, [window(-5, -4)])).toHaveLength(3);
    const later = { fromUs: NOW_US + 40 * DAY_US, serviceNowUs: NOW_US + 40 * DAY_US, unread: [] };
    expect(gaps.after('1', later)).toEqual([]);
    expect(polled('2', -30)).toEqual([]);
  });

  test('are reported for all Birds together, once', async () => {
    const steps: [birdId: string, windows: UnreadWindow[], reported: unknown[]][] = [
      ['1', [], [0, 0]],
      ['1', [window(-50, -45)], [1, -50]],
      ['2', [window(-20, -10)], [2, -50]],
      ['1', [], [1, -20]],
      ['2', [], [0, 0]],
    ];
    for (const [birdId, windows, expected] of steps) {
      await keep(birdId, windows);
      await gaps.report();
      expect(reported.at(-1)).toEqual(expected);
    }
    await gaps.report();
    expect(reported).toHaveLength(steps.length);
  });

  test('are reported as over even if two Birds are complete again at the same moment', async () => {
    for (const birdId of ['1', '2']) await keep(birdId, [window(-50, -45)]);
    await gaps.report();
    const { promise, resolve } = Promise.withResolvers<void>();
    stuck = promise;
    gaps.keep('1', []);
    const first = gaps.report();
    gaps.keep('2', []);
    const second = gaps.report();
    resolve();
    await Promise.all([first, second]);
    expect(reported.at(-1)).toEqual([0, 0]);
  });

  test('are reported in the next report if the store did not take it', async () => {
    await keep('1', [window(-50, -45)]);
    stuck = Promise.reject(new NestwatchError('disk_full', 'no space'));
    await expect(gaps.report()).rejects.toThrow('no space');
    stuck = Promise.resolve();
    await gaps.report();
    expect(reported).toEqual([[1, -50]]);
  });

  test('are written where they changed, and known to a new life before it reports anything', async () => {
    await putBird('1', true);
    await store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'bird_log', '1');
      const gap = { fromUs: 1, toUs: 2, missing: 5, seen: 2, notified: 5 };
      await tx.audits.put([
        { stream, verifiedUs: 0, dayAuditedUs: 0, wholeAuditedUs: 0, deletedUs: 0, gaps: [gap] },
      ]);
    });
    expect(await keep('1', [window(-50, -45)])).toBe(1);
    expect(await keep('1', [window(-50, -45)])).toBe(0);
    expect(await keep('1', [window(-50, -44)])).toBe(1);
    gaps = openGaps();
    await gaps.report();
    expect(reported).toEqual([[1, -50]]);
    expect(gaps.of('1')).toMatchObject([window(-50, -44)]);
    expect(await keep('1', [])).toBe(1);
    gaps = openGaps();
    await gaps.open('1');
    expect(gaps.of('1')).toEqual([]);
  });

  test('are read once the store can be read', async () => {
    const { transaction } = store;
    store.transaction = () => Promise.reject(new NestwatchError('disk_full', 'no space'));
    await expect(gaps.open('1')).rejects.toThrow('no space');
    store.transaction = transaction;
    await gaps.open('1');
    expect(gaps.of('1')).toEqual([]);
  });

  test('of a deleted Bird belong to nobody until it is back, even in a new life', async () => {
    for (const birdId of ['1', '2']) await keep(birdId, [window(-50, -45)]);
    await gaps.report();
    gaps.gone('1', 0);
    await clock.advance(1);
    expect(reported).toEqual([
      [2, -50],
      [1, -50],
    ]);
    await putBird('1', false);
    await putBird('2', true);
    gaps = openGaps();
    await gaps.report();
    expect(reported.at(-1)).toEqual([1, -50]);
    await gaps.open('1');
    await gaps.report();
    expect(reported.at(-1)).toEqual([2, -50]);
  });

  test('of a deleted Bird are reported if the store does not take that', async () => {
    await keep('1', [window(-50, -45)]);
    stuck = Promise.reject(new NestwatchError('disk_full', 'no space'));
    gaps.gone('1', 0);
    await clock.advance(1);
    expect(happenings).toMatchObject([{ what: 'trouble', stage: 'intake', region: 'eu' }]);
  });
});
