/** Where the store of a story is: in memory, in a file, or on PostgreSQL if the run has a server. */
import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Clock } from '../../src/time/clock.ts';
import { placeAt } from '../store/postgres/postgres-server.ts';

export interface StageStore {
  /**
   * Lets everything run that is ready. A store outside this process takes real time, during which virtual time must
   * stand still.
   */
  settle(): Promise<void>;
  /** Opens the store, or opens it again. */
  open(clock: Clock): Promise<Store>;
  /** Whether its content survives closing it. */
  readonly isLasting: boolean;
}

export function createStageStore(path: string | undefined): StageStore {
  const url = path === undefined ? inject('postgresUrl') : undefined;
  if (url === undefined) {
    return {
      settle: path === undefined ? turn : someTurns,
      open: (clock) => openSqliteStore({ path: path ?? ':memory:', clock }),
      isLasting: path !== undefined,
    };
  }
  const schema = `s${randomUUID().replaceAll('-', '')}`;
  let underWay = 0;
  return {
    async settle() {
      for (let idle = 0; idle < 3; idle += 1) {
        await turn();
        if (underWay > 0) idle = -1;
      }
    },
    async open(clock) {
      const { store } = await openPostgresStore({ place: placeAt(url, { schema }), clock });
      const transaction: Store['transaction'] = async (work) => {
        underWay += 1;
        try {
          return await store.transaction(work);
        } finally {
          underWay -= 1;
        }
      };
      return { ...store, transaction };
    },
    isLasting: true,
  };
}

export async function someTurns(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
