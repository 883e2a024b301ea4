/** The npm package, packed and installed in an empty folder as a user would. */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-package-'));

function run(command: string, args: readonly string[], cwd = folder) {
  // npm waits up to a minute for an answer of the registry, and then asks again.
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 290_000 });
  return { status, stdout, stderr };
}

beforeAll(() => {
  const packed = run('npm', ['pack', '--json', '--pack-destination', folder], ROOT);
  expect(packed.status, packed.stderr).toBe(0);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const installed = run('npm', ['install', './nestwatch-0.1.0.tgz']);
  expect(installed.status, installed.stderr).toBe(0);
}, 600_000);

afterAll(() => rmSync(folder, { recursive: true }));

test('it runs the demo to its end', () => {
  const { status, stdout, stderr } = run('npx', ['nestwatch', 'demo', '--for', '10s']);
  expect(stdout, stderr).toContain('0 lost, 0 repeated, 0 invented');
  expect(status).toBe(0);
});

const installed = join(folder, 'node_modules/nestwatch');

test('it contains what its documents for operators link to, no sources and no test, and leaves no build behind', () => {
  const files = globSync('**/*.*', { cwd: installed, exclude: ['node_modules'] });
  expect(existsSync(join(installed, 'LICENSE'))).toBe(true);
  const broken = ['README.md', ...files.filter((file) => /^config\/.*\.md$/.test(file))].flatMap((document) =>
    [...readFileSync(join(installed, document), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map(([, link]) => join(dirname(document), link!))
      .filter((target) => !existsSync(join(installed, target)))
      .map((target) => `${document}: ${target}`),
  );
  expect(broken).toEqual([]);
  expect(files.filter((file) => /^(src|test)\/.*(?<!\.md)$/.test(file))).toEqual([]);
  expect(existsSync(join(ROOT, 'dist'))).toBe(false);
});

test('with an older Node, one sentence says what is missing', () => {
  const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.1.0'})";
  const program = join(folder, 'node_modules/nestwatch/dist/nestwatch.js');
  expect(run(process.execPath, ['--import', older, program, 'demo'])).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'nestwatch needs Node 26 or newer, and this is 20.1.0: install it from https://nodejs.org, or use the image.\n',
  });
});
