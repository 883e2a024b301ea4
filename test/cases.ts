/** What long tests share. */
import { join, relative } from 'node:path';
import { expect } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/**
 * Prints a line that begins with the name of the test file. `console` is not used: vitest prints "unknown test" for what
 * a file says while Node loads it.
 */
export function say(line: string): void {
  process.stderr.write(`${relative(ROOT, expect.getState().testPath!)}: ${line}\n`);
}

/** Picks this many of them, from the first one on, as far apart as possible. */
export function spread<T>(all: readonly T[], count: number): T[] {
  const step = all.length / count;
  return Array.from({ length: Math.min(count, all.length) }, (_, at) => all[Math.floor(at * step)]!);
}
