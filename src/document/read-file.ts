/** How the configuration and the files that it names are read; done by the process's edge. */
import { LIMITS } from '../limits.ts';

/** Reads a whole text file of at most `mostBytes`. Throws like `readFileSync`, or `UnfitFile`. */
export type ReadFile = (path: string, mostBytes: number) => string;

export const MOST_CONFIG_BYTES = LIMITS.configuration_bytes.most;
export const MOST_SECRET_BYTES = 64 * 1024;
/** All CA certificates of a system take a quarter of a megabyte. */
export const MOST_CA_BYTES = 4 * 1024 * 1024;

/** The file is there and may be read, but is nothing to be read whole. */
export class UnfitFile extends Error {
  /** Completes a sentence that begins with the file's name. */
  readonly why: string;

  constructor(why: string) {
    super(`The file ${why}.`);
    this.why = why;
  }
}

/** Why a file could not be read, to complete a sentence that begins with its name. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof UnfitFile) return error.why;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read: its permissions forbid it';
  if (code === 'EISDIR') return 'is a directory';
  return `cannot be read (${code})`;
}
