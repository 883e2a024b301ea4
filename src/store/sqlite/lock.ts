/**
 * One process per store. The lock is an exclusive transaction on a small database beside the store: the operating
 * system releases it when the process dies, however it dies, and nothing stale is left to clean up. It is not taken
 * on the store itself (`locking_mode=EXCLUSIVE`), so that people and backups can read the store while it is in use.
 */
import { DatabaseSync } from 'node:sqlite';
import { NestwatchError } from '../../errors.ts';
import { isBusy, storeFailure } from './failure.ts';
import { makePrivateFile } from './private-files.ts';

/** Takes the lock of the store at `path` or throws `store_locked`; the returned function releases it. */
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
