import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makePrivateDirectory, trueName } from '../../../src/store/sqlite/private-files.ts';

const root = mkdtempSync(join(tmpdir(), 'nestwatch-private-'));
afterAll(() => rmSync(root, { recursive: true }));

test('creates every directory that is missing, for its user alone, and leaves those that exist', () => {
  const path = join(root, 'a', 'b', 'c');
  makePrivateDirectory(path);
  makePrivateDirectory(path);
  for (const one of [path, join(root, 'a', 'b'), join(root, 'a')])
    expect(statSync(one).mode & 0o777).toBe(0o700);
});

test.each(['/proc/nestwatch/nestwatch.db', '/dev/null/nestwatch.db'])(
  'says that no directory can be made for %s',
  (path) => {
    expect(() => trueName(path)).toThrow(`The store ${path} cannot be made or opened: `);
  },
);
