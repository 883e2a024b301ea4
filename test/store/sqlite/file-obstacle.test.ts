import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findObstacle } from '../../../src/store/sqlite/private-files.ts';

const root = mkdtempSync(join(tmpdir(), 'nestwatch-obstacle-'));
const at = (name: string) => join(root, name);
writeFileSync(at('file'), '');
symlinkSync(at('file'), at('link'));
afterAll(() => rmSync(root, { recursive: true }));

test.each([
  ['file', undefined],
  ['link', undefined],
  ['new.db', undefined],
  ['new/deep/n.db', undefined],
  ['.', 'ROOT is a directory'],
  ['file/n.db', 'ROOT/file is not a directory'],
  ['link/deep/n.db', 'ROOT/link is not a directory'],
])('what is in the way of %s: %s', (name, obstacle) => {
  expect(findObstacle(at(name))).toBe(obstacle?.replace('ROOT', root));
});

// Root may write everywhere.
test.runIf(process.getuid?.() !== 0)('says what may not be written to', () => {
  writeFileSync(at('kept'), '');
  chmodSync(at('kept'), 0o400);
  expect(findObstacle(at('kept'))).toBe(`${at('kept')} may not be written to (EACCES)`);
  chmodSync(root, 0o500);
  expect(findObstacle(at('new/n.db'))).toBe(`${root} may not be written to (EACCES)`);
  expect(findObstacle(at('file'))).toBe(`${root} may not be written to (EACCES)`);
  chmodSync(root, 0o700);
});
