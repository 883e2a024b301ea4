/** A store in a file, as one side of a copy. */
import type { RowSource, RowTarget } from '../../copy/table-rows.ts';
import { STEPS, statementsOf, versionOf } from '../../versions/steps.ts';
import { openConnection, SqliteSql } from '../connection.ts';
import { takeLock } from '../lock.ts';
import { APPLICATION_ID, configure, refuseForeign } from '../prepare-schema.ts';
import { makePartial, namePartial, removePartial, requireStoreFile, trueName } from '../private-files.ts';

/** For indexes, whose order differs from that of the rows written. */
const CACHE_KIB = 65_536;

/**
 * The last numbers given: from `sqlite_sequence`, and the event numbers that digests remember though the events may
 * be gone.
 */
const LAST_NUMBERS = `SELECT name, seq FROM sqlite_sequence
  UNION ALL SELECT 'event', max(CASE WHEN json_valid(body) THEN body ->> '$.lastEvent' END) FROM digest`;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Opens the store in a file as the source of a copy. Throws `store_locked` while a daemon uses it. */
export function openSqliteSource(path: string): RowSource {
  requireStoreFile(path);
  const file = trueName(path);
  const unlock = takeLock(file);
  const connection = openConnection(file, { readOnly: true });
  try {
    const { done } = refuseForeign(connection, path);
    connection.exec('BEGIN');
    const sql = new SqliteSql(connection, turn);
    return {
      ...{ shown: `sqlite:${path}`, sql, version: versionOf(done) },
      async lastNumbers() {
        const rows = await sql.rows<{ name: string; seq: number | null }>(LAST_NUMBERS);
        return new Map(rows.flatMap(({ name, seq }) => (seq === null ? [] : [[name, seq]])));
      },
      async close() {
        connection.close();
        unlock();
      },
    };
  } catch (error) {
    connection.close();
    unlock();
    throw error;
  }
}

/**
 * Opens a new file to copy into, which gets its name when it is whole. Throws `usage` if there is a file already, and
 * `store_locked` while a daemon is about to make one.
 */
export function openSqliteTarget(path: string): RowTarget {
  const file = trueName(path);
  const unlock = takeLock(file);
  try {
    const connection = openConnection(makePartial(file));
    configure(connection);
    // Nothing needs to be durable before the file gets its name.
    connection.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}; BEGIN IMMEDIATE;
      ${statementsOf({ engine: 'sqlite', done: [], steps: STEPS })}
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${STEPS.length}; COMMIT`);
    const sql = new SqliteSql(connection, turn);
    let isOpen = true;
    const close = () => {
      if (isOpen) connection.close();
      isOpen = false;
    };
    return {
      ...{ shown: `sqlite:${file}`, sql },
      /** For tables whose numbers are never reused; for others the repositories find out the last number. */
      async setLastNumbers(numbers) {
        for (const table of ['stream', 'replica']) {
          const last = numbers.get(table) ?? 0;
          const changed = await sql.run(
            'UPDATE sqlite_sequence SET seq = max(seq, $1) WHERE name = $2',
            last,
            table,
          );
          if (changed === 0 && last > 0)
            await sql.run('INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)', table, last);
        }
      },
      async finish() {
        close();
        namePartial(file);
      },
      async close() {
        close();
        removePartial(file);
        unlock();
      },
    };
  } catch (error) {
    removePartial(file);
    unlock();
    throw error;
  }
}
