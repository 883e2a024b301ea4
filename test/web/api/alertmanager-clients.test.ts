/**
 * What Grafana's Alertmanager data source (implementation "Prometheus") and karma request of an Alertmanager, as in
 * their own code, and what they read of the answers. For Grafana: `alertmanagerApi.ts`, `alertSilencesApi.ts`,
 * `lotex_am.go` and `proxyutil.go`; for karma: `models.go`, `mapper/v017/api.go`, `proxy.go` and `useFetchDelete.ts`.
 * amtool itself is tested in `test/system/`.
 */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { NOW_US, putAlert } from '../sample.ts';
import { serve } from '../served.ts';

const HOUR_US = 3_600_000_000;
const at = (us: number) => new Date(us / 1000).toISOString();
const LABELS = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird: 'Translate blog' };

async function watched() {
  const served = await serve();
  await putAlert(served.store, { id: 'a', labels: LABELS });
  await putAlert(served.store, { id: 'b', labels: { ...LABELS, bird: 'say "hi"', region: 'us' } });
  return served;
}

/** As the Go client of both writes it: fields in the order of their names, instants in milliseconds. */
const silence = {
  comment: 'maintenance',
  createdBy: 'anna',
  endsAt: at(NOW_US + HOUR_US),
  matchers: [{ isEqual: true, isRegex: false, name: 'bird', value: 'Translate blog' }],
  startsAt: at(NOW_US),
};

// The fields that are read; others are ignored.
const rfc3339 = z.iso.datetime({ offset: true });
const labels = z.record(z.string(), z.string());
const readAlert = z.object({
  annotations: labels,
  endsAt: rfc3339,
  fingerprint: z.string().min(1),
  generatorURL: z.url(),
  labels,
  receivers: z.array(z.object({ name: z.string() })),
  startsAt: rfc3339,
  status: z.object({
    inhibitedBy: z.array(z.string()),
    silencedBy: z.array(z.string()),
    state: z.enum(['unprocessed', 'active', 'suppressed']),
  }),
  updatedAt: rfc3339,
});
const readGroups = z.array(
  z.object({ labels, receiver: z.object({ name: z.string() }), alerts: z.array(readAlert).min(1) }),
);
const readSilences = z.array(
  z.object({
    id: z.string().min(1),
    comment: z.string(),
    createdBy: z.string(),
    endsAt: rfc3339,
    startsAt: rfc3339,
    updatedAt: rfc3339,
    matchers: z
      .array(
        z.object({
          name: z.string(),
          value: z.string(),
          isRegex: z.boolean(),
          isEqual: z.boolean().optional(),
        }),
      )
      .min(1),
    status: z.object({ state: z.enum(['expired', 'active', 'pending']) }),
  }),
);

test("Grafana's health check takes us for Prometheus' Alertmanager, not for Mimir's", async () => {
  const { ask } = await watched();
  expect((await ask('/alertmanager/api/v2/status')).status).toBe(404);
  expect((await ask('/api/v1/status/buildinfo')).status).toBe(404);
  expect((await ask('/api/v2/status')).status).toBe(200);
});

test('Grafana reads the configuration out of the status as Alertmanager would', async () => {
  const { ask } = await watched();
  const { json, headers } = await ask<{ config: { original: string } }>('/api/v2/status');
  expect(headers['content-type']).toContain('json');
  z.object({
    cluster: z.object({ status: z.enum(['ready', 'settling', 'disabled']), peers: z.array(z.unknown()) }),
    uptime: rfc3339,
    versionInfo: z.record(z.string(), z.string()),
  }).parse(json);
  const { route, receivers, ...rest } = parse(json.config.original);
  expect(Object.keys(rest)).toEqual(['inhibit_rules']);
  expect(receivers).toContainEqual({ name: route.receiver });
  // Alertmanager refuses a root route with matchers, and with it the whole configuration.
  expect(route).not.toHaveProperty('matchers');
  const check = (one: { receiver: string; group_wait: string; routes?: unknown[] }): void => {
    expect(receivers).toContainEqual({ name: one.receiver });
    expect(one.group_wait).toMatch(/^(\d+(ms|[smhdwy]))+$/);
    for (const child of one.routes ?? []) check(child as typeof one);
  };
  check(route);
});

test('Grafana lists alerts, groups and silences, and sets and expires a silence', async () => {
  const { ask, post } = await watched();
  const flags = 'silenced=true&active=true&inhibited=true';
  const filter = encodeURIComponent('bird="say \\"hi\\""');
  const filtered = await ask(`/api/v2/alerts?${flags}&filter=${filter}`);
  expect(
    z
      .array(readAlert)
      .parse(filtered.json)
      .map((one) => one.labels.bird),
  ).toEqual(['say "hi"']);
  expect(readGroups.parse((await ask('/api/v2/alerts/groups')).json).length).toBeGreaterThan(0);

  // Grafana sends it from its server, with nothing of the browser's request but the body.
  const set = await post('/api/v2/silences', silence);
  expect(set).toMatchObject({ status: 200, json: { silenceID: expect.any(String) } });
  const [listed] = readSilences.parse((await ask('/api/v2/silences')).json);
  expect(listed).toMatchObject({ comment: 'maintenance', status: { state: 'active' } });
  const one = await ask(`/api/v2/silence/${listed!.id}`);
  expect(readSilences.parse([one.json])[0]!.id).toBe(listed!.id);
  const edited = await post<{ silenceID: string }>('/api/v2/silences', {
    ...silence,
    id: listed!.id,
    comment: 'longer',
  });
  expect(edited.status).toBe(200);
  expect((await ask(`/api/v2/silence/${edited.json.silenceID}`, {}, 'DELETE')).status).toBe(200);
  const after = readSilences.parse((await ask('/api/v2/silences')).json);
  expect(after.every(({ status }) => status.state === 'expired')).toBe(true);
});

/** What Grafana's server passes on of its page's request: a new request with these headers besides the content type. */
const BY_GRAFANA = {
  'user-agent': 'Grafana/12.1.0',
  'x-grafana-referer': '',
  'x-grafana-user': 'anna',
  'x-forwarded-for': '192.0.2.7',
  via: '1.1 grafana',
  'accept-encoding': 'gzip',
};

test('what Grafana adds to its requests changes no answer', async () => {
  const { ask, post } = await watched();
  const set = await post<{ silenceID: string }>('/api/v2/silences', silence, BY_GRAFANA);
  expect(set.status).toBe(200);
  const same = async (path: string, query: string) => {
    const [bare, asked] = [await ask(path), await ask(`${path}?${query}`, BY_GRAFANA)];
    expect(bare.status).toBe(200);
    expect(asked).toMatchObject({ status: 200, json: bare.json });
  };
  const forItself = 'ruleMetadata=true&accesscontrol=true';
  await same('/api/v2/silences', forItself);
  await same(`/api/v2/silence/${set.json.silenceID}`, forItself);
  await same('/api/v2/alerts', 'silenced=true&active=true&inhibited=true&unprocessed=true');
  await same('/api/v2/alerts/groups', 'active=true&silenced=true&inhibited=true');

  // Its matchers: the value is always quoted, the name if it contains a special character.
  const birds = async (...matchers: string[]) => {
    const filters = matchers.map((one) => `filter=${encodeURIComponent(one)}`).join('&');
    const { json } = await ask(`/api/v2/alerts?${filters}`, BY_GRAFANA);
    return z
      .array(readAlert)
      .parse(json)
      .map((one) => one.labels.bird);
  };
  expect(await birds('bird="say \\"hi\\""')).toEqual(['say "hi"']);
  expect(await birds('bird=~"Trans.*"', 'region!="us"')).toEqual(['Translate blog']);
  expect(await birds('"a name"=""', 'bird!~"say.*"')).toEqual(['Translate blog']);
  const inGroups = await ask(
    `/api/v2/alerts/groups?receiver=ops&filter=${encodeURIComponent('region="us"')}`,
  );
  expect(readGroups.parse(inGroups.json).flatMap(({ alerts }) => alerts)).toHaveLength(1);

  // A refusal is shown to the person: it comes as JSON, and its text is the whole body.
  const refused = await post('/api/v2/silences', { ...silence, matchers: [] }, BY_GRAFANA);
  expect(refused).toMatchObject({ status: 400, json: expect.any(String) });
});

test('karma requests the metrics, the silences and the groups in turn, as its Go client does', async () => {
  const { ask } = await watched();
  const byGo = { 'user-agent': 'Go-http-client/1.1', 'accept-encoding': 'gzip' };
  const metrics = await ask('/metrics', byGo);
  // It takes the first format that it knows, which is text, and assumes the newest API if there is no version.
  expect(metrics).toMatchObject({
    status: 200,
    headers: { 'content-type': expect.stringContaining('text/plain') },
  });
  expect((await ask('/api/v2/silences', byGo)).json).toEqual([]);
  const groups = await ask('/api/v2/alerts/groups', byGo);
  for (const { alerts } of readGroups.parse(groups.json)) {
    // As the JSON reader of Go's time.Time accepts it, and without repeated keys, which that reader refuses.
    for (const one of alerts) expect(one.startsAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
  }
});

test('karma reads silences and groups, and assumes the latest Alertmanager because our metrics name no version', async () => {
  const { ask, post } = await watched();
  await post('/api/v2/silences', { ...silence, comment: 'half \uD83D pair' });
  const silences = await ask('/api/v2/silences');
  const groups = await ask('/api/v2/alerts/groups');
  readSilences.parse(silences.json);
  const read = readGroups.parse(groups.json);
  expect(read.flatMap(({ alerts }) => alerts.map((one) => one.labels.bird))).toContain('Translate blog');
  expect(read.flatMap(({ alerts }) => alerts.map((one) => one.status.silencedBy.length))).toContain(1);
  // Its JSON reader refuses a whole answer because of half a surrogate pair.
  for (const answer of [silences, groups]) expect(answer.body).not.toMatch(/\\ud[89a-f]/i);
});

test("karma's proxy may create and expire silences if it sends our origin", async () => {
  const { ask, post } = await watched();
  // What a browser on karma's page sends. karma passes it on with the headers from its configuration.
  const browser = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
  const foreign = await post('/api/v2/silences', silence, { ...browser, origin: 'http://karma.example.com' });
  expect(foreign.status).toBe(403);
  const own = { ...browser, origin: 'http://watch.example.com' };
  const set = await post<{ silenceID: string }>('/api/v2/silences', silence, own);
  expect(set).toMatchObject({ status: 200, json: { silenceID: expect.any(String) } });
  expect((await ask(`/api/v2/silence/${set.json.silenceID}`, own, 'DELETE')).status).toBe(200);
});
