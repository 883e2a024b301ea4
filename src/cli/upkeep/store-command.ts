/** Backs up, checks, migrates and copies stores. */
import { realpathSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import { isPostgres, readPostgresAddress, storeAt, storeShape } from '../../config/sections/store-section.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { secret } from '../../secret.ts';
import {
  type CopiedTable,
  copyStore,
  filePath,
  openServerMoment,
  openSource,
  openTarget,
  type StorePlace,
} from '../../store/copy/copy-store.ts';
import type { RowSource, RowTarget } from '../../store/copy/table-rows.ts';
import { checkStoreFile, copyStoreFile, migrateStoreFile } from '../../store/sqlite/upkeep/store-file.ts';
import type { StoreReport } from '../../store/store.ts';
import type { Step, TableChange } from '../../store/versions/steps.ts';
import { tableChanges } from '../../store/versions/table-changes.ts';
import { howMany } from '../../text/instant-words.ts';
import { abortAtSignal } from '../at-terminal.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { type ConfigOptions, findConfigFile, secretInFile } from '../config-file.ts';
import { configOf } from '../read-config.ts';
import { shown } from '../terminal-text.ts';
import { createProgressBar } from './progress-bar.ts';

interface StoreOptions extends ConfigOptions {
  readonly schema?: string;
  readonly passwordFile?: string;
}

/**
 * Writes a backup, even while daemons run. Its format is that of a store in a file, whatever the engine of the
 * original.
 */
export async function storeBackup(edge: Edge, to: string, options: ConfigOptions): Promise<Answer> {
  const place = storePlace(edge, options, { named: 'store.url' });
  const from = place.postgres ? await backUpServer(edge, place.postgres, to) : backUpFile(place, to);
  const bytes = statSync(to).size;
  return { json: { from, to, bytes }, text: `${shown(from)} → ${shown(to)}, ${sizeText(bytes)}\n` };
}

function backUpFile({ url }: StorePlace, to: string): string {
  const from = filePath(url);
  copyStoreFile(from, to);
  return from;
}

/**
 * Copies one moment of a store on a server into a file. So a backup can be inspected, checked, and restored to either
 * engine with this program only. The file gets its final name after it was compared with the server.
 */
async function backUpServer(
  edge: Edge,
  place: NonNullable<StorePlace['postgres']>,
  to: string,
): Promise<string> {
  const source = await openServerMoment(place, edge.clock);
  try {
    const target = await openTarget({ url: `sqlite:${to}` }, edge.clock);
    try {
      await showCopy(edge, source, target);
    } finally {
      await target.close();
      // A daemon that opens a copy of a store locks it by this file, but nobody opens a backup.
      rmSync(`${to}.lock`, { force: true });
    }
    return source.shown;
  } finally {
    await source.close();
  }
}

function placeOf(edge: Edge, url: string | undefined, options: StoreOptions): StorePlace {
  const named = url === undefined ? 'store.url' : 'the store';
  return storePlace(edge, options, { ...options, named, url });
}

/** Checks the store, or a backup of it. Exits with 1 if it is damaged. */
export async function storeCheck(
  edge: Edge,
  store: string | undefined,
  options: StoreOptions,
): Promise<Answer> {
  const report = await examine(edge, store, options);
  const { path, bytes, schema, events, firing, pending, damages } = report;
  const whole = damages.length === 0;
  const parts = [
    `${sizeText(bytes)}, tables of version ${schema}`,
    howMany(events, 'event'),
    `${howMany(firing, 'alert')} firing`,
    `${howMany(pending, 'delivery', 'deliveries')} to be sent`,
  ];
  const text = whole
    ? `${shown(path)} is whole: ${parts.join(', ')}\n`
    : `${shown(path)} is damaged; restore a backup:\n${damages.map((one) => `  ${shown(one)}\n`).join('')}`;
  return { json: { ...report, whole }, text, exit: whole ? 0 : EXIT.failed };
}

async function examine(edge: Edge, store: string | undefined, options: StoreOptions): Promise<StoreReport> {
  const place = placeOf(edge, store, options);
  if (!place.postgres) return checkStoreFile(filePath(place.url));
  const { checkPostgresStore } = await import('../../store/postgres/look-at-server.ts');
  return checkPostgresStore(place.postgres, edge.clock);
}

/**
 * Brings a store, or a backup of one, to the newest version of the tables. A daemon does the same when it opens the
 * store; on SQLite it runs this command for it, since nothing else runs in a process that changes a file.
 */
export async function storeMigrate(
  edge: Edge,
  store: string | undefined,
  options: StoreOptions,
  steps?: readonly Step[],
): Promise<Answer> {
  const { url, postgres } = placeOf(edge, store, options);
  const changing = () => edge.stderr.write('The tables are being changed; this may take a while.\n');
  const change: TableChange = postgres
    ? await (await import('../../store/postgres/postgres-store.ts')).migratePostgresStore({
        ...{ place: postgres, clock: edge.clock, changing, steps },
      })
    : migrateStoreFile(filePath(url), steps);
  const where = postgres ? postgres.shown : filePath(url);
  const changes = [changeText(change), ...(change.from === 0 ? [] : tableChanges(change.from))];
  return { json: { store: where, ...change }, text: `${shown(where)}: ${changes.join('\n  ')}\n` };
}

function changeText({ from, to, copy }: TableChange): string {
  if (from === to) return `the tables are of version ${to} already`;
  if (from === 0) return `made tables of version ${to}`;
  return `tables of version ${from} → ${to}${copy === undefined ? '' : `; as it was: ${shown(copy)}`}`;
}

function sizeText(bytes: number): string {
  const kibibytes = bytes / 1024;
  return kibibytes < 1024 ? `${kibibytes.toFixed(1)} KiB` : `${(kibibytes / 1024).toFixed(1)} MiB`;
}

interface StoreCopyOptions extends ConfigOptions {
  readonly from?: string;
  readonly fromSchema?: string;
  readonly fromPasswordFile?: string;
  readonly to?: string;
  readonly toSchema?: string;
  readonly toPasswordFile?: string;
}

/** Copies a store to another place or engine, while nobody uses either. `url` is as `--to`. */
export async function storeCopy(
  edge: Edge,
  url: string | undefined,
  options: StoreCopyOptions,
): Promise<Answer> {
  const { to: toUrl = url, toSchema, toPasswordFile, fromSchema, fromPasswordFile } = options;
  if (options.from === undefined && toUrl === undefined) {
    throw new NestwatchError('usage', 'give --from or --to, or both: the other one is store.url');
  }
  const from = storePlace(edge, options, {
    ...{ named: '--from', url: options.from, schema: fromSchema, passwordFile: fromPasswordFile },
  });
  const to = storePlace(edge, options, {
    ...{ named: '--to', url: toUrl, schema: toSchema, passwordFile: toPasswordFile },
  });
  if (nameOf(from) === nameOf(to)) throw new NestwatchError('usage', '--from and --to name the same store');
  const source = await openSource(from, edge.clock);
  try {
    const target = await openTarget(to, edge.clock);
    try {
      const tables = await showCopy(edge, source, target);
      edge.stderr.write(
        'Now let store.url name the copy. Only one of the two may be used: each would send what is queued in it.\n',
      );
      const json = { from: source.shown, to: target.shown, tables };
      return { json, text: `${shown(sentenceOf(source, target, tables))}\n` };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Copies with a progress bar. SIGINT and SIGTERM give the copy up. */
async function showCopy(edge: Edge, source: RowSource, target: RowTarget): Promise<CopiedTable[]> {
  const stop = abortAtSignal(edge);
  const bar = createProgressBar(edge);
  try {
    return await copyStore({
      source,
      target,
      signal: stop.signal,
      show({ step, table, rows, allRows }) {
        // Comparing both sides takes about as long as copying.
        const half = allRows === 0 ? 1 : rows / allRows;
        bar.show(
          (step === 'copied' ? half : 1 + half) / 2,
          `${step} ${howMany(rows, 'row')} of ${allRows}`,
          table,
        );
      },
    });
  } finally {
    bar.end();
    stop.release();
  }
}

function sentenceOf(source: RowSource, target: RowTarget, tables: readonly CopiedTable[]): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${source.shown} → ${target.shown}: ${howMany(rows, 'row')} of ${howMany(tables.length, 'table')}, the same on both sides`;
}

/** The same for the same store, as far as that can be told without asking for it; the locks tell the rest. */
function nameOf({ url, postgres }: StorePlace): string {
  if (postgres) return JSON.stringify([postgres.hosts, postgres.database, postgres.schema]);
  const path = filePath(url);
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

// Which store a command is about: the configured one, or one given as an option.

interface GivenStore {
  /** The name used in messages: the option that gives `url`. */
  readonly named: string;
  /** An address or a file; undefined for the configured one. */
  readonly url?: string | undefined;
  readonly schema?: string | undefined;
  readonly passwordFile?: string | undefined;
}

/**
 * Throws `usage` for an invalid address, and `ConfigError`. The configured password, schema and timeout of a server
 * are only used for the same user, database and hosts: another server must not get the password.
 */
function storePlace(edge: Edge, options: ConfigOptions, given: GivenStore): StorePlace {
  const { named } = given;
  const isTyped = given.url !== undefined;
  const config = isTyped && !isPostgres(given.url) ? undefined : configured(edge, options, isTyped);
  const url = given.url ?? config!.store.url;
  if (!isPostgres(url)) {
    if (url.includes('://'))
      throw new NestwatchError('usage', `${named} must be a file or postgres://user@host/database`);
    if (given.schema === undefined && given.passwordFile === undefined)
      return { url: url.startsWith('sqlite:') ? url : `sqlite:${url}` };
    throw new NestwatchError('usage', `${named} names a file: a schema and a password are those of a server`);
  }
  const address = readPostgresAddress(url);
  if (typeof address === 'string') {
    const option = named.startsWith('--') ? `${named}-password-file` : '--password-file';
    const mistake = address.replace('`password_file` beside it', option);
    throw new NestwatchError('usage', `${named} ${mistake}`);
  }
  const own = config?.store.postgres;
  const isSame = own?.shown === address.shown && isDeepStrictEqual(own?.hosts, address.hosts);
  const known = isSame ? own : undefined;
  const password =
    given.passwordFile === undefined ? known?.password : secret(secretInFile(given.passwordFile));
  return {
    url,
    postgres: storeAt(address, {
      password: password ?? null,
      schema: schemaOf(given) ?? known?.schema,
      statementTimeoutMs: known?.statementTimeoutMs,
    }),
  };
}

/** With `isOptional`, returns undefined if no file is given and none is found. */
function configured(edge: Edge, options: ConfigOptions, isOptional: boolean): Config | undefined {
  try {
    findConfigFile(edge, options);
  } catch (error) {
    if (isOptional && codeOf(error) === 'usage') return undefined;
    throw error;
  }
  return configOf(edge, options);
}

function schemaOf({ named, schema }: GivenStore): string | undefined {
  const read = storeShape.shape.schema.safeParse(schema);
  if (read.success) return read.data;
  throw new NestwatchError('usage', `the schema of ${named} ${read.error.issues[0]?.message}`);
}
