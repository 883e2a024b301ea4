import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isOwn, KEPT_PLACES } from '../src/compile-cache.ts';

const MAIN = resolve(import.meta.dirname, '../src/main.ts');

/** Runs `--version` with its own home and temporary directory. */
function start(prepare: (home: string) => Record<string, string> = () => ({})) {
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  const shared = mkdtempSync(join(tmpdir(), 'shared-'));
  const more = prepare(home);
  const env = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: shared, ...more };
  const { stdout, status } = spawnSync(process.execPath, [MAIN, '--version'], { env, encoding: 'utf8' });
  expect(status).toBe(0);
  expect(stdout).toContain('nestwatch 0.');
  return { home, shared };
}

test("compiled code is kept in a directory of the user's own, and never in a shared one [long]", () => {
  const { home, shared } = start();
  const directory = join(home, '.cache/nestwatch');
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(readdirSync(directory)).not.toEqual([]);
  expect(readdirSync(shared)).toEqual([]);
});

test('XDG_CACHE_HOME and NODE_COMPILE_CACHE are respected [long]', () => {
  const xdg = start((home) => ({ XDG_CACHE_HOME: join(home, 'xdg') }));
  expect(readdirSync(join(xdg.home, 'xdg/nestwatch'))).not.toEqual([]);
  expect(existsSync(join(xdg.home, '.cache'))).toBe(false);
  const named = start((home) => ({ NODE_COMPILE_CACHE: join(home, 'named') }));
  expect(readdirSync(join(named.home, 'named'))).not.toEqual([]);
  expect(existsSync(join(named.home, '.cache'))).toBe(false);
});

test('a directory that others can read, and a link, are not used [long]', () => {
  const wide = start((home) => {
    mkdirSync(join(home, '.cache/nestwatch'), { recursive: true });
    chmodSync(join(home, '.cache/nestwatch'), 0o777);
    return {};
  });
  expect(readdirSync(join(wide.home, '.cache/nestwatch'))).toEqual([]);
  const linked = start((home) => {
    mkdirSync(join(home, '.cache'));
    mkdirSync(join(home, 'elsewhere'), { mode: 0o700 });
    symlinkSync(join(home, 'elsewhere'), join(home, '.cache/nestwatch'));
    return {};
  });
  expect(readdirSync(join(linked.home, 'elsewhere'))).toEqual([]);
});

test('the compiled code of the places that were not started for longest is removed [long]', () => {
  const names = Array.from({ length: KEPT_PLACES + 2 }, (_, at) => `place-${at}`);
  const { home } = start((home) => {
    for (const [at, name] of names.entries()) {
      const place = join(home, '.cache/nestwatch', name);
      mkdirSync(join(place, 'v26.0.0'), { recursive: true, mode: 0o700 });
      utimesSync(place, at, at);
    }
    return {};
  });
  const directory = join(home, '.cache/nestwatch');
  const kept = readdirSync(directory);
  expect(kept).toHaveLength(KEPT_PLACES);
  const [own, ...others] = kept.filter((name) => !names.includes(name));
  expect(others).toEqual([]);
  expect(readdirSync(join(directory, own!))).not.toEqual([]);
  expect(names.filter((name) => kept.includes(name))).toEqual(names.slice(3));
});

test.each([
  ['its own', {}, true],
  ["another user's", { uid: 2 }, false],
  ['writable for a group', { mode: 0o40770 }, false],
  ['no directory', { isDirectory: () => false }, false],
])('a directory is used or not: %s', (_, changed, isTaken) => {
  expect(isOwn({ isDirectory: () => true, uid: 1, mode: 0o40700, ...changed }, 1)).toBe(isTaken);
});

test('SIGUSR1 opens no debugger [long]', async () => {
  const child = spawn(process.execPath, [MAIN, 'simulate', '--listen', '127.0.0.1:0']);
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  await once(child.stdout, 'data');
  child.kill('SIGUSR1');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(child.exitCode).toBeNull();
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(said).not.toMatch(/debugger/i);
});
