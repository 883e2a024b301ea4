/**
 * Who may read the store's files. They hold messages, addresses and the key that signs links, so what nestwatch makes
 * is its user's alone. What was there before keeps its rights, since somebody may have set them on purpose, and is
 * warned of.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NestwatchError } from '../../errors.ts';

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** In such a directory, as `/tmp`, nobody replaces others' files. */
const STICKY = 0o1000;

export function makePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/**
 * Makes the file where there is none; SQLite gives those that it adds beside it the same rights. It never opens one
 * that is there: to close that again would end the locks that this process has on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch {
    // It is there, or cannot be made: SQLite says so in its own words.
  }
}

/** The own name of a store's file, whose directory is made where it is missing, so that two ways to name it meet at one lock. */
export function trueName(path: string): string {
  try {
    if (existsSync(path)) return realpathSync(path);
    makePrivateDirectory(dirname(path));
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    // Which one it is decides what to do: in a container mostly a volume of another user, or a file system to be read only.
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new NestwatchError(
      'store_failed',
      `The directory of the store ${path} cannot be made or read${code}.`,
      {
        cause: error,
      },
    );
  }
}

/** What was renamed survives a power failure only once its directory is on the disk as well. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Files of the store at `path`, and its directory, that others may read or replace: one sentence each. */
export function findExposed(path: string): string[] {
  const files = ['', '-wal', '-shm', '.lock'].flatMap((end) => {
    const mode = modeOf(`${path}${end}`);
    return mode & OTHERS ? [`others may read ${path}${end} (${octal(mode)}): chmod 600 it`] : [];
  });
  const directory = dirname(path);
  const mode = modeOf(directory);
  const isReplaceable = (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
  return isReplaceable
    ? [...files, `others may replace what is in ${directory} (${octal(mode)}): chmod 700 it`]
    : files;
}

/** 0 for what is not there. */
function modeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}
