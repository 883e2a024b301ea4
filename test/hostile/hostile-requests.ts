/**
 * Senseless requests to every route of the page and the APIs. None of them may hide what the world's honest Birds
 * report, so every silence among them also has a matcher that no alert fits.
 */
import { request } from 'node:http';
import { pick } from '../../src/simulator/world/seeded-random.ts';
import type { Random } from '../../src/time/clock.ts';
import { builtInName, hostileText, hostileValue } from './hostile-values.ts';

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const PAGES = [
  '/',
  '/silence',
  '/acknowledge',
  '/resolve',
  '/birds',
  '/birds/',
  '/birds/eu/',
  '/flights/',
  '/flights/eu/',
  '/nests',
  '/wall',
  '/writes',
  '/report',
  '/report.csv',
  '/metrics',
  '/-/healthy',
  '/-/ready',
  '/style.css',
];
const APIS = [
  '/status',
  '/events',
  '/alerts',
  '/birds',
  '/birds/eu/',
  '/flights',
  '/nests',
  '/deliveries',
  '/writes',
  '/health',
  '/events/',
].map((path) => `/api/v1${path}`);
const ALERTMANAGER = ['/status', '/receivers', '/alerts', '/alerts/groups', '/silences', '/silence/'].map(
  (path) => `/api/v2${path}`,
);
const READ = [...PAGES, ...APIS, ...ALERTMANAGER];
const PARAMETERS = [
  'alert',
  'author',
  'birdId',
  'comment',
  'cron',
  'feed',
  'filter',
  'id',
  'inhibited',
  'limit',
  'matchers',
  'month',
  'nest',
  'before',
  'paused',
  'preview',
  'receiver',
  'region',
  'sig',
  'since',
  'state',
  'text',
  'timezone',
  'token',
  'type',
  'until',
  'window',
  'duration',
  'active',
  'silenced',
  'key',
  'start',
  'end',
];
const CRONS = [
  '0-99999999 * * * *',
  '*/1 * * * *',
  '0 0 29 2 *',
  '0 0 30 2 *',
  '59 23 31 12 7',
  '* * * * * *',
  '60 24 32 13 8',
  '@yearly',
  '0 0 1-31,1-31,1-31 * *',
  '1,2,3,4,5,6,7 */2 * * 1-5',
  '-1 * * * *',
  '1e3 * * * *',
  '*/0 * * * *',
  '7 3 29 2 *',
];
const WINDOWS = ['1h', '7d', '100000d', '0s', '1ms', '-1h', '59s', '8760h', 'constructor'];
const ZONES = ['UTC', 'Europe/Amsterdam', 'Pacific/Apia', 'constructor', '../../etc', '+99:99', ''];
const REGEXES = [
  'x.*',
  '(|.){0,1000}z',
  '(a+)+$',
  '((a{0,100}){0,100}){0,100}z',
  '[[:__proto__:]]',
  '[[:constructor:]]',
  '\\p{constructor}',
  '(?P<__proto__>x)',
  '('.repeat(1000),
  `${'(a|'.repeat(400)}b${')'.repeat(400)}`,
  '[\\s\\S]{1000}{1000}',
  '\\8',
  '(?=x)',
  '[z-a]',
  'x{99999}',
  `(?i)[${'\\pL'.repeat(660)}]`,
];
/** No alert has this label, so a silence with it mutes nothing. */
const NOWHERE = { name: 'region', value: 'nowhere', isRegex: false, isEqual: true };

export function hostileRequest(random: Random, url: string): HostileRequest {
  return pick(random, SORTS)(random, url);
}

type Sort = (random: Random, url: string) => HostileRequest;

const SORTS: readonly Sort[] = [
  read,
  read,
  read,
  silence,
  silence,
  silence,
  form,
  strangeForm,
  strangeBody,
  strangeMethod,
  strangeHeaders,
];

function read(random: Random): HostileRequest {
  const path = pick(random, READ);
  const below = path.endsWith('/') && path !== '/' ? part(random, 300) : '';
  const query = Array.from({ length: Math.floor(random() * 4) }, () => `${name(random)}=${value(random)}`);
  return {
    method: 'GET',
    path: `${path}${below}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    headers: {},
  };
}

const name = (random: Random) => (random() < 0.8 ? pick(random, PARAMETERS) : part(random, 100));

function value(random: Random): string {
  const chance = random();
  if (chance < 0.15) return encodeURIComponent(pick(random, CRONS));
  if (chance < 0.25) return encodeURIComponent(pick(random, WINDOWS));
  if (chance < 0.45) return encodeURIComponent(matcherText(random));
  if (chance < 0.5) return '%ff%fe%00%zz';
  return part(random, 3000);
}

const part = (random: Random, most: number) => encodeURIComponent(hostileText(random, most).toWellFormed());

function matcherText(random: Random): string {
  const op = pick(random, ['=', '!=', '=~', '!~']);
  const label = random() < 0.5 ? pick(random, ['bird', 'alertname', 'nest']) : builtInName(random);
  return `${label}${op}${JSON.stringify(pick(random, REGEXES))}`;
}

function silence(random: Random): HostileRequest {
  const isRegex = random() < 0.7;
  const matcher = {
    name:
      random() < 0.7 ? builtInName(random) : pick(random, ['bird', 'alertname', hostileText(random, 3000)]),
    value: isRegex ? pick(random, REGEXES) : hostileText(random, 3000),
    isRegex,
    isEqual: random() < 0.8,
  };
  const recurrence = {
    cron: pick(random, CRONS),
    timezone: pick(random, ZONES),
    duration: pick(random, WINDOWS),
  };
  const body = {
    matchers:
      random() < 0.5
        ? [matcher, NOWHERE]
        : [NOWHERE, matcher, ...Array(Math.floor(random() * 90)).fill(matcher)],
    startsAt: pick(random, ['2026-07-02T11:00:00Z', '0001-01-01T00:00:00Z', hostileText(random, 100)]),
    endsAt: pick(random, ['2026-07-03T11:00:00Z', '9999-12-31T23:59:59Z', '2026-07-03T11:00:00Z']),
    createdBy: pick(random, ['somebody', hostileText(random, 200)]),
    comment: pick(random, ['because', hostileText(random, 2000)]),
    ...(random() < 0.5 && { recurrence }),
    ...(random() < 0.2 && { [builtInName(random)]: hostileValue(random, 500), id: hostileText(random, 100) }),
  };
  return json('POST', '/api/v2/silences', JSON.stringify(body));
}

function form(random: Random, url: string): HostileRequest {
  const fields = new URLSearchParams({
    matchers: `region="nowhere" ${matcherText(random)}`,
    author: pick(random, ['somebody', hostileText(random, 300)]).toWellFormed(),
    comment: pick(random, ['why', hostileText(random, 3000)]).toWellFormed(),
    duration: pick(random, WINDOWS),
    cron: pick(random, CRONS),
    window: pick(random, WINDOWS),
    timezone: pick(random, ZONES),
    id: hostileText(random, 300).toWellFormed(),
    alert: hostileText(random, 300).toWellFormed(),
    sig: hostileText(random, 300).toWellFormed(),
    ...(random() < 0.5 && { preview: '1' }),
  });
  const path = pick(random, ['/silence', '/expire-silence', '/acknowledge', '/resolve', '/note']);
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: url };
  return { method: 'POST', path, headers, body: fields.toString() };
}

function strangeForm(random: Random, url: string): HostileRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: url };
  const count = pick(random, [10, 1000, 20_000]);
  const body = Array.from({ length: count }, (_, at) => `${at % 7 === 0 ? name(random) : 'x'}=%E0%A4%A`).join(
    '&',
  );
  return {
    method: 'POST',
    path: pick(random, ['/silence', '/acknowledge', '/resolve', '/note']),
    headers,
    body,
  };
}

function strangeBody(random: Random): HostileRequest {
  const path = pick(random, [
    '/api/v2/silences',
    '/api/v1/alerts/acknowledge',
    '/api/v1/alerts/resolve',
    '/api/v1/alerts/note',
    '/api/v1/deliveries/retry',
  ]);
  const matchers = Array.from({ length: pick(random, [1, 3, 5000]) }, () => hostileValue(random, 500));
  const bodies = [
    '',
    'null',
    '[]',
    '{',
    '['.repeat(50_000),
    `{"matchers":${'{"a":'.repeat(20_000)}`,
    '"x"',
    '1e999',
    '{"__proto__":{"matchers":[]}}',
  ];
  const text =
    random() < 0.5
      ? pick(random, bodies)
      : JSON.stringify({ matchers, ids: matchers, createdBy: matchers[0], comment: matchers[0] });
  return json('POST', path, text);
}

function strangeMethod(random: Random): HostileRequest {
  const method = pick(random, ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'HEAD', 'POST']);
  return { ...json(method, `${pick(random, READ)}${part(random, 100)}`, random() < 0.5 ? '{}' : ''), method };
}

function strangeHeaders(random: Random): HostileRequest {
  const text = () =>
    hostileText(random, 3000)
      .replace(/[^\t\x20-\x7e]/g, '')
      .slice(0, 3000);
  return {
    method: pick(random, ['GET', 'POST']),
    path: pick(random, READ),
    headers: {
      [pick(random, ['host', 'x-forwarded-host', 'x-y'])]: text(),
      authorization: pick(random, ['Bearer ', 'Basic ', 'Basic Og==', text()]),
      origin: text(),
      'sec-fetch-site': pick(random, ['cross-site', 'none', text()]),
      'content-type': text(),
      accept: text(),
      cookie: text(),
      'accept-language': text(),
    },
  };
}

const json = (method: string, path: string, body: string): HostileRequest => ({
  method,
  path,
  headers: { 'content-type': 'application/json' },
  body,
});

/** The response; its status is 0 if the connection was closed. */
export function send(url: string, { method, path, headers, body }: HostileRequest): Promise<Answer> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const outgoing = request({ hostname, port, path, method, headers, agent: false }, async (incoming) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of incoming) chunks.push(chunk);
      } catch {
        // Only the result is judged.
      }
      const contentType = String(incoming.headers['content-type'] ?? '');
      resolve({ status: incoming.statusCode ?? 0, contentType, body: Buffer.concat(chunks).toString() });
    });
    outgoing.on('error', () => resolve({ status: 0, contentType: '', body: '' }));
    // Encoded here, in the caller's time, and not when the connection is there.
    outgoing.end(body === undefined ? undefined : Buffer.from(body));
  });
}
