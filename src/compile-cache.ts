/**
 * Keeps V8's compiled code of the modules for the next start. Whoever can write to that directory can run code in
 * nestwatch. So Node's default, which all users of the machine share, is never used: the directory belongs to this
 * user, or there is none.
 *
 * Each installed copy of nestwatch has a folder there of about 6 MB. The folders that were started least recently are
 * removed.
 */
import { lstatSync, mkdirSync, readdirSync, rmSync, type Stats, utimesSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The most folders that are kept. */
export const KEPT_PLACES = 8;

/**
 * Enables the cache. `program` is the path of the file that Node was started with. A failure here only costs a
 * fraction of a second at each start.
 */
export function keepCompiled(
  environment: Readonly<Record<string, string | undefined>>,
  program: string,
  now: Date,
): void {
  // If a directory was set explicitly, Node already uses it; the image sets one.
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
    // There is no home directory, or it is not writable.
  }
}

/** Whether only this user can write there. A link is refused, because its target was not checked. */
export function isOwn(stats: Pick<Stats, 'isDirectory' | 'uid' | 'mode'>, uid: number | undefined): boolean {
  return stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0;
}

/**
 * Each version of Node has its own folder. Similar paths may share one, which is harmless: Node looks up files by
 * path.
 */
function placeOf(program: string): string {
  return `${process.version}${program.replaceAll(/[^\w.-]+/g, '-').slice(-100)}`;
}

/** A process whose folder is removed here compiles what it still loads. */
function removeOldest(directory: string): void {
  const names = readdirSync(directory);
  if (names.length <= KEPT_PLACES) return;
  const startedAtMs = new Map(names.map((name) => [name, lstatSync(join(directory, name)).mtimeMs]));
  const newestFirst = names.toSorted((a, b) => startedAtMs.get(b)! - startedAtMs.get(a)!);
  for (const name of newestFirst.slice(KEPT_PLACES))
    rmSync(join(directory, name), { recursive: true, force: true });
}
