/** The store's file: a copy of it, and whether it is whole. */
import { statSync } from 'node:fs';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { storePath } from '../../store/open-store.ts';
import { checkStoreFile, copyStoreFile } from '../../store/sqlite/upkeep/store-file.ts';
import { howMany } from '../../text/counts.ts';
import { findConfigFile, readConfig } from '../read-config.ts';
import { jsonText, shown } from '../terminal-text.ts';

interface StoreOptions {
  readonly configFile: string | undefined;
  readonly json: boolean;
}

/** Writes a backup, also while the daemon runs. */
export function storeBackup(edge: Edge, to: string, options: StoreOptions): number {
  return copy(edge, fileOf(edge, options), to, { ...options, alone: false });
}

/** Copies the store to another address, while no daemon uses it. */
export function storeCopy(
  edge: Edge,
  url: string,
  options: StoreOptions & { readonly from?: string },
): number {
  const from = options.from === undefined ? fileOf(edge, options) : pathOf('--from', options.from);
  return copy(edge, from, pathOf('the address', url), { ...options, alone: true });
}

function copy(
  edge: Edge,
  from: string,
  to: string,
  { json, alone }: { readonly json: boolean; readonly alone: boolean },
): number {
  copyStoreFile(from, to, { alone });
  const bytes = statSync(to).size;
  edge.stdout.write(
    json ? jsonText({ from, to, bytes }) : `${shown(from)} → ${shown(to)}, ${sizeText(bytes)}\n`,
  );
  return 0;
}

/** Checks the store, or a backup of it; exits 1 where it is damaged. */
export function storeCheck(edge: Edge, file: string | undefined, options: StoreOptions): number {
  const report = checkStoreFile(file ?? fileOf(edge, options));
  const isWhole = report.damages.length === 0;
  if (options.json) {
    edge.stdout.write(jsonText({ ...report, whole: isWhole }));
  } else if (isWhole) {
    const { path, bytes, schema, events, firing, pending } = report;
    const parts = [
      `${sizeText(bytes)}, tables of version ${schema}`,
      howMany(events, 'event'),
      `${howMany(firing, 'alert')} firing`,
      `${howMany(pending, 'delivery', 'deliveries')} to be sent`,
    ];
    edge.stdout.write(`${shown(path)} is whole: ${parts.join(', ')}\n`);
  } else {
    edge.stdout.write(`${shown(report.path)} is damaged; restore a backup:\n`);
    for (const damage of report.damages) edge.stdout.write(`  ${shown(damage)}\n`);
  }
  return isWhole ? 0 : 1;
}

function fileOf(edge: Edge, { configFile }: StoreOptions): string {
  return pathOf('store.url', readConfig(edge, findConfigFile(edge, configFile)).store.url);
}

function pathOf(what: string, url: string): string {
  if (/^postgres(?:ql)?:/.test(url)) {
    throw new NestwatchError(
      'usage',
      `${what}: a store on PostgreSQL is backed up and checked by its own tools, as pg_dump; name sqlite:FILE`,
    );
  }
  const path = storePath(url);
  if (path === ':memory:') throw new NestwatchError('usage', `${what}: a store in memory has no file`);
  return path;
}

function sizeText(bytes: number): string {
  const [unit, size] = bytes >= 1024 ** 2 ? ['MiB', 1024 ** 2] : ['KiB', 1024];
  return `${(bytes / Number(size)).toFixed(1)} ${unit}`;
}
