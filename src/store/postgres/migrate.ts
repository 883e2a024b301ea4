/** Prepares a schema as a store: creates it if missing, and migrates it from its version to the current one. */
import { codeOf, NestwatchError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import type { Statements } from '../sql/sql.ts';
import {
  type DoneStep,
  otherTables,
  refuseSteps,
  STEP_TABLE,
  STEPS,
  type Step,
  statementsOf,
  type TableChange,
  versionOf,
} from '../versions/steps.ts';

interface MigrateOptions {
  readonly statements: Statements;
  /** Runs statements without parameters. */
  readonly exec: (sql: string) => Promise<void>;
  readonly schema: string;
  /** The address of the store, for people. */
  readonly shown: string;
  /** Ensures that no other process uses the schema; throws `store_locked` and says who does. */
  readonly alone: () => Promise<void>;
  /** Called before the tables of an existing store are changed. */
  readonly changing?: ((change: TableChange) => void) | undefined;
  /** The steps of this version by default. */
  readonly steps?: readonly Step[] | undefined;
}

/** A table that marks a schema as the target of a copy that is not finished. */
export const COPY_MARK = 'copy_progress';

/**
 * Call this under the store's lock. Throws `store_newer` for a schema that a later version changed incompatibly,
 * `store_other` for one of another build, `store_locked` if others use it who could not continue after a missing step,
 * `store_unfinished` for an incomplete copy, and `config_invalid` for a schema of another program; in all these cases
 * nothing is changed.
 */
export async function migrate(options: MigrateOptions): Promise<TableChange> {
  const { statements, exec, schema, shown, changing, steps = STEPS } = options;
  const done = await doneSteps(statements, schema, shown, steps);
  const from = versionOf(done);
  const to = Math.max(from, steps.length);
  const sql = statementsOf({ engine: 'postgres', done, steps });
  if (sql === '') return { from, to };
  if (from > 0 && to > from) {
    if (steps.slice(from).some(({ oldest }) => oldest > from)) await waitForOlder(options.alone);
    changing?.({ from, to });
  }
  await exec('BEGIN');
  try {
    if (from === 0) await createSchema(statements, exec, schema);
    else await exec(`ALTER TABLE ${STEP_TABLE} ADD COLUMN IF NOT EXISTS digest TEXT`);
    await exec(`${sql}; COMMIT`);
  } catch (error) {
    await exec('ROLLBACK').catch(() => {});
    throw error;
  }
  return { from, to };
}

/** Throws `store_locked` while others use the schema: an older replica could not go on with the changed tables. */
async function waitForOlder(alone: () => Promise<void>): Promise<void> {
  try {
    await alone();
  } catch (error) {
    if (codeOf(error) !== 'store_locked') throw error;
    throw new NestwatchError(
      'store_locked',
      `${(error as Error).message} nestwatch ${VERSION} changes tables that an older one could not use then: stop all of those first.`,
      { cause: error },
    );
  }
}

/** The steps that the schema has done: none if it is missing or empty. Throws as `migrate` does, except `store_locked`. */
export async function doneSteps(
  statements: Statements,
  schema: string,
  shown: string,
  steps: readonly Step[] = STEPS,
): Promise<readonly DoneStep[]> {
  const what = `The schema ${schema} of the store ${shown}`;
  const tables = await tableNames(statements, schema);
  if (tables.includes(COPY_MARK)) {
    throw new NestwatchError('store_unfinished', `${what} is the target of a copy that is not finished.`);
  }
  if (tables.length === 0) return [];
  if (!tables.includes(STEP_TABLE)) {
    throw new NestwatchError(
      'config_invalid',
      `${what} belongs to another program: name one of your own in store.schema.`,
    );
  }
  const done = await statements.rows<DoneStep>(
    // The column is missing in a schema that was made before digests were stored.
    `SELECT step, version, oldest, to_jsonb(${STEP_TABLE}) ->> 'digest' AS digest FROM ${STEP_TABLE} ORDER BY step`,
  );
  refuseSteps({ engine: 'postgres', what, done, steps });
  const [first] = done;
  if (first?.digest === null && (await columnsOf(statements, schema)) !== COLUMNS_OF_1)
    throw otherTables(what, first.step, first.version);
  return done;
}

/** A digest of the columns of version 1, for a schema that was made before digests were stored. */
const COLUMNS_OF_1 = 'e5f8762415feff62b7f8d6c64bd79b2a';

async function columnsOf(statements: Statements, schema: string): Promise<string> {
  const row = await statements.first<{ digest: string }>(
    `SELECT md5(string_agg(relname || '.' || attname || ' ' || format_type(atttypid, atttypmod), ',' ORDER BY relname, attname)) AS digest
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r'
       AND relname NOT IN ('${STEP_TABLE}', '${COPY_MARK}') AND attnum > 0 AND NOT attisdropped`,
    schema,
  );
  return row!.digest;
}

/** Empty for a missing schema. */
export async function tableNames(statements: Statements, schema: string): Promise<string[]> {
  const rows = await statements.rows<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r'`,
    schema,
  );
  return rows.map(({ name }) => name);
}

export async function createSchema(
  statements: Statements,
  exec: (sql: string) => Promise<void>,
  schema: string,
): Promise<void> {
  const known = await statements.first('SELECT 1 FROM pg_namespace WHERE nspname = $1', schema);
  // `CREATE SCHEMA` needs a right on the database even if the schema exists, and careful administrators do not grant
  // it.
  if (!known) await exec(`CREATE SCHEMA "${schema.replaceAll('"', '""')}"`);
}
