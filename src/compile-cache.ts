/**
 * What V8 made of the modules is kept for the next start. Whoever can write to that directory has nestwatch run their
 * code, so it is never Node's default, which all users of the machine share: it is this user's own, or there is none.
 */
import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Whatever goes wrong here costs a fraction of a second at each start, and nothing else. */
export function keepCompiled(environment: Readonly<Record<string, string | undefined>>): void {
  // A directory that was named on purpose is Node's own affair, and in use by now: the image has one.
  if (environment.NODE_COMPILE_CACHE || environment.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const base = environment.XDG_CACHE_HOME ?? '';
    const directory = join(isAbsolute(base) ? base : join(homedir(), '.cache'), 'nestwatch');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (isOwn(lstatSync(directory), process.getuid?.())) enableCompileCache(directory);
  } catch {
    // No home, or nothing can be written there.
  }
}

/** Whether nobody but this user can write there. A link would lead to where this says nothing of. */
export function isOwn(stats: Pick<Stats, 'isDirectory' | 'uid' | 'mode'>, uid: number | undefined): boolean {
  return stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0;
}
