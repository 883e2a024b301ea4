/** Finds out why a file cannot be made or written, for people to read: an error's code alone does not say where. */
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

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
export function whyNotWritten(error: unknown, path: string): string {
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
