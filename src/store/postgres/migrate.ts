/** Makes a schema ours: creates it where it is missing, and takes it from the version that it has to this one's. */
import { NestwatchError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { COPY_MARK, notWhole } from '../copy/copy-mark.ts';
import type { Statements } from './statements.ts';
import { STEPS } from './tables.ts';

/**
 * To be called under the store's lock. Throws `store_newer` for a schema that a later version has changed,
 * `store_unfinished` for one that is not whole yet, and `config_invalid` for one of another program; nothing is changed
 * then.
 */
export async function migrate(
  statements: Statements,
  exec: (sql: string) => Promise<void>,
  schema: string,
  shown: string,
  { isCopy = false } = {},
): Promise<void> {
  const version = await versionOf(statements, schema, shown, isCopy);
  if (version > STEPS.length) {
    throw new NestwatchError(
      'store_newer',
      `The schema ${schema} of the store ${shown} has version ${version}; this nestwatch knows ${STEPS.length}.`,
    );
  }
  if (version === STEPS.length) return;
  await exec('BEGIN');
  try {
    if (version === 0) await begin(statements, exec, schema);
    for (const [index, step] of STEPS.entries()) {
      if (index < version) continue;
      await exec(step);
      await statements.run(
        'INSERT INTO schema_step (step, version, done_at) VALUES ($1, $2, now())',
        index + 1,
        VERSION,
      );
    }
    await exec('COMMIT');
  } catch (error) {
    await exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** 0 for a schema that is not there, or empty. With `isCopy` one that is being copied to is taken as well. */
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

/** None for a schema that is not there. */
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
    'CREATE TABLE schema_step (step INTEGER PRIMARY KEY, version TEXT NOT NULL, done_at TIMESTAMPTZ NOT NULL)',
  );
}

export async function createSchema(
  statements: Statements,
  exec: (sql: string) => Promise<void>,
  schema: string,
): Promise<void> {
  const known = await statements.first('SELECT 1 FROM pg_namespace WHERE nspname = $1', schema);
  // To create one that is there needs a right on the database that a careful administrator does not give.
  if (!known) await exec(`CREATE SCHEMA "${schema.replaceAll('"', '""')}"`);
}
