/**
 * `node link-libraries.ts PACKAGE`: creates the links between libraries that the package of the newest PostgreSQL
 * lists, since npm packages cannot contain links. The package has a script for it, but no package's scripts are run.
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
