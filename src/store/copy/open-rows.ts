/** Opens stores, on whatever engine, to be copied. */
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { storePath } from '../open-store.ts';
import type { PostgresPlace } from '../postgres/postgres-client.ts';
import type { RowSource, RowTarget } from './table-rows.ts';

export interface StorePlace {
  /** As `store.url`. */
  readonly url: string;
  /** What `url` means, where it is one of PostgreSQL. */
  readonly postgres?: PostgresPlace;
}

/** Throws `store_locked` while somebody uses the store, and `usage` where there is none. */
export async function openSource({ url, postgres }: StorePlace, clock: Clock): Promise<RowSource> {
  if (postgres) {
    const { openPostgresSource } = await import('../postgres/copy/postgres-row-source.ts');
    return openPostgresSource({ place: postgres, clock, alone: true });
  }
  const { openSqliteSource } = await import('../sqlite/copy/sqlite-row-source.ts');
  return openSqliteSource(filePath(url));
}

/** One moment of a store on a server, also while daemons use it. */
export async function openServerMoment(place: PostgresPlace, clock: Clock): Promise<RowSource> {
  const { openPostgresSource } = await import('../postgres/copy/postgres-row-source.ts');
  return openPostgresSource({ place, clock, alone: false });
}

/** Throws `store_locked` while somebody uses the store, and `usage` where there is another. */
export async function openTarget({ url, postgres }: StorePlace, clock: Clock): Promise<RowTarget> {
  if (postgres) {
    const { openPostgresTarget } = await import('../postgres/copy/postgres-row-target.ts');
    return openPostgresTarget(postgres, clock);
  }
  const { openSqliteTarget } = await import('../sqlite/copy/sqlite-row-target.ts');
  return openSqliteTarget(filePath(url));
}

/** The file of a store. Throws `usage` for one in memory. */
export function filePath(url: string): string {
  const path = storePath(url);
  if (path === ':memory:') throw new NestwatchError('usage', `${url}: a store in memory has no file`);
  return path;
}
