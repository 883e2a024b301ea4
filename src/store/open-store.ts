import { NestwatchError } from '../errors.ts';
import { type Clock, waitToOpen } from '../time/clock.ts';
import type { PostgresPlace } from './postgres/postgres-client.ts';
import type { OpenStore } from './store.ts';
import type { Step, TableChange } from './versions/steps.ts';

/** How often a server that is away is tried. */
const RETRY_MS = 1_000;

export interface StoreOptions {
  /** `sqlite:data/nestwatch.db`, `sqlite:/abs/olute.db`, `sqlite::memory:`, or a PostgreSQL URL. */
  readonly url: string;
  /** The parsed `url`, if it is a PostgreSQL URL. */
  readonly postgres?: PostgresPlace;
  readonly clock: Clock;
  /** Whether other processes may use the store at the same time; never true for a file. */
  readonly isShared?: boolean;
  /** How long to wait for a server that is away, or a locked file. Default: not at all, or ten seconds. */
  readonly patienceMs?: number;
  /** Called when the server is found to be away, or the file to be locked, and is waited for. */
  readonly away?: (error: unknown) => void;
  /** Called before the tables of an existing store are changed. */
  readonly changing?: (change: TableChange) => void;
  /**
   * Changes the tables in a file by another process, since nothing else runs in this one meanwhile. Without it they
   * are changed here.
   */
  readonly migrateElsewhere?: ((path: string) => Promise<void>) | undefined;
  /** Those of this version by default. */
  readonly steps?: readonly Step[] | undefined;
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
  const { url, postgres, clock, isShared, changing, migrateElsewhere, steps } = options;
  const { patienceMs, away = () => {} } = options;
  if (postgres) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts');
    const { isMendedByTime } = await import('./postgres/postgres-failure.ts');
    const open = () =>
      openPostgresStore({ place: postgres, clock, changing, steps, ...(isShared && { isShared }) });
    // A server may be restarting or failing over; a refused password or a missing database fails at once.
    return waitToOpen(open, isMendedByTime, RETRY_MS, { clock, patienceMs: patienceMs ?? 0, away });
  }
  const path = storePath(url);
  if (path !== ':memory:') {
    const { pendingChange } = await import('./sqlite/upkeep/store-file.ts');
    const { whenFree } = await import('./sqlite/transaction-queue.ts');
    const change = await whenFree(() => pendingChange(path, steps), { clock, patienceMs, away });
    if (change) {
      changing?.(change);
      await migrateElsewhere?.(path);
    }
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return { store: await openSqliteStore({ path, clock, steps, patienceMs, away }), sharing: undefined };
}

/** The file of a store's URL. Throws `config_invalid` if it has none, such as a store on a server. */
export function storePath(url: string): string {
  // Two slashes more are as in `file:///`.
  const [, scheme = '', path = ''] = /^([a-z]+):(?:\/\/(?=\/))?(.*)$/s.exec(url) ?? [];
  if (scheme === 'postgres' || scheme === 'postgresql') {
    throw new NestwatchError('config_invalid', 'store.url names a store on a server, which has no file.');
  }
  if (scheme !== 'sqlite' || path === '') {
    throw new NestwatchError('config_invalid', 'store.url must look like sqlite:data/nestwatch.db.');
  }
  return path;
}
