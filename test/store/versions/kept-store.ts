/** The stores of `kept/`, each as the version that its name gives has written it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const KEPT = join(import.meta.dirname, 'kept');

export const keptFile = (version: number, engine: 'sqlite' | 'postgres') =>
  join(KEPT, `version-${version}.${engine}.sql`);

/** The versions that were kept, oldest first. */
export const KEPT_VERSIONS: readonly number[] = readdirSync(KEPT)
  .flatMap((name) => /^version-(\d+)\.sqlite\.sql$/.exec(name)?.[1] ?? [])
  .map(Number)
  .sort((one, other) => one - other);

/** Makes the file of a store as that version left it. */
export function writeKept(version: number, path: string): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; BEGIN');
  db.exec(readFileSync(keptFile(version, 'sqlite'), 'utf8'));
  db.exec('COMMIT');
  db.close();
}

/** The statements that make the schema of a store as that version left it; they name the schema `nestwatch`. */
export const keptOnServer = (version: number) => readFileSync(keptFile(version, 'postgres'), 'utf8');
