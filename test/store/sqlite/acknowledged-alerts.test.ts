import { expect, onTestFinished, test } from 'vitest';
import { AlertPages } from '../../../src/store/sqlite/alerted/alert-pages.ts';
import { type Connection, openConnection } from '../../../src/store/sqlite/connection.ts';
import { prepareSchema } from '../../../src/store/sqlite/prepare-schema.ts';
import { SqliteEvents } from '../../../src/store/sqlite/watched/sqlite-events.ts';
import { SqliteStreams } from '../../../src/store/sqlite/watched/sqlite-streams.ts';
import { NOW_US } from '../contract/sample-records.ts';

/** What SQLite does for a statement: at a cursor `p1`, among others. */
interface Instruction {
  readonly opcode: string;
  readonly p1: number;
}

test.each([true, false, undefined])(
  'alerts that are acknowledged (%s) are found without going through all acknowledgements for each',
  async (isAcknowledged) => {
    const inner = openConnection(':memory:');
    onTestFinished(() => inner.close());
    prepareSchema(inner, ':memory:');
    const asked: string[] = [];
    const noting: Connection = {
      ...inner,
      prepare<Row>(sql: string) {
        asked.push(sql);
        return inner.prepare<Row>(sql);
      },
    };
    const events = new SqliteEvents(noting, new SqliteStreams(noting));
    const pages = new AlertPages(noting, events, async () => {});
    const query = { nowUs: NOW_US, limit: 10, isAcknowledged };
    pages.page({ ...query, order: 'severest' });
    pages.page({ ...query, order: 'newest', state: 'firing' });
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
    // Where nothing asks for it, it is not looked for.
    expect(lookUps).toBeGreaterThanOrEqual(3);
  },
);
