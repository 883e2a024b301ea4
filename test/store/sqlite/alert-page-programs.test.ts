import { expect, test } from 'vitest';
import { AlertPages } from '../../../src/store/sql/alerted/alert-pages.ts';
import { SqlEvents } from '../../../src/store/sql/watched/events.ts';
import { SqlStreams } from '../../../src/store/sql/watched/feed-streams.ts';
import { NOW_US } from '../contract/sample-records.ts';
import { openNoted } from './noted-statements.ts';

/** What SQLite does for a statement: at a cursor `p1`, of a table or a column `p2`, among others. */
interface Instruction {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

/** Reads pages of alerts from an empty store, and records their statements. */
function openPages() {
  const { inner, asked, sql } = openNoted();
  const events = new SqlEvents(sql, new SqlStreams(sql));
  const pages = new AlertPages(sql, events);
  return { inner, pages, asked };
}

test.each([true, false, undefined])(
  'acknowledged alerts (%s) are found without going through all acknowledgements for each',
  async (isAcknowledged) => {
    const { inner, pages, asked } = openPages();
    const query = { nowUs: NOW_US, limit: 10, isAcknowledged };
    await pages.page({ ...query, order: 'severest' });
    await pages.page({ ...query, order: 'newest', state: 'firing' });
    await pages.causes(query);
    const looking = asked.filter((sql) => sql.includes('acknowledged'));
    expect(looking).toHaveLength(4);
    let lookUps = 0;
    for (const sql of looking) {
      const program = inner.prepare<Instruction>(`EXPLAIN ${sql}`).all();
      const looksUp = program.filter(({ opcode }) => opcode === 'NotFound' || opcode === 'Found');
      lookUps += looksUp.length;
      const cursors = new Set(looksUp.map(({ p1 }) => p1));
      const goesThrough = program.filter(({ opcode, p1 }) => opcode === 'Next' && cursors.has(p1));
      expect(goesThrough).toEqual([]);
    }
    // Where nothing requires a look-up, there is none.
    expect(lookUps).toBeGreaterThanOrEqual(3);
  },
);

test('alerts are sorted by their sort keys only, without their texts', async () => {
  const { inner, pages, asked } = openPages();
  const table = inner
    .prepare<{ cid: number }>("SELECT cid FROM pragma_table_info('alert') WHERE name = 'body'")
    .get()!;
  const root = inner
    .prepare<{ rootpage: number }>("SELECT rootpage FROM sqlite_schema WHERE name = 'alert'")
    .get()!;
  for (const order of ['severest', 'newest'] as const) await pages.page({ nowUs: NOW_US, limit: 10, order });
  const paging = asked.filter((sql) => sql.includes('place0'));
  expect(paging).toHaveLength(2);
  for (const sql of paging) {
    const program = inner.prepare<Instruction>(`EXPLAIN ${sql}`).all();
    const scanning = program.find(({ opcode, p2 }) => opcode === 'OpenRead' && p2 === root.rootpage)!.p1;
    const readsText = ({ opcode, p1, p2 }: Instruction) =>
      opcode === 'Column' && p1 === scanning && p2 === table.cid;
    const sorted = program.findIndex(({ opcode }) => opcode === 'SorterSort' || opcode === 'Sort');
    expect(sorted).toBeGreaterThan(0);
    expect(program.slice(0, sorted).filter(readsText)).toEqual([]);
  }
});
