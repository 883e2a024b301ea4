/**
 * Keeps the store's files private. They hold messages, addresses and the key that signs links, so the files that
 * nestwatch creates belong to its user alone. Existing files keep their permissions, since somebody may have set them
 * on purpose, but are warned about.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { NestwatchError } from '../../errors.ts';

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** In a directory with this bit, such as `/tmp`, nobody can replace other users' files. */
const STICKY = 0o1000;

/**
 * Creates a directory and those above it that are missing, one by one: Node's `recursive` never returns for a path in
 * `/proc`, where nothing can be created.
 */
export function makePrivateDirectory(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      // Another process may have created it meanwhile.
      if (!existsSync(directory)) throw error;
    }
  }
  // Fails if it is something else than a directory.
  mkdirSync(path, { recursive: true });
}

/**
 * Creates the file if it is missing; SQLite gives its additional files the same permissions. An existing file is
 * never opened: closing it would release the locks that this process holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch {
    // It exists, or cannot be created; SQLite then reports why.
  }
}

/**
 * The real path of a store's file, so that two paths to it use the same lock. Creates a missing directory. Throws
 * `store_failed` if there can be no file.
 */
export function trueName(path: string): string {
  try {
    if (!existsSync(path)) {
      makePrivateDirectory(dirname(path));
      return join(realpathSync(dirname(path)), basename(path));
    }
    if (!statSync(path).isDirectory()) return realpathSync(path);
  } catch (error) {
    throw noFile(path, error);
  }
  throw noFile(path, undefined);
}

function noFile(path: string, cause: unknown): NestwatchError {
  return new NestwatchError(
    'store_failed',
    `The store ${path} cannot be made or opened: ${whyNotWritten(cause, path)}.`,
    { cause },
  );
}

/** Throws `usage` unless there is a file at `path`. */
export function requireStoreFile(path: string): void {
  if (!existsSync(path)) throw new NestwatchError('usage', `there is no store at ${path}`);
  if (statSync(path).isDirectory())
    throw new NestwatchError('usage', `${path} is a directory: name the file of a store`);
}

/**
 * Flushes a file and its directory: a rename survives a power failure only once the directory is on the disk as well.
 */
function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The store's files, and its directory, that others may read or replace: one sentence each. */
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

/** 0 if the file is missing. */
function modeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

// Finds out why a file cannot be made or written, for people to read: an error's code alone does not say where.

/**
 * What keeps this process from making the file, or from writing to it and beside it if it exists; undefined if nothing
 * is found. Missing directories are no obstacle. Creates nothing.
 */
export function findObstacle(path: string): string | undefined {
  const file = resolve(path);
  let nearest = file;
  while (!existsSync(nearest)) nearest = dirname(nearest);
  const isDirectory = statSync(nearest).isDirectory();
  if (nearest !== file) return isDirectory ? refusal(nearest) : `${nearest} is not a directory`;
  if (isDirectory) return `${path} is a directory`;
  const real = realpathSync(file);
  return refusal(real) ?? refusal(dirname(real));
}

/** Why a file could not be made or written, to complete a sentence. */
function whyNotWritten(error: unknown, path: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return findObstacle(path) ?? code;
}

/** In a container it is usually a volume of another user (`EACCES`), or a read-only file system (`EROFS`). */
function refusal(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return `${path} may not be written to (${String((error as NodeJS.ErrnoException).code)})`;
  }
}

// A copy of a store in a new file, which gets its name only once it is complete.

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
