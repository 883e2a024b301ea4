import { NestwatchError } from '../errors.ts';
import type { Clock } from '../time/clock.ts';
import type { Store } from './store.ts';

interface StoreOptions {
  /** `sqlite:data/nestwatch.db`, `sqlite:/abs/olute.db` or `sqlite::memory:`. */
  readonly url: string;
  readonly clock: Clock;
}

/** What others may read or replace of the store's files, one sentence each; empty for a store in memory. */
export async function exposedFiles(url: string): Promise<readonly string[]> {
  const path = url.replace(/^sqlite:/, '');
  if (path === url || path === ':memory:') return [];
  const { findExposed } = await import('./sqlite/private-files.ts');
  return findExposed(path);
}

/** Opens the store that the configuration's `store.url` names. */
export async function openStore({ url, clock }: StoreOptions): Promise<Store> {
  const path = storePath(url);
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore({ path, clock });
}

/** The file of a store's address. Throws `config_invalid` for what is none. */
export function storePath(url: string): string {
  const [, scheme = '', path = ''] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  if (scheme === 'postgres' || scheme === 'postgresql') {
    throw new NestwatchError(
      'config_invalid',
      'store.url: PostgreSQL is not supported by this version; use sqlite:data/nestwatch.db.',
    );
  }
  if (scheme !== 'sqlite' || path === '') {
    throw new NestwatchError('config_invalid', 'store.url must look like sqlite:data/nestwatch.db.');
  }
  return path;
}
