import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createTimeInterval } from '../../../src/domain/muting/muting.ts';
import type { AlertGroupJson, GettableAlert } from '../../../src/web/api/alertmanager-json.ts';
import { load, REGION } from '../../config/load.ts';
import { anAlertingConfig, NOW_US, putAlert } from '../sample.ts';
import { type ServeOptions, serve } from '../served.ts';

interface Added {
  readonly silenceID: string;
}

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const at = (us: number) => new Date(us / 1000).toISOString();

const BIRD = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird: 'Translate blog' };
const TRIGGER = { alertname: 'BirdTriggerFailing', severity: 'warning', region: 'eu', bird: 'Post news' };
const DOWN = { alertname: 'RegionDown', severity: 'critical', region: 'us' };

/** Two firing alerts of one region and one of another, and one that is resolved. */
async function watched(options: ServeOptions = {}) {
  const served = await serve(options);
  await putAlert(served.store, { id: 'a', labels: BIRD });
  await putAlert(served.store, { id: 'b', labels: TRIGGER });
  await putAlert(served.store, { id: 'c', labels: DOWN });
  await putAlert(served.store, {
    id: 'd',
    labels: { ...BIRD, region: 'us' },
    state: 'resolved',
    endsAtUs: NOW_US,
  });
  const birds = async (query: string) => {
    const { status, json } = await served.ask<readonly GettableAlert[]>(`/api/v2/alerts${query}`);
    return status === 200 ? json.map(({ id }) => id).toSorted() : [status, json];
  };
  return { ...served, birds };
}

function aSilence(change: Record<string, unknown> = {}) {
  return {
    matchers: [{ name: 'bird', value: 'Translate blog', isRegex: false, isEqual: true }],
    startsAt: at(NOW_US),
    endsAt: at(NOW_US + HOUR),
    createdBy: 'anna',
    comment: 'maintenance',
    ...change,
  };
}

const filter = (...texts: string[]) => `?${new URLSearchParams(texts.map((text) => ['filter', text]))}`;

describe('alerts', () => {
  test('have every field of the OpenAPI schema, in its form', async () => {
    const { ask } = await watched();
    const { json } = await ask(`/api/v2/alerts${filter('region="eu"', 'severity="critical"')}`);
    expect(json).toEqual([
      {
        annotations: { summary: 'Flight of Translate blog failed in Marketing (EU)' },
        startsAt: at(NOW_US - 12 * MINUTE),
        updatedAt: at(NOW_US - MINUTE),
        endsAt: at(NOW_US + 5 * MINUTE),
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
        generatorURL: 'http://watch.example.com/nestwatch/alerts/a',
        labels: BIRD,
        receivers: [{ name: 'pager' }, { name: 'ops' }],
        status: { state: 'active', silencedBy: [], inhibitedBy: [], mutedBy: [] },
        id: 'a',
      },
    ]);
  });

  test.each([
    ['', ['a', 'b', 'c']],
    [filter('alertname="FlightFailed"'), ['a']],
    [filter('bird=~"Trans.*|Post.*"', 'severity!="critical"'), ['b']],
    [filter('{region="eu",bird!~"Post.*"}'), ['a']],
    [filter('bird=""'), ['c']],
    [filter('bird!=Translate blog, EMEA', 'bird=~Trans.{0,30}|a,b'), ['a']],
    ['?receiver=pager', ['a', 'c']],
    ['?receiver=p.*', ['a', 'c']],
    ['?receiver=pag', []],
    ['?receiver=', ['a', 'b', 'c']],
    ['?active=false', []],
    // As go-openapi reads booleans.
    ['?active=0', []],
    ['?active=maybe', []],
    ['?active=false&active=YES', ['a', 'b', 'c']],
    ['?active=', ['a', 'b', 'c']],
    ['?active=Enabled', ['a', 'b', 'c']],
    ['?unprocessed=false&later=1', ['a', 'b', 'c']],
  ])('%s [long]', async (query, expected) => {
    expect(await (await watched()).birds(query)).toEqual(expected);
  });

  test.each([
    [filter('bird'), 'bad matcher format: '],
    [filter('bird=~"("'), 'bad matcher format: '],
    ['?receiver=(', 'failed to parse receiver param: '],
  ])('%s is refused with a plain JSON string', async (query, message) => {
    const [status, json] = await (await watched()).birds(query);
    expect(status).toBe(400);
    expect(json).toContain(message);
  });

  test('that are silenced or inhibited say by what, and are left out if asked for', async () => {
    const { ask, post, birds, store } = await watched();
    const { json: added } = await post<Added>('/api/v2/silences', aSilence());
    await putAlert(store, { id: 'e', labels: { ...DOWN, region: 'eu' } });
    const { json } = await ask<GettableAlert[]>(`/api/v2/alerts${filter('bird="Translate blog"')}`);
    expect(json[0]?.status).toEqual({
      state: 'suppressed',
      silencedBy: [added.silenceID],
      inhibitedBy: [expect.stringMatching(/^[0-9a-f]{16}$/)],
      mutedBy: [],
    });
    expect(await birds('?silenced=false')).toEqual(['b', 'c', 'e']);
    expect(await birds('?inhibited=false')).toEqual(['c', 'e']);
    expect(await birds('?active=false')).toEqual(['a', 'b']);
  });

  test('cannot be added, because they come from the watched service', async () => {
    const { status, json } = await (await watched()).post('/api/v2/alerts', []);
    expect([status, json]).toEqual([400, expect.stringContaining('nestwatch takes no alerts')]);
  });
});

describe('groups', () => {
  test('are those of the routes, by their labels', async () => {
    const { json } = await (await watched()).ask<AlertGroupJson[]>('/api/v2/alerts/groups');
    const shown = json.map((one) => [one.labels, one.receiver, one.alerts.map(({ id }) => id)]);
    expect(shown).toEqual([
      [sorted(TRIGGER), { name: 'ops' }, ['b']],
      [sorted(BIRD), { name: 'ops' }, ['a']],
      [{ alertname: 'FlightFailed', region: 'eu' }, { name: 'pager' }, ['a']],
      [sorted(DOWN), { name: 'ops' }, ['c']],
      [{ alertname: 'RegionDown', region: 'us' }, { name: 'pager' }, ['c']],
    ]);
  });

  test('of a receiver, or that are not muted, can be requested', async () => {
    const { ask, post } = await watched();
    await post('/api/v2/silences', aSilence());
    const receivers = async (query: string) =>
      (await ask<AlertGroupJson[]>(`/api/v2/alerts/groups?${query}`)).json.map(
        ({ labels }) => labels.alertname,
      );
    expect(await receivers('receiver=pager')).toEqual(['FlightFailed', 'RegionDown']);
    expect(await receivers('receiver=pager&muted=false')).toEqual(['RegionDown']);
    expect(await receivers('receiver=pager&silenced=false')).toEqual(['RegionDown']);
  });

  test('have what the labels of their route say', async () => {
    const routes = `route: { receiver: a, group_by: [region], labels: { text: '{{ groupLabels.region }} {{ commonLabels.severity }}' } }`;
    const alerting = load(`${REGION}${routes}\nreceivers: [{ name: a }]\n`);
    const { ask } = await watched({ alerting });
    const { json } = await ask<AlertGroupJson[]>('/api/v2/alerts/groups');
    expect(json.map(({ labels, routeLabels }) => [labels, routeLabels])).toEqual([
      [{ region: 'eu' }, { text: 'eu' }],
      [{ region: 'us' }, { text: 'us critical' }],
    ]);
  });

  test('name the time interval that mutes them', async () => {
    const config = anAlertingConfig();
    const [pager, rest] = config.route.routes;
    const always = createTimeInterval({ location: 'UTC' });
    const { ask, store } = await serve({
      alerting: {
        ...config,
        route: { ...config.route, routes: [{ ...pager!, muteTimeIntervals: ['nights'] }, rest!] },
        timeIntervals: new Map([['nights', [always]]]),
      },
    });
    await putAlert(store, { id: 'a', labels: BIRD });
    const { json } = await ask<AlertGroupJson[]>('/api/v2/alerts/groups?receiver=pager');
    expect(json[0]?.alerts[0]?.status).toMatchObject({ state: 'suppressed', mutedBy: ['nights'] });
    expect((await ask('/api/v2/alerts/groups?receiver=pager&muted=false')).json).toEqual([]);
  });
});

function sorted(labels: Record<string, string>) {
  return Object.fromEntries(Object.entries(labels).toSorted());
}

describe('silences', () => {
  test('are added, read, listed and expired, and wake up the stages', async () => {
    const { ask, post, changes, clock } = await watched();
    const added = await post<Added>('/api/v2/silences', aSilence());
    expect([added.status, added.json]).toEqual([200, { silenceID: expect.any(String) }]);
    const id = added.json.silenceID;
    expect(changes).toHaveLength(1);
    const expected = {
      ...aSilence(),
      id,
      status: { state: 'active' },
      updatedAt: at(NOW_US),
      annotations: {},
    };
    expect((await ask(`/api/v2/silence/${id}`)).json).toEqual(expected);
    expect((await ask('/api/v2/silences')).json).toEqual([expected]);
    await clock.advance(MINUTE / 1000);
    expect(await ask(`/api/v2/silence/${id}`, {}, 'DELETE')).toMatchObject({ status: 200, body: '' });
    expect(changes).toHaveLength(2);
    expect((await ask(`/api/v2/silence/${id}`)).json).toMatchObject({
      status: { state: 'expired' },
      endsAt: at(NOW_US + MINUTE),
    });
  });

  test('are listed with active ones first, then pending, then expired', async () => {
    const { ask, post } = await watched();
    const add = async (comment: string, fromUs: number, toUs: number) =>
      (
        await post<Added>(
          '/api/v2/silences',
          aSilence({ comment, startsAt: at(NOW_US + fromUs), endsAt: at(NOW_US + toUs) }),
        )
      ).json.silenceID;
    await add('later', 2 * HOUR, 3 * HOUR);
    await add('long', 0, 2 * HOUR);
    await add('soon', HOUR, 3 * HOUR);
    await add('short', 0, HOUR);
    await ask(`/api/v2/silence/${await add('over', 0, HOUR)}`, {}, 'DELETE');
    const comments = async (query = '') =>
      (await ask<{ comment: string }[]>(`/api/v2/silences${query}`)).json.map(({ comment }) => comment);
    expect(await comments()).toEqual(['short', 'long', 'soon', 'later', 'over']);
    expect(await comments('?active=false&pending=false')).toEqual(['over']);
    expect(await comments(filter('bird="Translate blog"'))).toHaveLength(5);
    expect(await comments(filter('bird=~"Translate blog"'))).toEqual([]);
  });

  describe('can be filtered by the filters of every list, which is an extension:', () => {
    const SILENCES = {
      critical: { matchers: ['severity', 'critical'] },
      marketing: { matchers: ['nest', 'Marketing'], createdBy: 'ben', startsAt: at(NOW_US + HOUR) },
      bird: { matchers: ['bird_id', '148890'] },
      pattern: { matchers: ['nest', 'Prod.*|Marketing', true], comment: 'the TMS is down' },
      others: { matchers: ['region', 'eu', false, false] },
      kind: { matchers: ['alertname', 'FlightFailed'] },
    } as const;
    type Name = keyof typeof SILENCES;
    const ALL = Object.keys(SILENCES) as Name[];
    const but = (...names: Name[]) => ALL.filter((one) => !names.includes(one));

    async function asked(query: string) {
      const { ask, post, store } = await serve();
      await putAlert(store, { id: 'a' }, [{ id: 'f1/failed' }]);
      await store.transaction(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'flight', '148890');
        const startedAtUs = NOW_US - HOUR;
        const ended = { status: 'failed', open: false, ends: 1, endedAtUs: startedAtUs + MINUTE } as const;
        await tx.flights.put([{ stream, flightId: 'f1', startedAtUs, ...ended }]);
      });
      const names = new Map<string, Name>();
      for (const name of ALL) {
        const { matchers, ...rest } = { ...SILENCES[name] };
        const [label, value, isRegex = false, isEqual = true] = matchers as readonly [
          string,
          string,
          boolean?,
          boolean?,
        ];
        const body = { ...rest, matchers: [{ name: label, value, isRegex, isEqual }] };
        const endsAt = at(NOW_US + 2 * HOUR);
        const { json } = await post<Added>('/api/v2/silences', aSilence({ endsAt, ...body }));
        names.set(json.silenceID, name);
      }
      const { status, json } = await ask<readonly { id: string }[]>(`/api/v2/silences?${query}`);
      if (status !== 200) return [status, json];
      const found = new Set(json.map(({ id }) => names.get(id)));
      return ALL.filter((one) => found.has(one));
    }

    test.each([
      ['region=eu', but('others')],
      ['region=us', ALL],
      ['severity=warning', but('critical')],
      ['name=RegionDown', but('kind')],
      ['name=flightfailed', ALL],
      ['nest=marketing', ALL],
      ['nest=Sandbox', but('marketing', 'pattern')],
      ['nest=Production', but('marketing')],
      ['bird=148890', ALL],
      ['bird=148891', but('bird')],
      ['text=TMS', ['pattern']],
      ['text=BEN', ['marketing']],
      ['text=region!', ['others']],
      [`until=${at(NOW_US + HOUR)}`, but('marketing')],
      [`since=${at(NOW_US + HOUR)}`, ALL],
      [`since=${at(NOW_US + 2 * HOUR)}`, []],
      // A silence that has not begun hides nothing.
      ['flight=f1', ['critical', 'bird', 'pattern', 'kind']],
      ['flight=f2', []],
      ['severity=warning&text=TMS', ['pattern']],
      [`nest=Sandbox&${filter('severity="critical"').slice(1)}`, ['critical']],
    ] satisfies [string, Name[]][])('%s', async (query, expected) => {
      expect(await asked(query)).toEqual(expected);
    });

    test.each([
      ['region=mars', 'region: must be one of eu, us'],
      ['since=yesterday', 'since: must be a duration like 2h, or an instant like 2026-07-02T13:59:34Z'],
      ['since=1h&since=2h', 'since: given more than once'],
    ])('%s is refused', async (query, message) => {
      expect(await asked(query)).toEqual([400, message]);
    });
  });

  test('can recur, which is an extension', async () => {
    const { ask, post, birds } = await watched();
    const recurrence = { cron: '0 2 * * *', timezone: 'Europe/Amsterdam', duration: '2h' };
    const { json } = await post<Added>(
      '/api/v2/silences',
      aSilence({ recurrence, endsAt: at(NOW_US + 900 * HOUR) }),
    );
    expect((await ask(`/api/v2/silence/${json.silenceID}`)).json).toMatchObject({ recurrence });
    // It is noon, when no window is open.
    expect(await birds('?silenced=false')).toContain('a');
  });

  test('keep their id when their end changes, and get another when their matchers do', async () => {
    const { post } = await watched();
    const { json: first } = await post<Added>('/api/v2/silences', aSilence());
    const id = first.silenceID;
    const longer = await post<Added>('/api/v2/silences', aSilence({ id, endsAt: at(NOW_US + 2 * HOUR) }));
    expect(longer.json.silenceID).toBe(id);
    const matchers = [{ name: 'bird', value: 'T.*', isRegex: true }];
    const other = await post<Added>('/api/v2/silences', aSilence({ id, matchers }));
    expect(other.json.silenceID).not.toBe(id);
  });

  test.each([
    ['no JSON', 'x', 'the body must be JSON'],
    ['no matchers', aSilence({ matchers: [] }), 'at least one matcher required'],
    [
      'only matchers that fit everything',
      aSilence({ matchers: [{ name: 'a', value: '.*', isRegex: true }] }),
      'at least one matcher must not match the empty string',
    ],
    [
      'a bad regular expression',
      aSilence({ matchers: [{ name: 'a', value: '(', isRegex: true }] }),
      'bad silence: ',
    ],
    ['an end before the start', aSilence({ endsAt: at(NOW_US - 1) }), 'start time must be before end time'],
    ['no end', aSilence({ endsAt: undefined }), 'bad silence: endsAt: '],
    [
      'an instant that is none',
      aSilence({ endsAt: 'soon' }),
      'bad silence: endsAt: must be an RFC 3339 instant',
    ],
    [
      'an instant later than any that can be kept',
      aSilence({ endsAt: '9000-01-01T00:00:00Z' }),
      'bad silence: endsAt: must be before the year 2255',
    ],
    ['a comment without end', aSilence({ comment: 'x'.repeat(3_000) }), 'bad silence: comment: '],
    [
      'a cron expression that is none',
      aSilence({ recurrence: { cron: 'daily', timezone: 'UTC', duration: '1h' } }),
      'the cron expression must have five fields',
    ],
  ])('%s is refused', async (_, body, message) => {
    const { ask, changes } = await watched();
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { status, json } = await ask(
      '/api/v2/silences',
      { 'content-type': 'application/json' },
      'POST',
      text,
    );
    expect(status).toBe(400);
    expect(json).toContain(message);
    expect(changes).toEqual([]);
  });

  test('that are unknown are not found', async () => {
    const { ask, post } = await watched();
    expect(await ask('/api/v2/silence/x')).toMatchObject({ status: 404, json: 'silence not found' });
    expect(await ask('/api/v2/silence/x', {}, 'DELETE')).toMatchObject({ status: 404 });
    expect(await post('/api/v2/silences', aSilence({ id: 'x' }))).toMatchObject({ status: 404 });
  });
});

test('the status has what clients need, and the route tree without secrets', async () => {
  const { json } = await (await watched()).ask<{ config: { original: string } }>('/api/v2/status');
  expect(json).toMatchObject({
    cluster: { status: 'disabled', peers: [] },
    uptime: at(NOW_US - 26 * HOUR),
    versionInfo: { version: '0.1.0', branch: '', revision: '', goVersion: '', buildDate: '', buildUser: '' },
  });
  const times = { group_wait: '30s', group_interval: '5m', repeat_interval: '4h' };
  expect(parse(json.config.original)).toEqual({
    route: {
      receiver: 'ops',
      group_by: ['alertname', 'region'],
      ...times,
      routes: [
        {
          receiver: 'pager',
          matchers: ['severity="critical"'],
          continue: true,
          group_by: ['alertname', 'region'],
          ...times,
        },
        { receiver: 'ops', group_by: ['...'], ...times },
      ],
    },
    receivers: [{ name: 'ops' }, { name: 'pager' }],
    inhibit_rules: [
      {
        source_matchers: ['alertname=~"RegionDown|RegionUnauthorized"'],
        target_matchers: ['alertname!~"RegionDown|RegionUnauthorized|DeliveryFailing"'],
        equal: ['region'],
      },
      ...[
        { region: 'region!="all"', equal: ['region', 'error'] },
        { region: 'region="all"', equal: ['error'] },
      ].map(({ region, equal }) => ({
        source_matchers: ['alertname="SharedCause"', region, 'error!=""'],
        target_matchers: ['alertname="FlightFailed"'],
        equal,
      })),
    ],
  });
});

test('the status has the time intervals, which can be read back', async () => {
  const intervals = `time_intervals:
  - name: hours
    time_intervals:
      - times: [{ start_time: '08:00', end_time: '24:00' }]
        weekdays: ['monday:friday']
        days_of_month: ['1:5', '-3:-1']
        months: ['5:8']
        years: ['2026:2028']
        location: Europe/Amsterdam
`;
  const routes = `route: { receiver: a, routes: [{ receiver: a, mute_time_intervals: [hours], active_time_intervals: [hours] }] }
receivers: [{ name: a }]
`;
  const { ask } = await serve({ alerting: load(`${REGION}${routes}${intervals}`) });
  const { json } = await ask<{ config: { original: string } }>('/api/v2/status');
  const original = parse(json.config.original);
  expect(original.time_intervals).toEqual(parse(intervals).time_intervals);
  expect(original.route.routes).toMatchObject([
    { mute_time_intervals: ['hours'], active_time_intervals: ['hours'] },
  ]);
  expect(original.receivers).toEqual([{ name: 'a' }]);
});

test('receivers are listed, with their labels, and filtered by them', async () => {
  const { alerting } = (await serve()).options;
  const receivers = alerting.receivers.map((one) =>
    one.name === 'pager' ? { ...one, labels: { owner: 'loc', tier: '1' } } : one,
  );
  const { ask } = await watched({ alerting: { ...alerting, receivers } });
  const pager = { name: 'pager', labels: { name: 'pager', owner: 'loc', tier: '1' } };
  expect((await ask('/api/v2/receivers')).json).toEqual([{ name: 'ops', labels: { name: 'ops' } }, pager]);
  const by = (query: string) => `receiver_matchers=${encodeURIComponent(query)}`;
  expect((await ask(`/api/v2/receivers?${by('owner="loc"')}&${by('tier=~"1|2"')}`)).json).toEqual([pager]);
  expect((await ask(`/api/v2/receivers?${by('owner!="loc"')}`)).json).toMatchObject([{ name: 'ops' }]);
  expect((await ask(`/api/v2/receivers?${by('owner')}`)).status).toBe(400);

  const groups = async (query: string) => {
    const { json } = await ask<{ receiver: { name: string } }[]>(`/api/v2/alerts/groups?${query}`);
    return new Set(json.map(({ receiver }) => receiver.name));
  };
  expect(await groups(by('owner="loc"'))).toEqual(new Set(['pager']));
  expect(await groups(`${by('owner="loc"')}&receiver=ops`)).toEqual(new Set());
  const alerts = (await ask<{ receivers: { name: string }[] }[]>(`/api/v2/alerts?${by('tier="1"')}`)).json;
  expect(alerts.length).toBeGreaterThan(0);
  expect(alerts.every((one) => one.receivers.some(({ name }) => name === 'pager'))).toBe(true);
});

test('a silence of the 500 Birds of a group is accepted', async () => {
  const { post, birds, store } = await watched();
  await putAlert(store, { id: 'e', labels: { ...BIRD, bird_id: '148890' } });
  const value = Array.from({ length: 500 }, (_, index) => `${148_500 + index}`).join('|');
  const silence = {
    matchers: [{ name: 'bird_id', value, isRegex: true }],
    ...{ startsAt: '2026-07-02T12:00:00Z', endsAt: '2026-07-02T14:00:00Z' },
    ...{ createdBy: 'anna', comment: 'tea' },
  };
  expect((await post('/api/v2/silences', silence)).status).toBe(200);
  expect(await birds('')).toEqual(['a', 'b', 'c', 'e']);
  expect(await birds('?silenced=false')).toEqual(['a', 'b', 'c']);
});

test('annotations of a silence are kept, also when it is changed', async () => {
  const { post, ask } = await watched();
  const silence = {
    matchers: [{ name: 'bird', value: 'x', isRegex: false }],
    ...{ startsAt: '2026-07-02T12:00:00Z', endsAt: '2026-07-02T14:00:00Z' },
    ...{ createdBy: 'anna', comment: 'tea' },
  };
  const annotations = { ticket: 'LOC-7', __proto__x: 'y' };
  const { json } = await post<{ silenceID: string }>('/api/v2/silences', { ...silence, annotations });
  const read = async () => (await ask(`/api/v2/silence/${json.silenceID}`)).json;
  expect(await read()).toMatchObject({ annotations });
  const changed = { ...silence, id: json.silenceID, annotations: { ticket: 'LOC-8' } };
  await post('/api/v2/silences', changed);
  expect(await read()).toMatchObject({ id: json.silenceID, annotations: { ticket: 'LOC-8' } });
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`k${index}`, '']));
  expect((await post('/api/v2/silences', { ...silence, annotations: many })).status).toBe(400);
});
