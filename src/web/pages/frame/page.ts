/** What every page knows of the request that it answers. */
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { isZone } from '../../../text/zone-time.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Words } from '../words/english.ts';
import type { Languages } from '../words/languages.ts';
import { ZONE_COOKIE } from './page-script.ts';

export interface Page {
  /**
   * What leads from this page to where nestwatch is served: empty, or `../` for each step. Every address in a page
   * begins with it, so that a proxy's path breaks none.
   */
  readonly root: string;
  readonly nowUs: number;
  readonly words: Words;
  /** The time zone of the reader, as far as it is known; otherwise UTC. */
  readonly zone: string;
  /** All languages that the page could be in. */
  readonly languages: Languages;
  /** What the address asks for. */
  readonly query: string;
}

export function pageOf(c: Context, clock: Clock): Page {
  const { pathname, search } = new URL(c.req.url);
  return {
    root: rootFrom(pathname),
    nowUs: clock.nowUs(),
    words: c.get('words'),
    languages: c.get('languages'),
    zone: zoneOf(getCookie(c, ZONE_COOKIE)),
    query: search,
  };
}

function zoneOf(named: string | undefined): string {
  return named !== undefined && isZone(named) ? named : 'UTC';
}

/** `../` for each folder that the path lies in. */
export function rootFrom(pathname: string): string {
  return '../'.repeat(Math.max(0, pathname.split('/').length - 2));
}
