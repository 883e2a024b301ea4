/** Interprets HTTP answers of the service: returns their JSON, or throws one `NestwatchError` that says what to do. */
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
