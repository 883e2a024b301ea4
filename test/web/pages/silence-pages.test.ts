import { describe, expect, test } from 'vitest';
import { matchersOf, parseMatcherLists } from '../../../src/domain/matchers/matcher.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import { createAcknowledgeLinks } from '../../../src/operator/acknowledge-link.ts';
import { secret } from '../../../src/secret.ts';
import { WORDS } from '../../domain/kinds/kind-words.ts';
import { anAlert, LABELS, NOW_US, putAlert, putAlertsOf } from '../sample.ts';
import { type ServeOptions, serve, WEB_CONFIG } from '../served.ts';
import { read } from './read.ts';

const MINUTE_MS = 60_000;
const HOUR_US = 3_600_000_000;
const DAY_MS = 86_400_000;

async function withAlert(options: ServeOptions = {}) {
  const served = await serve(options);
  await putAlert(served.store, { id: 'a/1' }, [{ id: '1', message: 'the TMS refused' }]);
  const silences = () => served.store.transaction((tx) => tx.silences.list());
  return { ...served, silences };
}

const FIELDS = {
  matchers: 'bird="Translate blog"\nseverity=~"crit.*|warning"',
  duration: '3h',
  start: '',
  author: 'Anna',
  comment: 'the TMS is down',
  cron: '',
  timezone: 'UTC',
  window: '1h',
};

describe('the overview', () => {
  test('offers to acknowledge and to silence each alert, by a page that asks first', async () => {
    const { ask } = await withAlert();
    const { body } = await ask('/');
    const began = anAlert({ id: 'a/1' }).startsAtUs;
    expect(body).toContain(`href="acknowledge?alert=a%2F1&amp;began=${began}"`);
    expect(body).toContain('href="silence?alert=a%2F1"');
    expect(body).toContain(
      `aria-label="Acknowledge ${WORDS.FlightFailed.firing}, Marketing / Translate blog"`,
    );
  });

  test('shows who silenced what, what it mutes, and ends it on request [long]', async () => {
    const { ask, submit, silences } = await withAlert();
    await submit('/silence', FIELDS);
    const text = read((await ask('/')).body);
    expect(text).toContain('critical Silenced');
    expect(text).toContain('silenced by Anna: the TMS is down · ends in 3 h');
    expect(text).toContain('bird="Translate blog", severity=~"crit.*|warning"');
    expect(text).toContain('Mutes 1 alert');
    const [silence] = await silences();
    const ended = await submit('/expire-silence', { id: silence!.id });
    expect([ended.status, ended.headers.location]).toEqual([303, 'silences']);
    expect(read((await ask('/')).body)).toContain('No silences.');
  });

  test('says when another alert inhibits one', async () => {
    const { ask, store } = await withAlert();
    const labels = { alertname: 'RegionDown', severity: 'critical', region: 'eu' };
    await putAlert(store, { id: 'down', labels });
    const text = read((await ask('/')).body);
    expect(text).toContain('critical Inhibited');
    expect(text).toContain(
      'The alert that explains it is active: who is notified of that is not notified of this one.',
    );
  });
});

test('the list of silences is limited, acknowledged alerts last, those of one person and comment folded [long]', async () => {
  const { ask, post, store } = await serve();
  const ids = Array.from({ length: 300 }, (_, index) => `a-${index}`);
  await store.transaction((tx) =>
    tx.alerts.put(ids.map((id) => anAlert({ id, labels: { ...LABELS, bird_id: id } }))),
  );
  await post('/api/v1/alerts/acknowledge', { ids, author: 'Anna' });
  await post('/api/v2/silences', {
    matchers: [{ name: 'nest', value: 'Marketing', isRegex: false }],
    endsAt: new Date(NOW_US / 1000 + 3_600_000).toISOString(),
    createdBy: 'Bob',
    comment: 'maintenance',
  });
  const { body } = await ask('/silences');
  expect(body.match(/<li id="silence-/g)).toHaveLength(1 + 50);
  expect(read(body)).toContain('300 alerts acknowledged by Anna Flight failed');
  expect(body.indexOf('silenced by Bob')).toBeLessThan(body.indexOf('acknowledged by Anna'));
  expect(read(body)).toContain('Mutes 300 alerts');
  expect(read(body)).toContain('and 250 more alerts');
});

describe('the page for a silence', () => {
  test('and the list of alerts take a clock that tells microseconds', async () => {
    const { ask, clock } = await withAlert();
    await clock.advance(0.123);
    for (const path of ['/silence?alert=a/1&until=tomorrow', '/alerts'])
      expect((await ask(path)).status).toBe(200);
  });

  test('begins with matchers for the alert, and shows what they mute', async () => {
    const { ask } = await withAlert();
    const { status, body } = await ask('/silence?alert=a/1');
    expect(status).toBe(200);
    expect(body).toContain('region=&quot;eu&quot;\nbird_id=&quot;148890&quot;</textarea>');
    expect(read(body)).toContain(
      `What it mutes now ${WORDS.FlightFailed.firing} EU · Marketing / Translate blog`,
    );
  });

  test('offers the Bird, this error and the Nest, each with its matchers, and how long in words', async () => {
    const { ask, store, submit, silences } = await withAlert();
    const labels = { ...LABELS, error: 'The quota of # is used up' };
    await putAlert(store, { id: 'e', labels });
    const { body } = await ask('/silence?alert=e', { cookie: 'nestwatch_zone=Europe/Amsterdam' });
    const text = read(body);
    expect(text).toMatch(/This Bird: Marketing \/ Translate blog: region="eu" bird_id="148890"/);
    expect(text).toContain('Only this error of it');
    expect(text).toMatch(/The whole Nest: Marketing: region="eu" nest_id="682"/);
    expect(body).toMatch(/value="region=&quot;eu&quot;\nbird_id=&quot;148890&quot;" checked/);
    expect(body).toContain('name="until" value="1h" checked');
    const scope = 'region="eu"\nnest_id="682"';
    const fields = { ...FIELDS, alert: 'e', scope, matchers: 'a="b"', zone: 'Europe/Amsterdam' };
    for (const until of ['1h', 'tomorrow', 'monday', '']) await submit('/silence', { ...fields, until });
    const made = (await silences()).map(({ endsAtUs, matchers }) => [
      new Date(endsAtUs / 1000).toISOString(),
      matchers.map(({ name }) => name).join(),
    ]);
    // It is Thursday, 14:00 in Amsterdam.
    expect(made.sort()).toEqual([
      ['2026-07-02T13:00:00.000Z', 'region,nest_id'],
      ['2026-07-02T15:00:00.000Z', 'region,nest_id'],
      ['2026-07-03T06:00:00.000Z', 'region,nest_id'],
      ['2026-07-06T06:00:00.000Z', 'region,nest_id'],
    ]);
  });

  test('1 h is an hour from its start on', async () => {
    const { submit, silences } = await withAlert();
    const fields = { ...FIELDS, start: '2026-07-02 14:30', zone: 'UTC', until: '1h' };
    expect((await submit('/silence', fields)).status).toBe(303);
    const [{ startsAtUs, endsAtUs }] = (await silences()) as [Silence];
    expect(endsAtUs - startsAtUs).toBe(HOUR_US);
  });

  test('until it lands, it acknowledges what fires now', async () => {
    const { store, submit, silences } = await withAlert();
    await putAlert(store, { id: 'other', labels: { ...LABELS, bird_id: '2' } });
    const { status } = await submit('/silence', {
      ...FIELDS,
      ...{ alert: 'a/1', scope: 'region="eu"\nbird_id="148890"', until: 'landed' },
    });
    expect(status).toBe(303);
    expect(await silences()).toMatchObject([{ alertId: 'a/1', createdBy: 'Anna' }]);
  });

  test('acknowledges all alerts of a cause, from their card on, and no other', async () => {
    const { ask, store, submit, silences } = await withAlert();
    await putAlertsOf(store, ['2', '3', '4'], { error: 'Quota' });
    const [, href = ''] =
      (await ask('/alerts')).body.match(/href="([^"]*)" aria-label="Acknowledge all 3/) ?? [];
    const address = `/${href.replaceAll('&amp;', '&')}`;
    const { body } = await ask(address);
    expect(read(body)).toContain('Acknowledge alerts');
    expect(read(body)).not.toContain('For how long 1 h');
    expect(
      read(body)
        .slice(read(body).indexOf('What will be acknowledged'))
        .match(/Translate blog/g),
    ).toHaveLength(3);
    const asked = Object.fromEntries(new URL(address, 'http://x').searchParams);
    expect(read((await submit('/silence', asked)).body)).toContain('Your name is missing');
    for (const [matchers, says] of [
      ['', 'name at least one'],
      ['bird="b"', 'no alert that is active now fits'],
    ] as const) {
      const refused = await submit('/silence', { ...asked, author: 'Anna', matchers });
      expect([refused.status, await silences()]).toEqual([400, []]);
      expect(read(refused.body)).toContain(says);
    }
    const { status, headers } = await submit('/silence', { ...asked, author: 'Anna' });
    expect([status, headers.location]).toEqual([303, expect.stringMatching(/^alerts\?done=/)]);
    expect((await silences()).map(({ alertId }) => alertId).sort()).toEqual(['c/2', 'c/3', 'c/4']);
    expect(read((await ask('/alerts')).body)).not.toContain('Acknowledge all');
  });

  test('remembers the name of who signed last, unless the next one types another', async () => {
    const { ask, submit, silences } = await withAlert();
    const { headers } = await submit('/acknowledge?alert=a/1', { author: 'Anna Ü' });
    const [cookie = ''] = [headers['set-cookie']].flat()[0]?.split(';') ?? [];
    for (const path of ['/silence?alert=a/1', '/resolve?alert=a/1'])
      expect((await ask(path, { cookie })).body).toContain('name="author" value="Anna Ü"');
    expect((await ask('/silence?author=Bob', { cookie })).body).toContain('name="author" value="Bob"');
    const { body } = await submit('/silence', { ...FIELDS, author: ' ' }, { cookie });
    expect(read(body)).toContain('Your name is missing');
    expect(await silences()).toHaveLength(1);
  });

  test('lists the alerts of one cause below what acknowledges all of them', async () => {
    const { ask, store } = await withAlert();
    await putAlertsOf(store, ['2', '3'], { error: 'Quota #' });
    const { body } = await ask('/alerts?region=eu&name=FlightFailed&cause=Quota+%23');
    expect(body).toContain('aria-label="Acknowledge all 2');
    expect([...body.matchAll(/<h3>.*?<\/h3>/g)]).toHaveLength(3);
    expect(body.match(/id="alert-\w+"/g)).toHaveLength(2);
    expect(read(body)).toContain('Cause: as shown ✕');
  });

  test('takes all back that were acknowledged together, or one of them', async () => {
    const { ask, store, submit, silences, clock } = await withAlert();
    await putAlertsOf(store, ['2', '3', '4'], { error: 'Quota' });
    await submit('/acknowledge?alert=a/1', { author: 'Anna' });
    await clock.advance(1);
    await submit('/silence', { ...FIELDS, alert: 'c/2', matchers: 'error="Quota"', until: 'landed' });
    const inForce = async () =>
      (await silences())
        .filter(({ endsAtUs }) => endsAtUs > clock.nowUs())
        .map(({ alertId }) => alertId)
        .sort();
    expect(await inForce()).toEqual(['a/1', 'c/2', 'c/3', 'c/4']);
    const undo = async (alert: string, shown: string, fields: Record<string, string>) => {
      const { body } = await ask(`/acknowledge?alert=${alert}`);
      expect(read(body)).toContain(shown);
      const id = /name="id" value="([^"]*)"/.exec(body)?.[1] ?? '';
      return (await submit('/expire-silence', { id, alert, ...fields })).headers.location;
    };
    expect(await undo('c/2', 'Acknowledged 3 alerts', {})).toBe('alerts/c/2');
    expect(await inForce()).toEqual(['a/1', 'c/3', 'c/4']);
    expect(await undo('c/3', 'Undo all 2 Undo only this one', { whole: 'true' })).toBe('alerts');
    expect(await inForce()).toEqual(['a/1']);
  });

  test('several that were chosen are acknowledged together, and taken back, where one was', async () => {
    const { ask, submit, silences, store, clock } = await withThree();
    const list = await ask('/alerts?region=eu');
    expect(list.body).toContain(
      '<form id="chosen" class="chosen" method="post" action="acknowledge-preview"><input type="hidden" name="back" value="region=eu">',
    );
    for (const id of ['a/1', 'c/2', 'c/3'])
      expect(list.body).toContain(
        `<input type="checkbox" form="chosen" name="alert" value="${id}" aria-label="Choose`,
      );
    // As many as can be listed, so more than fit into an address.
    const gone = Array.from({ length: 998 }, (_, at) => `${'0'.repeat(100)}${at}`);
    const chosen = [['back', 'region=eu'], ...['a/1', 'c/3', ...gone].map((id) => ['alert', id])];
    const { body } = await submit('/acknowledge-preview', chosen);
    expect(read(body)).toContain('Acknowledge these 2 alerts?');
    expect(await silences()).toEqual([]);
    expect(await store.transaction((tx) => tx.writes.page({ limit: 9 }))).toEqual({ writes: [] });
    const nameless = await submit('/acknowledge', [...chosen, ['author', '']]);
    expect([nameless.status, read(nameless.body).includes('Your name is missing')]).toEqual([400, true]);
    const shown = [...nameless.body.matchAll(/name="(alert|back)" value="([^"]*)"/g)];
    const sent = [...shown.map(([, name, value]) => [name!, value!]), ['author', 'Anna']];
    expect(sent).toHaveLength(4);
    const { status, headers } = await submit('/acknowledge', sent);
    expect((await silences()).map(({ alertId }) => alertId).sort()).toEqual(['a/1', 'c/3']);
    expect([status, String(headers.location)]).toEqual([
      303,
      expect.stringMatching(/^alerts\?region=eu&done=/),
    ]);
    const after = (await ask(`/${headers.location}`)).body;
    expect(read(after)).toContain('Acknowledged 2 alerts Undo all 2');
    const [, id = ''] = /name="id" value="([^"]*)"/.exec(after) ?? [];
    const undone = await submit('/expire-silence', { id, alert: 'a/1', back: 'region=eu', whole: 'true' });
    expect([undone.status, undone.headers.location]).toEqual([303, 'alerts?region=eu']);
    expect((await silences()).filter(({ endsAtUs }) => endsAtUs > clock.nowUs())).toEqual([]);
    expect(read((await ask(`/${headers.location}`)).body)).not.toContain('Acknowledged 2 alerts');
    await store.transaction(async (tx) => {
      const alert = (await tx.alerts.find('c/3'))!;
      await tx.alerts.put([{ ...alert, state: 'resolved', endsAtUs: NOW_US }]);
    });
    const again = await submit('/acknowledge-preview', chosen);
    expect(read(again.body)).toContain('Acknowledge this alert?');
  });

  test('what another person has acknowledged before is not taken back with what was chosen besides', async () => {
    const { ask, submit, silences, clock } = await withThree();
    await submit('/acknowledge?back=&alert=a%2F1&alert=c%2F2', { author: 'Bert' });
    clock.advance(1_000);
    const { headers } = await submit('/acknowledge?back=&alert=c%2F2&alert=c%2F3', { author: 'Anna' });
    const after = (await ask(`/${headers.location}`)).body;
    expect(read(after)).toContain('Acknowledged Undo');
    const [, id = ''] = /name="id" value="([^"]*)"/.exec(after) ?? [];
    await submit('/expire-silence', { id, alert: 'c/3', back: '' });
    const inForce = (await silences()).filter(({ endsAtUs }) => endsAtUs > clock.nowUs());
    expect(inForce.map(({ alertId }) => alertId).sort()).toEqual(['a/1', 'c/2']);
    const again = await submit('/acknowledge?back=&alert=a%2F1&alert=c%2F2', { author: 'Anna' });
    expect(again.headers.location).toBe('alerts?');
  });

  test('several that were chosen are silenced by what they share and what differs, and no other is', async () => {
    const { ask, submit, silences } = await withThree();
    const { body } = await submit('/silence-preview', [
      ['back', ''],
      ['alert', 'c/2'],
      ['alert', 'c/3'],
    ]);
    const [, matchers = ''] = /name="matchers"[^>]*>([^<]*)</.exec(body) ?? [];
    expect(matchers.replaceAll('&quot;', '"').split('\n')).toEqual([
      'alertname="FlightFailed"',
      'region="eu"',
      'nest_id="682"',
      'bird_id=~"2|3"',
    ]);
    expect(
      read(body)
        .slice(read(body).indexOf('What it mutes'))
        .match(/Translate blog/g),
    ).toHaveLength(2);
    const fields = {
      ...FIELDS,
      back: '',
      until: '1h',
      alert: 'c/2',
      matchers: matchers.replaceAll('&quot;', '"'),
    };
    const { headers } = await submit('/silence', fields);
    const [{ id }] = (await silences()) as [Silence];
    expect(headers.location).toBe(`alerts?done=${id}`);
    expect(read((await ask(`/${headers.location}`)).body)).toContain('Silenced Undo');
    expect((await submit('/expire-silence', { id, alert: '', back: '' })).headers.location).toBe('alerts?');
  });

  test.each([
    ['WatchImpaired', 'reason', { alertname: 'WatchImpaired', region: 'all' }],
    ['FeedIncomplete', 'feed', { alertname: 'FeedIncomplete', region: 'eu' }],
    ['SharedCause', 'error', { alertname: 'SharedCause', region: 'eu' }],
  ])('two of %s that were chosen are silenced by their %s', async (_, name, labels) => {
    const { store, submit } = await withAlert();
    for (const id of ['x', 'y'])
      await putAlert(store, { id, subject: id, labels: { ...labels, [name]: id } });
    const chosen = [
      ['back', ''],
      ['alert', 'x'],
      ['alert', 'y'],
    ];
    const { body } = await submit('/silence-preview', chosen);
    expect(body).toContain(`\n${name}=~&quot;x|y&quot;</textarea>`);
  });

  test('a link back leads to the list of alerts and nowhere else', async () => {
    const { submit } = await withThree();
    const { headers } = await submit('/acknowledge?alert=a%2F1&back=//evil.example/%3Fx', { author: 'Anna' });
    expect(headers.location).toMatch(/^alerts\?%2F%2Fevil\.example%2F%3Fx=&done=/);
  });

  test('acknowledges a cause of many alerts without an error by what all of them share', async () => {
    const { ask, store } = await withAlert();
    const alertname = 'BirdDeactivated';
    await putAlertsOf(store, ['2', '3', '4', '5', '6', '7'], { alertname });
    const matchersOf = async (path: string) => {
      const [, href = ''] =
        (await ask(path)).body.match(/href="([^"]*)" aria-label="Acknowledge all \d: Bird deactivated/) ?? [];
      return new URL(href.replaceAll('&amp;', '&'), 'http://x').searchParams.get('matchers');
    };
    const shared = 'alertname="BirdDeactivated"\nseverity="critical"';
    expect(await matchersOf('/alerts')).toBe(`${shared}\nregion="eu"\nnest_id="682"`);
    const elsewhere = { ...LABELS, alertname, bird_id: '8', nest_id: '9', region: 'us' };
    await putAlert(store, { id: 'd/8', scope: 'us/bird/8', labels: elsewhere });
    expect(await matchersOf('/alerts')).toBe(shared);
    expect(await matchersOf('/alerts?region=us')).toBeNull();
  });

  test('shows what typed matchers mute before anything is created', async () => {
    const { ask, silences } = await withAlert();
    const hidden = async (matchers: string) =>
      read((await ask(`/silence?${new URLSearchParams({ ...FIELDS, matchers })}`)).body);
    expect(await hidden('bird=~"Trans.*"')).toContain(
      `${WORDS.FlightFailed.firing} EU · Marketing / Translate blog`,
    );
    expect(await hidden('bird="Other"')).toContain('No alert that is active now.');
    expect(await hidden('')).toContain('Enter a matcher to see this.');
    expect(await hidden('bird=~"("')).toContain('Matchers: ');
    expect(await silences()).toEqual([]);
  });

  test('takes its start in the zone of its field, which is that of the reader', async () => {
    const { ask, submit, silences } = await withAlert();
    const cookie = 'nestwatch_zone=Europe/Amsterdam';
    const { body } = await ask('/silence', { cookie });
    expect(read(body)).toContain('Start (Europe/Amsterdam)');
    expect(body).toContain('<input type="hidden" name="zone" value="Europe/Amsterdam">');
    expect(body).toContain('name="timezone" value="Europe/Amsterdam"');
    const start = '2026-07-03 05:30';
    await submit('/silence', { ...FIELDS, start, zone: 'Europe/Amsterdam' });
    await submit('/silence', { ...FIELDS, start: `${start}:00` });
    expect((await silences()).map(({ startsAtUs }) => startsAtUs).sort()).toEqual(
      ['2026-07-03T03:30:00Z', '2026-07-03T05:30:00Z'].map((text) => Date.parse(text) * 1000),
    );
    // The time zone must be the one that was shown.
    const wrong = await submit('/silence', { ...FIELDS, start, zone: 'Mars/Base' });
    expect(wrong.status).toBe(400);
    expect(read(wrong.body)).toContain('zone: must be a time zone such as Europe/Amsterdam');
    const link = await ask(`/silence?${new URLSearchParams({ start, matchers: 'a=b' })}`, { cookie });
    expect(read(link.body)).toContain('Start (UTC)');
  });

  test('says from when on it mutes that', async () => {
    const { ask } = await withAlert();
    const shown = async (fields: Partial<typeof FIELDS>) =>
      read((await ask(`/silence?${new URLSearchParams({ ...FIELDS, ...fields })}`)).body);
    const alert = `${WORDS.FlightFailed.firing} EU · Marketing / Translate blog`;
    expect(await shown({})).toContain(`What it mutes now ${alert}`);
    expect(await shown({ cron: '30 11 * * *' })).toContain(`What it mutes now ${alert}`);
    expect(await shown({ cron: '30 13 * * *' })).toContain(
      `What it would mute from 2026-07-02 13:30:00 UTC on ${alert}`,
    );
    expect(await shown({ start: '2026-07-03 05:30:00' })).toContain(
      `What it would mute from 2026-07-03 05:30:00 UTC on ${alert}`,
    );
    const never = await shown({ cron: '0 3 * * *' });
    expect(never).toContain('What it mutes Nothing: it ends before it mutes anything.');
    expect(never).not.toContain(alert);
    const wrong = await shown({ cron: '0 25 * * *' });
    expect(wrong).toContain('The cron expression "0 25 * * *" is not valid: ');
    expect(wrong).toContain('What it mutes Correct your input to see this.');
  });

  test('creates it and wakes up the stages', async () => {
    const { submit, silences, changes } = await withAlert();
    const { status, headers } = await submit('/silence', FIELDS);
    expect([status, headers.location]).toEqual([
      303,
      'silences#silence-00000000-0000-4000-8000-000000000001',
    ]);
    expect(await silences()).toMatchObject([
      {
        matchers: [
          { name: 'bird', op: '=', value: 'Translate blog' },
          { name: 'severity', op: '=~', value: 'crit.*|warning' },
        ],
        startsAtUs: NOW_US,
        endsAtUs: NOW_US + 3 * HOUR_US,
        createdBy: 'Anna',
        comment: 'the TMS is down',
        recurrence: null,
      },
    ]);
    expect(changes).toHaveLength(1);
  });

  test('lists the first of many that it would mute, and counts the rest', async () => {
    const { ask, store } = await withAlert();
    for (let index = 0; index < 24; index += 1) await putAlert(store, { id: `b/${index}` });
    const shown = read((await ask('/silence?matchers=bird%3D%22Translate+blog%22')).body);
    expect(shown.split(WORDS.FlightFailed.firing)).toHaveLength(21);
    expect(shown).toContain('and 5 more alerts');
  });

  test('creates one that recurs, and one that begins later', async () => {
    const { ask, submit, silences } = await withAlert();
    await submit('/silence', {
      ...FIELDS,
      cron: '0 2 * * 6',
      timezone: 'Europe/Amsterdam',
      window: '2h',
      duration: '30d',
      start: '2026-07-05 00:00:00',
    });
    expect(await silences()).toMatchObject([
      { recurrence: { cron: '0 2 * * 6', timezone: 'Europe/Amsterdam', durationMs: 2 * 3_600_000 } },
    ]);
    const text = read((await ask('/')).body);
    expect(text).toContain('Not yet');
    expect(text).toContain('begins in 2 days, ends in 32 days');
    expect(text).toContain('for 2h at each 0 2 * * 6 (Europe/Amsterdam)');
  });

  test.each([
    ['matchers', '', 'Matchers: name at least one'],
    ['matchers', 'bird', 'Matchers: '],
    ['matchers', 'nets=orders', 'Matchers: no alert has a label "nets"; did you mean nest? '],
    ['matchers', 'nets!=orders', 'Matchers: no alert has a label "nets"; did you mean nest? '],
    ['matchers', 'bird=~".*"', 'At least one matcher must not match the empty string.'],
    ['duration', 'long', 'For how long: write a duration such as 30m, 2h or 3d.'],
    ['duration', '0s', 'For how long: '],
    ['start', 'tomorrow', 'Start: write it as'],
    ['author', ' ', 'Your name is missing'],
    ['comment', '', 'Reason: say why'],
    ['cron', 'nightly', 'The cron expression must have five fields'],
  ])(
    'with the field %s as %j says what to change, and keeps what was typed',
    async (name, value, message) => {
      const { submit, silences } = await withAlert();
      const { status, body } = await submit('/silence', { ...FIELDS, [name]: value });
      expect(status).toBe(400);
      expect(read(body)).toContain(message);
      expect(body).toContain(name === 'comment' ? 'value="Anna"' : 'value="the TMS is down"');
      expect(await silences()).toEqual([]);
    },
  );

  test('that would end after all instants that a store can read is refused, and stops no alerting', async () => {
    const { submit, silences } = await withAlert();
    const { status, body } = await submit('/silence', { ...FIELDS, start: '2200-01-01', duration: '100y' });
    expect(await silences()).toEqual([]);
    expect(status).toBe(400);
    expect(read(body)).toContain('For how long: ');
  });

  test('keeps hostile text as text', async () => {
    const { ask, submit } = await withAlert();
    const comment = '"><script>alert(1)</script>\u202E';
    await submit('/silence', { ...FIELDS, comment });
    const { body } = await ask('/');
    expect(body).not.toContain('<script>alert');
    expect(body).not.toContain('\u202E');
    const refused = await submit('/silence', { ...FIELDS, comment, duration: '<b>' });
    expect(refused.body).not.toMatch(/<script>alert|<b>(?!nestwatch)/);
  });

  test('matchers of an alert can be read back, whatever its labels hold', () => {
    const labels = { alertname: 'A', region: 'eu', error: 'quote " and \\ and\nline' };
    const matchers = parseMatcherLists(matchersOf(labels).split('\n'));
    expect(matchers.map(({ name, value }) => [name, value])).toEqual(Object.entries(labels));
  });
});

describe('acknowledging', () => {
  test('asks first, and a GET changes nothing', async () => {
    const { ask, silences } = await withAlert();
    const { status, body } = await ask('/acknowledge?alert=a/1');
    expect(status).toBe(200);
    expect(read(body)).toContain('Acknowledge this alert?');
    expect(read(body)).toContain('the TMS refused');
    expect(body).toContain('<form method="post" action="acknowledge?alert=a/1"');
    expect(await silences()).toEqual([]);
  });

  test('mutes the alert until it is resolved, and says by whom', async () => {
    const { ask, submit, silences, changes } = await withAlert();
    const { status, headers } = await submit('/acknowledge?alert=a/1', { author: 'Ben', comment: 'on it' });
    expect([status, headers.location]).toEqual([303, 'acknowledge?alert=a/1']);
    expect(await silences()).toMatchObject([{ alertId: 'a/1', createdBy: 'Ben', comment: 'on it' }]);
    expect(changes).toHaveLength(1);
    expect(read((await ask('/acknowledge?alert=a/1')).body)).toContain('acknowledged by Ben: on it');
    const overview = (await ask('/')).body;
    expect(read(overview)).toContain('critical Acknowledged');
    expect(read(overview)).toContain('acknowledged by Ben: on it · until it is resolved');
    expect(overview).not.toContain('href="acknowledge?');
    expect((await ask('/api/v2/alerts?silenced=false')).json).toEqual([]);
  });

  test('is taken back where it was made', async () => {
    const { ask, submit, silences } = await withAlert();
    await submit('/acknowledge?alert=a/1', { author: 'Ben', comment: '' });
    const [{ id }] = (await silences()) as [Silence];
    for (const path of ['/acknowledge?alert=a/1', '/alerts/a/1'])
      expect((await ask(path)).body).toContain('Undo');
    const { status, headers } = await submit('/expire-silence', { id, alert: 'a/1' });
    expect([status, headers.location]).toEqual([303, 'alerts/a/1']);
    expect((await ask('/alerts/a/1')).body).not.toContain('Undo');
    expect((await ask('/acknowledge?alert=a/1')).body).toContain('Acknowledge this alert?');
  });

  test('needs a name', async () => {
    const { submit, silences } = await withAlert();
    const { status, body } = await submit('/acknowledge?alert=a/1', { author: '', comment: 'on it' });
    expect(status).toBe(400);
    expect(read(body)).toContain('Your name is missing');
    expect(body).toContain('value="on it"');
    expect(await silences()).toEqual([]);
  });

  test('is about what was shown: not about what fired anew before the button was pressed', async () => {
    const { ask, submit, silences, store } = await withAlert();
    const other = { id: 'b', labels: { ...LABELS, error: 'another' } };
    await putAlert(store, other);
    const [, one = ''] = /href="(acknowledge\?alert=b[^"]*)"/.exec((await ask('/')).body) ?? [];
    const chosen = [
      ['back', ''],
      ['alert', 'a/1'],
      ['alert', 'b'],
    ];
    const { body: several } = await submit('/acknowledge-preview', chosen);
    const shown = [...several.matchAll(/name="(alert|began)" value="([^"]*)"/g)];
    await putAlert(store, { ...other, startsAtUs: NOW_US });
    const path = `/${one.replaceAll('&amp;', '&')}`;
    expect((await submit(path, { author: 'Ben' })).status).toBe(400);
    const fields = [...shown.map(([, name, value]) => [name!, value!]), ['author', 'Ben']];
    await submit('/acknowledge', fields);
    expect((await silences()).map(({ alertId }) => alertId)).toEqual(['a/1']);
  });

  test('is not possible for one that is resolved or unknown', async () => {
    const { ask, submit, store } = await withAlert();
    await putAlert(store, { id: 'over', state: 'resolved', endsAtUs: NOW_US });
    expect(read((await ask('/acknowledge?alert=over')).body)).toContain('nothing left to acknowledge');
    for (const path of ['/acknowledge?alert=none', '/resolve?alert=none'])
      expect(read((await ask(path)).body)).toContain('This alert is not known There is no such id');
    const preview = await submit('/acknowledge-preview', { back: 'state=firing' });
    for (const { body } of [preview, await ask('/acknowledge'), await ask('/resolve')])
      expect(read(body)).toContain('No alert was chosen Choose one');
    const { status, body } = await submit('/acknowledge?alert=over', { author: 'Ben' });
    expect([status, read(body)]).toEqual([400, expect.stringContaining('The alert is not firing.')]);
  });
});

describe('resolving by hand', () => {
  const began = anAlert({ id: 'a/1' }).startsAtUs;
  const path = `/resolve?alert=a%2F1&began=${began}`;

  test('is offered for what would not immediately fire again', async () => {
    const { ask, store } = await withAlert();
    const labels = { alertname: 'FeedBehind', severity: 'warning', region: 'eu' };
    await putAlert(store, { id: 'behind', labels });
    const { body } = await ask('/');
    expect(body).toMatch(/href="resolve\?alert=a%2F1&(amp;)?began=\d+" aria-label="Resolve /);
    expect(body).toContain(`aria-label="Resolve ${WORDS.FlightFailed.firing}`);
    expect(body.match(/href="resolve/g)).toHaveLength(1);
  });

  test('for a region that refuses the token makes it try at once', async () => {
    const { ask, submit, store, probes } = await withAlert();
    const labels = { alertname: 'RegionUnauthorized', severity: 'critical', region: 'us' };
    await putAlert(store, { id: 'refused', labels });
    expect((await ask('/')).body).toMatch(
      /href="resolve\?alert=refused&(amp;)?began=\d+" aria-label="Ask again: /,
    );
    expect(read((await ask('/resolve?alert=refused')).body)).toContain('Ask the region again?');
    expect(probes).toEqual([]);
    const { body } = await submit('/resolve?alert=refused', { author: 'Ben' });
    expect(read(body)).toContain(
      'The region is asked again now, and the alert ends once it answers as it should.',
    );
    expect(probes).toEqual(['us']);
    expect((await store.transaction((tx) => tx.alerts.find('refused')))?.state).toBe('firing');
  });

  test('asks first, and a GET changes nothing', async () => {
    const { ask, store } = await withAlert();
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    expect(read(body)).toContain('Resolve this alert?');
    expect(read(body)).toContain('the TMS refused');
    expect(body).toContain(`<form method="post" action="resolve?alert=a%2F1&amp;began=${began}"`);
    expect((await store.transaction((tx) => tx.alerts.find('a/1')))?.state).toBe('firing');
  });

  test('ends the alert, says by whom, and wakes up the stages', async () => {
    const { ask, submit, store, changes } = await withAlert();
    const { status, headers } = await submit(path, { author: 'Ben', comment: 'reconnected <b>' });
    expect([status, headers.location]).toEqual([303, path.slice(1)]);
    expect((await store.transaction((tx) => tx.alerts.find('a/1')))?.state).toBe('resolved');
    expect(changes).toHaveLength(1);
    const { body } = await ask(path);
    expect(read(body)).toContain('This alert is over');
    expect(read(body)).toContain('it was resolved by hand by Ben: reconnected &lt;b&gt;');
    expect(body).not.toContain('<form method="post"');
  });

  test('needs a name, and a request from the page itself', async () => {
    const { submit, store } = await withAlert();
    const { status, body } = await submit(path, { author: '', comment: 'mended' });
    expect([status, read(body)]).toEqual([400, expect.stringContaining('Your name is missing')]);
    expect(body).toContain('value="mended"');
    const foreign = await submit(path, { author: 'Ben' }, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    expect((await store.transaction((tx) => tx.alerts.find('a/1')))?.state).toBe('firing');
  });

  test('applies to the episode that was shown, and to an existing alert', async () => {
    const { ask, submit, store } = await withAlert();
    await putAlert(store, { id: 'a/1', startsAtUs: NOW_US });
    expect(read((await ask(path)).body)).toContain('This alert is active again');
    const { status, body } = await submit(path, { author: 'Ben' });
    expect([status, read(body)]).toEqual([
      400,
      expect.stringContaining('The alert was resolved, and has fired anew since.'),
    ]);
    const none = await submit('/resolve?alert=none', { author: 'Ben' });
    expect(read(none.body)).toContain('There is no such alert.');
  });
});

describe('a signed link', () => {
  const { externalUrl } = WEB_CONFIG;
  const links = createAcknowledgeLinks(secret('a key'), externalUrl);
  const episode = { id: 'a/1', startsAtUs: anAlert({ id: 'a/1' }).startsAtUs };
  const path = links.urlOf(episode, NOW_US).slice(externalUrl.length);
  const guarded = { web: { bearerToken: secret('t0ken') } };

  test('opens the page and acknowledges without a token, and does nothing else', async () => {
    const { ask, submit, silences } = await withAlert(guarded);
    expect((await ask('/acknowledge?alert=a/1')).status).toBe(401);
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    expect(read(body)).toContain('Acknowledge this alert?');
    expect(await silences()).toEqual([]);
    const done = await submit(path, { author: 'Ben', comment: '' });
    expect([done.status, done.headers.location]).toEqual([303, path.slice(1)]);
    expect(await silences()).toMatchObject([{ alertId: 'a/1', createdBy: 'Ben' }]);
    expect((await ask(path.replace('/acknowledge', '/'))).status).toBe(401);
    expect((await submit(path.replace('/acknowledge', '/silence'), FIELDS)).status).toBe(401);
    expect((await submit(path.replace('/acknowledge', '/resolve'), { author: 'Ben' })).status).toBe(401);
  });

  test('is refused from elsewhere, like any form', async () => {
    const { submit, silences } = await withAlert(guarded);
    const { status } = await submit(path, { author: 'Ben' }, { origin: 'https://evil.example' });
    expect(status).toBe(403);
    expect(await silences()).toEqual([]);
  });

  test('expires after a week, and cannot be forged', async () => {
    const { ask, clock } = await withAlert(guarded);
    const forged = createAcknowledgeLinks(secret('another'), externalUrl).urlOf(episode, NOW_US);
    for (const bad of [
      forged.slice(externalUrl.length),
      `${path}x`,
      path.replace('link=W', 'link=X'),
      '/acknowledge?link=.',
    ]) {
      expect((await ask(bad)).status).toBe(401);
    }
    await clock.advance(7 * DAY_MS - MINUTE_MS);
    expect((await ask(path)).status).toBe(200);
    await clock.advance(MINUTE_MS);
    expect((await ask(path)).status).toBe(401);
  });

  test('is for one episode: when the alert fires again, that is another', async () => {
    const { ask, submit, store, silences } = await withAlert(guarded);
    await putAlert(store, { id: 'a/1', startsAtUs: NOW_US });
    const again = (await ask(path)).body;
    expect(read(again)).toMatch(
      /This alert is active again.*has fired anew since\. Look at it.* critical began/,
    );
    expect(again).toContain('href="alerts/a/1"');
    const { body } = await submit(path, { author: 'Ben' });
    expect(read(body)).toContain('The alert was resolved, and has fired anew since.');
    expect(await silences()).toEqual([]);
  });

  test('that is no longer valid says so even if no token is required', async () => {
    const { ask } = await withAlert();
    expect(await ask('/acknowledge?link=x')).toMatchObject({
      status: 400,
      body: 'This link is no longer valid: open the page instead.\n',
    });
  });
});

describe('the list of silences', () => {
  test('is filtered by the filters that all lists have, including expired ones', async () => {
    const { ask, submit, silences } = await withAlert();
    await submit('/silence', FIELDS);
    const [first] = await silences();
    await submit('/expire-silence', { id: first!.id });
    await submit('/silence', { ...FIELDS, matchers: 'region="us"', comment: 'moving house' });
    const shown = async (query: string) => {
      const text = read((await ask(`/silences?${query}`)).body);
      return { tms: text.includes('the TMS is down'), house: text.includes('moving house') };
    };
    expect(await shown('')).toEqual({ tms: true, house: true });
    expect(await shown('region=eu')).toEqual({ tms: true, house: false });
    expect(await shown('bird=Sync')).toEqual({ tms: false, house: true });
    expect(await shown('text=HOUSE')).toEqual({ tms: false, house: true });
    expect(await shown('severity=info')).toEqual({ tms: false, house: true });
    const none = await ask('/silences?text=nobody');
    expect(read(none.body)).toContain('Nothing matches.');
    expect(none.body).toContain('id="by-text" name="text" value="nobody"');
    // A filter without a field in the form gets one if the address contains it.
    expect((await ask('/silences?flight=f1')).body).toContain('id="by-flight" name="flight" value="f1"');
  });

  test('refuses what it cannot read, and then shows none', async () => {
    const { ask, submit } = await withAlert();
    await submit('/silence', FIELDS);
    const { status, body } = await ask('/silences?since=yesterday');
    expect(status).toBe(400);
    expect(read(body).toLowerCase()).toContain('since: must be');
    expect(read(body)).not.toContain('the TMS is down');
  });
});

test.each([
  ['/silence', { matchers: 'a', duration: 'x' }],
  ['/silence', { matchers: 'bird="x"', duration: '1h', preview: '1' }],
])(
  'a form that was sent to %s shows again what was typed, without control characters',
  async (path, given) => {
    const { submit } = await withAlert();
    const typed = 'Ben \u202enib\u0007 \u009b31m\u0085<b>';
    const fields = {
      ...given,
      author: typed,
      comment: typed,
      cron: typed,
      matchers: `${given.matchers} ${typed}`,
    };
    const { body } = await submit(path, fields);
    expect(body).toContain('Ben nib');
    expect(body).not.toMatch(/[[\p{Cc}\u202e]--\n]/v);
  },
);

async function withThree() {
  const web = await withAlert();
  await putAlertsOf(web.store, ['2', '3']);
  return web;
}
