import { NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import {
  COPY_MARK,
  MARK_TABLE,
  ORIGIN,
  originOf,
  originText,
  progressOf,
  progressText,
} from '../../copy/copy-mark.ts';
import type { RowTarget, TableRow } from '../../copy/table-rows.ts';
import { STEPS } from '../../versions/steps.ts';
import { createSchema, migrate, tableNames } from '../migrate.ts';
import type { PostgresPlace } from '../postgres-client.ts';
import { Session } from '../session.ts';
import { columnsOf, type Statements } from '../statements.ts';
import { FROM_BODY, valuesFromBody } from './from-body.ts';
import { parameterOf, rowsOf, type ServerTable, sequenceOf, tablesOf } from './postgres-row-source.ts';
import { PATIENCE, patient, shownPlace } from './postgres-snapshot.ts';

const PUT_MARK = `INSERT INTO ${COPY_MARK} (name, body) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET body = excluded.body`;

/**
 * Opens a schema to copy into: one that is missing or empty, or one that an earlier copy has begun. Throws `usage`
 * for any other, and `store_locked` while it is in use.
 */
export async function openPostgresTarget(place: PostgresPlace, clock: Clock): Promise<RowTarget> {
  const session: Session = new Session({
    place: patient(place),
    clock,
    isShared: false,
    prepare: (statements) => prepare(session, statements, place),
  });
  try {
    await session.ready();
    await session.exec(PATIENCE);
    return createTarget(session, place, await tablesOf(session, place.schema));
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** The mark is written before there are tables that a daemon could use. */
async function prepare(session: Session, statements: Statements, place: PostgresPlace): Promise<void> {
  const exec = (sql: string) => session.exec(sql);
  const names = await tableNames(statements, place.schema);
  if (names.length === 0) {
    await exec('BEGIN');
    await createSchema(statements, exec, place.schema);
    await exec(`${MARK_TABLE.replaceAll('TEXT', 'TEXT COLLATE "C"')}; COMMIT`);
  } else if (!names.includes(COPY_MARK)) {
    throw new NestwatchError(
      'usage',
      `there are tables already at ${shownPlace(place)}: name another schema, or drop this one where nobody needs it`,
    );
  }
  // The copy already holds the lock on the schema alone.
  await migrate({ statements, exec, ...place, alone: async () => {}, isCopy: true });
}

function createTarget(session: Session, place: PostgresPlace, tables: readonly ServerTable[]): RowTarget {
  async function commit(work: () => Promise<void>): Promise<void> {
    await session.exec('BEGIN');
    try {
      await work();
      await session.exec('COMMIT');
    } catch (error) {
      await session.exec('ROLLBACK').catch(() => {});
      throw error;
    }
  }
  return {
    shown: shownPlace(place),
    version: STEPS.length,
    tables,
    ...rowsOf(session),
    async begun() {
      const row = await session.first<{ body: string }>(
        `SELECT body FROM ${COPY_MARK} WHERE name = $1`,
        ORIGIN,
      );
      return row && originOf(row.body);
    },
    begin: (origin) =>
      commit(async () => {
        await session.exec(`TRUNCATE ${[...tables.map(({ name }) => name), COPY_MARK].join(', ')}`);
        await session.run(PUT_MARK, ORIGIN, originText(origin));
      }),
    async progress() {
      const rows = await session.rows<{ name: string; body: string }>(
        `SELECT name, body FROM ${COPY_MARK} WHERE name <> $1`,
        ORIGIN,
      );
      return new Map(rows.map(({ name, body }) => [name, progressOf(body)]));
    },
    write: ({ name }, columns, rows, progress) =>
      commit(async () => {
        const table = tables.find((one) => one.name === name)!;
        if (rows.length > 0) await insert(session, table, columns, rows);
        await session.run(PUT_MARK, name, progressText(progress));
      }),
    setLastNumbers: (numbers) => commit(() => setLastNumbers(session, tables, numbers)),
    async finish() {
      // Statistics about the tables decide how they are searched.
      await session.exec(`ANALYZE ${tables.map(({ name }) => name).join(', ')}`);
      await session.exec(`DROP TABLE ${COPY_MARK}`);
    },
    close: () => session.close(),
  };
}

/**
 * All values are sent as texts, which the server converts to the columns' types: few round trips for millions of
 * rows.
 */
async function insert(
  statements: Statements,
  table: ServerTable,
  given: readonly string[],
  rows: readonly TableRow[],
): Promise<void> {
  const missing = (FROM_BODY.get(table.name)?.columns ?? []).filter((column) => !given.includes(column));
  const body = given.indexOf('body');
  const columns = [...given, ...missing];
  const whole =
    missing.length > 0 ? rows.map((row) => [...row, ...valuesFromBody(table.name, row[body]!)]) : rows;
  const types = new Map(table.columns.map((column) => [column.name, column.type]));
  await statements.run(
    `INSERT INTO ${table.name} (${columns.join(', ')})
     SELECT ${columns.map((column, index) => `c${index}::${types.get(column)!}`).join(', ')}
     FROM unnest(${columns.map((_, index) => `$${index + 1}::text[]`).join(', ')})
       AS given (${columns.map((_, index) => `c${index}`).join(', ')})`,
    ...columnsOf(
      columns.length,
      whole.map((row) => row.map(parameterOf)),
    ),
  );
}

/**
 * Takes into account the numbers of the rows, numbers of deleted rows to which others still refer (in columns named
 * after the table), and those that the source reports.
 */
async function setLastNumbers(
  statements: Statements,
  tables: readonly ServerTable[],
  numbers: ReadonlyMap<string, bigint>,
): Promise<void> {
  for (const table of tables) {
    const numbered = sequenceOf(table);
    if (!numbered) continue;
    const naming = tables.filter(
      ({ name, columns }) =>
        name !== table.name &&
        columns.some((column) => column.name === table.name && column.kind === 'integer'),
    );
    const used = [
      `(SELECT max(${numbered.column}) FROM ${table.name})`,
      ...naming.map(({ name }) => `(SELECT max(${table.name}) FROM ${name})`),
    ];
    await statements.run(
      `SELECT setval(${numbered.sequence}, greatest(1, last), last > 0)::text
       FROM (SELECT greatest(0, $1::bigint, ${used.join(', ')}) AS last) AS known`,
      String(numbers.get(table.name) ?? 0n),
    );
  }
}
