import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { describeStore } from '../contract.ts';

const clock = createVirtualClock();

describeStore('the SQLite store in memory', async () => {
  const store = await openSqliteStore({ path: ':memory:', clock });
  return { store, close: () => store.close() };
});

describeStore('the SQLite store in a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nestwatch-store-'));
  const path = join(directory, 'store.db');
  const store = await openSqliteStore({ path, clock });
  let open = store;
  return {
    store,
    async reopen() {
      await open.close();
      open = await openSqliteStore({ path, clock });
      return open;
    },
    async close() {
      await open.close();
      await rm(directory, { recursive: true });
    },
  };
});
