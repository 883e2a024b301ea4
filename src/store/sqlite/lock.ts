/**
 * Allows only one process per store. The lock is an exclusive transaction on a small database beside the store. The
 * operating system releases it whenever the process ends, so nothing stale has to be cleaned up. The store itself is
 * not locked (`locking_mode=EXCLUSIVE`), so that people and backups can read it while it is in use.
 */
import { DatabaseSync } from 'node:sqlite';
import { NestwatchError } from '../../errors.ts';
import { isBusy, storeFailure } from './connection.ts';
import { makePrivateFile } from './private-files.ts';

/** Takes the lock of the store at `path`, or throws `store_locked`. The returned function releases it. */
export function takeLock(path: string): () => void {
  let db: DatabaseSync | undefined;
  try {
    makePrivateFile(`${path}.lock`);
    db = new DatabaseSync(`${path}.lock`, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (isBusy(error)) {
      throw new NestwatchError('store_locked', `Another nestwatch uses the store ${path}.`, { cause: error });
    }
    throw storeFailure(error, path);
  }
  const held = db;
  return () => held.close();
}
