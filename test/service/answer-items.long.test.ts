import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { readItems } from '../../src/service/answer.ts';
import { entryId, readBird, readNotification } from '../../src/service/resources.ts';

const asItIs = { isWhole: true, read: (item: unknown) => item } as const;
/** So long that the values of the answer are counted. */
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

describe('a long answer', () => {
  test('keeps the digits of long ids and texts with quotation marks and brackets', async () => {
    const text = `${LONG}{"items":[{"id":12345678901234567890,"name":"\\"],}\\\\"},{"id":2}]}`;
    expect(await readItems(text, asItIs)).toEqual({
      items: [{ id: '12345678901234567890', name: '"],}\\' }, { id: 2 }],
    });
  });

  const nearLimit = [
    ['at', 0, true],
    ['above', 1, false],
    ['below', -1, true],
  ] as const;
  test.each(nearLimit)(
    'is accepted or refused by how many items it has: %s the limit',
    async (_, more, isTaken) => {
      const count = LIMITS.inventory_items.most + more;
      for (const text of [tinyItems(count), LONG + tinyItems(count), inPage(tinyItems(count))]) {
        const reading = readItems(text, asItIs);
        if (!isTaken) await expect(reading).rejects.toThrow(tooLarge('inventory_items'));
        else {
          const json = (await reading) as unknown[] & { items: unknown[] };
          expect((json.items ?? json).length).toBe(count);
        }
      }
    },
  );

  test('is accepted or refused by how many values it has, outside of its texts', async () => {
    const { most } = LIMITS.answer_values;
    const rich = (values: number) => `[[${'1,'.repeat(values - 4)}1],"${',[{\\"'.repeat(most)}"]`;
    expect((await readItems(rich(most), asItIs)) as unknown[]).toHaveLength(2);
    await expect(readItems(rich(most + 1), asItIs)).rejects.toThrow(tooLarge('answer_values'));
  });

  const huge = [
    ['millions of tiny items', inPage(tinyItems(2_500_000)), 'page_values'],
    ['as many tiny items as it may have values', inPage(tinyItems(70_000)), undefined],
    ['lists without end', '['.repeat(8_000_000), 'page_values'],
    ['numbers of megabytes', `[${'9'.repeat(8_000_000)}]`, undefined],
    ['one item of millions of values', `[${tinyItems(2_500_000)}]`, 'page_values'],
    ['millions of keys', `{${'"a":1,'.repeat(1_300_000)}"b":1}`, 'page_values'],
    ['ten thousand malformed items', `[${`[${'1,'.repeat(12)}1],`.repeat(9_999)}1]`, undefined],
    ['a text of megabytes', `[{"id":"1","name":"${'N'.repeat(8_000_000)}"}]`, undefined],
    ['escapes and quotation marks', `["${'\\\\\\"'.repeat(3_000_000)}"]`, undefined],
  ] as const;
  test.each(huge)('blocks nothing else for 200 ms: %s [long]', async (_, text, limit) => {
    const longestTurnMs = watchTurns();
    const reading = readItems(text, { read: readNotification });
    if (limit) await expect(reading).rejects.toThrow(tooLarge(limit));
    else await reading.catch((error) => expect(error).toBeInstanceOf(SyntaxError));
    expect(await longestTurnMs()).toBeLessThan(200);
  });
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

  test('no field of a notification is longer than its limit [long]', () => {
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
