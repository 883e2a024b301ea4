/** What every page knows of the request that it answers. */
import type { Context } from 'hono';
import type { Clock } from '../../../time/clock.ts';
import { ENGLISH, type Words } from '../words/english.ts';

export interface Page {
  /**
   * What leads from this page to where nestwatch is served: empty, or `../` for each step. Every address in a page
   * begins with it, so that a proxy's path breaks none.
   */
  readonly root: string;
  readonly nowUs: number;
  readonly words: Words;
}

export function pageOf(c: Context, clock: Clock): Page {
  return { root: rootFrom(new URL(c.req.url).pathname), nowUs: clock.nowUs(), words: ENGLISH };
}

/** `../` for each folder that the path lies in. */
export function rootFrom(pathname: string): string {
  return '../'.repeat(Math.max(0, pathname.split('/').length - 2));
}
