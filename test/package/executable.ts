/**
 * Builds one file that contains the program and Node, for machines without either: `npm run executable`, optionally
 * with the path of the file. It runs on the platform it was built on. The licences of the libraries and of Node in it are
 * written beside it.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { NOTICES, RULE, writeBundle } from './bundle.ts';

const ROOT = join(import.meta.dirname, '../..');
const made = resolve(process.argv[2] ?? join(ROOT, 'dist/nestwatch'));

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-executable-'));
try {
  await writeBundle(folder, { hasLibraries: true, isSplit: false });
  const settings = join(folder, 'sea.json');
  writeFileSync(
    settings,
    JSON.stringify({
      main: join(folder, 'nestwatch.mjs'),
      mainFormat: 'module',
      output: made,
      disableExperimentalSEAWarning: true,
      // Node does not listen for SIGUSR1, the signal that opens its debugger.
      execArgv: ['--disable-sigusr1'],
    }),
  );
  mkdirSync(dirname(made), { recursive: true });
  const ofLibraries = readFileSync(join(folder, NOTICES), 'utf8');
  // Node is installed beside its licence.
  const ofNode = readFileSync(join(dirname(process.execPath), '../LICENSE'), 'utf8');
  writeFileSync(
    join(dirname(made), NOTICES),
    `${ofLibraries}\n${RULE}\nNode ${process.version}\n\n${ofNode}`,
  );
  const { status } = spawnSync(process.execPath, ['--build-sea', settings], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
