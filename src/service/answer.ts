/** What an HTTP answer of the service means: its JSON, or one `NestwatchError` that says what to do about it. */
import { NestwatchError } from '../errors.ts';
import type { HttpResponse } from '../http/transport.ts';
import { isRecord } from './coerce.ts';

/** Longer waits are not kept: a garbled or hostile header must not end the watch. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** A whole number too long for a double: 2^53 has sixteen digits. Inside a text it may match too, which only costs time. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** Throws for every status but 2xx. `where` is the operation and region, for the message. */
export function checkStatus(response: HttpResponse, where: string, nowUs: number): void {
  const { status } = response;
  if (status >= 200 && status < 300) return;
  const waitMs = retryAfterMs(response, nowUs);
  const problem = problemOf(response.body);
  const facts = {
    status,
    ...(problem === undefined ? {} : { problem }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  };
  throw new NestwatchError(codeOfStatus(status, waitMs), `${where}: the service answered ${status}`, {
    facts,
  });
}

function codeOfStatus(status: number, waitMs: number | undefined) {
  if (status < 400) return 'redirected';
  if (status >= 500) return 'unavailable';
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      // Some gateways limit with 403; one that names a wait does.
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

/** The JSON of an answer. Throws `not_json` for HTML, for nothing and for what was cut short. */
export function jsonOf(response: HttpResponse, where: string): unknown {
  try {
    return parseJson(response.body);
  } catch (cause) {
    // Only one that could not be undone is left.
    const encoding = response.headers['content-encoding'];
    const packed = encoding === undefined ? '' : `, in the encoding ${JSON.stringify(encoding.slice(0, 50))}`;
    const what = response.body === '' ? 'an empty body' : `a body that is not JSON${packed}`;
    const facts = { status: response.status };
    throw new NestwatchError('not_json', `${where}: the service answered ${response.status} with ${what}`, {
      cause,
      facts,
    });
  }
}

/** The service's clock from the `Date` header (RFC 9110, 6.6.1), in whole seconds; null when unreadable. */
export function serverTimeUs(response: HttpResponse): number | null {
  const ms = Date.parse(response.headers.date ?? '');
  return Number.isNaN(ms) ? null : ms * 1000;
}

/** `Retry-After` (RFC 9110, 10.2.3) in seconds or as a date; undefined when absent or garbled. */
function retryAfterMs(response: HttpResponse, nowUs: number): number | undefined {
  const value = response.headers['retry-after']?.trim() ?? '';
  // A date is meant on the service's clock, whatever ours says.
  const sinceMs = (serverTimeUs(response) ?? nowUs) / 1000;
  const isDate = /^[A-Za-z]{3,9},? /.test(value);
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : isDate ? Date.parse(value) - sinceMs : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_RETRY_AFTER_MS, Math.max(0, ms));
}

function problemOf(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json = parseJson(body);
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/**
 * `JSON.parse` that keeps the digits of 64-bit ids: a whole number beyond 2^53 comes back as its text.
 * Throws `SyntaxError` for what is not JSON.
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
