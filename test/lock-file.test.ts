import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const LOCK = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

test('the lock file holds the packages of every platform: an install on one must not drop those of others', () => {
  // `npm ci` refuses a lock file without them, also where they are never installed.
  const missing = Object.values(LOCK.packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => !(`node_modules/${name}` in LOCK.packages)),
  );
  expect(missing).toEqual([]);
});

test('the lock file names no host', () => {
  expect(Object.values(LOCK.packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
