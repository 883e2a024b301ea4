/** Opens stores of any engine for copying. */
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { storePath } from '../open-store.ts';
import type { PostgresPlace } from '../postgres/postgres-client.ts';
import type { RowSource, RowTarget } from './table-rows.ts';

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
