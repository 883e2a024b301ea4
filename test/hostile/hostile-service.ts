/**
 * Sits between the daemon and a region's service and alters its responses: either any response of the region, or only
 * what concerns one Bird, so that the other Birds must be watched as usual.
 */
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/http/transport.ts';
import { pick } from '../../src/simulator/world/seeded-random.ts';
import { type Clock, type Random, sleep } from '../../src/time/clock.ts';
import { hostileText, hostileValue } from './hostile-values.ts';

export interface HostileService {
  /** The share of responses that are altered, from 0 to 1. */
  readonly share: number;
  /** The only Bird whose records are altered; absent for all responses of the region. */
  readonly birdId?: string;
  readonly mostCharacters: number;
  readonly mostItems: number;
}

export interface HostileParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
  /** Runs work of the test itself, whose time does not count for the daemon. */
  readonly apart: <T>(work: () => T) => T;
}

type Alter = (
  response: HttpResponse,
  plan: HostileService,
  parts: HostileParts,
) => HttpResponse | Promise<HttpResponse>;

export function hostileService(inner: Transport, plan: HostileService, parts: HostileParts): Transport {
  const { random, apart } = parts;
  return {
    async send(request) {
      const response = await inner.send(request);
      if (random() >= plan.share) return response;
      if (plan.birdId === undefined)
        return fitting(request, await apart(() => pick(random, ALTERATIONS)(response, plan, parts)));
      const isOfBird = request.url.includes(`/birds/${plan.birdId}/`);
      return fitting(
        request,
        apart(() => withRows(response, plan, random, isOfBird)),
      );
    },
    close: inner.close,
  };
}

/** Like the real transport, it refuses responses that are too large. */
export function fitting({ maxBodyBytes: most = 0 }: HttpRequest, response: HttpResponse): HttpResponse {
  // A character has at least one byte. If it has more, that does not matter here.
  if (response.body.length > most)
    throw new NestwatchError('too_large', `more than ${most} bytes were answered`);
  return response;
}

const withBody =
  (body: string): Alter =>
  (response) => ({ ...response, body });
const withHeader =
  (name: string, value: (random: Random) => string): Alter =>
  (response, _plan, { random }) => ({ ...response, headers: { ...response.headers, [name]: value(random) } });
const withStatus =
  (status: number): Alter =>
  (response, { mostCharacters }, { random }) => ({
    ...response,
    status,
    body: random() < 0.5 ? response.body : JSON.stringify(hostileValue(random, mostCharacters)),
  });

const DATES = ['Thu, 01 Jan 2099 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', 'NaN', '', '275760-09-13'];

const ALTERATIONS: readonly Alter[] = [
  withBody(''),
  withBody('null'),
  withBody('{"items":null,"totalCount":-1}'),
  withBody('<html><script>alert(1)</script></html>'),
  withBody(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  withBody(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
  withBody('{"__proto__":{"items":[],"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  withHeader('date', (random) => pick(random, DATES)),
  withHeader('retry-after', (random) => pick(random, ['1e999', '-5', '99999999999', ...DATES])),
  withHeader('content-type', (random) =>
    pick(random, ['text/html', 'image/png', '', 'application/json; charset=x']),
  ),
  withHeader('content-encoding', (random) => pick(random, ['gzip', 'constructor', '\u001b[2J'])),
  withHeader('constructor', () => '__proto__'),
  ...[204, 302, 400, 401, 403, 404, 408, 413, 429, 500, 503].map(withStatus),
  truncated,
  withRowsAnyhow,
  withRowsAnyhow,
  withRowsAnyhow,
  withRowsAnyhow,
  manyItems,
  longText,
  drip,
];

function truncated(response: HttpResponse, _plan: HostileService, { random }: HostileParts): HttpResponse {
  return { ...response, body: response.body.slice(0, Math.floor(random() * response.body.length)) };
}

function withRowsAnyhow(
  response: HttpResponse,
  plan: HostileService,
  { random }: HostileParts,
): HttpResponse {
  return withRows(response, plan, random, true);
}

function manyItems(
  response: HttpResponse,
  { mostItems }: HostileService,
  { random }: HostileParts,
): HttpResponse {
  const item = pick(random, [
    '{}',
    '0',
    'null',
    '""',
    '[]',
    '{"id":"1"}',
    '{"id":1,"name":"x","status":"active"}',
  ]);
  const list = `[${Array(mostItems).fill(item).join(',')}]`;
  const isPage = response.body.includes('"items"');
  return { ...response, body: isPage ? `{"items":${list},"totalCount":${mostItems}}` : list };
}

function longText(
  response: HttpResponse,
  { mostCharacters }: HostileService,
  { random }: HostileParts,
): HttpResponse {
  const long = JSON.stringify(hostileText(random, 100).slice(0, 10)).slice(1, -1) || 'x';
  const whole = long.repeat(Math.floor(mostCharacters / long.length));
  return { ...response, body: response.body.replace(/:"[^"]*"/, () => `:"${whole}"`) };
}

/** As if sent byte by byte: over a network the request ends with its timeout. */
async function drip(
  _response: HttpResponse,
  _plan: HostileService,
  { clock, timeoutMs }: HostileParts,
): Promise<HttpResponse> {
  await sleep(clock, timeoutMs);
  throw new NestwatchError('timeout', `no whole answer within ${timeoutMs} ms`);
}

/** Alters fields of records, and adds things to lists that are not records. */
function withRows(
  response: HttpResponse,
  plan: HostileService,
  random: Random,
  isAll: boolean,
): HttpResponse {
  if (response.status !== 200 || response.body === '') return response;
  const { birdId, mostCharacters } = plan;
  const isMeant = (row: Readonly<Record<string, unknown>>) =>
    isAll ||
    [row.birdId, row.workflowId, row.entityId].some((id) => String(id) === birdId) ||
    isBirdItself(row, birdId);
  const json = JSON.parse(response.body, (_key: string, value: unknown) => {
    if (Array.isArray(value)) return [...value, ...strangers(value, random, isAll)];
    if (!isRecord(value) || !isMeant(value) || 'items' in value) return value;
    const fields = Object.entries(value).map(([name, own]) => [name, fieldOf(name, own)] as const);
    if (random() < 0.2) fields.push([hostileText(random, 100), hostileValue(random, 100)]);
    return ownFields(fields);
  });

  function fieldOf(name: string, own: unknown): unknown {
    // The ids stay: another Bird's record must not become this one's.
    if (!isAll && ['id', 'birdId', 'workflowId', 'nestId', 'workspaceId'].includes(name)) return own;
    if (random() < 0.6) return own;
    return random() < 0.5 && typeof own === 'string'
      ? hostileText(random, mostCharacters)
      : hostileValue(random, mostCharacters);
  }

  return { ...response, body: JSON.stringify(json) };
}

/** A Bird as in a list: no other record has its id. */
function isBirdItself(row: Readonly<Record<string, unknown>>, birdId: string | undefined): boolean {
  return 'triggerType' in row && String(row.id) === birdId;
}

/** Things in a list that are not records, or the same record again. */
function strangers(list: readonly unknown[], random: Random, isAll: boolean): unknown[] {
  if (random() > 0.3) return [];
  const [first] = list;
  const more: unknown[] = [null, 5, 'x', [], {}, { id: null }, { id: {} }, true];
  if (isAll && first !== undefined) more.push(first, first);
  return [pick(random, more)];
}

/** Including `__proto__`, as `JSON.parse` creates it. */
function ownFields(fields: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [name, value] of fields) {
    Object.defineProperty(record, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return record;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
