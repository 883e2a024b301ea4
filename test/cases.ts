/**
 * Long tests (`*.long.test.ts`) run some of their cases in `npm test` and all of them in `npm run test:long`, which also
 * runs the tests whose title ends in `[long]`. The vitest configuration says which; there is no other difference.
 */
import { join, relative } from 'node:path';
import { expect, inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    readonly cases: 'some' | 'all';
  }
}

const ROOT = join(import.meta.dirname, '..');

/**
 * Prints a line that begins with the name of the test file. `console` is not used: vitest prints "unknown test" for what
 * a file says while Node loads it.
 */
export function say(line: string): void {
  process.stderr.write(`${relative(ROOT, expect.getState().testPath!)}: ${line}\n`);
}

/** The cases of a long test: `some`, or in the long run `all`. Prints how many of them run. */
export function casesOf<T>(what: string, all: readonly T[], some: readonly T[]): readonly T[] {
  const cases = inject('cases') === 'all' ? all : some;
  const rest = cases.length < all.length ? '; all: npm run test:long' : '';
  say(`${what}: ${cases.length} of ${all.length}${rest}`);
  return cases;
}

/** The amount for a long test: `some`, or in the long run `all`. Prints it. */
export function amountOf(what: string, all: number, some: number): number {
  const amount = inject('cases') === 'all' ? all : some;
  say(`${what}: ${amount}${amount === all ? '' : `; ${all}: npm run test:long`}`);
  return amount;
}

/** Picks this many of them, from the first one on, as far apart as possible. */
export function spread<T>(all: readonly T[], count: number): T[] {
  const step = all.length / count;
  return Array.from({ length: Math.min(count, all.length) }, (_, at) => all[Math.floor(at * step)]!);
}
