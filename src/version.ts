import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;

/** The revision is known in an image that was built from one, and in a checkout. */
export function versionText(environment: Readonly<Record<string, string | undefined>>): string {
  const revision = environment.NESTWATCH_REVISION;
  return `nestwatch ${VERSION} (${revision ? `revision ${revision}, ` : ''}Node ${process.version})`;
}

/**
 * The commit that a checkout is at, read from its files (gitrepository-layout(5)), also in a worktree. Undefined if this
 * is none.
 */
export function checkoutRevision(folder: string): string | undefined {
  const git = join(folder, '.git');
  try {
    // In a worktree, `.git` is a file that names the folder, and branches are in the folder that all worktrees share.
    const own = statSync(git).isDirectory() ? git : resolve(folder, linesOf(git)[0]!.replace('gitdir: ', ''));
    const shared = resolve(own, linesOf(join(own, 'commondir'))[0] ?? '.');
    const [head = ''] = linesOf(join(own, 'HEAD'));
    const branch = /^ref: (.+)$/.exec(head)?.[1];
    const packed = branch && linesOf(join(shared, 'packed-refs')).find((line) => line.endsWith(` ${branch}`));
    const revision = branch ? (linesOf(join(shared, branch))[0] ?? packed?.split(' ')[0]) : head;
    return revision && /^[0-9a-f]{40,64}$/.test(revision) ? revision : undefined;
  } catch {
    return undefined;
  }
}

/** None for a file that does not exist. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
