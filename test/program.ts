import { join } from 'node:path';

/** The program that tests start as a process: the checkout's, or a bundle of it (`.ci/run`). */
export const MAIN = process.env.NESTWATCH_MAIN ?? join(import.meta.dirname, '../src/main.ts');
