import { copyStore, openSource, openTarget, type StorePlace } from '../../../src/store/copy/copy-store.ts';
import type { Row, Sql } from '../../../src/store/sql/sql.ts';
import type { Clock } from '../../../src/time/clock.ts';

interface CopyTrouble {
  /** The copy is interrupted after this many batches. */
  readonly batches?: number;
  /** The rows that arrive. */
  readonly kept?: (rows: readonly Row[]) => readonly Row[];
}

/** Copies a store as an operator's command does. */
export async function copyBetween(
  from: StorePlace,
  to: StorePlace,
  clock: Clock,
  { batches = Number.POSITIVE_INFINITY, kept = (rows) => rows }: CopyTrouble = {},
) {
  const stop = new AbortController();
  let left = batches;
  const source = await openSource(from, clock);
  try {
    const target = await openTarget(to, clock);
    try {
      return await copyStore({
        source,
        target: { ...target, sql: keeping(target.sql, kept) },
        signal: stop.signal,
        show() {
          left -= 1;
          if (left < 0) stop.abort();
        },
      });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Writes only some of the rows. */
function keeping(sql: Sql, kept: (rows: readonly Row[]) => readonly Row[]): Sql {
  const write: Sql['write'] = (statement, rows) => sql.write(statement, kept(rows));
  return new Proxy(sql, {
    get(_, name: keyof Sql) {
      const part = name === 'write' ? write : sql[name];
      return typeof part === 'function' ? part.bind(sql) : part;
    },
  });
}
