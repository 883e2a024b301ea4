import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fingerprint } from '../../../src/domain/alert/alert.ts';
import { NestwatchError } from '../../../src/errors.ts';
import type { Impairment } from '../../../src/health/impairment.ts';
import type { RegionProgress } from '../../../src/region-progress.ts';
import { WORDS } from '../../domain/kinds/kind-words.ts';
import {
  anAlert,
  anEvent,
  anImpairment,
  aStatus,
  LABELS,
  NOW_US,
  putAlert,
  putAlertsOf,
  putDeliveries,
  putEvents,
} from '../sample.ts';
import { serve } from '../served.ts';
import { read } from './read.ts';

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

function headline(page: string): string {
  return /<h1[^>]*>([^<]*)<\/h1>/.exec(page)![1]!;
}

describe('when all is quiet', () => {
  test('says so, and since when it is known', async () => {
    const { body } = await (await serve()).ask('/');
    expect(headline(body)).toBe('All quiet');
    const text = read(body);
    expect(text).toContain('Watching 19 Birds in 2 regions. The oldest reading was 50 s ago.');
    expect(text).toContain('No active alerts.');
    expect(text).not.toContain('impairs');
    expect(text).toContain('Nothing but Flights that succeeded.');
    expect(text).toContain('Flights · 3 active 12 40 s ago');
    expect(body).toContain(
      '<time datetime="2026-07-02T11:59:20.000Z" title="2026-07-02 11:59:20 UTC">40 s ago',
    );
  });

  test('refreshes itself until a person pauses it', async () => {
    const { ask } = await serve();
    expect((await ask('/')).body).toContain('<noscript><meta http-equiv="refresh" content="10"></noscript>');
    const paused = await ask('/?paused');
    expect(paused.body).not.toMatch(/http-equiv="refresh"|data-stream/);
    expect(read(paused.body)).toContain('paused · resume');
  });

  test('allows only its one style and its one script, by hash', async () => {
    const { body, headers } = await (await serve()).ask('/');
    expect(body).not.toMatch(/<script [^>]|\son\w+=|style="/);
    expect(body.match(/<script>/g)).toHaveLength(1);
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(body) ?? [];
    const scriptHash = createHash('sha256').update(script).digest('base64');
    expect(headers['content-security-policy']).toContain(`script-src 'sha256-${scriptHash}'`);
    const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(body) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
  });
});

describe('the time zone of the reader', () => {
  const asked = async (zone: string) => {
    const { ask } = await serve();
    return (await ask('/', { cookie: `nestwatch_zone=${zone}` })).body;
  };

  test('comes from the cookie that the script sets, and UTC is shown on hover', async () => {
    const body = await asked('Europe/Amsterdam');
    expect(body).toContain('title="2026-07-02 12:00:00 UTC">2026-07-02 14:00:00 CEST</time>');
    expect(read(body)).toContain('Times in Europe/Amsterdam');
    expect(body).toContain('<body data-zone="Europe/Amsterdam"');
  });

  test('applies to what alerts say', async () => {
    const { ask, store } = await serve();
    const annotations = { summary: 'Down since 2 Jul 2026, 23:30 UTC', description: '' };
    const saysSo = async (...paths: readonly string[]) => {
      for (const path of paths) {
        const { body } = await ask(path, { cookie: 'nestwatch_zone=Europe/Amsterdam' });
        expect(read(body)).toContain('Down since 3 Jul 2026, 01:30 CEST');
      }
    };
    await putAlert(store, { id: 'a', annotations });
    await saysSo('/', '/alerts', '/alerts/a', '/acknowledge?alert=a');
    await putAlert(store, { id: 'b', annotations });
    await saysSo('/', '/alerts');
  });

  test('applies to since and until of lists, and stays in their addresses', async () => {
    const { ask, store } = await serve();
    await putEvents(store, [{ id: '1', occurredAtUs: Date.parse('2026-07-01T22:30:00Z') * 1000 }]);
    const cookie = 'nestwatch_zone=Europe/Amsterdam';
    const empty = (await ask('/events', { cookie })).body;
    expect(read(empty)).toContain('Since (Europe/Amsterdam)');
    expect(empty).toContain('<input type="hidden" name="zone" value="Europe/Amsterdam">');
    const asked = 'since=2026-07-02&zone=Europe%2FAmsterdam';
    // Whoever opens the address.
    for (const who of [{ cookie }, {}]) {
      const { body } = await ask(`/events?${asked}`, who);
      expect(read(body)).toContain('Until (Europe/Amsterdam)');
      expect(body).toContain('data-zone');
      expect(body).toMatch(/href="events\/eu/);
      expect(body).toContain(`href="api/v1/events?${asked.replace('&', '&amp;')}"`);
    }
    expect((await ask<{ events: unknown[] }>(`/api/v1/events?${asked}`)).json.events).toHaveLength(1);
    const inUtc = await ask('/events?since=2026-07-02', { cookie });
    expect(read(inUtc.body)).toContain('Since (UTC)');
    expect(inUtc.body).not.toMatch(/href="events\/eu/);
    expect((await ask('/alerts?zone=Europe%2FAmsterdam', { cookie })).body).toContain('No active alerts.');
    expect((await ask('/events?zone=Mars')).status).toBe(400);
  });

  test.each(['', 'Europe/Nowhere', '%22%3E%3Cb%3E', 'x'.repeat(2000)])(
    '%j is not a zone: UTC',
    async (zone) => {
      const body = await asked(zone);
      expect(body).toContain('">2026-07-02 12:00:00 UTC</time>');
      expect(read(body)).toContain('Times in UTC');
    },
  );
});

describe('the headline', () => {
  const down = anImpairment({
    ...{ reason: 'region_down', severity: 'critical', stopsHeartbeat: true },
    finding: { sort: 'region_down', facts: { region: 'eu', said: 'connect ECONNREFUSED' } },
  });
  const behind = anImpairment();
  const reading = anImpairment({
    severity: 'info',
    finding: { sort: 'first_pass', facts: { region: 'us', progress: undefined } },
  });
  const impaired = (...impairments: Impairment[]) => ({
    impairments: async () => ({ impairments, space: undefined }),
  });
  const iconOf = (body: string) =>
    /fill="(.*?)"/.exec(decodeURIComponent(/rel="icon" href="(.*?)"/.exec(body)![1]!))![1]!;
  const [GOOD, WARN, BAD, QUIET] = ['#2e9e66', '#d9962b', '#d64545', '#8a949c'];

  test.each([
    ['nothing', [], 'All quiet', GOOD],
    ['what ends by itself', [reading], 'First reading of US under way', QUIET],
    ['a limit', [behind], 'EU is behind', WARN],
    ['what is grave, and how much more there is', [down, behind, reading], 'EU is down, 2 more', BAD],
  ] as const)('names %s, and the icon has its colour', async (_, impairments, expected, colour) => {
    const { body } = await (await serve(impaired(...impairments))).ask('/');
    expect(headline(body)).toBe(expected);
    expect(body).toContain(`<title>nestwatch: ${expected}</title>`);
    expect(iconOf(body)).toBe(colour);
  });

  test('counts the waiting alerts, after what is grave and before the rest [long]', async () => {
    const grave = await serve(impaired(down));
    await putAlert(grave.store, { id: 'a' });
    const { body } = await grave.ask('/');
    expect(headline(body)).toBe('EU is down, 1 new alert');
    expect(body).toContain('<title>(1) nestwatch: EU is down, 1 new alert</title>');
    const passing = await serve(impaired(reading));
    await putAlert(passing.store, { id: 'a' });
    expect(headline((await passing.ask('/')).body)).toBe('1 new alert');
    const small = await serve(impaired(behind));
    await putAlert(small.store, { id: 'a' });
    expect(headline((await small.ask('/')).body)).toBe('1 new alert, EU is behind');
  });

  test('is amber about an alert that somebody has acknowledged, and says who', async () => {
    const { ask, post, store } = await serve();
    await putAlert(store, { id: 'a' });
    expect(iconOf((await ask('/')).body)).toBe(BAD);
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
    const { body } = await ask('/');
    expect(headline(body)).toBe('1 known alert');
    expect(iconOf(body)).toBe(WARN);
    expect(read(body)).toContain('1 acknowledged by Anna.');
  });

  test('is red about a new warning, and amber about what impairs the watch once somebody has acknowledged it [long]', async () => {
    const { ask, post, store } = await serve(impaired(down));
    const warning = { ...LABELS, severity: 'warning' };
    await putAlert(store, { id: 'w', labels: warning });
    const labels = { alertname: 'RegionDown', severity: 'critical', region: 'eu' };
    await post('/api/v1/alerts/acknowledge', { ids: ['w'], author: 'Anna' });
    expect(iconOf((await ask('/')).body)).toBe(BAD);
    await putAlert(store, { id: 'd', alertname: 'RegionDown', labels });
    await post('/api/v1/alerts/acknowledge', { ids: ['d'], author: 'Anna' });
    expect(iconOf((await ask('/')).body)).toBe(WARN);
    const calm = await serve();
    await putAlert(calm.store, { id: 'w', labels: warning });
    expect(iconOf((await calm.ask('/')).body)).toBe(BAD);
    await putAlert(calm.store, { id: 'w', labels: { ...warning, severity: 'info' } });
    expect(iconOf((await calm.ask('/')).body)).toBe(WARN);
  });

  test('says who silenced what fires, and why; a cause that is all silenced is not red', async () => {
    const { ask, post, store } = await serve();
    await putAlertsOf(store, ['1', '2'], { error: 'Quota' });
    expect((await ask('/')).body).toContain('<li class="alert bad">');
    const times = { startsAt: new Date(NOW_US / 1000), endsAt: new Date(NOW_US / 1000 + 3_600_000) };
    const matchers = [{ name: 'error', value: 'Quota', isRegex: false, isEqual: true }];
    await post('/api/v2/silences', { matchers, ...times, createdBy: 'Ben', comment: 'new quota on Monday' });
    const { body } = await ask('/');
    expect(headline(body)).toBe('2 known alerts');
    expect(read(body)).toContain('2 silenced by Ben: new quota on Monday.');
    expect(body).not.toContain('<li class="alert bad">');
  });

  test('is red about a new warning beside hundreds of critical alerts that are silenced, and it is shown [long]', async () => {
    const { ask, post, store } = await serve();
    const silenced = Array.from({ length: 210 }, (_, index) =>
      anAlert({
        id: `s-${index}`,
        labels: { ...LABELS, nest: 'Sandbox', error: `e${index % 30}`, bird_id: `${index}` },
      }),
    );
    await store.transaction((tx) => tx.alerts.put(silenced));
    const endsAt = new Date(NOW_US / 1000 + 3_600_000).toISOString();
    const matchers = [{ name: 'nest', value: 'Sandbox', isRegex: false }];
    await post('/api/v2/silences', { matchers, endsAt, createdBy: 'Anna', comment: 'maintenance' });
    await putAlert(store, { id: 'new', labels: { ...LABELS, severity: 'warning', bird: 'The new one' } });
    const { body } = await ask('/');
    expect([headline(body), iconOf(body)]).toEqual(['1 new alert', BAD]);
    expect(read(body)).toContain('The new one');
  });

  test('has the colour of the severest, however many began after it, and that one comes first [long]', async () => {
    const { ask, store } = await serve();
    const warning = { ...LABELS, severity: 'warning', bird: 'Later' };
    await store.transaction((tx) =>
      tx.alerts.put([
        anAlert({ id: 'first', startsAtUs: NOW_US - 60 * MINUTE }),
        ...Array.from({ length: 600 }, (_, index) =>
          anAlert({ id: `later-${index}`, labels: { ...warning, bird_id: String(index) } }),
        ),
      ]),
    );
    const { body } = await ask('/');
    expect(headline(body)).toBe('601 new alerts');
    expect(iconOf(body)).toBe(BAD);
    expect(body.indexOf('Translate blog')).toBeGreaterThan(0);
    expect(body.indexOf('Translate blog')).toBeLessThan(body.indexOf('Later'));
  });

  test('knows any number of alerts that are acknowledged or silenced [long]', async () => {
    const { ask, post, store } = await serve();
    const ids = Array.from({ length: 600 }, (_, index) => `a-${index}`);
    const labelsOf = (id: string) => ({ ...LABELS, bird_id: id });
    await store.transaction((tx) => tx.alerts.put(ids.map((id) => anAlert({ id, labels: labelsOf(id) }))));
    await post('/api/v1/alerts/acknowledge', { ids, author: 'Anna' });
    expect(headline((await ask('/')).body)).toBe('600 known alerts');

    const others = Array.from({ length: 1_100 }, (_, index) => `b-${index}`);
    await store.transaction((tx) =>
      tx.alerts.put(others.map((id) => anAlert({ id, labels: { ...labelsOf(id), nest: 'Sandbox' } }))),
    );
    expect(headline((await ask('/')).body)).toBe('1100 new alerts');
    await post('/api/v2/silences', {
      matchers: [{ name: 'nest', value: 'Sandbox', isRegex: false }],
      endsAt: new Date(NOW_US / 1000 + 3_600_000).toISOString(),
      createdBy: 'Anna',
      comment: 'maintenance',
    });
    expect(headline((await ask('/')).body)).toBe('1700 known alerts');
    expect((await ask<{ quiet: boolean }>('/api/v1/health')).json.quiet).toBe(true);
  });

  test('is above a list that says what each is, since when, and what to do', async () => {
    const { body } = await (await serve(impaired(down, behind))).ask('/');
    const text = read(body);
    expect(text).toContain(
      'EU is down critical for 12 min EU does not answer: connect ECONNREFUSED. Check regions.eu.base_url and the network.',
    );
    expect(text).toContain('EU is behind warning for 12 min The Flights of 2 of 12 Birds');
  });

  test('says that nothing is known while the store does not answer', async () => {
    const broken = {
      transaction: () => Promise.reject(new NestwatchError('store_failed', 'The disk failed.')),
      ...{ space: () => undefined, close: async () => {} },
    };
    const { ask } = await serve({ store: broken });
    for (const path of ['/', '/wall']) {
      const { body } = await ask(path);
      expect(headline(body)).toBe('The store does not answer');
      expect(iconOf(body)).toBe(QUIET);
      expect(read(body)).toContain('Active alerts Not known while the store does not answer.');
      expect(read(body)).not.toMatch(/\bNo\b|Nothing|0 Flights/);
    }
  });

  test('a region that was not read yet is not called checked', async () => {
    const [eu, us] = aStatus().regions as [RegionProgress, RegionProgress];
    const unread = { ...us, started: false, reads: us.reads.map((one) => ({ ...one, oldestReadUs: 0 })) };
    const { ask } = await serve({ status: () => aStatus({ regions: [eu, unread] }) });
    expect(read((await ask('/')).body)).toContain('US not read yet.');
  });
});

describe('alerts', () => {
  test('show what, where, since when, how often, and what came last', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'a' }, [
      { id: '1', occurredAtUs: NOW_US - 12 * MINUTE, message: 'first message' },
      { id: '2', occurredAtUs: NOW_US - 2 * MINUTE, message: 'last message' },
    ]);
    const text = read((await ask('/')).body);
    expect(text).toContain(
      `${WORDS.FlightFailed.firing} critical for 12 min EU · Marketing / Translate blog 2 events, last 2 min ago last message`,
    );
  });

  test('do not show what only waited with them and was over before its time', async () => {
    const { ask, store } = await serve();
    const [told, over] = [1, 2].map((id) => anEvent({ id: String(id), message: `message ${id}` }));
    await putAlert(store, { id: 'a' }, [told!]);
    await putEvents(store, [over!]);
    await store.transaction((tx) => tx.alerts.linkEvents([{ alertId: 'a', seq: 2, event: over! }]));
    for (const path of ['/', '/acknowledge?alert=a']) {
      const text = read((await ask(path)).body).split('What happened')[0];
      expect(text).toContain('message 1');
      expect(text).not.toContain('message 2');
    }
  });

  test('are where the links in messages lead', async () => {
    const { ask, store } = await serve();
    const alert = anAlert({ id: 'a' });
    await putAlert(store, alert);
    expect((await ask('/')).body).toContain(`<li id="alert-${fingerprint(alert.labels)}" class="alert bad">`);
  });

  test('are listed with the severest first, and say how many more there are', async () => {
    const { ask, store } = await serve();
    const labels = (severity: string) => ({ alertname: 'RegionDown', severity, region: 'eu' });
    await putAlert(store, { id: 'w', labels: labels('warning'), startsAtUs: NOW_US - SECOND });
    for (let index = 0; index < 51; index += 1) {
      await putAlert(store, { id: `c${index}`, labels: labels('critical') });
    }
    const { body } = await ask('/');
    expect(headline(body)).toBe('52 new alerts');
    expect(body.match(/class="alert /g)).toHaveLength(2);
    expect(body.indexOf('class="alert bad"')).toBeLessThan(body.indexOf('class="alert warn"'));
    expect(read(body)).toContain('51 × Region down critical');
    expect(read(body)).not.toContain('All 52 active alerts');
    for (const alertname of ['BirdStale', 'FlightStuck'])
      await putAlert(store, { id: alertname, labels: { alertname, severity: 'warning', region: 'eu' } });
    expect(read((await ask('/')).body)).toContain('All 54 active alerts');
  });

  test('that are as severe are listed with those of the most events first', async () => {
    const { ask, store } = await serve();
    for (const [error, events] of [
      ['few', 2],
      ['most', 3],
      ['one', 1],
    ] as const) {
      const labels = { alertname: 'SharedCause', severity: 'critical', region: 'eu', error };
      const numbers = Array.from({ length: events }, (_, at) => anEvent({ id: `${error}${at}` }));
      await putAlert(store, { id: error, labels, annotations: { summary: `${error}!` } }, numbers);
    }
    expect(read((await ask('/')).body).match(/(?:few|most|one)!/g)).toEqual(['most!', 'few!', 'one!']);
  });

  test('without an event show their own summary', async () => {
    const { ask, store } = await serve();
    const labels = { alertname: 'SomethingNew', severity: 'info', region: 'us', entity_name: 'Contentful' };
    await putAlert(store, { id: 'a', labels, annotations: { summary: 'The summary' } });
    expect(read((await ask('/')).body)).toContain('SomethingNew info for 12 min US · Contentful The summary');
  });

  test('that ended are among what happened, those of a kind as one', async () => {
    const { ask, store } = await serve();
    for (const index of [3, 1, 2, 4, 5, 6]) {
      const endsAtUs = NOW_US - index * 10 * MINUTE;
      await putAlert(store, { id: `r${index}`, state: 'resolved', endsAtUs, startsAtUs: endsAtUs - MINUTE });
    }
    const text = read((await ask('/')).body);
    expect(text).toContain('No active alerts.');
    expect(text).toContain('Recovered ×6 EU · Marketing / Translate blog 10 min ago');
  });
});

test('what happened is named in words, and new types by their own name', async () => {
  const { ask, store } = await serve();
  await putEvents(store, [
    { id: '1/cancelled', type: 'flight.cancelled', message: '' },
    { id: '3/failed', message: 'boom' },
    { id: '2', feed: 'bird_log', type: 'bird_log.Archived', nest: '', bird: '', message: 'by Anna' },
  ]);
  const text = read((await ask('/')).body);
  expect(text).toContain('Flight failed EU · Marketing / Translate blog 60 s ago boom');
  expect(text).toContain('bird_log.Archived EU · Nest 682 / Bird 148890 60 s ago by Anna');
  expect(text).not.toContain('cancelled');
});

test('text from outside is escaped, cleaned and cut everywhere', async () => {
  const hostile = `<script>alert(1)</script>"'&\u202e\u0000${'y'.repeat(5_000)}`;
  const [region] = aStatus().regions;
  const { ask, store } = await serve({
    status: () =>
      aStatus({
        regions: [{ ...region!, health: { health: 'down', reason: hostile, sinceUs: NOW_US } }],
      }),
  });
  const event = anEvent({
    id: hostile,
    type: `flight.${hostile}`,
    nest: hostile,
    bird: hostile,
    message: hostile,
  });
  const labels = {
    alertname: hostile,
    severity: hostile,
    region: hostile,
    nest: hostile,
    entity_name: hostile,
  };
  await putAlert(store, { id: 'a', labels, annotations: { summary: hostile } }, [event]);
  await putAlert(store, { id: 'b', labels, state: 'resolved', endsAtUs: NOW_US });
  await putDeliveries(store, [{ id: 'd', receiver: hostile, lastError: hostile, state: 'dead' }]);
  const { body } = await ask('/');
  expect(body).not.toContain('<script>alert');
  expect(body).toContain('&lt;script&gt;');
  for (const control of ['\u202e', '\u0000']) expect(body).not.toContain(control);
  expect(read(body)).not.toContain('y'.repeat(301));
});
