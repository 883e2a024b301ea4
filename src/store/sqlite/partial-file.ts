/** A copy of a store in a new file, which gets its name only once it is complete. */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { NestwatchError } from '../../errors.ts';
import { findObstacle, whyNotWritten } from './file-obstacle.ts';
import { syncFile } from './private-files.ts';

/** Copies a snapshot of the database to the new file `to`, which only its owner may read. */
export function vacuumInto(db: { prepare(sql: string): { run(to: string): unknown } }, to: string): void {
  const partial = makePartial(to);
  try {
    db.prepare('VACUUM INTO ?').run(partial);
    namePartial(to);
  } finally {
    removePartial(to);
  }
}

/**
 * Creates the file that holds a copy until it is complete. Throws `usage` unless `to` names a new file, and
 * `store_failed` if no file can be made there.
 */
export function makePartial(to: string): string {
  if (to === '') throw new NestwatchError('usage', 'name a new file');
  if (existsSync(to)) throw new NestwatchError('usage', `${to} is there already: name a new file`);
  if (existsSync(`${to}-wal`)) {
    throw new NestwatchError(
      'usage',
      `${to}-wal belongs to a store that was there: move it to where that one is now`,
    );
  }
  const partial = partialOf(to);
  try {
    removePartial(to);
    closeSync(openSync(partial, 'wx', 0o600));
    return partial;
  } catch (cause) {
    const directory = dirname(to);
    const why = existsSync(directory)
      ? whyNotWritten(cause, to)
      : (findObstacle(to) ?? `there is no directory ${directory}`);
    throw new NestwatchError('store_failed', `The copy ${to} cannot be written: ${why}.`, { cause });
  }
}

/** Gives a complete copy its name. */
export function namePartial(to: string): void {
  syncFile(partialOf(to));
  renameSync(partialOf(to), to);
  syncFile(dirname(to));
}

/** Removes an incomplete copy, if there is one. */
export function removePartial(to: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(`${partialOf(to)}${ending}`, { force: true });
}

function partialOf(to: string): string {
  return `${to}.partial`;
}
