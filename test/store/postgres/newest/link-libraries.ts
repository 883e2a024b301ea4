/**
 * `node link-libraries.ts PACKAGE`: makes the links between libraries that the package of the newest PostgreSQL lists,
 * since packages hold no links. Its own script, which would do so, is not run: no package's is.
 */
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const folder = process.argv[2]!;
const links = JSON.parse(readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8')) as {
  readonly source: string;
  readonly target: string;
}[];
for (const { source, target } of links) {
  rmSync(join(folder, target), { force: true });
  symlinkSync(relative(dirname(target), source), join(folder, target));
}
