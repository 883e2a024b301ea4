/**
 * For each limit, input that goes far beyond it, as an attacker would send it. With the limit the hostile world must
 * pass its checks; without it they must fail. This shows that each limit is needed, and that its absence is noticed.
 */
import type { HttpResponse } from '../../src/http/transport.ts';
import type { LimitName } from '../../src/limits.ts';
import { manyBrowsers, manyPublicBirds, manyPublicNests, manyWrites } from './beside-store.ts';
import {
  longLinks,
  longRetryAfter,
  manyBirdsShown,
  manyCauses,
  manyFiring,
  manyFollowers,
  manyNests,
  manyOrigins,
  manyPasswords,
  manyRequests,
  unreadLog,
} from './beside-worlds.ts';
import type { HostileRequest } from './hostile-requests.ts';
import { mistakeWithLargeAnswers } from './large-answers.ts';
import {
  mistakeWithLargeFile,
  mistakeWithManyMistakes,
  mistakeWithManyValues,
} from './large-configuration.ts';

export type Excess =
  /** What the region `eu` answers to matching paths. */
  | {
      readonly of: 'answers';
      readonly path: RegExp;
      readonly alter: (response: HttpResponse) => HttpResponse;
    }
  /** Requests to the page, one after another. */
  | {
      readonly of: 'requests';
      readonly count: number;
      readonly request: (at: number) => HostileRequest;
      /** Alerts with long names that are in the store before. */
      readonly alerts?: number;
      /** This many alerts that no longer exist are acknowledged. */
      readonly acknowledged?: number;
      /** The largest allowed size of a response that lists everything within the limit. */
      readonly mostBytes?: number;
    }
  /** A configuration to be read. */
  | { readonly of: 'configuration'; readonly text: () => string }
  /** Connections that are opened and send nothing. */
  | { readonly of: 'connections'; readonly count: number }
  /** Connections that request the largest responses and do not read them. */
  | { readonly of: 'unread answers'; readonly count: number }
  /** What no world reaches; returns what is wrong. */
  | { readonly of: 'beside'; readonly mistake: () => Promise<string | undefined> };

const MIB = 2 ** 20;
const NOTIFICATIONS = /\/notifications\?/;
const BIRDS = /\/birds(\?|$)/;

/** The same response with each record of its list changed. */
const eachItem =
  (change: (item: Readonly<Record<string, unknown>>, at: number) => unknown) =>
  (response: HttpResponse): HttpResponse => {
    if (response.status !== 200) return response;
    const json = JSON.parse(response.body);
    const items = (Array.isArray(json) ? json : json.items).map(change);
    return { ...response, body: JSON.stringify(Array.isArray(json) ? items : { ...json, items }) };
  };

/** Created when it is needed: all of them at once would not fit into any heap. */
const page = (items: () => string) => (response: HttpResponse) => ({
  ...response,
  body: `{"items":[${items()}],"totalCount":1}`,
});

/** Created once, for a list that is requested many times. */
function list(items: () => string): (response: HttpResponse) => HttpResponse {
  let body: string | undefined;
  return (response) => {
    body ??= `[${items()}]`;
    return { ...response, body };
  };
}

function many(item: (at: number) => string, characters: number): string {
  const length = item(0).length + 1;
  return Array.from({ length: Math.floor(characters / length) }, (_, at) => item(at)).join(',');
}

const bird = (at: number) => `{"id":"${1_000_000 + at}","name":"x","status":"active","triggerType":"manual"}`;

const post = (path: string, body: string): HostileRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body,
});

const NOWHERE = { name: 'region', value: 'nowhere', isRegex: false };

function silence(matchers: readonly object[], more: object = {}): HostileRequest {
  const times = { startsAt: '2026-07-02T11:00:00Z', endsAt: '2026-07-03T11:00:00Z' };
  return post(
    '/api/v2/silences',
    JSON.stringify({ matchers, ...times, createdBy: 'x', comment: 'x', ...more }),
  );
}

const matches = (value: string) => silence([{ name: 'bird', value, isRegex: true }, NOWHERE]);

/** One for every limit: the compiler requires it of whoever adds a limit. */
export const EXCESSES: Readonly<Record<LimitName, Excess>> = {
  configuration_bytes: { of: 'beside', mistake: mistakeWithLargeFile },
  configuration_values: { of: 'beside', mistake: mistakeWithManyValues },
  configuration_mistakes: { of: 'beside', mistake: mistakeWithManyMistakes },
  answer_bytes: { of: 'answers', path: BIRDS, alter: list(() => `"${'x'.repeat(300 * MIB)}"`) },
  page_bytes: { of: 'answers', path: NOTIFICATIONS, alter: page(() => `"${'x'.repeat(300 * MIB)}"`) },
  bytes_in_flight: { of: 'beside', mistake: mistakeWithLargeAnswers },
  inventory_items: {
    of: 'answers',
    path: BIRDS,
    alter: list(() => many(bird, 6 * MIB)),
  },
  answer_values: {
    of: 'answers',
    path: BIRDS,
    alter: list(() => `{"id":"1","more":[{}${',{}'.repeat(5 * MIB)}]}`),
  },
  page_values: {
    of: 'answers',
    path: NOTIFICATIONS,
    alter: page(() => `{"id":"1","createdAt":"2026-07-02T12:00:00Z","more":[{}${',{}'.repeat(2 * MIB)}]}`),
  },
  malformed_items: {
    of: 'answers',
    path: BIRDS,
    alter: list(() => many((at) => `{"at":"${1_000_000 + at}"}`, 0.8 * MIB)),
  },
  problem_characters: {
    of: 'answers',
    path: NOTIFICATIONS,
    alter: (response) => ({ ...response, status: 400, body: `[{}${',{}'.repeat(2.5 * MIB)}]` }),
  },
  kept_origins: { of: 'beside', mistake: manyOrigins },
  retry_after_ms: { of: 'beside', mistake: longRetryAfter },
  name_characters: {
    of: 'answers',
    path: BIRDS,
    alter: eachItem((item) => ({ ...item, name: 'Bird '.repeat(MIB) })),
  },
  word_characters: {
    of: 'answers',
    path: NOTIFICATIONS,
    alter: eachItem((item) => ({ ...item, eventType: 'Word'.repeat(MIB) })),
  },
  message_characters: {
    of: 'answers',
    path: NOTIFICATIONS,
    alter: eachItem((item) => ({ ...item, message: 'words '.repeat(MIB) })),
  },
  id_characters: {
    of: 'answers',
    path: NOTIFICATIONS,
    alter: eachItem((item) => ({ ...item, id: `${item.id}${'0123456789'.repeat(MIB / 4)}` })),
  },
  link_characters: { of: 'beside', mistake: longLinks },
  waiting_passwords: { of: 'beside', mistake: manyPasswords },
  flight_duration: {
    of: 'answers',
    path: /\/flights\?/,
    alter: eachItem((item) => ({ ...item, duration: 1e9 })),
  },
  shown_birds: { of: 'beside', mistake: manyBirdsShown },
  shown_nests: { of: 'beside', mistake: manyNests },
  shown_causes: { of: 'beside', mistake: manyCauses },
  shown_firing: { of: 'beside', mistake: manyFiring },
  web_connections: { of: 'connections', count: 400 },
  public_nests: { of: 'beside', mistake: manyPublicNests },
  public_birds: { of: 'beside', mistake: manyPublicBirds },
  subscribed_browsers: { of: 'beside', mistake: manyBrowsers },
  kept_writes: { of: 'beside', mistake: manyWrites },
  stream_clients: { of: 'beside', mistake: manyFollowers },
  waiting_requests: { of: 'beside', mistake: manyRequests },
  unread_bytes: { of: 'unread answers', count: 20 },
  unread_log_bytes: { of: 'beside', mistake: unreadLog },
  request_head_bytes: {
    of: 'requests',
    count: 3,
    request: () => ({
      method: 'GET',
      path: `/api/v2/alerts?${'filter=a&'.repeat(2 * MIB)}`,
      headers: {},
    }),
  },
  request_bytes: {
    of: 'requests',
    count: 1,
    request: () =>
      post('/api/v2/silences', `{"matchers":[{}${',{"name":"a","value":"b"}'.repeat(2 * MIB)}]}`),
  },
  cron_characters: {
    of: 'requests',
    count: 3,
    request: () => {
      const cron = `0 0 ${'1,2,3,4,5,6,7,'.repeat(30_000)}8 * *`;
      return silence([NOWHERE], { recurrence: { cron, timezone: 'UTC', duration: '1h' } });
    },
  },
  pattern_instructions: {
    of: 'requests',
    count: 3,
    request: () => {
      const large = Array.from({ length: 90 }, (_, at) => ({ value: `(x?y?z?${at}){0,900}`, isRegex: true }));
      return silence([...large.map((one) => ({ name: 'bird', ...one })), NOWHERE]);
    },
  },
  template_ms: {
    of: 'configuration',
    text: () => {
      const loops = '{% for a in (1..1000) %}{% for b in (1..1000) %}{{ a }}{% endfor %}{% endfor %}';
      const region = 'regions: { eu: { base_url: "https://x.example", token: x } }';
      return `${region}\nrules: [{ kind: FlightFailed, annotations: { a: "${loops}" } }]`;
    },
  },
  matchers: {
    of: 'requests',
    count: 60,
    request: () => silence([...Array(9_000).fill({ name: 'a', value: 'b', isRegex: false }), NOWHERE]),
  },
  matching_ms: {
    of: 'requests',
    alerts: 1_000,
    count: 1,
    request: () => ({
      method: 'GET',
      path: `/api/v2/alerts?filter=${encodeURIComponent('bird=~"(x?|.){0,700}z"')}`,
      headers: {},
    }),
  },
  silence_characters: {
    of: 'requests',
    count: 300,
    request: (at) =>
      silence([...Array(90).fill({ name: 'a', value: `${at}`.padEnd(2_000, 'x'), isRegex: false }), NOWHERE]),
  },
  silences: {
    of: 'requests',
    count: 1_100,
    request: (at) => silence([{ name: 'bird', value: `${at}`, isRegex: false }, NOWHERE]),
  },
  acknowledgements: {
    of: 'requests',
    alerts: 20,
    acknowledged: 9_990,
    mostBytes: 8 * MIB,
    count: 1,
    request: () =>
      post(
        '/api/v1/alerts/acknowledge',
        JSON.stringify({
          ids: Array.from({ length: 20 }, (_, at) => `long-${at}`),
          author: 'x',
          comment: 'x',
        }),
      ),
  },
  silences_instructions: {
    of: 'requests',
    count: 900,
    request: (at) => matches(`(x${at}|.){0,500}z`),
  },
};
