/** The whole contract on a file; in memory, as most stories have it, only in the long run and in part. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import type { Subject } from '../contract/subject.ts';
import { describeStore } from '../contract.ts';

const clock = createVirtualClock();
/** A file system in memory, if there is one, so that hundreds of stores need not wait for a disk. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

async function inFile(): Promise<Subject> {
  const directory = await mkdtemp(join(FOLDER, 'nestwatch-store-'));
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
}

async function inMemory(): Promise<Subject> {
  const store = await openSqliteStore({ path: ':memory:', clock });
  return { store, close: () => store.close() };
}

const places = [
  ['in a file', inFile, true],
  ['in memory [long]', inMemory, false],
] as const;
for (const [place, open, isWhole] of places) describeStore(`the SQLite store ${place}`, open, isWhole);
