import { expect, onTestFinished, test } from 'vitest';
import { DeliveryCounts } from '../../../src/store/sql/queued/delivery-counts.ts';
import { SqlOutbox } from '../../../src/store/sql/queued/sql-outbox.ts';
import { SqlEvents } from '../../../src/store/sql/watched/events.ts';
import { SqlStreams } from '../../../src/store/sql/watched/feed-streams.ts';
import {
  type Connection,
  openConnection,
  SqliteSql,
  type Value,
} from '../../../src/store/sqlite/connection.ts';
import { prepareSchema } from '../../../src/store/sqlite/prepare-schema.ts';
import { delivery, event } from '../contract/sample-records.ts';

const PARTS = 8;
const PART_CHARACTERS = 1_000_000;
/** What may wait, plus the part that exceeds it. */
const MOST_AT_ONCE = 4 * 1024 * 1024 + 2 * PART_CHARACTERS;

test('the parts of a large notification are not all held to be written at once', async () => {
  const inner = openConnection(':memory:');
  onTestFinished(() => inner.close());
  prepareSchema(inner, ':memory:');
  let [most, all] = [0, 0];
  const counting: Connection = {
    ...inner,
    prepare<Row>(sql: string) {
      const statement = inner.prepare<Row>(sql);
      const count = (values: readonly Value[]) => {
        const characters = values.reduce<number>((sum, one) => sum + String(one).length, 0);
        most = Math.max(most, characters);
        all += characters;
      };
      return {
        get: statement.get,
        all(...values) {
          count(values);
          return statement.all(...values);
        },
        run(...values) {
          count(values);
          return statement.run(...values);
        },
      };
    },
  };
  const sql = new SqliteSql(counting, async () => {});
  const outbox = new SqlOutbox(
    sql,
    new SqlEvents(sql, new SqlStreams(sql)),
    new DeliveryCounts(sql, () => 0),
  );
  for (let part = 1; part <= PARTS; part += 1) {
    const message = 'x'.repeat(PART_CHARACTERS);
    const parts = { kind: 'forward', id: `n${part}`, receiver: 'ops', createdAtUs: 0 } as const;
    await outbox.enqueue({ ...parts, events: [event(`${part}`, { message })] }, [delivery(`d${part}`)]);
  }
  for (const write of inner.held.all()) write();
  expect(all).toBeGreaterThanOrEqual(PARTS * PART_CHARACTERS);
  expect(most).toBeLessThanOrEqual(MOST_AT_ONCE);
  const listed = await outbox.page({ limit: PARTS }).then((one) => one.deliveries);
  expect(listed.map(({ id }) => id).toSorted()).toEqual(
    Array.from({ length: PARTS }, (_, at) => `d${at + 1}`),
  );
});
