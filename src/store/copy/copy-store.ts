/**
 * Copies a store between any two engines: table by table, then all rows of both sides are read once more, and the
 * digests of their tables must be equal. It holds only some rows in memory, never a whole table. An interrupted copy
 * leaves nothing that a daemon would open; the next one begins anew.
 */
import { hash } from 'node:crypto';
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { storePath } from '../open-store.ts';
import type { PostgresPlace } from '../postgres/postgres-client.ts';
import type { Row, Sql, Value } from '../sql/sql.ts';
import { STEPS } from '../versions/steps.ts';
import { allTables, type RowSource, type RowTarget, readRows, type Table, writeRows } from './table-rows.ts';

/** The progress of a copy. */
interface CopyProgress {
  readonly step: 'copied' | 'compared';
  readonly table: string;
  /** Rows of all tables so far. */
  readonly rows: number;
  readonly allRows: number;
}

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** A digest of what the rows mean: equal for equal content on any engine. */
  readonly digest: string;
}

interface CopyStore {
  readonly source: RowSource;
  readonly target: RowTarget;
  /** Gives the copy up. */
  readonly signal: AbortSignal;
  readonly show: (progress: CopyProgress) => void;
}

/**
 * Throws `usage` for a store whose tables are of another version, `cancelled`, whatever the stores throw, and
 * `store_failed` if the two sides differ at the end.
 */
export async function copyStore({ source, target, signal, show }: CopyStore): Promise<CopiedTable[]> {
  refuseOtherVersion(source);
  const tables = allTables();
  let allRows = 0;
  for (const { name } of tables) {
    allRows += (await source.sql.first<{ count: number }>(`SELECT count(*) AS count FROM ${name}`))!.count;
  }
  let rows = 0;
  const step = async (what: Omit<CopyProgress, 'rows' | 'allRows'>, more: number) => {
    rows += more;
    show({ ...what, rows, allRows });
    // Signals are delivered between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new NestwatchError('cancelled', 'nothing was copied');
  };
  for (const table of tables) {
    await step({ step: 'copied', table: table.name }, 0);
    for await (const some of readRows(source.sql, table)) {
      await writeRows(target.sql, table, some);
      await step({ step: 'copied', table: table.name }, some.length);
    }
  }
  await target.setLastNumbers(await source.lastNumbers());
  rows = 0;
  const copied: CopiedTable[] = [];
  for (const table of tables) {
    const ours = await digestOf(source.sql, table, (more) =>
      step({ step: 'compared', table: table.name }, more),
    );
    const theirs = await digestOf(target.sql, table, () => step({ step: 'compared', table: table.name }, 0));
    if (ours.rows !== theirs.rows || String(ours) !== String(theirs)) {
      throw new NestwatchError(
        'store_failed',
        `The copy of the table ${table.name} in ${target.shown} has ${theirs.rows} rows and is not what ${source.shown} holds, which has ${ours.rows}.`,
      );
    }
    copied.push({ table: table.name, rows: ours.rows, digest: String(ours) });
  }
  await target.finish();
  return copied;
}

function refuseOtherVersion({ version, shown }: RowSource): void {
  if (version === STEPS.length) return;
  const how =
    version < STEPS.length
      ? 'run `nestwatch store migrate` on it first'
      : 'use the nestwatch that changed them';
  throw new NestwatchError(
    'usage',
    `The store ${shown} has tables of version ${version}, this nestwatch makes those of version ${STEPS.length}: ${how}`,
  );
}

async function digestOf(sql: Sql, table: Table, step: (rows: number) => Promise<void>): Promise<TableDigest> {
  const digest = new TableDigest();
  for await (const some of readRows(sql, table)) {
    for (const row of some) digest.add(row);
    await step(some.length);
  }
  return digest;
}

/** SHA-256 in words of 32 bits. */
const WORDS = 8;

/**
 * A digest of all rows of a table in any order, since engines order texts by their own encoding of them. It is the
 * sum of the rows' digests. Each is computed from what the columns mean, not from how an engine writes them.
 */
export class TableDigest {
  readonly #sum = new Uint32Array(WORDS);
  #rows = 0;

  add(row: Row): void {
    const digest = hash('sha256', row.map(written).join(''), 'buffer');
    for (let word = 0; word < WORDS; word += 1) this.#sum[word]! += digest.readUInt32LE(word * 4);
    this.#rows += 1;
  }

  get rows(): number {
    return this.#rows;
  }

  toString(): string {
    return Buffer.from(this.#sum.buffer).toString('hex');
  }
}

/** Each value is written with its type and length, so that different rows are never written alike. */
function written(value: Value): string {
  if (value === null) return 'n;';
  if (typeof value === 'number' || typeof value === 'boolean') return `i${Number(value)};`;
  if (typeof value !== 'string') return `b${Buffer.from(value).toString('hex')};`;
  // A digest is computed from bytes, and half of a surrogate pair has none.
  const text = value.isWellFormed() ? value : JSON.stringify(value);
  return `${text === value ? 't' : 'j'}${text.length};${text}`;
}

// Opens stores of any engine for copying.

export interface StorePlace {
  /** Same as `store.url`. */
  readonly url: string;
  /** The parsed `url`, if it is a PostgreSQL URL. */
  readonly postgres?: PostgresPlace;
}

/** Throws `store_locked` while the store is in use, and `usage` if there is none. */
export async function openSource({ url, postgres }: StorePlace, clock: Clock): Promise<RowSource> {
  if (postgres) {
    const { openPostgresSource } = await import('../postgres/copy/postgres-rows.ts');
    return openPostgresSource({ place: postgres, clock, alone: true });
  }
  const { openSqliteSource } = await import('../sqlite/copy/sqlite-rows.ts');
  return openSqliteSource(filePath(url));
}

/** A snapshot of a store on a server, even while daemons use it. */
export async function openServerMoment(place: PostgresPlace, clock: Clock): Promise<RowSource> {
  const { openPostgresSource } = await import('../postgres/copy/postgres-rows.ts');
  return openPostgresSource({ place, clock, alone: false });
}

/** Throws `store_locked` while the store is in use, and `usage` if it holds something else. */
export async function openTarget({ url, postgres }: StorePlace, clock: Clock): Promise<RowTarget> {
  if (postgres) {
    const { openPostgresTarget } = await import('../postgres/copy/postgres-rows.ts');
    return openPostgresTarget(postgres, clock);
  }
  const { openSqliteTarget } = await import('../sqlite/copy/sqlite-rows.ts');
  return openSqliteTarget(filePath(url));
}

/** The file of a store. Throws `usage` for a store in memory. */
export function filePath(url: string): string {
  const path = storePath(url);
  if (path === ':memory:') throw new NestwatchError('usage', `${url}: a store in memory has no file`);
  return path;
}
