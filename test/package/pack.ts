/**
 * Makes `dist` from `src` when the npm package is packed, because Node does not strip types below `node_modules`.
 * Types are replaced by blanks, so every line keeps its place, and file names end in `.js`.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

rmSync(DIST, { recursive: true, force: true });
for (const file of globSync('**/*.ts', { cwd: join(ROOT, 'src') })) {
  const path = join(DIST, file.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, asJavaScript(readFileSync(join(ROOT, 'src', file), 'utf8')));
}
copyFileSync(join(import.meta.dirname, 'nestwatch.js'), join(DIST, 'nestwatch.js'));

function asJavaScript(text: string): string {
  return stripTypeScriptTypes(text)
    .replaceAll(/(\bfrom\s+|\bimport\s+|\bimport\(\s*)'(\.{1,2}\/[^']+)\.ts'/g, "$1'$2.js'")
    .replaceAll(/[ \t]+$/gm, '');
}
