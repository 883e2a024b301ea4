import type * as z from 'zod';
import type { EmailIntegration } from '../channels/email/email-config.ts';
import { traitsOf } from '../channels/integration-identity.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { CHANNELS, configsKey } from '../channels/registry.ts';
import { type Check, isMap, readList } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { nameNewMatchers } from '../document/read-matchers.ts';
import { insteadOf } from '../document/value-shape.ts';
import { EVENT_TYPES } from '../domain/alert/event.ts';
import { eventMatched } from '../domain/kinds/event-matched.ts';
import { flightWaiting } from '../domain/kinds/flight-waiting.ts';
import { flightsUnusual, UNUSUAL_WEEKS } from '../domain/kinds/flights-unusual.ts';
import { isRuleOf } from '../domain/kinds/kind.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { createMatcher, formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import type { Route } from '../domain/routing/route.ts';
import { isLoopback } from '../http/web-address.ts';
import { findGoSyntax } from '../templates/go-syntax.ts';
import { howMany } from '../text/instant-words.ts';
import { nearest } from '../text/mistake-words.ts';
import { createCron } from '../time/cron.ts';
import { formatDuration } from '../time/duration.ts';
import type { Config } from './config.ts';
import { findExposures } from './exposure-warnings.ts';
import { findLabelSlips } from './label-warnings.ts';
import { findRoutesToNobody, isAnybodyNotified, nodesOf } from './routes-to-nobody.ts';
import { isOpenToAll } from './sections/web-section.ts';

/** Adds what a valid configuration says but probably does not intend; the daemon runs with it anyway. */
export function findWarnings(check: Check, config: Config): void {
  for (const { name, baseUrl, tls } of config.regions) {
    const { protocol, hostname } = new URL(baseUrl);
    if (isLoopback(hostname)) continue;
    if (protocol === 'http:') {
      check.problem(['regions', name, 'base_url'], 'the token goes there unencrypted: use https');
    } else if (tls?.insecureSkipVerify) {
      check.problem(
        ['regions', name, 'tls_config', 'insecure_skip_verify'],
        'anyone on the network path can read the token: set the trusted certificate as `ca_file` instead',
      );
    }
  }
  if (isOpenToAll(config.web)) {
    check.problem(
      ['web', 'listen'],
      'anyone who can reach this address can read everything and silence alerts: set `web.auth`',
    );
  }
  for (const [index, receiver] of config.receivers.entries()) findBarePasswords(check, index, receiver);
  findLateEscalations(check, config);
  findVainActions(check, config);
  findExposures(check, config);
  const notified = notifiedReceivers(config);
  for (const [index, { name }] of config.receivers.entries()) {
    if (check.raw(['receivers', index]) === undefined || notified.has(name)) continue;
    check.problem(['receivers', index, 'name'], 'nothing leads to this receiver: name it in a route');
  }
  for (const [index, receiver] of config.receivers.entries()) {
    if (receiver.fallback !== undefined || !reachesMembersAlone(receiver)) continue;
    const instead =
      receiver.name === config.route.receiver
        ? 'nobody is notified'
        : `receiver ${JSON.stringify(config.route.receiver)} of the root route is notified instead`;
    check.problem(
      ['receivers', index],
      `where a Nest has no active members, or an alert belongs to no Nest, ${instead}: set \`fallback\``,
    );
  }
  const named = new Set([
    ...nodesOf(config.route).flatMap(intervalsOf),
    ...config.rules.flatMap((rule) => ('except' in rule ? (rule.except as readonly string[]) : [])),
  ]);
  for (const key of ['time_intervals', 'mute_time_intervals']) {
    for (const [index, name] of namesAt(check, [key])) {
      if (!named.has(name)) check.problem([key, index, 'name'], 'no route or rule names this time interval');
    }
  }
  findUnreachable(check, ['route'], config.route);
  findLabelSlips(check, config);
  findIneffectiveRules(check, config);
  findShortRetention(check, config);
  findShortMonths(check, config);
  findVagueSteps(check, config);
  findUnknownTypes(check, config);
  findAlertmanagerKeys(check);
}

/** Whether only members of Nests are notified. */
function reachesMembersAlone({ integrations }: Receiver): boolean {
  const isAlone = (one: Integration) => traitsOf(one).nestMembers?.beside.length === 0;
  return integrations.length > 0 && integrations.every(isAlone);
}

/** Passwords sent to a mail server whose identity is not verified. */
function findBarePasswords(check: Check, receiver: number, { integrations }: Receiver): void {
  const mails = integrations.filter((one): one is EmailIntegration => one.kind === 'email');
  for (const [index, { password, requireTls, isImplicitTls, tls, smarthost }] of mails.entries()) {
    if (!password || isLoopback(smarthost.host)) continue;
    const path = ['receivers', receiver, 'email_configs', index];
    if (!requireTls && !isImplicitTls) {
      check.problem(
        path,
        'the password may be sent to the mail server unencrypted: do not set `require_tls: false`',
      );
    } else if (tls?.insecureSkipVerify) {
      check.problem(
        path,
        'anyone on the network path can read the password: set the trusted certificate as `ca_file` instead of `insecure_skip_verify`',
      );
    }
  }
}

/** The receivers that a route, a fallback, a forward or a digest leads to. */
function notifiedReceivers({ route, receivers, forward, digests }: Config): ReadonlySet<string | undefined> {
  return new Set([
    ...nodesOf(route).flatMap((node) => [node.receiver, node.escalation?.receiver]),
    ...receivers.map(({ fallback }) => fallback),
    ...forward.map(({ receiver }) => receiver),
    ...digests.map(({ receiver }) => receiver),
  ]);
}

function intervalsOf({ muteTimeIntervals = [], activeTimeIntervals = [] }: Route): readonly string[] {
  return [...muteTimeIntervals, ...activeTimeIntervals];
}

/** A child without matchers takes every alert; without `continue` nothing is left for those after it. */
function findUnreachable(check: Check, path: Path, { routes }: Route): void {
  const last = routes.findIndex((child) => child.matchers.length === 0 && !child.continue);
  for (const [index, child] of routes.entries()) {
    const at = [...path, 'routes', index];
    if (last !== -1 && index > last) {
      check.problem(at, `no alert reaches this route: routes[${last}] has no matchers and takes all`);
    } else {
      findUnreachable(check, at, child);
    }
  }
}

function namesAt(check: Check, path: Path): [index: number, name: string][] {
  return entriesAt(check, path).map((entry, index) => [index, String(check.raw([...entry, 'name']))]);
}

/** The paths of a list's entries. */
function entriesAt(check: Check, path: Path): Path[] {
  const list = check.raw(path);
  return Array.isArray(list) ? list.map((_, index) => [...path, index]) : [];
}

const LIQUID = 'write Liquid in `title`, `text`, `html` or `headers` of a receiver';

function findAlertmanagerKeys(check: Check): void {
  warnOf(check, ['global', 'resolve_timeout'], 'alerts resolve by their rules (`resolve_after`)');
  warnOf(check, ['templates'], LIQUID);
  warnOf(check, ['tracing'], 'leave it out');
  for (const path of readList(check, ['receivers'])) findInIntegrations(check, path);
  findInRoute(check, ['route']);
  for (const path of readList(check, ['inhibit_rules'])) {
    nameNewMatchers(check, path, 'source_');
    nameNewMatchers(check, path, 'target_');
  }
}

/** Warns of a key that is accepted only so that Alertmanager's files load. If it is empty, there is no warning. */
function warnOf(check: Check, path: Path, instead: string): void {
  const value = check.raw(path);
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (value !== undefined && value !== null && !isEmpty)
    check.problem(path, `has no effect here: ${instead}`);
}

/** Keys of Alertmanager's integrations that only concern looks. */
function findInIntegrations(check: Check, receiver: Path): void {
  for (const channel of CHANNELS) {
    const keys = Object.entries(channel.shape.shape).flatMap(([key, shape]) => {
      const instead = insteadOf(shape as z.ZodType);
      return instead === undefined ? [] : [[key, instead] as const];
    });
    for (const path of readList(check, [...receiver, configsKey(channel)])) {
      for (const [key, instead] of keys) warnOf(check, [...path, key], instead);
    }
  }
}

function findInRoute(check: Check, path: Path): void {
  findGoInLabels(check, [...path, 'labels']);
  nameNewMatchers(check, path);
  for (const child of readList(check, [...path, 'routes'])) findInRoute(check, child);
}

/** A route's label written in Go's template syntax is left out: only templates use it, and those would be in Go too. */
function findGoInLabels(check: Check, path: Path): void {
  const labels = check.raw(path);
  for (const [name, text] of Object.entries(isMap(labels) ? labels : {})) {
    const go = typeof text === 'string' ? findGoSyntax(text) : undefined;
    if (go) check.problem([...path, name], `is left out: ${go}`);
  }
}

const DAY_MS = 86_400_000;

/** Learned bounds of a day need the same weekday of the last four weeks. */
function findShortRetention(check: Check, { rules, store }: Config): void {
  const weeks = Math.max(0, Math.floor(store.retentionMs / DAY_MS - 1) / 7);
  for (const [index, rule] of rules.entries()) {
    if (!isRuleOf(rule, flightsUnusual) || rule.per !== '1d' || weeks >= UNUSUAL_WEEKS) continue;
    if (rule.atLeast !== undefined || rule.atMost !== undefined) continue;
    const kept = howMany(Math.floor(weeks), 'week');
    const less = weeks < 3 ? 'nothing is ever judged by it: it needs 3 weeks' : 'it learns from 4 weeks';
    check.problem(
      ['rules', index],
      `\`store.retention\` keeps ${kept} of whole days, and ${less}; 29d keeps 4`,
    );
  }
}

/** Deadlines and alerts are not kept for longer, while counts of Flights are. */
function findShortMonths(check: Check, { digests, store }: Config): void {
  for (const [index, { report, cron }] of digests.entries()) {
    const days = report ? Math.floor(longestMonthMs(cron) / DAY_MS) + 1 : 0;
    if (days * DAY_MS <= store.retentionMs) continue;
    check.problem(
      ['digests', index],
      `\`store.retention\` keeps ${formatDuration(store.retentionMs)}, and its month needs ${days}d: deadlines and alerts before that are missing`,
    );
  }
}

/** How long before a report by this schedule the month began that it is about, at most: tried for the months of a year. */
function longestMonthMs(cron: string): number {
  const { latest } = createCron(cron, 'UTC');
  const lengths = Array.from({ length: 12 }, (_, month) => {
    const beginMs = Date.UTC(2026, month);
    // On the 1st it is still about the month before.
    const sentUs = latest((beginMs + DAY_MS) * 1000 - 1, Date.UTC(2026, month + 1, 2) * 1000 - 1);
    return sentUs === undefined ? 0 : sentUs / 1000 - beginMs;
  });
  return Math.max(...lengths);
}

/** A Flight waits for a person only at the steps that people know to be such. */
function findVagueSteps(check: Check, { rules }: Config): void {
  for (const [index, rule] of rules.entries()) {
    const path = ['rules', index];
    if (!isRuleOf(rule, flightWaiting)) continue;
    if (rule.steps === undefined) {
      check.problem(
        path,
        'this rule never fires: name in `steps` the steps that wait for a person, such as "*review*"',
      );
    }
    for (const [position, glob] of (rule.steps ?? []).entries()) {
      if (!/^\*+$/.test(glob)) continue;
      check.problem(
        [...path, 'steps', position],
        'matches every step, so every Flight that writes nothing for `after` seems to wait: name the steps that wait for a person',
      );
    }
  }
}

/** The service may send other types tomorrow, so a type that is not known is no error. */
function findUnknownTypes(check: Check, { rules }: Config): void {
  const known = Object.values(EVENT_TYPES).flat();
  for (const [index, rule] of rules.entries()) {
    const types = isRuleOf(rule, eventMatched) ? rule.match.filter(({ name }) => name === 'type') : [];
    for (const { op, value } of types) {
      const isPattern = op.includes('~');
      const fits = (one: string) => {
        const isFitting = createMatcher('type', isPattern ? '=~' : '=', one);
        return known.some((type) => isFitting.matches({ type }));
      };
      const wrong = isPattern && fits(value) ? alternatives(value) : [value];
      for (const one of wrong.filter((each) => !fits(each))) {
        // Beside types that are known, one that resembles none of them may be new.
        if (one !== value && nearest(afterFeed(one), known.map(afterFeed)) === undefined) continue;
        const meant = nearest(one, known);
        const hint = meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`;
        check.problem(['rules', index, 'match'], `no type of events is known that fits ${one}; ${hint}`);
      }
    }
  }
}

/** `bird_log.Published` and `bird_log.Saved` of `bird_log.(Published|Saved)`; a pattern of another form as it is. */
function alternatives(pattern: string): string[] {
  const [, before, among, after] =
    /^([^()|]*)\(([^()?]+)\)([^()|]*)$/.exec(pattern.replace('(?:', '(')) ?? [];
  if (among !== undefined) return among.split('|').map((one) => `${before}${one}${after}`);
  return pattern.includes('(') ? [pattern] : pattern.split('|');
}

const afterFeed = (type: string) => type.slice(type.indexOf('.') + 1);

/** The region of alerts that belong to none. */
const EVERYWHERE = 'all';

function findIneffectiveRules(check: Check, { rules, regions }: Config): void {
  const names = regions.map(({ name }) => name);
  const regionsOf = (name: string) => {
    const kind = kindOf(name);
    if (kind?.isOfNoRegion) return [EVERYWHERE];
    return kind?.isAlsoOfNoRegion ? [...names, EVERYWHERE] : names;
  };
  const firstThatTakes = createRulesBefore();
  for (const [index, { kind, match }] of rules.entries()) {
    const path = ['rules', index];
    // The default rules after the configured ones are not in the file.
    if (check.raw(path) === undefined) return;
    const before = kindOf(kind)?.isOnRequest ? undefined : firstThatTakes(kind, match);
    if (before !== undefined) {
      const taken = rules[before]!.match.length === 0 ? '' : ' that this one would';
      check.problem(
        path,
        `this rule never applies: rules[${before}] takes all ${kind} before it${taken}; move it up or leave it out`,
      );
    }
    const texts = check.raw([...path, 'match']);
    for (const [position, text] of Array.isArray(texts) ? texts.entries() : []) {
      for (const matcher of parseMatchers(String(text))) {
        const why = whyNever(matcher, kind, regionsOf(kind)) ?? whyNotBoth(matcher, match);
        if (why) check.problem([...path, 'match', position], `this rule never applies: ${why}`);
      }
    }
  }
}

/**
 * Call the result for one rule after another. It returns the position of the first earlier rule that matches
 * everything this rule would, as far as the texts of their matchers show. There may be a rule for each of thousands
 * of Birds, so each is filed under the one of its matchers that the fewest have, and compared only with those under its own.
 */
function createRulesBefore(): (kind: string, match: readonly Matcher[]) => number | undefined {
  const before = new Map<string, { readonly place: number; readonly texts: readonly string[] }[]>();
  const keyOf = (kind: string, text: string) => `${kind} ${text}`;
  let count = 0;

  return (kind, match) => {
    const texts = match.map(formatMatcher);
    const own = new Set(texts);
    const places = ['', ...own]
      .flatMap((text) => before.get(keyOf(kind, text)) ?? [])
      .flatMap((wider) => (wider.texts.every((text) => own.has(text)) ? wider.place : []));
    const [rarest = []] = (texts.length > 0 ? texts : [''])
      .map((text) => before.getOrInsert(keyOf(kind, text), []))
      .toSorted((a, b) => a.length - b.length);
    rarest.push({ place: count, texts });
    count += 1;
    return places.length > 0 ? Math.min(...places) : undefined;
  };
}

function whyNotBoth(matcher: Matcher, all: readonly Matcher[]): string | undefined {
  const { name } = matcher;
  const other = all.find(
    (one) => one.name === name && one.op === '=' && !matcher.matches({ [name]: one.value }),
  );
  return other && `no ${name} fits this and ${formatMatcher(other)}: write a rule for each`;
}

/** Why a matcher matches no alert of the kind, and what to do; undefined if it may match one. */
function whyNever(matcher: Matcher, kind: string, regions: readonly string[]): string | undefined {
  const { name } = matcher;
  const fitsOne = (values: readonly string[]) => values.some((value) => matcher.matches({ [name]: value }));
  if (name === 'alertname') {
    return fitsOne([kind]) ? undefined : 'the alertname is the kind: remove the matcher';
  }
  if (name === 'region') {
    return fitsOne(regions) ? undefined : `no region matches: match on ${regions.join(', ')}`;
  }
  // A missing label counts as empty.
  const { labels = [], matchedOnly = [] } = kindOf(kind) ?? {};
  if (labels.includes(name) || matchedOnly.includes(name) || fitsOne([''])) return undefined;
  const known = ['alertname', ...labels].toSorted().join(', ');
  const hint = name === 'severity' ? ', it is what a rule decides' : '';
  return `there is no label ${name} yet${hint}: match on ${known}`;
}

/** Adds warnings that do not keep the daemon from running; while it runs, its health reports the same. */
export function findReachWarnings(check: Check, config: Config): void {
  for (const { name, baseUrl } of config.regions) {
    if (new URL(baseUrl).pathname.endsWith('/api-rest')) continue;
    check.problem(['regions', name, 'base_url'], "the service's own addresses end in `/api-rest`");
  }
  findNobodyNotified(check, config);
  if (config.web.hasDefaultUrl && notifiesPeople(config)) {
    check.problem(
      ['web', 'external_url'],
      'is not set, so messages contain no links: set it to the address under which people reach the page',
    );
  }
}

/**
 * A configuration that only forwards events may intend that nobody is notified of alerts; each route is still
 * reported.
 */
function findNobodyNotified(check: Check, config: Config): void {
  if (!isAnybodyNotified(config) && config.forward.length === 0) {
    check.problem(
      ['route'],
      'nobody is notified of alerts: no route leads to a receiver that notifies anybody',
    );
    return;
  }
  for (const { key, receiver } of findRoutesToNobody(config)) {
    check.problem(
      key,
      `receiver ${JSON.stringify(receiver)} notifies nobody; if that is intended, name it null or blackhole`,
    );
  }
  const silent = new Set(config.receivers.flatMap((one) => (one.integrations.length > 0 ? [] : one.name)));
  for (const [index, { fallback }] of config.receivers.entries()) {
    if (fallback === undefined || !silent.has(fallback)) continue;
    const message = `receiver ${JSON.stringify(fallback)} notifies nobody either: give it an integration`;
    check.problem(['receivers', index, 'fallback'], message);
  }
}

function notifiesPeople({ receivers }: Config): boolean {
  return receivers.some(({ integrations }) =>
    integrations.some((one) => traitsOf(one).audience !== 'programs'),
  );
}

function findVainActions(check: Check, { actions = [], web }: Config): void {
  const { tokens, users, proxy, oidc } = web.access ?? { tokens: [], users: new Map() };
  const given = [...tokens, ...users.values(), ...(proxy ? [proxy] : []), ...(oidc ? [oidc] : [])];
  const scopes = [...given.map((one) => one.scopes), ...(oidc?.groups.values() ?? [])];
  const isAllowed = (!web.bearerToken && !web.access) || scopes.some((all) => all.has('fly'));
  for (const [index, { approvals, holdMs, waitMs }] of actions.entries()) {
    const path = ['actions', index];
    if (approvals > 0 && !isAllowed) {
      const message = 'nobody can approve it: give users, a group, a token or `proxy` the scope `fly`';
      check.problem([...path, 'approval'], message);
    }
    if (holdMs > 0 && holdMs <= waitMs) {
      const message = 'ends before the Bird is started: make it longer than `wait`';
      check.problem([...path, 'hold_notification'], message);
    }
  }
}

/** Nobody is told meanwhile, so an escalation cannot come when it is expected. */
function findLateEscalations(check: Check, { actions = [], route }: Config): void {
  const afterMs = (one: Route): number =>
    Math.min(one.escalation?.afterMs ?? Infinity, ...one.routes.map(afterMs));
  for (const [index, { holdMs }] of actions.entries()) {
    if (holdMs <= afterMs(route)) continue;
    check.problem(
      ['actions', index, 'hold_notification'],
      'is longer than an `escalate_after`, which only begins with the first message: nobody is told of an alert for this long',
    );
  }
}
