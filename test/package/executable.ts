/**
 * Builds one file that contains the program and Node, for machines without either: `npm run executable`, optionally
 * with the path of the file. It runs on the platform it was built on.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const made = resolve(process.argv[2] ?? join(ROOT, 'dist/nestwatch'));

/**
 * Libraries that few need are loaded by a `require` that a module creates. The bundler includes only what its own
 * `require` loads, so the module's is removed.
 */
function withoutOwnRequire(code: string): string | undefined {
  const own = 'const require = createRequire(import.meta.url);';
  return code.includes(own) ? code.replace(own, '') : undefined;
}

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-executable-'));
try {
  const program = join(folder, 'nestwatch.mjs');
  const bundle = await rolldown({
    input: join(ROOT, 'src/main.ts'),
    platform: 'node',
    external: [/^node:/],
    plugins: [{ name: 'libraries-loaded-later', transform: withoutOwnRequire }],
  });
  // An executable contains a single file, so dynamic imports are included in it.
  await bundle.write({ file: program, format: 'esm', codeSplitting: false });
  const settings = join(folder, 'sea.json');
  writeFileSync(
    settings,
    JSON.stringify({
      main: program,
      mainFormat: 'module',
      output: made,
      disableExperimentalSEAWarning: true,
      // Node does not listen for SIGUSR1, the signal that opens its debugger.
      execArgv: ['--disable-sigusr1'],
    }),
  );
  mkdirSync(dirname(made), { recursive: true });
  const { status } = spawnSync(process.execPath, ['--build-sea', settings], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
