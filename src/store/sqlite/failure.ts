/** Translates SQLite's result codes into the closed table of errors. It never interprets messages. */
import { type ErrorCode, NestwatchError } from '../../errors.ts';

/** Primary result codes (https://www.sqlite.org/rescode.html); extended codes carry them in their low byte. */
const BUSY = 5;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;

const FAILURES: Readonly<Record<number, { code: ErrorCode; is: string }>> = {
  3: { code: 'store_failed', is: 'may not be accessed' },
  [BUSY]: { code: 'store_down', is: 'is locked by another program' },
  7: { code: 'store_failed', is: 'has no memory left to work with' },
  8: { code: 'store_failed', is: 'is read-only' },
  [IOERR]: { code: 'store_failed', is: 'cannot be read or written: the disk failed' },
  [CORRUPT]: { code: 'store_corrupt', is: 'is damaged' },
  [FULL]: { code: 'disk_full', is: 'has no space left to grow' },
  14: { code: 'store_failed', is: 'cannot be opened' },
  [NOTADB]: { code: 'store_corrupt', is: 'is not an SQLite database' },
};

/** The shared memory beside the database could not grow: the disk is full. */
const IOERR_SHMSIZE = 4874;

/**
 * A failure of SQLite as a `NestwatchError`, with the original as its cause. Other errors are returned unchanged: a
 * violated constraint or a malformed statement is a bug.
 */
export function storeFailure(error: unknown, path: string): unknown {
  const result = resultOf(error);
  if (result === undefined) return error;
  const failure = FAILURES[result === IOERR_SHMSIZE ? FULL : result & 0xff];
  if (!failure) return error;
  return new NestwatchError(failure.code, `The store ${path} ${failure.is}.`, { cause: error });
}

/** Whether SQLite could not get a lock; for its own errors and for translated ones. */
export function isBusy(error: unknown): boolean {
  return ((resultOf(error instanceof NestwatchError ? error.cause : error) ?? 0) & 0xff) === BUSY;
}

/**
 * Whether the store must be reopened. After a failed read or write the contents of the disk are unknown: the
 * operating system may have dropped what it could not write, and reports that only once.
 */
export function isFatal(error: unknown): boolean {
  if (!(error instanceof NestwatchError) || error.code === 'disk_full') return false;
  return [IOERR, CORRUPT, NOTADB].includes((resultOf(error.cause) ?? 0) & 0xff);
}

function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}
