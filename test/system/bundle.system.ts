/** The bundle, which image, package and executable contain. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeBundle } from '../package/bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bundle-'));
beforeAll(() => writeBundle(folder, { hasLibraries: true, isSplit: true }));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return { status, stdout, stderr };
};

test('no file has a character beyond Latin-1, for which V8 would keep all of its text at two bytes each', () => {
  const files = globSync('*.mjs', { cwd: folder });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => /[^\0-\xff]/.test(readFileSync(join(folder, file), 'utf8')))).toEqual([]);
});

test('texts with such characters are the same as in the sources', () => {
  const sources = join(import.meta.dirname, '../../src/main.ts');
  for (const args of [['--help'], ['alerts', '--help'], ['check-config', '--config.file', '/nowhere/✕ 🐦']]) {
    expect(run('nestwatch.mjs', ...args)).toEqual(run(sources, ...args));
  }
});

test('the trace of an error names functions and files', () => {
  // A trace contains this text, too, as the address of a module.
  const provoked = `data:text/javascript,const { split } = String.prototype;
    String.prototype.split = function (...by) {
      if (/ at runCommand[L]ine /.test(new Error().stack)) throw new Error('provoked');
      return split.apply(this, by);
    }`;
  const { status, stderr } = run('--import', provoked, 'nestwatch.mjs', '--help');
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/Error: provoked[\s\S]* at runCommandLine \(file:\S*\/program-\S+\.mjs:\d+:\d+\)/);
});
