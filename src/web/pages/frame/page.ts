/** What every page knows about its request. */
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import type { html } from 'hono/html';
import type { Clock } from '../../../time/clock.ts';
import { isTimezone } from '../../../time/zone-format.ts';
import { ZONE_COOKIE } from './page-script.ts';
import type { Words } from './words.ts';

export type Html = ReturnType<typeof html>;

declare module 'hono' {
  interface ContextVariableMap {
    words: Words;
  }
}

/** Gives every page its words. */
export function withWords(words: Words): MiddlewareHandler {
  return async (c, next) => {
    c.set('words', words);
    await next();
  };
}

export interface Page {
  /**
   * The relative path from this page to the root of the site: empty, or `../` for each folder. Every address in a
   * page begins with it, so that it also works under a proxy's path.
   */
  readonly root: string;
  readonly nowUs: number;
  readonly words: Words;
  /** The reader's time zone, if known; otherwise UTC. */
  readonly zone: string;
  /** Who is logged in at an identity provider, and so can log out; absent for everybody else. */
  readonly loggedIn?: string;
  /** The query of the list of alerts, to which actions lead back and where several can be chosen; absent elsewhere. */
  readonly back?: string;
  /** The query of the address. */
  readonly query: string;
}

export function pageOf(c: Context, clock: Clock): Page {
  const { pathname, search } = new URL(c.req.url);
  const { by, name = '' } = c.get('identity') ?? {};
  const named = getCookie(c, ZONE_COOKIE);
  return {
    ...(by === 'oidc' && { loggedIn: name }),
    root: rootFrom(pathname),
    nowUs: clock.nowUs(),
    words: c.get('words'),
    zone: named !== undefined && isTimezone(named) ? named : 'UTC',
    query: search,
  };
}

/** `../` for each folder of the path. */
export function rootFrom(pathname: string): string {
  return '../'.repeat(Math.max(0, pathname.split('/').length - 2));
}
