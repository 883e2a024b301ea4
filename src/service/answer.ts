/** What an HTTP answer of the service means: its JSON, or one `NestwatchError` that says what to do about it. */
import { NestwatchError } from '../errors.ts';
import { retryAfterMs } from '../http/server-time.ts';
import type { HttpResponse } from '../http/transport.ts';
import { LIMITS } from '../limits.ts';
import { plainText } from '../text/plain-text.ts';
import { type ItemReading, readItems } from './answer-items.ts';
import { isRecord } from './coerce.ts';
import { parseJson } from './parse-json.ts';

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

/** Where a redirect leads, as a service does that has moved; without a query, which may hold what is secret. */
function whereTo({ headers: { location = '' } }: HttpResponse): string {
  const target = URL.parse(location);
  const shown = target ? target.origin + target.pathname : (location.split(/[?#]/, 1)[0] ?? '');
  return shown === '' ? '' : `, a redirect to ${plainText(shown, MAX_TARGET_LENGTH)}`;
}

/** The beginning of a body, for people who ask by hand; nothing where there is none. */
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
  // Only one that could not be undone is left.
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
