import { UnfitFile } from './read-file.ts';

/** Why a file could not be read, to complete a sentence that begins with its name. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof UnfitFile) return error.why;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read: its permissions forbid it';
  if (code === 'EISDIR') return 'is a directory';
  return `cannot be read (${code})`;
}
