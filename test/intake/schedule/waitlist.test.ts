import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Waitlist } from '../../../src/intake/schedule/waitlist.ts';

interface Item {
  readonly name: string;
  lastMs: number;
  readonly worth: number;
}

const NO_WAIT = { usualMs: 0, hintedMs: 0 };
const NEVER_LATE = Number.POSITIVE_INFINITY;

/** `fresh` are items of which nothing is known; each is worth as much as the last one. */
function listOf(items: readonly Item[], fresh: readonly Item[] = []) {
  const waiting = new Set([...items, ...fresh]);
  const list = new Waitlist<Item>({
    spanMs: 64_000,
    lastMsOf: (one) => (waiting.has(one) ? one.lastMs : undefined),
    isFresh: (one) => fresh.includes(one),
    freshWorth: () => fresh.at(-1)!.worth,
  });
  for (const one of items) list.add(one, one.lastMs, one.worth);
  for (const one of fresh) list.addFresh(one, one.lastMs);
  const end = (one: Item) => {
    list.delete(one);
    waiting.delete(one);
  };
  return { list, end };
}

const item = (name: string, lastMs: number, worth = 1): Item => ({ name, lastMs, worth });

describe('whether the oldest is pressing', () => {
  test.each<[string, readonly number[], number, boolean]>([
    ['one alone before its limit', [0], 63_999, false],
    ['one alone at its limit', [0], 64_000, true],
    ['one beyond it, whatever is behind it', [0, 69_000], 70_000, true],
    // The first of four has 64 s, the second 48 s, the third 32 s, the last 16 s.
    ['four in a bunch, as long as the last one has time', [0, 0, 0, 0], 16_000, false],
    ['four in a bunch, when the last one has no more time', [0, 0, 0, 0], 18_000, true],
    ['a bunch behind one that has time', [0, 20_000, 20_000, 20_000], 53_500, true],
    ['four that follow each other in time', [0, 16_000, 32_000, 48_000], 63_000, false],
    ['nobody', [], 70_000, false],
  ])('%s', (_, lastsMs, nowMs, pressing) => {
    const { list } = listOf(lastsMs.map((lastMs, at) => item(`${at}`, lastMs)));
    expect(list.isPressing(nowMs, 64_000, lastsMs.length)).toBe(pressing);
    expect(list.oldest()?.item.name).toBe(lastsMs.length > 0 ? '0' : undefined);
  });

  test('does not count items that left', () => {
    const gone = [item('b', 0), item('c', 0), item('d', 0)];
    const { list, end } = listOf([item('a', 0), ...gone]);
    for (const one of gone) end(one);
    end(item('never there', 0));
    expect(list.isPressing(20_000, 64_000, 4)).toBe(false);
    expect(list.oldest()).toEqual({ item: expect.objectContaining({ name: 'a' }), atMs: 0 });
  });
});

describe('best', () => {
  test('weighs the square of the wait by the value of a poll', () => {
    const { list } = listOf([item('waits long', 0, 1), item('is worth nine', 20_000, 9)]);
    expect(list.best(25_000, NO_WAIT, NEVER_LATE)?.item.name).toBe('waits long');
    expect(list.best(40_000, NO_WAIT, NEVER_LATE)?.item.name).toBe('is worth nine');
  });

  test('counts a wait as longer once the poll is late', () => {
    const { list } = listOf([item('late', 0, 1), item('busy', 20_000, 25)]);
    const [lateMs, nowMs] = [30_000, 40_000];
    // Waits of 40 and 20 s: (40² + 20·30²)·1 and 20²·25.
    expect(list.best(nowMs, NO_WAIT, NEVER_LATE)?.item.name).toBe('busy');
    expect(list.best(nowMs, NO_WAIT, lateMs)?.item.name).toBe('late');
    expect(list.best(29_999, NO_WAIT, lateMs)?.item.name).toBe('busy');
    expect(list.best(42_000, NO_WAIT, lateMs)?.item.name).toBe('late');
    expect(list.best(55_000, NO_WAIT, lateMs)?.item.name).toBe('busy');
  });

  test('skips items that have not waited long enough', () => {
    const { list } = listOf([item('a', 0, 1), item('b', 20_000, 1_000)]);
    const least = { usualMs: 10_000, hintedMs: 10_000 };
    expect(list.best(29_999, least, NEVER_LATE)?.item.name).toBe('a');
    expect(list.best(30_000, least, NEVER_LATE)?.item.name).toBe('b');
    expect(list.best(9_999, least, NEVER_LATE)).toBeUndefined();
    expect(list.nextMs(least)).toBe(10_000);
  });

  test('lets hinted items wait less, and be worth more', () => {
    const [plain, hinted] = [item('plain', 0, 1), item('hinted', 1_000, 1)];
    const { list, end } = listOf([plain, hinted]);
    list.hint(hinted, hinted.lastMs, 100);
    const least = { usualMs: 30_000, hintedMs: 10_000 };
    expect(list.nextMs(least)).toBe(11_000);
    expect(list.best(10_999, least, NEVER_LATE)).toBeUndefined();
    expect(list.best(11_000, least, NEVER_LATE)?.item.name).toBe('hinted');
    expect(list.best(60_000, least, NEVER_LATE)?.item.name).toBe('hinted');
    end(hinted);
    expect(list.best(60_000, least, NEVER_LATE)?.item.name).toBe('plain');
  });

  test('does not let items wait that were not polled in this life, and compares them by what is known', () => {
    const known = item('known', 0, 4);
    const { list, end } = listOf([item('usual', 0, 100)], [item('fresh', 0, 9)]);
    const least = { usualMs: 30_000, hintedMs: 10_000 };
    expect([list.hasFresh(), list.best(1, least, NEVER_LATE)?.item.name]).toEqual([true, 'fresh']);
    expect(list.best(30_000, least, NEVER_LATE)?.item.name).toBe('usual');
    end(list.best(1, least, NEVER_LATE)!.item);
    expect([list.hasFresh(), list.best(1, least, NEVER_LATE)]).toEqual([false, undefined]);
    const other = listOf([known]);
    other.end(known);
    expect(other.list.nextMs(least)).toBe(Number.POSITIVE_INFINITY);
  });

  test('takes a known item for what it is, among the fresh ones', () => {
    const [known, fresh] = [item('known', 0, 16), item('fresh', 0, 9)];
    const waiting = new Set([known, fresh]);
    const list = new Waitlist<Item>({
      spanMs: 64_000,
      lastMsOf: (one) => (waiting.has(one) ? one.lastMs : undefined),
      isFresh: () => true,
      freshWorth: () => fresh.worth,
    });
    list.addKnown(known, 0, known.worth);
    expect(list.hasFresh()).toBe(true);
    list.addFresh(fresh, 0);
    expect(list.best(1_000, NO_WAIT, NEVER_LATE)?.item.name).toBe('known');
  });

  test('is within a fifth of the best there is, among any streams', () => {
    const streams = fc.array(
      fc.record({
        lastMs: fc.integer({ min: 0, max: 60_000 }),
        worth: fc.double({ min: 1e-9, max: 1e3, noNaN: true }),
      }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(streams, (items) => {
        const { list } = listOf(items.map(({ lastMs, worth }, at) => item(`${at}`, lastMs, worth)));
        const value = ({ lastMs, worth }: { lastMs: number; worth: number }) =>
          worth * (61_000 - lastMs) ** 2;
        const best = Math.max(...items.map(value));
        expect(value(list.best(61_000, NO_WAIT, NEVER_LATE)!.item)).toBeGreaterThanOrEqual(best / 1.22);
      }),
    );
  });
});
