/**
 * What V8 made of the modules is kept for the next start. Whoever can write to that directory has nestwatch run their
 * code, so it is never Node's default, which all users of the machine share: it is this user's own, or there is none.
 *
 * Each place that nestwatch is installed in has a folder there, some 6 MB; those that were not started for longest go.
 */
import { lstatSync, mkdirSync, readdirSync, rmSync, type Stats, utimesSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** As many folders are kept. */
export const KEPT_PLACES = 8;

/**
 * `program` is the path of the file that Node was started with.
 * Whatever goes wrong here costs a fraction of a second at each start, and nothing else.
 */
export function keepCompiled(
  environment: Readonly<Record<string, string | undefined>>,
  program: string,
  now: Date,
): void {
  // A directory that was named on purpose is Node's own affair, and in use by now: the image has one.
  if (environment.NODE_COMPILE_CACHE || environment.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const base = environment.XDG_CACHE_HOME ?? '';
    const directory = join(isAbsolute(base) ? base : join(homedir(), '.cache'), 'nestwatch');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (!isOwn(lstatSync(directory), process.getuid?.())) return;
    const place = placeOf(program);
    mkdirSync(join(directory, place), { recursive: true });
    utimesSync(join(directory, place), now, now);
    enableCompileCache(join(directory, place));
    removeOldest(directory);
  } catch {
    // No home, or nothing can be written there.
  }
}

/** Whether nobody but this user can write there. A link would lead to where this says nothing of. */
export function isOwn(stats: Pick<Stats, 'isDirectory' | 'uid' | 'mode'>, uid: number | undefined): boolean {
  return stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0;
}

/** Another Node starts anew. Places whose names look alike share a folder, which harms nobody: Node asks for paths. */
function placeOf(program: string): string {
  return `${process.version}${program.replaceAll(/[^\w.-]+/g, '-').slice(-100)}`;
}

/** A process that runs out of a folder that goes here compiles what it still loads. */
function removeOldest(directory: string): void {
  const names = readdirSync(directory);
  if (names.length <= KEPT_PLACES) return;
  const startedAtMs = new Map(names.map((name) => [name, lstatSync(join(directory, name)).mtimeMs]));
  const newestFirst = names.toSorted((a, b) => startedAtMs.get(b)! - startedAtMs.get(a)!);
  for (const name of newestFirst.slice(KEPT_PLACES))
    rmSync(join(directory, name), { recursive: true, force: true });
}
