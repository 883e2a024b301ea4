import { onTestFinished } from 'vitest';
import { type Connection, openConnection, SqliteSql } from '../../../src/store/sqlite/connection.ts';
import { prepareSchema } from '../../../src/store/sqlite/prepare-schema.ts';

/** An empty store until the end of the test, and the statements that are prepared in it. */
export function openNoted() {
  const inner = openConnection(':memory:');
  onTestFinished(() => inner.close());
  prepareSchema(inner, ':memory:');
  const asked: string[] = [];
  const noting: Connection = {
    ...inner,
    prepare<Row>(text: string) {
      asked.push(text);
      return inner.prepare<Row>(text);
    },
  };
  return { inner, asked, sql: new SqliteSql(noting, async () => {}) };
}
