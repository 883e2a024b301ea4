import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';
import { takeLock } from '../store/sqlite/lock.ts';
import { trueName } from '../store/sqlite/private-files.ts';

/**
 * Changes the tables of the store in a file by the command `store migrate`, and ends it if `signal` aborts. SQLite's
 * calls return only when they are done: in this process nobody could ask whether it is healthy, nor stop it, for as long
 * as a step takes. What a process that was ended has not committed is undone by the next one that opens the file. Throws
 * `store_locked` if another process is at it, as after a daemon was killed that had begun the same.
 */
export async function migrateElsewhere({ program }: Edge, path: string, signal: AbortSignal): Promise<void> {
  // Taken and released here, because the other process can only say in words why it failed.
  takeLock(trueName(path))();
  const [command = '', ...before] = program;
  const args = [...before, 'store', 'migrate', '--json', '--', `sqlite:${path}`];
  const other = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const end = () => other.kill('SIGKILL');
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    const [said, [exit]] = await Promise.all([text(other.stderr), once(other, 'exit')]);
    if (exit === 0) return;
    const [first = ''] = said.split('\n');
    throw new NestwatchError(
      'store_failed',
      `The tables of the store ${path} could not be changed: ${first.replace(/^nestwatch: /, '') || 'the process that changes them was ended'}`,
    );
  } finally {
    signal.removeEventListener('abort', end);
  }
}
