import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readFile } from '../../src/cli/config-file.ts';
import { openConfigFile } from '../../src/cli/read-config.ts';
import { MOST_CONFIG_BYTES } from '../../src/document/read-file.ts';
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
  return openConfigFile(createTestEdge().edge, at('n.yaml'));
}

test('a file that becomes a pipe, or too large, is read once more, which says so; one that is missing is waited for', () => {
  const file = opened();
  file.read();
  const looks = () => [file.isNew(), file.isNew()];
  expect(looks()).toEqual([false, false]);
  rmSync(at('n.yaml'));
  expect(looks()).toEqual([false, false]);
  for (const [make, why] of [
    [() => execFileSync('mkfifo', [at('new')]), 'is not a regular file'],
    [() => writeFileSync(at('new'), ' '.repeat(MOST_CONFIG_BYTES + 1)), 'is larger than 4 MiB'],
  ] as const) {
    make();
    renameSync(at('new'), at('n.yaml'));
    expect(looks()).toEqual([false, true]);
    expect(() => file.read()).toThrow(`the file ${why}`);
    expect(looks()).toEqual([false, false]);
  }
  writeFileSync(at('n.yaml'), CONFIG);
  expect(looks()).toEqual([false, true]);
});

test('a secret whose file becomes a pipe keeps its last value, and says so until it can be read again', () => {
  const file = opened();
  const { token } = file.read().regions[0]!;
  expect([token.reveal(), [...file.unread()]]).toEqual(['first', []]);
  rmSync(at('token'));
  execFileSync('mkfifo', [at('token')]);
  expect(token.reveal()).toBe('first');
  expect([...file.unread()]).toEqual([['regions.eu.token_file', `${at('token')} is not a regular file`]]);
  rmSync(at('token'));
  writeFileSync(at('token'), 'x'.repeat(64 * 1024 + 1));
  expect(token.reveal()).toBe('first');
  expect([...file.unread().values()]).toEqual([`${at('token')} is larger than 64 KiB`]);
  writeFileSync(at('token'), 'second');
  expect([token.reveal(), [...file.unread()]]).toEqual(['second', []]);
});
