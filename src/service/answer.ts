/** Interprets HTTP answers of the service: returns their JSON, or throws one `NestwatchError` that says what to do. */

import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { NestwatchError } from '../errors.ts';
import { retryAfterMs } from '../http/server-time.ts';
import type { HttpResponse } from '../http/transport.ts';
import { LIMITS, type LimitName } from '../limits.ts';
import { plainText } from '../text/plain-text.ts';
import { isRecord } from './resources.ts';

/** Throws for every status but 2xx. `where` is the operation and region, for the message. */
export function checkStatus(response: HttpResponse, where: string, nowUs: number): void {
  const { status } = response;
  if (status >= 200 && status < 300) return;
  const waitMs = retryAfterMs(response, nowUs);
  const problem = problemOf(response.body);
  const facts = {
    status,
    ...(problem === undefined ? textOf(response) : { problem }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  };
  const code = codeOfStatus(status, waitMs);
  const words = `${where}: the service answered ${status}`;
  throw new NestwatchError(code, code === 'redirected' ? words + whereTo(response) : words, { facts });
}

const MAX_TARGET_LENGTH = 200;

/** Where a redirect leads, for example if the service has moved; without the query, which may contain secrets. */
function whereTo({ headers: { location = '' } }: HttpResponse): string {
  const target = URL.parse(location);
  const shown = target ? target.origin + target.pathname : (location.split(/[?#]/, 1)[0] ?? '');
  return shown === '' ? '' : `, a redirect to ${plainText(shown, MAX_TARGET_LENGTH)}`;
}

/** The beginning of a body, for people who call operations by hand; nothing if it is empty. */
function textOf({ body }: HttpResponse): { readonly text?: string } {
  return body === '' ? {} : { text: body.slice(0, LIMITS.problem_characters.most).toWellFormed() };
}

function codeOfStatus(status: number, waitMs: number | undefined) {
  if (status < 400) return 'redirected';
  if (status >= 500) return 'unavailable';
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      // Some gateways limit the rate with 403. A 403 that names a wait does.
      return waitMs === undefined ? 'forbidden' : 'rate_limited';
    case 404:
      return 'not_found';
    case 408:
      return 'timeout';
    case 429:
      return 'rate_limited';
    default:
      return 'bad_request';
  }
}

/** The JSON of an answer. Throws `not_json` for HTML, an empty body, and JSON that was cut short. */
export function jsonOf(response: HttpResponse, where: string): unknown {
  try {
    return parseJson(response.body);
  } catch (cause) {
    throw notJson(response, where, cause);
  }
}

/** The same, with each item of its list read by `reading`. Also throws `too_large`. */
export async function itemsOf<T>(
  response: HttpResponse,
  where: string,
  reading: ItemReading<T>,
): Promise<unknown> {
  try {
    return await readItems(response.body, reading);
  } catch (error) {
    if (!(error instanceof NestwatchError)) throw notJson(response, where, error);
    throw new NestwatchError(error.code, `${where}: ${error.message}`, { facts: error.facts });
  }
}

function notJson(response: HttpResponse, where: string, cause: unknown): NestwatchError {
  // The transport removes this header from what it could decode, so it is still there only if it could not.
  const encoding = response.headers['content-encoding'];
  const packed = encoding === undefined ? '' : `, in the encoding ${JSON.stringify(encoding.slice(0, 50))}`;
  const what = response.body === '' ? 'an empty body' : `a body that is not JSON${packed}`;
  const facts = { status: response.status, ...textOf(response) };
  return new NestwatchError('not_json', `${where}: the service answered ${response.status} with ${what}`, {
    cause,
    facts,
  });
}

function problemOf(body: string): Readonly<Record<string, unknown>> | undefined {
  if (body.length > LIMITS.problem_characters.most) return undefined;
  try {
    const json = parseJson(body);
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

// Reads the list in an answer item by item. Parsing takes as long as there are values, however short they are, and
// cannot be interrupted. So an answer with too many of them is refused before it is parsed, and the event loop turns
// while the items are read.

/** Answers up to this length cannot hold too many values. A page of 500 entries has some 180,000 characters. */
const UNCOUNTED_LENGTH = 256 * 1024;

/** The items read between two turns of the event loop, which takes some milliseconds. */
const ITEMS_AT_ONCE = 1_000;

interface ItemReading<T> {
  /** Whether it is a list of Nests, Birds or Users, which the service returns as a whole. */
  readonly isWhole?: boolean;
  readonly read: (item: unknown) => T;
}

/**
 * Parses the JSON of an answer, with each item of its list replaced by what `read` returned for it. The list is the
 * answer itself or its key `items`. Throws `too_large` if there are more items or values than the limits allow, and
 * `SyntaxError` if it is not JSON.
 */
export async function readItems<T>(
  text: string,
  { isWhole = false, read }: ItemReading<T>,
): Promise<unknown> {
  const values = isWhole ? 'answer_values' : 'page_values';
  if (text.length > UNCOUNTED_LENGTH && mostValues(text) > LIMITS[values].most) throw tooMany(values);
  const json = parseJson(text);
  const list = isRecord(json) ? json.items : json;
  if (!Array.isArray(list)) return json;
  if (isWhole && list.length > LIMITS.inventory_items.most) throw tooMany('inventory_items');
  const items: T[] = [];
  for (const item of list) {
    items.push(read(item));
    if (items.length % ITEMS_AT_ONCE === 0) await turnOfEventLoop();
  }
  return isRecord(json) ? { ...json, items } : items;
}

const [QUOTE, COMMA, OPEN_LIST, BACKSLASH, OPEN_OBJECT] = [0x22, 0x2c, 0x5b, 0x5c, 0x7b];

/** At most how many values a text of JSON holds, except keys: each follows a comma or a bracket outside of texts. */
function mostValues(text: string): number {
  let [values, isInText] = [1, false];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) isInText = !isInText;
    else if (isInText) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === COMMA || unit === OPEN_LIST || unit === OPEN_OBJECT) values += 1;
  }
  return values;
}

function tooMany(limit: LimitName): NestwatchError {
  const { most, unit, of } = LIMITS[limit];
  return new NestwatchError('too_large', `more than ${most} ${unit} in ${of}`, { facts: { limit } });
}

// Parses JSON whose numbers may be 64-bit ids.

/** A whole number that may be too long for a double: 2^53 has sixteen digits. A match inside a text only costs time. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses JSON like `JSON.parse`, but keeps the digits of 64-bit ids: a whole number beyond 2^53 is returned as its
 * text. Throws `SyntaxError` if it is not JSON.
 */
export function parseJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && isLongInteger(value, source) ? source : value,
  );
}

function isLongInteger(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
}
