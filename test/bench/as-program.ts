import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SMALL_HEAP = join(import.meta.dirname, '../../src/small-heap.ts');

const LIKE_THE_PROGRAM = ['--import', pathToFileURL(SMALL_HEAP).href];

function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
    MALLOC_ARENA_MAX: '1',
  };
}

/**
 * Starts a process whose memory is like that of the program in its image: with the small heap, one heap of the C
 * library, and a compile cache, because without one the compiler's memory counts as well.
 */
export function forkAsProgram(
  file: string,
  args: readonly string[],
  execArgv: readonly string[] = [],
): ChildProcess {
  return fork(file, args, { execArgv: [...LIKE_THE_PROGRAM, ...execArgv], env: environment() });
}

/**
 * Fills the compile cache with a file that does nothing until it gets a message. What is cached depends on the
 * options.
 */
export function compileAsProgram(file: string, execArgv: readonly string[] = []): void {
  execFileSync(process.execPath, [...LIKE_THE_PROGRAM, ...execArgv, file], { env: environment() });
}
