/**
 * The parts of undici that every daemon uses. The whole also loads `fetch`, caches and mocks, which take 7 MiB of
 * memory; it is needed only for proxies. Without it a pool has `dispatch`, but none of the methods built on that.
 */
import { createRequire } from 'node:module';

type Undici = typeof import('undici');

const require = createRequire(import.meta.url);

export const Pool: Undici['Pool'] = require('undici/lib/dispatcher/pool.js');
export const errors: Undici['errors'] = require('undici/lib/core/errors.js');

/** Loads the whole of it at the first call. */
export function wholeUndici(): Undici {
  return require('undici');
}
