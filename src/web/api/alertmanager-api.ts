/**
 * Serves Alertmanager's API v2, as its openapi.yaml describes it, for amtool, Grafana and karma. Alerts cannot be
 * posted: they only come from the watched service. Errors are plain JSON strings.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { type Context, Hono } from 'hono';
import { alertSlips } from '../../config/label-warnings.ts';
import type { Labels } from '../../domain/alert/alert.ts';
import { commonLabels } from '../../domain/alert/labels.ts';
import {
  compileRegex,
  formatMatcher,
  type Matcher,
  matchesAll,
  parseFilters,
  RegexSyntaxError,
} from '../../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../domain/matchers/matcher-syntax.ts';
import type { Muting } from '../../domain/muting/muting.ts';
import { type Silence, type SilenceState, silenceState } from '../../domain/muting/silence.ts';
import type { SilenceChange } from '../../domain/muting/silence-change.ts';
import { groupKey, groupLabels, type Route, routesFor } from '../../domain/routing/route.ts';
import { readingWork, silencesThatMeet } from '../../operator/find-silences.ts';
import { FILTERS } from '../../operator/lists.ts';
import { type AlertingConfig, type RoutedAlert, readRoutedAlerts } from '../../operator/read-alerts.ts';
import type { Filter } from '../../store/filter.ts';
import { pausing } from '../../time/clock.ts';
import { signedBy } from '../access/identify.ts';
import { select } from '../bounded-work.ts';
import { readQuery, refuse } from '../requests/query.ts';
import { readFilter } from '../requests/read-lists.ts';
import { readSilence } from '../requests/silence-request.ts';
import type { ApiOptions } from '../web-options.ts';
import {
  type AlertGroupJson,
  alertmanagerYaml,
  dateTime,
  type GettableAlert,
  gettableAlert,
  gettableSilence,
  JsonInSlices,
} from './alertmanager-json.ts';

type Receiver = AlertingConfig['receivers'][number];

export function createAlertmanagerApi(options: ApiOptions): Hono {
  const { store, status, alerting, silenceEditor, clock, externalUrl } = options;
  const api = new Hono();

  const read = (nowUs: number) =>
    store.transaction(async (tx) => {
      const muting = await options.muting(tx, nowUs);
      return { muting, routed: await readRoutedAlerts(tx, muting, alerting) };
    });

  // Rendering thousands of routes takes long, and the result is the same while a configuration is in force.
  let original: string | undefined;

  api.get('/status', (c) => {
    const { version, startedAtUs } = status();
    original ??= alertmanagerYaml(alerting);
    return c.json({
      cluster: { status: 'disabled', peers: [] },
      config: { original },
      uptime: dateTime(startedAtUs),
      versionInfo: { branch: '', buildDate: '', buildUser: '', goVersion: '', revision: '', version },
    });
  });

  api.get('/receivers', (c) => {
    const isWanted = readReceiver(new URL(c.req.url).searchParams, alerting);
    const wanted = alerting.receivers.filter(({ name }) => isWanted(name));
    return c.json(wanted.map((one) => ({ name: one.name, labels: receiverLabels(one) })));
  });

  api.get('/alerts', async (c) => {
    const search = new URL(c.req.url).searchParams;
    const isWanted = readAlertFilter(search);
    const isReceiver = readReceiver(search, alerting);
    const nowUs = clock.nowUs();
    const { routed } = await read(nowUs);
    const received: GettableAlert[] = [];
    const pauseAfter = pausing(EVENT_LOOP);
    for (const one of routed) {
      if (one.receivers.some(isReceiver)) received.push(gettableAlert(one, [], { externalUrl, nowUs }));
      await pauseAfter(SHOWING_WORK);
    }
    const alerts = await select(received, isWanted, options);
    const json = new JsonInSlices();
    await json.addList(
      alerts.toSorted((a, b) => compare(a.fingerprint, b.fingerprint)),
      (one) => json.add(JSON.stringify(one)),
    );
    return answerJson(c, json);
  });

  api.post('/alerts', (c) => c.json(NO_ALERTS_TAKEN, 400));

  api.get('/alerts/groups', async (c) => {
    const search = new URL(c.req.url).searchParams;
    const isWanted = readAlertFilter(search);
    const isReceiver = readReceiver(search, alerting);
    const showsMuted = readFlag(search, 'muted');
    const nowUs = clock.nowUs();
    const { routed, muting } = await read(nowUs);
    const groups = await groupsOf(routed, muting, alerting.route, { externalUrl, nowUs });
    const every = groups.flatMap(({ group }) => group.alerts);
    const wanted = new Set(await select(every, isWanted, options));
    const shown = groups.flatMap(({ group, isMuted }) => {
      const alerts = group.alerts.filter((one) => wanted.has(one));
      const isHidden = alerts.length === 0 || !isReceiver(group.receiver.name) || (isMuted && !showsMuted);
      return isHidden ? [] : [{ ...group, alerts }];
    });
    const json = new JsonInSlices();
    await json.addList(shown, async ({ alerts, ...group }) => {
      await json.add('{"alerts":');
      await json.addList(alerts, (one) => json.add(JSON.stringify(one)));
      await json.add(`,${JSON.stringify(group).slice(1)}`);
    });
    return answerJson(c, json);
  });

  api.get('/silences', async (c) => {
    const search = new URL(c.req.url).searchParams;
    const filter = readMatchers(search).map(formatMatcher);
    const states = STATES.filter((state) => readFlag(search, state));
    const nowUs = clock.nowUs();
    const asked = readOwnFilter(search, options.regions(), nowUs);
    const silences = await store.transaction(async (tx) => {
      const all = await tx.silences.list();
      if (!asked) return all;
      return silencesThatMeet(tx, await options.muting(tx, nowUs), all, asked, nowUs);
    });
    const shown: Silence[] = [];
    const pauseAfter = pausing(EVENT_LOOP);
    for (const one of silences) {
      if (states.includes(silenceState(one, nowUs)) && hasMatchers(one, filter)) shown.push(one);
      await pauseAfter(readingWork(one));
    }
    const json = new JsonInSlices();
    await json.addList(inOrder(shown, nowUs), (one) => json.add(JSON.stringify(gettableSilence(one, nowUs))));
    return answerJson(c, json);
  });

  api.post('/silences', async (c) => {
    const asked = readSilence(await bodyOf(c));
    const createdBy = signedBy(c.get('identity'), asked.createdBy);
    const result = await silenceEditor.set({ ...asked, createdBy });
    if (!result.ok) return refusal(c, result);
    const silenceID = result.id;
    // Only our own command asks: amtool hears what Alertmanager says. It tells of alerts, so it takes who may read.
    const isTold = c.req.query('warn') === 'true' && c.get('identity').scopes.has('read');
    if (!isTold) return c.json({ silenceID });
    const firing = (await read(clock.nowUs())).routed.map(({ alert }) => alert.labels);
    const known = { rules: alerting.rules, regions: options.regions(), firing };
    const warnings = alertSlips(asked.matchers, known);
    const hidden = await select(firing, (labels) => matchesAll(asked.matchers, labels), options);
    if (hidden.length === 0) warnings.push('it matches no alert that fires now');
    return c.json({ silenceID, warnings });
  });

  api.get('/silence/:id', async (c) => {
    const silences = await store.transaction((tx) => tx.silences.list());
    const silence = silences.find(({ id }) => id === c.req.param('id'));
    if (!silence) return c.json('silence not found', 404);
    return c.json(gettableSilence(silence, clock.nowUs()));
  });

  api.delete('/silence/:id', async (c) => {
    const result = await silenceEditor.expire(c.req.param('id'));
    return result.ok ? c.body(null, 200) : refusal(c, result);
  });

  return api;
}

/** The work of showing an alert, in units of a comparison with a silence. */
const SHOWING_WORK = 50;

const EVENT_LOOP = { pause: () => turnOfEventLoop() };

async function answerJson(c: Context, json: JsonInSlices): Promise<Response> {
  return c.body(await json.whole(), 200, { 'content-type': 'application/json' });
}

const NO_ALERTS_TAKEN =
  'nestwatch takes no alerts: they come from the service that it watches; send yours to an Alertmanager';

function refusal(c: Context, { problem, message }: Extract<SilenceChange, { ok: false }>): Response {
  return c.json(message, problem === 'not_found' ? 404 : 400);
}

async function bodyOf(c: Context): Promise<unknown> {
  try {
    return await c.req.json();
  } catch {
    throw refuse('the body must be JSON');
  }
}

/** Each `filter` is one or more matchers, and all must match. */
function readMatchers(search: URLSearchParams, name = 'filter'): Matcher[] {
  try {
    return parseFilters(search.getAll(name));
  } catch (error) {
    if (error instanceof MatcherSyntaxError) throw refuse(`bad matcher format: ${error.message}`);
    throw error;
  }
}

/** Reads `receiver`, a regular expression for the name, and `receiver_matchers`, for the labels. */
function readReceiver(search: URLSearchParams, { receivers }: AlertingConfig): (name: string) => boolean {
  const fits = readReceiverName(search);
  const matchers = readMatchers(search, 'receiver_matchers');
  const fitting = receivers.filter((one) => fits(one.name) && matchesAll(matchers, receiverLabels(one)));
  const names = new Set(fitting.map(({ name }) => name));
  return (name) => names.has(name);
}

function readReceiverName(search: URLSearchParams): (name: string) => boolean {
  const pattern = search.get('receiver');
  if (!pattern) return () => true;
  try {
    return compileRegex(pattern);
  } catch (error) {
    if (error instanceof RegexSyntaxError) throw refuse(`failed to parse receiver param: ${error.message}`);
    throw error;
  }
}

function receiverLabels({ name, labels }: Receiver): Labels {
  return { ...labels, name };
}

/** The values that go-openapi, with which Alertmanager reads its flags, takes for true. Everything else is false. */
const TRUE: ReadonlySet<string> = new Set([
  ...['true', '1', 'yes', 'ok', 'y', 'on', 'selected', 'checked', 't', 'enabled'],
]);

/** True by default, like all of Alertmanager's flags. If a flag is repeated, the last one counts. */
function readFlag(search: URLSearchParams, name: string): boolean {
  const value = search.getAll(name).at(-1) || 'true';
  return TRUE.has(value.toLowerCase());
}

/** Every firing alert has been processed, so `unprocessed` affects none. */
function readAlertFilter(search: URLSearchParams): (alert: GettableAlert) => boolean {
  const matchers = readMatchers(search);
  const active = readFlag(search, 'active');
  const silenced = readFlag(search, 'silenced');
  const inhibited = readFlag(search, 'inhibited');
  readFlag(search, 'unprocessed');
  return ({ labels, status }) =>
    matchesAll(matchers, labels) &&
    (active || status.state !== 'active') &&
    (silenced || status.silencedBy.length === 0) &&
    (inhibited || status.inhibitedBy.length === 0);
}

/** Sorted by labels, then by receiver. Groups of several routes may have the same labels. */
async function groupsOf(
  routed: readonly RoutedAlert[],
  muting: Muting,
  root: Route,
  shown: { readonly externalUrl: string; readonly nowUs: number },
): Promise<{ readonly group: AlertGroupJson; readonly isMuted: boolean }[]> {
  interface Found {
    readonly labels: Labels;
    readonly route: Route;
    readonly mutedBy: readonly string[];
    readonly alerts: GettableAlert[];
  }
  const found = new Map<string, Found>();
  const pauseAfter = pausing(EVENT_LOOP);
  for (const one of routed) {
    const { labels } = one.alert;
    for (const route of routesFor(root, labels)) {
      const key = groupKey(root, route, labels);
      const group: Found = found.get(key) ?? {
        labels: groupLabels(route, labels),
        route,
        mutedBy: muting.ofRoute(route),
        alerts: [],
      };
      group.alerts.push(gettableAlert(one, group.mutedBy, shown));
      found.set(key, group);
      await pauseAfter(SHOWING_WORK);
    }
  }
  const groups: { group: AlertGroupJson; isMuted: boolean; place: string }[] = [];
  for (const { labels, route, alerts, mutedBy } of found.values()) {
    const ofRoute = route.writeLabels?.({
      groupLabels: labels,
      commonLabels: commonLabels(alerts.map((one) => one.labels)),
    });
    groups.push({
      group: { alerts, labels, receiver: { name: route.receiver }, routeLabels: ofRoute ?? {} },
      isMuted: mutedBy.length > 0 || alerts.every(({ status }) => status.state === 'suppressed'),
      place: JSON.stringify(labels),
    });
    await pauseAfter(SHOWING_WORK);
  }
  return groups.toSorted(
    ({ group: a, place }, { group: b, place: other }) =>
      compare(place, other) || compare(a.receiver.name, b.receiver.name),
  );
}

const STATES: readonly SilenceState[] = ['active', 'pending', 'expired'];

/** Active silences by their end, then pending ones by their start, then expired ones, latest first. */
function inOrder(silences: readonly Silence[], nowUs: number): Silence[] {
  const rank = (one: Silence) => STATES.indexOf(silenceState(one, nowUs));
  const within = [
    (one: Silence) => one.endsAtUs,
    (one: Silence) => one.startsAtUs,
    (one: Silence) => -one.endsAtUs,
  ];
  return silences.toSorted(
    (a, b) => rank(a) - rank(b) || within[rank(a)]!(a) - within[rank(a)]!(b) || compare(a.id, b.id),
  );
}

/** The filters of nestwatch's own lists, in addition to Alertmanager's; undefined if none is given. */
function readOwnFilter(
  search: URLSearchParams,
  regions: readonly string[],
  nowUs: number,
): Filter | undefined {
  const own = new URLSearchParams([...search].filter(([name]) => FILTERS.some((one) => one === name)));
  if (own.size === 0) return undefined;
  return readFilter(readQuery(own, FILTERS), regions, nowUs);
}

/** Whether all these matchers are among the silence's own. */
function hasMatchers({ matchers }: Silence, filter: readonly string[]): boolean {
  if (filter.length === 0) return true;
  const own = new Set(matchers.map(formatMatcher));
  return filter.every((one) => own.has(one));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
