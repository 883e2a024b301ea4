import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { createRecurrences } from '../../../src/domain/muting/silence.ts';
import {
  createAlertResolver,
  createNoteWriter,
  createSilenceEditor,
} from '../../../src/operator/act-on-alerts.ts';
import { loadMuting } from '../../../src/store/load-muting.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { ANYBODY } from '../../../src/web/access/identify.ts';
import { ENGLISH, type Words } from '../../../src/web/pages/frame/words.ts';
import { createPages } from '../../../src/web/pages/pages.ts';
import { anImpairment, NOW_US, putAlert, putDeliveries } from '../sample.ts';
import { putBirds } from '../sample-birds.ts';
import { serve } from '../served.ts';

const MINUTE = 60_000_000;

/** The same catalogue with each of its texts in brackets, so that texts from elsewhere stand out. */
function bracketed<T>(words: T): T {
  if (typeof words === 'string') return `⟦${words}⟧` as T;
  if (typeof words === 'function') {
    return ((...given: unknown[]) => bracketed(words(...given))) as T;
  }
  if (typeof words !== 'object' || words === null) return words;
  return Object.fromEntries(Object.entries(words).map(([name, one]) => [name, bracketed(one)])) as T;
}

/** The text outside all brackets. */
function outside(text: string): string {
  let depth = 0;
  return [...text]
    .filter((char) => {
      if (char === '⟦') depth += 1;
      if (char === '⟧') depth -= 1;
      return depth === 0 && char !== '⟧';
    })
    .join('');
}

/** Text and attributes that people see or hear, without texts of their own. */
function visible(page: string): string {
  const own = page
    .replace(/<style>[\s\S]*?<\/style>|<script[\s\S]*?<\/script>/g, ' ')
    .replace(/<(bdi|code|pre|textarea)\b[\s\S]*?<\/\1>/g, ' ');
  const attributes = [...own.matchAll(/ (?:aria-label|placeholder|title|data-title|alt)="([^"]*)"/g)];
  return [own.replace(/<[^>]*>/g, ' '), ...attributes.map(([, value]) => value)].join(' ');
}

/** Names, ids and words of the configuration, which pages show unchanged. */
const NAMES =
  /\b(nestwatch|Birds?|Nests?|Flights?|EU|US|UTC|ops|pager|email|Marketing|Sales|Translate blog|Post news|Old one|Contentful|Anna|schedule|webhook|critical|warning|info|flight|notification|bird_log|inventory|action)\b/g;

async function aFullWorld() {
  const served = await serve({
    impairments: async () => ({ impairments: [anImpairment()], space: undefined }),
  });
  const { store, post } = served;
  await putBirds(store);
  const ended = { state: 'resolved', startsAtUs: NOW_US - 9 * MINUTE, endsAtUs: NOW_US - MINUTE } as const;
  await putAlert(store, { id: 'b', ...ended });
  const down = { alertname: 'RegionDown', severity: 'critical', region: 'us' };
  await putAlert(store, { id: 'c', labels: down });
  await putDeliveries(store, [
    { id: '1', state: 'retry', attempts: 3, nextAttemptAtUs: NOW_US + MINUTE, lastError: 'HTTP 503' },
    { id: '2', state: 'dead', attempts: 3, settledAtUs: NOW_US },
  ]);
  await post('/api/v2/silences', {
    matchers: [{ name: 'nest', value: 'Sales', isRegex: false, isEqual: true }],
    ...{ startsAt: '2026-07-02T11:00:00Z', endsAt: '2026-07-02T14:00:00Z' },
    ...{ createdBy: 'Anna', comment: 'we know' },
  });
  await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
  await post('/api/v1/alerts/note', { id: 'a', author: 'Anna', text: 'we know' });
  return served;
}

type World = Awaited<ReturnType<typeof aFullWorld>>;

/** The pages of that world, with a catalogue made by the test. */
function pagesIn({ options }: World, words: Words): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    c.set('identity', ANYBODY);
    await next();
  });
  const recurrences = createRecurrences();
  const parts = {
    ...options,
    recurrences,
    regions: () => options.status().regions.map(({ region }) => region),
    muting: (tx: Transaction, nowUs: number) => loadMuting(tx, options.alerting, recurrences, nowUs),
    silenceEditor: createSilenceEditor({ ...options, recurrences }),
    alertResolver: createAlertResolver({ ...options, rules: options.alerting.rules }),
    noteWriter: createNoteWriter({ ...options, isPublicNest: () => true }),
  };
  app.route('/', createPages(parts, words));
  return app;
}

const PAGES = [
  ...[
    '/',
    '/?paused',
    '/alerts',
    '/alerts?silenced=true',
    '/alerts?state=resolved',
    '/alerts/a',
    '/alerts/b',
  ],
  ...[
    '/alerts/none',
    '/acknowledge?alert=a',
    '/acknowledge?alert=c',
    '/acknowledge?alert=b',
    '/resolve?alert=a',
  ],
  ...[
    '/resolve?alert=c',
    '/resolve?alert=b',
    '/birds',
    '/birds/eu/148890',
    '/birds/eu/none',
    '/nests',
    '/wall',
  ],
  ...['/flights/eu/f0', '/flights/eu/none', '/events', '/events/eu/flight/f0/failed', '/events/none'],
  ...['/deliveries', '/deliveries/1', '/deliveries/2', '/deliveries/none', '/silences', '/silence?alert=c'],
  ...[
    '/silence',
    '/silence?duration=x',
    '/search',
    '/search?text=blog',
    '/search?text=zzz',
    '/config',
    '/writes',
    '/alerts?since=yesterday',
    '/events?since=1h&until=2h',
    '/birds?standing=x',
    '/alerts?state=all&silenced=true',
  ],
  ...['/report', '/report?region=eu&nest=682', '/report?month=1'],
];

describe('every sentence of every page comes from the catalogue', () => {
  test.each(PAGES)('%s [long]', async (path) => {
    const world = await aFullWorld();
    const answer = await pagesIn(world, bracketed(ENGLISH)).request(path);
    const text = await answer.text();
    expect([200, 400, 404]).toContain(answer.status);
    const left = outside(visible(text)).replace(NAMES, ' ');
    expect([...new Set(left.match(/\p{L}{2,}/gu) ?? [])]).toEqual([]);
    expect(visible(text)).not.toMatch(/undefined|\[object/);
  });
});
