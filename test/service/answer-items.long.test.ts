import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { readItems } from '../../src/service/answer-items.ts';
import { entryId } from '../../src/service/coerce.ts';
import { parseJson } from '../../src/service/parse-json.ts';
import { readBird, readNotification } from '../../src/service/resources.ts';
import { amountOf, casesOf } from '../cases.ts';
import { countTurns } from '../count-turns.ts';

const asItIs = { limit: 'inventory_items', read: (item: unknown) => item } as const;
/** So long that the answer is read in slices. */
const LONG = ' '.repeat(300_000);

const tinyItems = (count: number) => `[${'{},'.repeat(count - 1)}{}]`;
const inPage = (items: string) => `{"totalCount":1,"items":${items},"page":0}`;
const tooLarge = (limit: string) => expect.objectContaining({ code: 'too_large', facts: { limit } });

/**
 * Resolves to the processor time of the longest turn of the event loop since then, so that other load does not count.
 */
function watchTurns(): () => Promise<number> {
  const cpuMs = () => process.threadCpuUsage().user / 1000;
  let [isOver, longestMs, lastMs] = [false, 0, cpuMs()];
  const watching = (async () => {
    while (!isOver) {
      await turn();
      longestMs = Math.max(longestMs, cpuMs() - lastMs);
      lastMs = cpuMs();
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return longestMs;
  };
}

describe('an answer that is read in slices', () => {
  test('equals what parsing it at once gives', async () => {
    const items = fc.array(fc.jsonValue());
    const page = fc.record({ items, totalCount: fc.jsonValue() }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.oneof(items, page, fc.jsonValue()), async (json) => {
        const text = LONG + JSON.stringify(json, null, 1);
        expect(JSON.stringify(await readItems(text, asItIs))).toBe(JSON.stringify(parseJson(text)));
      }),
      { numRuns: amountOf('answers in slices: whole ones', 300, 60) },
    );
  });

  test('keeps the digits of long ids and texts with quotation marks and brackets', async () => {
    const text = `${LONG}{"items":[{"id":12345678901234567890,"name":"\\"],}\\\\"},{"id":2}]}`;
    expect(await readItems(text, asItIs)).toEqual({
      items: [{ id: '12345678901234567890', name: '"],}\\' }, { id: 2 }],
    });
  });

  test('is refused whenever parsing it at once would refuse it', async () => {
    const broken = [
      '[1,2',
      '[1,]',
      '[,1]',
      '[1 2]',
      '{"items":[1}',
      '{"a" 1}',
      '{"a":1,}',
      '[1]]',
      '["a]',
      '{"a":}',
      '{1:2}',
      '[{]}',
      '',
    ];
    for (const text of broken) {
      await expect(readItems(text, asItIs), text).rejects.toThrow(SyntaxError);
      await expect(readItems(LONG + text, asItIs), text).rejects.toThrow(SyntaxError);
    }
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.nat(), fc.string({ maxLength: 2 }), async (json, at, wrong) => {
        const good = JSON.stringify([json]);
        const text = good.slice(0, at % good.length) + wrong + good.slice((at % good.length) + 1);
        const outcome = (long: string) =>
          readItems(long + text, asItIs).then(JSON.stringify, () => 'refused');
        expect(await outcome(LONG)).toBe(await outcome(''));
      }),
      { numRuns: amountOf('answers in slices: broken ones', 500, 100) },
    );
  });

  test('can have any keys', async () => {
    const json = (await readItems(`${LONG}{"__proto__":{"items":[1]},"constructor":2}`, asItIs)) as object;
    expect(Object.entries(json)).toEqual([
      ['__proto__', { items: [1] }],
      ['constructor', 2],
    ]);
  });

  const nearLimit = [
    ['at', 0, true],
    ['above', 1, false],
    ['below', -1, true],
  ] as const;
  test.each(casesOf('answers in slices: counts near the limit', nearLimit, nearLimit.slice(0, 2)))(
    'is accepted or refused by how many items it has: %s the limit',
    async (_, more, isTaken) => {
      for (const limit of ['page_items', 'flight_items', 'inventory_items'] as const) {
        const count = LIMITS[limit].most + more;
        for (const text of [tinyItems(count), LONG + tinyItems(count), inPage(tinyItems(count))]) {
          const reading = readItems(text, { limit, read: (item) => item });
          if (!isTaken) await expect(reading).rejects.toThrow(tooLarge(limit));
          else {
            const json = (await reading) as unknown[] & { items: unknown[] };
            expect((json.items ?? json).length).toBe(count);
          }
        }
      }
    },
  );

  test('sets an item aside that has too many values, and reads its neighbours', async () => {
    const { most } = LIMITS.item_values;
    const rich = (values: number) => `[${'1,'.repeat(values - 2)}1]`;
    const read = (middle: string) =>
      readItems(`[{"id":"a"},${middle},{"id":"b"}]`, asItIs) as Promise<readonly unknown[]>;
    expect((await read(rich(most)))[1]).toHaveLength(most - 1);
    const items = await read(rich(most + 1));
    expect(items[0]).toEqual({ id: 'a' });
    expect(items[1]).toMatchObject({ ok: false, reason: 'more values than an entry may have' });
    expect(items[2]).toEqual({ id: 'b' });
    await expect(readItems(`{"a":${rich(most + 1)}}`, asItIs)).rejects.toThrow(tooLarge('item_values'));
  });

  const huge = [
    ['millions of tiny items', inPage(tinyItems(5_000_000)), 'page_items'],
    ['lists without end', '['.repeat(15_000_000), undefined],
    ['numbers of megabytes', `[${'9'.repeat(15_000_000)}]`, undefined],
    ['one item of millions of values', `[${tinyItems(5_000_000)}]`, undefined],
    ['millions of keys', `{${'"a":1,'.repeat(2_000_000)}"b":1}`, 'item_values'],
    ['ten thousand malformed items', `[${`[${'1,'.repeat(700)}1],`.repeat(9_999)}1]`, undefined],
    ['a text of megabytes', `[{"id":"1","name":"${'N'.repeat(15_000_000)}"}]`, undefined],
    ['escapes and quotation marks', `["${'\\\\\\"'.repeat(3_000_000)}"]`, undefined],
  ] as const;
  test.each(casesOf('answers in slices: huge ones', huge, huge.slice(0, 3)))(
    'blocks nothing else for 200 ms: %s',
    async (_, text, limit) => {
      const longestTurnMs = watchTurns();
      const reading = readItems(text, { limit: 'page_items', read: readNotification });
      if (limit) await expect(reading).rejects.toThrow(tooLarge(limit));
      else await reading.catch((error) => expect(error).toBeInstanceOf(SyntaxError));
      expect(await longestTurnMs()).toBeLessThan(200);
    },
  );
});

/** As much as is scanned between two turns of the event loop. */
const STRETCH = 512 * 1024;
const STRETCHES = 8;
const WIDE = ' '.repeat(STRETCHES * STRETCH);
const ESCAPED = `"${'\\n'.repeat((STRETCHES / 2) * STRETCH)}"`;

test.each([
  // How often each of its characters is scanned: to find where an item ends, and to parse it.
  ['white space before a list', `${WIDE}[]`, 1, []],
  ['white space between items', `[{"id":1},${WIDE}{"id":2}]`, 1, [{ id: 1 }, { id: 2 }]],
  ['white space in an item', `[{"id":${WIDE}1}]`, 2, [{ id: 1 }]],
  ['white space between keys', `{"a":1,${WIDE}"items":[]}`, 1, { a: 1, items: [] }],
  ['white space after all', `[]${WIDE}`, 1, []],
  ['one escaped text in an item', `[{"id":${ESCAPED}}]`, 2, undefined],
  ['one escaped text beside the items', `{"items":[],"more":${ESCAPED}}`, 2, undefined],
  ['one escaped text and nothing else', ESCAPED, 1, undefined],
  ['white space and nothing else', WIDE, 1, SyntaxError],
] as const)('an answer of %s is read in turns of limited length', async (_, text, passes, expected) => {
  const turns = countTurns();
  const reading = readItems(text, asItIs);
  if (expected === SyntaxError) await expect(reading).rejects.toThrow(SyntaxError);
  else if (expected !== undefined) expect(await reading).toEqual(expected);
  else expect(JSON.stringify(await reading) === text).toBe(true);
  expect(turns()).toBeGreaterThanOrEqual(passes * STRETCHES - 2);
});

describe('what an entry holds', () => {
  const bird = (name: string) => {
    const read = readBird({ id: 'b', name }, {});
    return read.ok ? read.entry.name : '';
  };

  test('a name is kept up to its limit, and beyond it the beginning and the original length', () => {
    const { most } = LIMITS.name_characters;
    for (const length of [most - 1, most]) expect(bird('N'.repeat(length))).toBe('N'.repeat(length));
    expect(bird('N'.repeat(most + 1))).toBe(`${'N'.repeat(most)}… [1 more characters]`);
    expect(bird('N'.repeat(10_000_000))).toBe(`${'N'.repeat(most)}… [9999500 more characters]`);
  });

  test('a word and a message are kept up to their limits, and beyond them the beginning', () => {
    for (const [field, limit] of [
      ['eventType', 'word_characters'],
      ['message', 'message_characters'],
    ] as const) {
      const { most } = LIMITS[limit];
      for (const more of [-1, 0, 1]) {
        const text = 'w'.repeat(most + more);
        const read = readNotification({ id: 'n', createdAt: '2026-07-02T12:00:00Z', [field]: text });
        const kept = more > 0 ? `${text.slice(0, most)}… [1 more characters]` : text;
        expect(read).toMatchObject({ ok: true, entry: { [field]: kept } });
      }
    }
  });

  test('no field of a notification is longer than its limit', () => {
    const long = '\ud800é'.repeat(2_000_000);
    const read = readNotification({
      id: long,
      createdAt: '2026-07-02T12:00:00Z',
      workspaceId: long,
      entityId: long,
      entityName: long,
      entityType: [long, long],
      eventType: { long },
      message: long,
    });
    expect(read.ok).toBe(true);
    if (!read.ok) return;
    const { message, ...others } = read.entry;
    expect(message.length).toBeLessThan(LIMITS.message_characters.most + 50);
    for (const text of Object.values(others)) expect(JSON.stringify(text).length).toBeLessThan(4_000);
    expect(others).toMatchObject({ nestId: '', entityId: '' });
  });

  test('an id that is too long for a key becomes its beginning and a hash of all of it', () => {
    const { most } = LIMITS.id_characters;
    expect(entryId('i'.repeat(most))).toBe('i'.repeat(most));
    const long = entryId('i'.repeat(most + 1));
    expect(long).toMatch(/^i{200}~[0-9a-f]{40}$/);
    expect(entryId('i'.repeat(most + 2))).not.toBe(long);
    expect(entryId(` ${'i'.repeat(most + 1)} `)).toBe(long);
    expect(entryId('a b'.repeat(most))).toBe('');
    expect(entryId(12)).toBe('12');
  });
});
