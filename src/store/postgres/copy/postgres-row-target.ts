import { NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import type { RowTarget, TableRow } from '../../copy/table-rows.ts';
import { STEPS, statementsOf } from '../../versions/steps.ts';
import { COPY_MARK, createSchema, tableNames } from '../migrate.ts';
import type { PostgresPlace } from '../postgres-client.ts';
import { Session } from '../session.ts';
import { columnsOf, type Statements } from '../statements.ts';
import {
  FROM_BODY,
  parameterOf,
  rowsOf,
  type ServerTable,
  sequenceOf,
  tablesOf,
  valuesFromBody,
} from './postgres-row-source.ts';
import { PATIENCE, patient, shownPlace } from './postgres-snapshot.ts';

/**
 * Opens a schema to copy into: one that is missing or empty, or one into which an earlier copy was not finished. Throws
 * `usage` for any other, and `store_locked` while it is in use.
 */
export async function openPostgresTarget(place: PostgresPlace, clock: Clock): Promise<RowTarget> {
  const session: Session = new Session({
    place: patient(place),
    clock,
    isShared: false,
    prepare: (statements) => makeTables(session, statements, place),
  });
  try {
    await session.ready();
    await session.exec(`${PATIENCE}; BEGIN`);
    return createTarget(session, place, await tablesOf(session, place.schema));
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Makes empty tables, with a mark that keeps daemons from using them. */
async function makeTables(session: Session, statements: Statements, place: PostgresPlace): Promise<void> {
  const exec = (sql: string) => session.exec(sql);
  const names = await tableNames(statements, place.schema);
  if (names.length > 0 && !names.includes(COPY_MARK)) {
    throw new NestwatchError(
      'usage',
      `there are tables already at ${shownPlace(place)}: name another schema, or drop this one where nobody needs it`,
    );
  }
  await exec('BEGIN');
  if (names.length > 0) await exec(`DROP TABLE ${names.join(', ')}`);
  else await createSchema(statements, exec, place.schema);
  await exec(`CREATE TABLE ${COPY_MARK} ()`);
  await exec(`${statementsOf({ engine: 'postgres', done: [], steps: STEPS })}; COMMIT`);
}

/** All rows are written in one transaction, so that none stays if the copy is given up. */
function createTarget(session: Session, place: PostgresPlace, tables: readonly ServerTable[]): RowTarget {
  const named = new Map(tables.map((table) => [table.name, table]));
  const { read } = rowsOf(session);
  return {
    shown: shownPlace(place),
    read: ({ name }, columns) => read(named.get(name)!, columns),
    write: ({ name }, columns, rows) => insert(session, named.get(name)!, columns, rows),
    setLastNumbers: (numbers) => setLastNumbers(session, tables, numbers),
    async finish() {
      // Statistics about the tables decide how they are searched.
      await session.exec(`ANALYZE ${tables.map(({ name }) => name).join(', ')}`);
      await session.exec(`DROP TABLE ${COPY_MARK}; COMMIT`);
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
