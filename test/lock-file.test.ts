import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

function readLock(file: string): Lock {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Lock;
}

const LOCK = readLock('../package-lock.json');

test('the lock file contains the packages of every platform: an install on one must not drop those of others', () => {
  // `npm ci` refuses a lock file without them, even where they are never installed.
  const missing = Object.values(LOCK.packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => !(`node_modules/${name}` in LOCK.packages)),
  );
  expect(missing).toEqual([]);
});

test.each([
  '../package-lock.json',
  './store/postgres/newest/package-lock.json',
  './system/kubernetes-schemas/package-lock.json',
])('the lock file %s names no host', (file) => {
  const { packages } = readLock(file);
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
