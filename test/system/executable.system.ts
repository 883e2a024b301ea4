/** The program and Node in one file, alone in an empty folder. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-executable-'));
const program = join(folder, 'nestwatch');

/** It runs where it finds nothing of this machine. */
const run = (...args: string[]) =>
  spawnSync(program, args, {
    cwd: folder,
    env: { HOME: folder, PATH: '' },
    encoding: 'utf8',
    timeout: 100_000,
  });

beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, ['test/package/executable.ts', program], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 100_000,
  });
  expect(status, stderr).toBe(0);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true }));

test('it runs the demo to its end', () => {
  const { status, stdout, stderr } = run('demo', '--for', '10s');
  expect(stdout, stderr).toContain('0 lost, 0 repeated, 0 invented');
  expect(status).toBe(0);
});

test('the licences of Node and of the libraries are beside it', () => {
  const notices = readFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  for (const name of [`Node ${process.version}`, 'nodemailer ']) expect(notices).toContain(`\n${name}`);
});

test('it contains every command', () => {
  expect(run('version').stdout).toContain(`nestwatch ${VERSION}`);
  expect(run('init')).toMatchObject({ status: 0 });
  const environment = { NESTWATCH_EU_TOKEN: 'a', NESTWATCH_US_TOKEN: 'b' };
  const checked = spawnSync(program, ['check-config', 'nestwatch.yaml'], {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  });
  expect(checked.stdout).toContain('nestwatch.yaml: good: regions eu, us');
});
