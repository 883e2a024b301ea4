/** Reads the search line of a list, `nest:Legal since:24h quota`, as the parameters of its address. */
import type { MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { LISTS } from '../../../operator/lists.ts';
import { ZONE_COOKIE } from './page-script.ts';

/** The parameter that holds the line. */
export const LINE = 'q';

const NAMES: ReadonlySet<string> = new Set(Object.values(LISTS).flat());
const PART = /([a-z]+):(?:"([^"]*)"|(\S+))|\S+/g;
/** Parameters that people do not type. */
const HIDDEN = new Set(['zone', 'cause']);
const STATES: ReadonlyMap<string, string> = new Map([
  ['active', 'firing'],
  ['over', 'resolved'],
]);

/** Leads from a line to the address that asks for the same by parameters, which others can be given. */
export const readSearchLine: MiddlewareHandler = async (c, next) => {
  const { searchParams } = new URL(c.req.url);
  const line = searchParams.get(LINE);
  if (line === null || c.req.method !== 'GET') return next();
  searchParams.delete(LINE);
  return c.redirect(`?${withLine(searchParams, line, getCookie(c, ZONE_COOKIE))}`, 303);
};

/** What stands in the line after it was read: all that is asked for. `others` are the parameters that it cannot hold. */
export function lineOf(given: URLSearchParams): {
  readonly line: string;
  readonly others: [string, string][];
} {
  const parts: string[] = [];
  const others: [string, string][] = [];
  for (const [name, value] of given) {
    if (value === '' || name === 'cursor') continue;
    const [said = value] = [...STATES].find(([, state]) => name === 'state' && state === value) ?? [];
    const part = name === 'text' ? value : `${name}:${/[\s"]/.test(said) ? `"${said}"` : said}`;
    const read = withLine(new URLSearchParams(), part);
    if (HIDDEN.has(name) || read.size !== 1 || read.get(name) !== value) others.push([name, value]);
    else parts.push(part);
  }
  return { line: parts.join(' '), others };
}

/** The parameters with those of the line, which go before. Words without a name are looked for as a text. */
export function withLine(given: URLSearchParams, line: string, zone = 'UTC'): URLSearchParams {
  const query = new URLSearchParams(given);
  const words: string[] = [];
  for (const [part, name = '', quoted, plain = ''] of line.matchAll(PART)) {
    const value = quoted ?? plain;
    if (NAMES.has(name)) query.set(name, name === 'state' ? (STATES.get(value) ?? value) : value);
    else words.push(part);
  }
  if (words.length > 0) query.set('text', words.join(' '));
  // Instants are typed in the reader's zone.
  if (/\b(since|until):/.test(line) && zone !== 'UTC' && !query.has('zone')) query.set('zone', zone);
  return query;
}
