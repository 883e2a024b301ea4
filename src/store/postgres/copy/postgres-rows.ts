/** A store on a server, as one side of a copy. */
import { NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import type { RowSource, RowTarget } from '../../copy/table-rows.ts';
import type { Sql, Statements } from '../../sql/sql.ts';
import { STEPS, statementsOf, versionOf } from '../../versions/steps.ts';
import { COPY_MARK, createSchema, doneSteps, tableNames } from '../migrate.ts';
import type { PostgresPlace } from '../postgres-client.ts';
import { PostgresSql } from '../postgres-sql.ts';
import { Session } from '../session.ts';

interface SnapshotOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  /** Whether nobody else may use the store meanwhile. */
  readonly alone: boolean;
}

/** The other side of a copy may take its time between two statements, and reading all rows takes longer than usual. */
const PATIENCE = "SET idle_in_transaction_session_timeout = '10min'; SET tcp_user_timeout = '10min'";
const PATIENT_MS = 600_000;

function patient(place: PostgresPlace): PostgresPlace {
  return { ...place, statementTimeoutMs: Math.max(place.statementTimeoutMs, PATIENT_MS) };
}

/**
 * Opens a snapshot of a store: everything read from it is as of now, even while daemons use the store.
 * Throws `usage` if there is no store, and with `alone` `store_locked` while a daemon uses it.
 */
export async function openPostgresSource({ place, clock, alone }: SnapshotOptions): Promise<RowSource> {
  let version = 0;
  const session: Session = new Session({
    place: patient(place),
    clock,
    isShared: false,
    isGuest: !alone,
    async prepare(statements) {
      version = versionOf(await doneSteps(statements, place.schema, place.shown));
      if (version === 0) throw new NestwatchError('usage', `there is no store at ${shownPlace(place)}`);
    },
  });
  try {
    await session.ready();
    await session.exec(`${PATIENCE}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`);
    const sql = new PostgresSql(session);
    return {
      ...{ shown: shownPlace(place), sql, version },
      lastNumbers: () => lastNumbers(sql),
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

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
    // All rows are written in one transaction, so that none stays if the copy is given up.
    await session.exec(`${PATIENCE}; BEGIN`);
  } catch (error) {
    await session.close();
    throw error;
  }
  const sql = new PostgresSql(session);
  return {
    ...{ shown: shownPlace(place), sql },
    setLastNumbers: (numbers) => setLastNumbers(sql, numbers),
    async finish() {
      // Statistics about the tables decide how they are searched.
      await session.exec(`ANALYZE ${(await tableNames(session, place.schema)).join(', ')}`);
      await session.exec(`DROP TABLE ${COPY_MARK}; COMMIT`);
    },
    close: () => session.close(),
  };
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

/** The columns that a sequence numbers, and those of other tables that are named after one of their tables. */
const NUMBERED = `SELECT relname::text AS name, attname::text AS column, attidentity <> '' AS numbered
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
  WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r'
    AND (attidentity <> '' OR atttypid = 'bigint'::regtype)`;

interface NumberedColumn {
  readonly name: string;
  readonly column: string;
  readonly numbered: boolean;
}

const sequenceOf = ({ name, column }: NumberedColumn) =>
  `pg_get_serial_sequence('${name}', '${column}')::regclass`;

async function lastNumbers(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const numbers = new Map<string, number>();
  for (const column of (await sql.rows<NumberedColumn>(NUMBERED)).filter(({ numbered }) => numbered)) {
    const row = await sql.first<{ last: number | null }>(
      `SELECT pg_sequence_last_value(${sequenceOf(column)}) AS last`,
    );
    if (row && row.last !== null) numbers.set(column.name, row.last);
  }
  return numbers;
}

/** Takes into account the numbers of the rows, those of deleted rows to which others refer, and the source's. */
async function setLastNumbers(sql: Sql, numbers: ReadonlyMap<string, number>): Promise<void> {
  const columns = await sql.rows<NumberedColumn>(NUMBERED);
  for (const own of columns.filter(({ numbered }) => numbered)) {
    const naming = columns.filter(({ name, column }) => name !== own.name && column === own.name);
    const used = [own, ...naming].map(({ name, column }) => `(SELECT max(${column}) FROM ${name})`);
    await sql.rows(
      `SELECT setval(${sequenceOf(own)}, greatest(1, last), last > 0)
       FROM (SELECT greatest(0, $1::bigint, ${used.join(', ')}) AS last) AS known`,
      numbers.get(own.name) ?? 0,
    );
  }
}

/** Names the schema, since a database may hold several stores. */
function shownPlace({ shown, schema }: PostgresPlace): string {
  return `${shown}, schema ${schema}`;
}
