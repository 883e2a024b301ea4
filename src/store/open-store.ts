import { NestwatchError } from '../errors.ts';
import type { Clock } from '../time/clock.ts';
import type { PostgresPlace } from './postgres/postgres-client.ts';
import type { OpenStore } from './store.ts';

interface StoreOptions {
  /** `sqlite:data/nestwatch.db`, `sqlite:/abs/olute.db`, `sqlite::memory:`, or a PostgreSQL URL. */
  readonly url: string;
  /** The parsed `url`, if it is a PostgreSQL URL. */
  readonly postgres?: PostgresPlace;
  readonly clock: Clock;
  /** Whether other processes may use the store at the same time; never true for a file. */
  readonly isShared?: boolean;
  /** How long to wait for a server that is away. Default: not at all. */
  readonly patienceMs?: number;
  /** Called once when the server is found to be away and is waited for. */
  readonly away?: (error: unknown) => void;
}

/** Which of the store's files others may read or replace, one sentence each; empty for a store in memory. */
export async function exposedFiles(url: string): Promise<readonly string[]> {
  const path = url.replace(/^sqlite:/, '');
  if (path === url || path === ':memory:') return [];
  const { findExposed } = await import('./sqlite/private-files.ts');
  return findExposed(path);
}

/** Opens the store that `store.url` names. */
export async function openStore(options: StoreOptions): Promise<OpenStore> {
  const { url, postgres, clock, isShared, patienceMs = 0, away = () => {} } = options;
  if (postgres) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts');
    const { waitForServer } = await import('./postgres/wait-for-server.ts');
    const open = () => openPostgresStore({ place: postgres, clock, ...(isShared && { isShared }) });
    return waitForServer(open, { clock, patienceMs, away });
  }
  const path = storePath(url);
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return { store: await openSqliteStore({ path, clock }), sharing: undefined };
}

/** The file of a store's URL. Throws `config_invalid` if it has none, such as a store on a server. */
export function storePath(url: string): string {
  const [, scheme = '', path = ''] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  if (scheme === 'postgres' || scheme === 'postgresql') {
    throw new NestwatchError('config_invalid', 'store.url names a store on a server, which has no file.');
  }
  if (scheme !== 'sqlite' || path === '') {
    throw new NestwatchError('config_invalid', 'store.url must look like sqlite:data/nestwatch.db.');
  }
  return path;
}
