import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readFile, readFileLater, readGiven } from '../../src/cli/config-file.ts';
import { openConfigFile } from '../../src/cli/read-config.ts';
import { FileRereads, MOST_CONFIG_BYTES, whyUnreadable } from '../../src/document/read-file.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createTestEdge } from './test-io.ts';

let folder: string;
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nestwatch-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a regular file is read whole, up to its limit, even if it has no size', () => {
  writeFileSync(at('a'), 'é'.repeat(500));
  expect(readFile(at('a'), 1_000)).toBe('é'.repeat(500));
  expect(() => readFile(at('a'), 999)).toThrow('is larger than');
  expect(readFile('/proc/self/status', 64 * 1024)).toMatch(/^Name:/);
});

test('what would never end or never begin is refused at once', () => {
  execFileSync('mkfifo', [at('pipe')]);
  expect(() => readFile(at('pipe'), 100)).toThrow('is not a regular file');
  expect(() => readFile('/dev/zero', 100)).toThrow('is not a regular file');
  expect(() => readFile(folder, 100)).toThrow('EISDIR');
  expect(() => readFile(at('nothing'), 100)).toThrow('ENOENT');
});

const CONFIG = 'regions: { eu: { base_url: https://x, token_file: token } }\n';

function opened() {
  writeFileSync(at('n.yaml'), CONFIG);
  writeFileSync(at('token'), 'first');
  return openConfigFile(createTestEdge({ clock: createVirtualClock() }).edge, at('n.yaml'));
}

test('a file that becomes a pipe, or too large, is read once more, which says so; one that is missing is waited for', async () => {
  const file = opened();
  file.read();
  const looks = async () => [await file.isNew(), await file.isNew()];
  expect(await looks()).toEqual([false, false]);
  rmSync(at('n.yaml'));
  expect(await looks()).toEqual([false, false]);
  for (const [make, why] of [
    [() => execFileSync('mkfifo', [at('new')]), 'is not a regular file'],
    [() => writeFileSync(at('new'), ' '.repeat(MOST_CONFIG_BYTES + 1)), 'is larger than 4 MiB'],
  ] as const) {
    make();
    renameSync(at('new'), at('n.yaml'));
    expect(await looks()).toEqual([false, true]);
    await expect(file.readAgain()).rejects.toThrow(`the file ${why}`);
    expect(await looks()).toEqual([false, false]);
  }
  writeFileSync(at('n.yaml'), CONFIG);
  expect(await looks()).toEqual([false, true]);
});

test('a configuration that comes by a pipe is kept, and new only when a regular file is in the place of the pipe', async () => {
  writeFileSync(at('n.yaml'), CONFIG);
  writeFileSync(at('token'), 'first');
  execFileSync('mkfifo', [at('pipe')]);
  spawn('sh', ['-c', 'cat "$0" > "$1"', at('n.yaml'), at('pipe')]);
  const file = openConfigFile(createTestEdge({ clock: createVirtualClock() }).edge, at('pipe'));
  const config = file.read();
  expect(readGiven(at('pipe'))(at('pipe'), MOST_CONFIG_BYTES)).toBe(CONFIG);
  expect(await file.warnings(config)).toContainEqual(expect.objectContaining({ path: 'route' }));
  const looks = async () => [await file.isNew(), await file.isNew()];
  expect(await looks()).toEqual([false, false]);
  renameSync(at('n.yaml'), at('pipe'));
  expect(await looks()).toEqual([false, true]);
});

test('a file of declared Birds is a part of it: one that changes or is missing is read once more [long]', async () => {
  writeFileSync(at('birds.yaml'), 'birds: []');
  const file = opened();
  writeFileSync(at('n.yaml'), `${CONFIG}rules: [{ kind: BirdNotAsDeclared, declared: birds.yaml }]\n`);
  file.read();
  const looks = async () => [await file.isNew(), await file.isNew()];
  expect(await looks()).toEqual([false, false]);
  writeFileSync(at('birds.yaml'), 'birds: [{ region: eu, nest: A, bird: B }]');
  expect(await looks()).toEqual([false, true]);
  expect((await file.readAgain()).rules[0]).toMatchObject({
    declared: [{ region: 'eu', nest: 'A', bird: 'B' }],
  });
  expect(await looks()).toEqual([false, false]);
  rmSync(at('birds.yaml'));
  expect(await looks()).toEqual([false, true]);
  await expect(file.readAgain()).rejects.toThrow(/rules\[0\]\.declared: .*birds\.yaml does not exist/);
  expect(await looks()).toEqual([false, false]);
  writeFileSync(at('birds.yaml'), 'birds: []');
  expect(await looks()).toEqual([false, true]);
});

test('nothing else waits while the file is on a mount that does not answer', async () => {
  writeFileSync(at('n.yaml'), CONFIG);
  writeFileSync(at('token'), 'first');
  const hung = Promise.withResolvers<string>();
  const file = openConfigFile(createTestEdge().edge, at('n.yaml'), () => hung.promise);
  file.read();
  const looked = file.isNew();
  expect(await Promise.race([looked, 'not known yet'])).toBe('not known yet');
  hung.resolve(`${CONFIG}# changed`);
  expect([await looked, await file.isNew()]).toEqual([false, true]);
});

test('a secret whose file becomes a pipe keeps its last value, and says so until it can be read again', async () => {
  const clock = createVirtualClock();
  writeFileSync(at('n.yaml'), CONFIG);
  writeFileSync(at('token'), 'first');
  let ended = Promise.resolve('');
  const file = openConfigFile(createTestEdge({ clock }).edge, at('n.yaml'), (path, mostBytes) => {
    ended = readFileLater(path, mostBytes);
    return ended;
  });
  const { token } = file.read().regions[0]!;
  async function used(): Promise<unknown[]> {
    await clock.advance(1_000);
    token.reveal();
    await ended.catch(() => {});
    await clock.advance(0);
    return [token.reveal(), ...file.unread()];
  }
  const failing = (why: string) => ['first', ['regions.eu.token_file', `${at('token')} ${why}`]];
  expect(await used()).toEqual(['first']);
  rmSync(at('token'));
  execFileSync('mkfifo', [at('token')]);
  expect(await used()).toEqual(failing('is not a regular file'));
  rmSync(at('token'));
  writeFileSync(at('token'), 'x'.repeat(64 * 1024 + 1));
  expect(await used()).toEqual(failing('is larger than 64 KiB'));
  writeFileSync(at('token'), 'second');
  expect(await used()).toEqual(['second']);
});

test('a secret whose file never answers keeps its last value and says so, while the others are read again', async () => {
  const clock = createVirtualClock();
  const { edge } = createTestEdge({ clock });
  const regions = ['a', 'b', 'c'].map(
    (name) => `${name}: { base_url: https://${name}, token_file: ${name} }`,
  );
  writeFileSync(at('n.yaml'), `regions: { ${regions.join(', ')} }\n`);
  for (const name of ['a', 'b', 'c']) writeFileSync(at(name), `first ${name}`);
  let [version, hung] = ['second', Promise.withResolvers<string>()];
  const asked: string[] = [];
  const file = openConfigFile(edge, at('n.yaml'), (path) => {
    const name = path.slice(-1);
    asked.push(name);
    return name === 'a' ? hung.promise : Promise.resolve(`${version} ${name}`);
  });
  const config = file.read();
  const tokens = () => config.regions.map(({ token }) => token.reveal());
  await clock.advance(1_000);
  file.readSecretsAgain();
  await clock.advance(0);
  expect(tokens()).toEqual(['first a', 'second b', 'second c']);
  version = 'third';
  await clock.advance(9_999);
  tokens();
  await clock.advance(0);
  expect([tokens(), [...file.unread()]]).toEqual([['first a', 'third b', 'third c'], []]);
  await clock.advance(1);
  expect([...file.unread()]).toEqual([['regions.a.token_file', `${at('a')} does not answer`]]);
  expect(asked).toEqual(['a', 'b', 'c', 'b', 'c']);
  hung.resolve('second a');
  await clock.advance(1_000);
  expect([tokens()[0], [...file.unread()]]).toEqual(['second a', []]);
});

test('a file that does not answer stops neither the process nor a reload, which refuses it each time until it answers, and is tried again then', async () => {
  const clock = createVirtualClock();
  writeFileSync(at('n.yaml'), CONFIG);
  writeFileSync(at('token'), 'first');
  const hung = Promise.withResolvers<string>();
  const file = openConfigFile(createTestEdge({ clock }).edge, at('n.yaml'), (path) =>
    path === at('token') ? hung.promise : Promise.resolve(`${CONFIG}digests: []\n`),
  );
  file.read();
  const looks = async () => [await file.isNew(), await file.isNew()];
  expect(await looks()).toEqual([false, true]);
  const refused = `regions.eu.token_file: ${at('token')} does not answer`;
  const first = file.readAgain().catch(String);
  await clock.advance(10_000);
  expect(await first).toContain(refused);
  expect(await file.readAgain().catch(String)).toContain(refused);
  expect(await looks()).toEqual([false, false]);
  hung.resolve('second');
  await clock.advance(0);
  expect(await looks()).toEqual([false, true]);
  expect((await file.readAgain()).regions[0]!.token.reveal()).toBe('second');
});

test('two files that never answer keep no other one from being read again, and three never take every thread', async () => {
  const clock = createVirtualClock();
  const asked: string[] = [];
  const rereads = new FileRereads(clock, (path) => {
    asked.push(path);
    return path.startsWith('hung') ? new Promise(() => {}) : Promise.resolve(path);
  });
  const told = new Map<string, string>();
  const look = (path: string) => rereads.of(path, 100, (read) => told.set(path, textOrWhy(read)));
  const looks = ['hung/a', 'hung/b', 'c', 'hung d', 'e'].map(look);
  async function pass(ms: number) {
    await clock.advance(ms);
    for (const one of looks) one();
    await clock.advance(0);
  }
  await pass(1_000);
  expect(asked).toEqual(['hung/a', 'hung/b']);
  await pass(10_000);
  expect([asked, told.get('c')]).toEqual([['hung/a', 'hung/b', 'c', 'hung d'], 'c']);
  await pass(10_000);
  expect(asked).toHaveLength(4);
  expect(Object.fromEntries(told)).toEqual({
    'hung/a': 'does not answer',
    'hung/b': 'does not answer',
    'hung d': 'does not answer',
    c: 'waits for others that do not answer',
    e: 'waits for others that do not answer',
  });
});

test.each(['', 'mount/'])(
  'three files in %j that never answer keep no configuration from being replaced',
  async (mount) => {
    const clock = createVirtualClock();
    const regions = (token: (name: string) => string) =>
      `regions: { ${['a', 'b', 'c'].map((name) => `${name}: { base_url: https://${name}, ${token(name)} }`).join(', ')} }\n`;
    mkdirSync(at('mount'));
    for (const name of ['a', 'b', 'c']) writeFileSync(at(mount + name), 'first');
    writeFileSync(
      at('n.yaml'),
      regions((name) => `token_file: ${mount}${name}`),
    );
    const file = openConfigFile(createTestEdge({ clock }).edge, at('n.yaml'), (path, mostBytes) =>
      path === at('n.yaml') ? readFileLater(path, mostBytes) : new Promise(() => {}),
    );
    file.read();
    await clock.advance(1_000);
    file.readSecretsAgain();
    await clock.advance(10_000);
    writeFileSync(
      at('n.yaml'),
      regions((name) => `token: ${name}`),
    );
    expect([await file.isNew(), await file.isNew()]).toEqual([false, true]);
    expect((await file.readAgain()).regions.map(({ token }) => token.reveal())).toEqual(['a', 'b', 'c']);
  },
);

function textOrWhy(read: () => string): string {
  try {
    return read();
  } catch (error) {
    return whyUnreadable(error);
  }
}
