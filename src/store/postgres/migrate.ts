/** Prepares a schema as a store: creates it if missing, and migrates it from its version to the current one. */
import { codeOf, NestwatchError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { COPY_MARK, notWhole } from '../copy/copy-mark.ts';
import type { Statements } from './statements.ts';
import { STEPS, type Step } from './tables.ts';

interface MigrateOptions {
  readonly statements: Statements;
  /** Runs statements without parameters. */
  readonly exec: (sql: string) => Promise<void>;
  readonly schema: string;
  /** The address of the store, for people. */
  readonly shown: string;
  /** Ensures that no other process uses the schema; throws `store_locked` and says who does. */
  readonly alone: () => Promise<void>;
  readonly isCopy?: boolean;
  /** The steps of this version by default. */
  readonly steps?: readonly Step[];
}

/**
 * Call this under the store's lock. Throws `store_newer` for a schema that a later version changed incompatibly,
 * `store_locked` if others use it who could not continue after a missing step, `store_unfinished` for an incomplete
 * copy, and `config_invalid` for a schema of another program; in all these cases nothing is changed.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { statements, exec, schema, shown, isCopy = false, steps = STEPS } = options;
  const version = await versionOf(statements, schema, shown, isCopy);
  if (version > steps.length) await refuseNewer(statements, schema, shown, steps);
  if (version >= steps.length) return;
  const missing = steps.slice(version);
  if (version > 0 && missing.some(({ oldest }) => oldest > version)) await waitForOlder(options.alone);
  await exec('BEGIN');
  try {
    if (version === 0) await begin(statements, exec, schema);
    for (const [index, { sql, oldest }] of missing.entries()) {
      await exec(sql);
      await statements.run(
        'INSERT INTO schema_step (step, version, done_at, oldest) VALUES ($1, $2, now(), $3)',
        version + index + 1,
        VERSION,
        oldest,
      );
    }
    await exec('COMMIT');
  } catch (error) {
    await exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Older replicas that know only the present tables could not continue. */
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

/** Throws `store_newer` if a later version changed the schema incompatibly. */
export async function refuseNewer(
  statements: Statements,
  schema: string,
  shown: string,
  steps: readonly Step[] = STEPS,
): Promise<void> {
  const made = await statements.first<{ step: number; oldest: number; version: string }>(
    `SELECT step, version, (SELECT max(oldest) FROM schema_step) AS oldest FROM schema_step ORDER BY step DESC LIMIT 1`,
  );
  if (!made || made.oldest <= steps.length) return;
  throw new NestwatchError(
    'store_newer',
    `The schema ${schema} of the store ${shown} was made version ${made.step} by nestwatch ${made.version}; this one, ${VERSION}, knows version ${steps.length}.`,
  );
}

/** 0 for a schema that is missing or empty. With `isCopy`, an unfinished copy is accepted too. */
export async function versionOf(
  statements: Statements,
  schema: string,
  shown: string,
  isCopy = false,
): Promise<number> {
  const tables = await tableNames(statements, schema);
  if (tables.includes(COPY_MARK)) {
    if (!isCopy) throw notWhole(`The schema ${schema} of the store ${shown}`);
    if (!tables.includes('schema_step')) return 0;
  }
  if (tables.length === 0) return 0;
  if (!tables.includes('schema_step')) {
    throw new NestwatchError(
      'config_invalid',
      `The schema ${schema} of the store ${shown} belongs to another program: name one of your own in store.schema.`,
    );
  }
  return (await statements.first<{ step: number }>('SELECT max(step) AS step FROM schema_step'))?.step ?? 0;
}

/** Empty for a missing schema. */
export async function tableNames(statements: Statements, schema: string): Promise<string[]> {
  const rows = await statements.rows<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r'`,
    schema,
  );
  return rows.map(({ name }) => name);
}

async function begin(
  statements: Statements,
  exec: (sql: string) => Promise<void>,
  schema: string,
): Promise<void> {
  await createSchema(statements, exec, schema);
  await exec(
    `CREATE TABLE schema_step (
       step INTEGER PRIMARY KEY, version TEXT NOT NULL, done_at TIMESTAMPTZ NOT NULL, oldest INTEGER NOT NULL)`,
  );
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
