import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import type { WriteRecord } from '../../../src/report.ts';
import type { WriteQuery } from '../../../src/store/sql/upkeep/writes.ts';
import type { Run } from '../test-store.ts';
import { HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

function write(changes: Partial<WriteRecord> = {}): WriteRecord {
  return {
    who: 'anna',
    by: 'user',
    from: '127.0.0.1',
    action: 'POST /api/v2/silences',
    asked: '{"comment":"Because"}',
    status: 200,
    atUs: NOW_US,
    ...changes,
  };
}

export function describeWrites(run: Run): void {
  describe('writes', () => {
    const add = (...writes: readonly WriteRecord[]) =>
      run(async (tx) => {
        for (const one of writes) await tx.writes.add(one);
      });
    const page = (query: Partial<WriteQuery> = {}) => run.writes.page({ limit: 10, ...query });
    const whoOf = async (query: Partial<WriteQuery>) => (await page(query)).writes.map(({ who }) => who);

    test('are returned exactly, the newest first', async () => {
      const list = HOSTILE_TEXTS.slice(0, 9).map((text, index) =>
        write({ who: text, asked: text, action: text, atUs: NOW_US + index }),
      );
      await add(...list);
      expect((await page()).writes).toEqual(list.toReversed());
    });

    test('are found by who, when and what', async () => {
      await add(
        write({ who: 'a', atUs: NOW_US - 2, action: 'POST /-/reload', asked: '' }),
        write({ who: 'b', atUs: NOW_US - 1, asked: '100%_ OF it' }),
        write({ who: 'c' }),
      );
      expect(await whoOf({ who: 'b' })).toEqual(['b']);
      expect(await whoOf({ who: 'B' })).toEqual([]);
      expect(await whoOf({ text: '%_ of' })).toEqual(['b']);
      expect(await whoOf({ text: 'RELOAD' })).toEqual(['a']);
      expect(await whoOf({ sinceUs: NOW_US - 1 })).toEqual(['c', 'b']);
      expect(await whoOf({ untilUs: NOW_US })).toEqual(['b', 'a']);
    });

    test('come in pages that do not move when others are added', async () => {
      await add(write({ who: 'a' }), write({ who: 'b' }), write({ who: 'c' }));
      const first = await page({ limit: 2 });
      expect(first.writes.map(({ who }) => who)).toEqual(['c', 'b']);
      await add(write({ who: 'd' }));
      const second = await page({ limit: 2, cursor: first.next });
      expect(second.writes.map(({ who }) => who)).toEqual(['a']);
      expect(second.next).toBeUndefined();
    });

    test('a page of a search looks at a limited number and says where to continue', async () => {
      await add(
        write({ who: 'old', asked: 'needle' }),
        ...Array.from({ length: 4_500 }, (_, index) => write({ who: `w${index}` })),
      );
      const first = await page({ text: 'needle' });
      expect(first.writes).toEqual([]);
      const second = await page({ text: 'needle', cursor: first.next });
      expect([second.writes.map(({ who }) => who), second.next]).toEqual([['old'], undefined]);
    });

    test('the oldest are deleted by their age, and if there are too many [long]', async () => {
      await add(write({ who: 'old', atUs: NOW_US - 1 }), write({ who: 'kept' }));
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(1);
      expect(await whoOf({})).toEqual(['kept']);
      await add(
        ...Array.from({ length: LIMITS.kept_writes.most }, (_, index) => write({ who: `w${index}` })),
      );
      expect(await whoOf({ who: 'kept' })).toEqual([]);
      expect(await whoOf({ who: 'w0' })).toEqual(['w0']);
    });
  });
}
