import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { ALERT_KINDS } from '../../../src/domain/kinds/kinds.ts';
import { createRecurrences } from '../../../src/domain/muting/recurrence.ts';
import { SUPPRESSION_REASONS } from '../../../src/domain/muting/suppression.ts';
import { ENGLISH_FINDINGS } from '../../../src/health/finding-words.ts';
import { createSilenceEditor } from '../../../src/operator/edit-silences.ts';
import type { NoAlert } from '../../../src/operator/no-alert.ts';
import { createAlertResolver } from '../../../src/operator/resolve-alerts.ts';
import { ANYBODY } from '../../../src/web/access/identify.ts';
import { createPages } from '../../../src/web/pages/pages.ts';
import { ENGLISH, type Words } from '../../../src/web/pages/words/english.ts';
import { GERMAN } from '../../../src/web/pages/words/german.ts';
import { LANGUAGES, wordsFor } from '../../../src/web/pages/words/languages.ts';
import { aDelivery, anAlert, anEvent, anImpairment, NOW_US, putAlert, putDeliveries } from '../sample.ts';
import { putBirds } from '../sample-birds.ts';
import { serve } from '../served.ts';

const MINUTE = 60_000_000;

describe('the language of a page', () => {
  test.each([
    ['nothing', undefined, undefined, 'en'],
    ['what the browser asks for', undefined, 'de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['its order', undefined, 'en;q=0.5, de;q=0.7', 'de'],
    ['what it does not take', undefined, 'de;q=0, fr', 'en'],
    ['what the reader chose', 'de', 'en', 'de'],
    ['a choice that there is not', 'toString', 'de', 'de'],
    ['nonsense', undefined, ';;q=,,=', 'en'],
  ])('goes by %s', (_, chosen, accepted, expected) => {
    expect(wordsFor(LANGUAGES, chosen, accepted).language).toBe(expected);
  });

  test('is named by the page, and not mixed up by caches', async () => {
    const { ask } = await serve();
    const { body, headers } = await ask('/alerts', { 'accept-language': 'de' });
    expect(body).toContain('<html lang="de">');
    expect(body).toContain('<h1>Alarme</h1>');
    expect(headers).toMatchObject({ 'content-language': 'de', vary: 'accept-language, cookie' });
  });

  test('is chosen by a link, which keeps the address and the choice', async () => {
    const { ask } = await serve();
    const page = await ask('/alerts?severity=critical');
    expect(page.body).toContain(
      '<a href="?severity=critical&amp;lang=de" lang="de" hreflang="de">Deutsch</a>',
    );
    const chosen = await ask('/alerts?severity=critical&lang=de');
    expect(chosen.status).toBe(303);
    expect(chosen.headers.location).toBe('./alerts?severity=critical');
    const [cookie = ''] = chosen.headers['set-cookie'] as string[];
    expect(cookie).toMatch(/^nestwatch_lang=de; .*Path=\/; HttpOnly; SameSite=Lax/);
    const kept = await ask('/alerts', { cookie: cookie.split(';')[0]! });
    expect(kept.body).toContain('<html lang="de">');
  });

  test('is not another address, whatever is requested', async () => {
    const { ask } = await serve();
    for (const path of [
      '/?lang=de',
      '/%2F%2Fevil.example.com?lang=de',
      '/birds/eu/a:b?lang=de',
      '/alerts/?lang=xx',
    ]) {
      const { status, headers } = await ask(path);
      expect([303, 404], path).toContain(status);
      expect(String(headers.location ?? './'), path).toMatch(/^\.\/[^/]*$/);
    }
    expect((await ask('/alerts?lang=xx')).headers).not.toHaveProperty('set-cookie');
    expect((await ask('/api/v1/alerts?lang=de')).status).toBe(400);
  });
});

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
  /\b(nestwatch|Birds?|Nests?|Flights?|EU|US|UTC|ops|pager|email|English|Deutsch|Marketing|Sales|Translate blog|Post news|Old one|Contentful|Anna|schedule|webhook|critical|warning|info|flight|notification|bird_log)\b/g;

async function aFullWorld() {
  const served = await serve({
    impairments: async () => ({ impairments: [anImpairment()], space: undefined }),
  });
  const { store, post } = served;
  await putBirds(store);
  const ended = { state: 'resolved', startsAtUs: NOW_US - 9 * MINUTE, endsAtUs: NOW_US - MINUTE } as const;
  await putAlert(store, anAlert({ id: 'b', ...ended }));
  const down = { alertname: 'RegionDown', severity: 'critical', region: 'us' };
  await putAlert(store, anAlert({ id: 'c', labels: down }));
  await putDeliveries(store, [
    aDelivery({
      id: '1',
      state: 'retry',
      attempts: 3,
      nextAttemptAtUs: NOW_US + MINUTE,
      lastError: 'HTTP 503',
    }),
    aDelivery({ id: '2', state: 'dead', attempts: 3, settledAtUs: NOW_US }),
  ]);
  await post('/api/v2/silences', {
    matchers: [{ name: 'nest', value: 'Sales', isRegex: false, isEqual: true }],
    ...{ startsAt: '2026-07-02T11:00:00Z', endsAt: '2026-07-02T14:00:00Z' },
    ...{ createdBy: 'Anna', comment: 'we know' },
  });
  await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
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
    silenceEditor: createSilenceEditor({ ...options, recurrences }),
    alertResolver: createAlertResolver({ ...options, rules: options.alerting.rules }),
  };
  const languages = new Map([words, GERMAN].map((one) => [one.language, one]));
  app.route('/', createPages(parts, languages));
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
  ...['/resolve?alert=c', '/resolve?alert=b', '/birds', '/birds/eu/148890', '/birds/eu/none', '/nests'],
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
  ],
  '/writes',
  '/alerts?since=yesterday',
  '/events?since=1h&until=2h',
  '/birds?standing=x',
];

describe('every sentence of every page comes from the catalogue', () => {
  test.each(PAGES)('%s', async (path) => {
    const world = await aFullWorld();
    const answer = await pagesIn(world, { ...bracketed(ENGLISH), language: 'en' }).request(path);
    const text = await answer.text();
    expect([200, 400, 404]).toContain(answer.status);
    const left = outside(visible(text)).replace(NAMES, ' ');
    expect([...new Set(left.match(/\p{L}{2,}/gu) ?? [])]).toEqual([]);
    expect(visible(text)).not.toMatch(/undefined|\[object/);
  });
});

describe('in German', () => {
  /** Words of which every longer English sentence contains one. */
  const ENGLISH_WORDS =
    /\b(the|is|are|were|and|its?|this|that|which|who|for|with|has|have|from|nothing|none|to)\b/i;

  test.each(PAGES)('%s has no English sentence left', async (path) => {
    const world = await aFullWorld();
    const { body } = await world.ask(path, { 'accept-language': 'de' });
    const text = visible(body).replace(NAMES, ' ');
    const at = text.search(ENGLISH_WORDS);
    expect(at < 0 ? '' : text.slice(Math.max(0, at - 80), at + 80)).toBe('');
    expect(visible(body)).not.toMatch(/undefined|\[object/);
  });

  test('every kind of alert, reason and finding has its words', () => {
    for (const kind of ALERT_KINDS) expect(GERMAN.kind(kind)).toMatch(/\S/);
    for (const reason of SUPPRESSION_REASONS) expect(GERMAN.suppression(reason)).not.toBe(reason);
    expect(GERMAN.kind('toString')).toBe(undefined);
    expect(Object.keys(GERMAN.findings)).toEqual(expect.arrayContaining(Object.keys(ENGLISH_FINDINGS)));
  });

  test('says why an event is part of no alert', () => {
    const say = (noAlert: NoAlert) => GERMAN.whyNoAlert(noAlert, () => 'um 12:00');
    expect(say({ why: 'no_kind', type: 'flight.succeeded' })).toBe(
      'Keine Art von Alarm entsteht aus flight.succeeded.',
    );
    const one = { kind: 'FlightFailed', forMs: 600_000, isCounted: false, reasons: ['too_short'] } as const;
    expect(say({ why: 'not_fired', each: [{ ...one, firesAtUs: undefined }] })).toBe(
      'FlightFailed wurde dadurch nicht aktiv: es war vorbei, bevor es 10 min angehalten hat, wie `for` seiner Regel verlangt.',
    );
    expect(say({ why: 'not_fired', each: [{ ...one, firesAtUs: 1 }] })).toMatch(
      /^FlightFailed wird um 12:00/,
    );
  });

  test('numbers, plurals, durations and instants are German', () => {
    expect(GERMAN.health.watching(10_000, 1)).toBe('10.000 Birds in 1 Region werden überwacht.');
    expect(GERMAN.health.watching(1, 2)).toBe('1 Bird in 2 Regionen wird überwacht.');
    expect(GERMAN.open.badgeFailing(1, 5)).toBe('1 von 5 scheitert');
    expect(GERMAN.open.counts({ well: 4, failing: 1, off: 0 })).toBe('4 in Ordnung, 1 scheitert');
    expect(GERMAN.alert.moreEvents(1)).toBe('Noch 1 wird nicht gezeigt.');
    expect(GERMAN.time.ago(NOW_US - 3 * 86_400_000_000, NOW_US)).toBe('vor 3 Tagen');
    expect(GERMAN.time.ago(NOW_US + 5 * MINUTE, NOW_US)).toBe('in 5 min');
    expect(GERMAN.time.lasting(3 * 86_400_000)).toBe('3 Tage');
    expect(GERMAN.time.took(5_400_000)).toBe('1,5 h');
    expect(GERMAN.time.percent(0.9756)).toBe('97,5 %');
    expect(GERMAN.time.instant(NOW_US, 'Europe/Berlin')).toBe('02.07.2026, 14:00:00 MESZ');
  });
});

test('text from outside stays text in every language', async () => {
  const { ask, store } = await serve();
  const hostile = '<img src=x onerror=alert(1)>"\'';
  const labels = { alertname: hostile, severity: hostile, region: 'eu', bird: hostile, bird_id: '1' };
  await putAlert(store, anAlert({ id: 'a', labels }), [
    anEvent({ id: 'e', bird: hostile, message: hostile }),
  ]);
  for (const path of ['/', '/alerts', '/alerts/a', '/events', '/acknowledge?alert=a']) {
    const { body } = await ask(path, { 'accept-language': 'de' });
    expect(body, path).not.toContain('<img');
    expect(body, path).toContain('&lt;img');
  }
});

test("what nestwatch itself wrote into an alert is marked as English, but not the service's words", async () => {
  const { ask, store } = await serve();
  const labels = { alertname: 'RegionDown', severity: 'critical', region: 'eu' };
  const annotations = { summary: 'EU does not answer', description: 'The last answer was 503' };
  await putAlert(store, anAlert({ id: 'down', labels, annotations }));
  await putAlert(store, anAlert({ id: 'failed' }), [anEvent({ id: '1', message: 'Kontingent erschöpft' })]);
  for (const path of ['/', '/alerts', '/alerts/down', '/resolve?alert=failed', '/alerts/failed']) {
    const german = (await ask(path, { 'accept-language': 'de' })).body;
    expect(german, path).toMatch(/lang="en">(EU does not answer|Flight of Translate blog failed)|Kontingent/);
    expect(german, path).not.toMatch(/lang="en">Kontingent/);
    expect((await ask(path)).body, path).not.toContain('<bdi lang=');
  }
  expect((await ask('/alerts/down', { 'accept-language': 'de' })).body).toContain(
    '<bdi lang="en">EU does not answer</bdi>',
  );
});
