import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Waitlist } from '../../../src/intake/schedule/waitlist.ts';

interface Item {
  readonly name: string;
  lastMs: number;
  readonly worth: number;
}

function listOf(...items: readonly Item[]) {
  const waiting = new Set(items);
  const list = new Waitlist<Item>(64_000, (one) => (waiting.has(one) ? one.lastMs : undefined));
  for (const one of items) list.add(one, one.lastMs, one.worth);
  const end = (one: Item) => {
    list.delete(one);
    waiting.delete(one);
  };
  return { list, end };
}

const item = (name: string, lastMs: number, worth = 1): Item => ({ name, lastMs, worth });

describe('pressing', () => {
  test.each<[string, readonly number[], number, boolean]>([
    ['one alone only at its limit', [0], 63_999, false],
    ['one alone at its limit', [0], 64_000, true],
    ['one beyond it, whatever is behind it', [0, 69_000], 70_000, true],
    // The first of four has 64 s, the second 48 s, the third 32 s, the last 16 s.
    ['four in a bunch, as long as the last one has time', [0, 0, 0, 0], 16_000, false],
    ['four in a bunch, when the last one has no more time', [0, 0, 0, 0], 18_000, true],
    ['a bunch behind one that has time', [0, 20_000, 20_000, 20_000], 53_500, true],
    ['four that follow each other in time', [0, 16_000, 32_000, 48_000], 63_000, false],
    ['nobody', [], 70_000, false],
  ])('takes the oldest of %s', (_, lastsMs, nowMs, pressing) => {
    const { list } = listOf(...lastsMs.map((lastMs, at) => item(`${at}`, lastMs)));
    const found = list.pressing(nowMs, 64_000, lastsMs.length);
    expect(found?.name).toBe(pressing ? '0' : undefined);
  });

  test('does not count who left', () => {
    const gone = [item('b', 0), item('c', 0), item('d', 0)];
    const { list, end } = listOf(item('a', 0), ...gone);
    for (const one of gone) end(one);
    end(item('never there', 0));
    expect(list.pressing(20_000, 64_000, 4)).toBeUndefined();
    expect(list.oldest()).toEqual({ item: expect.objectContaining({ name: 'a' }), atMs: 0 });
  });
});

describe('best', () => {
  test('weighs the square of the wait by what a poll is worth', () => {
    const { list } = listOf(item('waits long', 0, 1), item('is worth nine', 20_000, 9));
    expect(list.best(25_000, 0)?.name).toBe('waits long');
    expect(list.best(40_000, 0)?.name).toBe('is worth nine');
  });

  test('passes over who has not waited long enough', () => {
    const { list } = listOf(item('a', 0, 1), item('b', 20_000, 1_000));
    expect(list.best(29_999, 10_000)?.name).toBe('a');
    expect(list.best(30_000, 10_000)?.name).toBe('b');
    expect(list.best(9_999, 10_000)).toBeUndefined();
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
        const { list } = listOf(...items.map(({ lastMs, worth }, at) => item(`${at}`, lastMs, worth)));
        const value = ({ lastMs, worth }: { lastMs: number; worth: number }) =>
          worth * (61_000 - lastMs) ** 2;
        const best = Math.max(...items.map(value));
        expect(value(list.best(61_000, 0)!)).toBeGreaterThanOrEqual(best / 1.22);
      }),
    );
  });
});
