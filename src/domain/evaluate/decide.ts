/** What facts, and time alone, do to alerts. Pure: the events of a batch give the same alerts in whatever order. */
import type { Alert, Labels } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { type Fact, scopeOf } from '../alert/fact.ts';
import type { Kind } from '../alert/kind.ts';
import { alertLabels, tidyLabels } from '../alert/labels.ts';
import { type Change, resolve } from '../alert/lifecycle.ts';
import { defaultRule, type Rule } from '../alert/rule.ts';
import { birdDeactivated } from '../kinds/bird-deactivated.ts';
import { birdStale } from '../kinds/bird-stale.ts';
import { birdTriggerFailing } from '../kinds/bird-trigger-failing.ts';
import { connectionDisconnected } from '../kinds/connection-disconnected.ts';
import { deliveryFailing } from '../kinds/delivery-failing.ts';
import { feedBehind } from '../kinds/feed-behind.ts';
import { feedIncomplete } from '../kinds/feed-incomplete.ts';
import { flightFailed } from '../kinds/flight-failed.ts';
import { flightStuck } from '../kinds/flight-stuck.ts';
import { regionDown } from '../kinds/region-down.ts';
import { regionUnauthorized } from '../kinds/region-unauthorized.ts';
import { schemaDrift } from '../kinds/schema-drift.ts';
import { serviceNotification } from '../kinds/service-notification.ts';
import { matchesAll } from '../matchers/matcher.ts';
import { asKindSees, dampen, dampingTick, lastLinkedSeq, trueSinceUs } from './flapping.ts';

const KINDS: readonly Kind[] = [
  flightFailed,
  flightStuck,
  birdStale,
  birdDeactivated,
  birdTriggerFailing,
  connectionDisconnected,
  serviceNotification,
  regionDown,
  regionUnauthorized,
  feedBehind,
  feedIncomplete,
  schemaDrift,
  deliveryFailing,
];

/** An event joined to an alert: the `seq`-th ever of that alert's identity. */
export interface Link {
  readonly alertId: string;
  readonly seq: number;
  /** One that waited in an alert's memory has a shortened message; the store has it whole. */
  readonly event: Event;
}

export interface Decision {
  /** The alerts that changed, each once, in their final state. */
  readonly alerts: readonly Alert[];
  /** In the order of their `seq`. */
  readonly links: readonly Link[];
}

/**
 * What facts do to alerts. `known` must hold every alert of the facts' scopes (`scopeOf`), in every state. An event
 * must come once only. Of several rules of a kind the first whose matchers fit decides; they see all labels but
 * `severity`. Where none fits there is no alert.
 */
export function decide(
  facts: readonly Fact[],
  known: readonly Alert[],
  rules: readonly Rule[],
  nowUs: number,
): Decision {
  const book = openBook(known);
  for (const fact of inOrder(facts)) {
    const scope = scopeOf(fact);
    for (const kind of KINDS) {
      const raised = raise(kind, fact, scope, book, rules, nowUs);
      // Most facts concern a scope without alerts: those are passed at the price of one look-up.
      if (!book.hasScope(scope)) continue;
      for (const alert of book.inScope(scope, kind)) {
        if (alert.id === raised) continue;
        const seen = asKindSees(alert);
        const context = { rule: ruleOf(alert, rules), labels: seen.labels, nowUs };
        const change = kind.observe(seen, fact, context);
        if (change) book.apply(dampen(alert, change, context));
      }
    }
  }
  return book.decision();
}

/** What the passing of time does to alerts whose `dueAtUs` has come. Others among `due` stay as they are. */
export function tick(due: readonly Alert[], rules: readonly Rule[], nowUs: number): Decision {
  const book = openBook(due);
  for (const alert of due) {
    const kind = KINDS.find((one) => one.alertname === alert.alertname);
    if (!kind || alert.dueAtUs === null || alert.dueAtUs > nowUs) continue;
    const seen = asKindSees(alert);
    const context = { rule: ruleOf(alert, rules), labels: seen.labels, nowUs };
    book.apply(dampingTick(alert, context) ?? dampen(alert, kind.tick(seen, context), context));
  }
  return book.decision();
}

/** Lets a fact raise or renew the alert that it is about; returns that alert's id. */
function raise(
  kind: Kind,
  fact: Fact,
  scope: string,
  book: Book,
  rules: readonly Rule[],
  nowUs: number,
): string | undefined {
  const found = kind.topic(fact);
  if (!found) return undefined;
  const index = matchingRule(kind.alertname, found.labels, rules);
  const rule = rules[index];
  if (!rule) return undefined;
  const topic = kind.narrow?.(found, fact, rule) ?? found;
  const region = topic.labels.region ?? '';
  const base = identityOf(kind, index, `${region}/${topic.subject}`, scope, book, rules);
  const own = rule.severity ?? topic.severity;
  const siblings = kind.leveled ? lastingSiblings(kind, scope, base, book) : [];
  const isTakenUp = own !== 'critical' && siblings.some((alert) => alert.id === `${base}/critical`);
  const severity = isTakenUp ? 'critical' : own;
  const id = kind.leveled ? `${base}/${severity}` : base;
  const stored = book.get(id) ?? blank(id, scope, index, kind, nowUs);
  const labels = alertLabels(kind.alertname, topic.labels, rule, severity);
  const alert = { ...stored, rule: index, ...(stored.state === 'pending' && { labels }) };
  const change = kind.raise(asKindSees(alert), fact, { rule, labels, nowUs });
  if (!change) return id;
  const sinceUs = siblings.map(trueSinceUs).toSorted((a, b) => a - b)[0];
  book.apply(dampen(alert, change, { rule, nowUs, sinceUs }));
  if (change.alert.state === 'firing') {
    for (const sibling of siblings) {
      if (sibling.id === id) continue;
      const by = `it is ${severity} now`;
      const { startsAtUs } = change.alert;
      const ended = resolve(asKindSees(sibling), startsAtUs, by, nowUs, 'superseded');
      book.apply(dampen(sibling, ended, { rule, nowUs, atOnce: true }));
    }
  }
  return id;
}

/**
 * The identity of what one rule says of a subject. While that is true, or its kind remembers something of it, as while
 * it waits to fire, it keeps the one that it began with: another set of rules, in which its rule stands at another
 * place, must not make it two. Nor does it ever share one with what another rule says, which has labels of its own.
 */
function identityOf(
  kind: Kind,
  index: number,
  subject: string,
  scope: string,
  book: Book,
  rules: readonly Rule[],
): string {
  const taken = new Map<number, boolean>();
  for (const alert of book.inScope(scope, kind)) {
    if (asKindSees(alert).state !== 'firing' && alert.memory === null) continue;
    const [, place, ...rest] = alert.id.split('/');
    const about = kind.leveled ? rest.slice(0, -1) : rest;
    if (about.join('/') !== subject) continue;
    const isOwn = judgeOf(alert, rules) === index;
    taken.set(Number(place), isOwn || taken.get(Number(place)) === true);
  }
  let place = index;
  if (taken.get(index) !== true) {
    const own = [...taken].find(([, isOwn]) => isOwn)?.[0];
    // Past the places of all rules none of them begins by itself.
    while (own === undefined && taken.has(place)) place += rules.length;
    place = own ?? place;
  }
  return `${kind.alertname}/${place}/${subject}`;
}

/** The place of the rule that judges what a stored alert is about, by the present rules. */
function judgeOf(alert: Alert, rules: readonly Rule[]): number {
  const kind = alert.alertname as Rule['kind'];
  const seen = asKindSees(alert);
  // What is counted for a new episode: the labels are still those of the last one.
  const isCounted = alert.state === 'resolved' && seen.state !== 'firing';
  if (isCounted && rules[alert.rule]?.kind === kind) return alert.rule;
  return matchingRule(kind, { ...seen.labels, severity: '' }, rules);
}

/** Alerts of the same subject that are true, told or not. */
function lastingSiblings(kind: Kind, scope: string, base: string, book: Book): Alert[] {
  const isLasting = (alert: Alert) => asKindSees(alert).state === 'firing';
  return book.inScope(scope, kind).filter((alert) => isLasting(alert) && alert.id.startsWith(`${base}/`));
}

/** The rule that judges what has these labels; undefined where none fits. */
export function ruleFor(alertname: Rule['kind'], labels: Labels, rules: readonly Rule[]): Rule | undefined {
  return rules[matchingRule(alertname, labels, rules)];
}

function matchingRule(alertname: Rule['kind'], topic: Labels, rules: readonly Rule[]): number {
  let labels: Labels | undefined;
  return rules.findIndex((rule) => {
    if (rule.kind !== alertname || rule.match.length === 0) return rule.kind === alertname;
    labels ??= { ...tidyLabels(topic), alertname };
    return matchesAll(rule.match, labels);
  });
}

/** Which kinds a fact concerns by itself, and which rule of each decides on it; null where no rule takes it. */
export function rulesConcerning(
  fact: Fact,
  rules: readonly Rule[],
): { readonly kind: Rule['kind']; readonly rule: number | null }[] {
  return KINDS.flatMap((kind) => {
    const topic = kind.topic(fact);
    if (!topic) return [];
    const index = matchingRule(kind.alertname, topic.labels, rules);
    return [{ kind: kind.alertname, rule: index === -1 ? null : index }];
  });
}

/** Whether an alert would soon fire again if somebody ended it. */
export function isMeasured(alert: Pick<Alert, 'id' | 'alertname'>): boolean {
  const measured = KINDS.find((one) => one.alertname === alert.alertname)?.measured ?? false;
  return typeof measured === 'function' ? measured(alert) : measured;
}

/** The rule of a stored alert. After a change of the rules its index may mean another one. */
export function ruleOf(alert: Alert, rules: readonly Rule[]): Rule {
  const kind = alert.alertname as Rule['kind'];
  const own = rules[alert.rule];
  if (own?.kind === kind) return own;
  return (
    rules.find((rule) => rule.kind === kind && matchesAll(rule.match, alert.labels)) ?? defaultRule(kind)
  );
}

function blank(id: string, scope: string, rule: number, kind: Kind, nowUs: number): Alert {
  return {
    id,
    scope,
    rule,
    alertname: kind.alertname,
    state: 'pending',
    labels: {},
    annotations: {},
    startsAtUs: 0,
    endsAtUs: 0,
    updatedAtUs: nowUs,
    eventsTotal: 0,
    lastSeq: 0,
    memory: null,
    dueAtUs: null,
  };
}

/** Alerts while facts are applied to them. */
interface Book {
  get(id: string): Alert | undefined;
  hasScope(scope: string): boolean;
  inScope(scope: string, kind: Kind): Alert[];
  apply(change: Change | undefined): void;
  decision(): Decision;
}

function openBook(known: readonly Alert[]): Book {
  const alerts = new Map<string, Alert>();
  const byScope = new Map<string, Alert[]>();
  const changed = new Set<string>();
  const links: Link[] = [];

  function put(alert: Alert): void {
    const list = byScope.get(alert.scope) ?? [];
    if (list.length === 0) byScope.set(alert.scope, list);
    const index = alerts.has(alert.id) ? list.findIndex((one) => one.id === alert.id) : list.length;
    list[index] = alert;
    alerts.set(alert.id, alert);
  }

  for (const alert of known) put(alert);
  return {
    get: (id) => alerts.get(id),
    hasScope: (scope) => byScope.has(scope),
    inScope: (scope, kind) => byScope.get(scope)?.filter((alert) => alert.alertname === kind.alertname) ?? [],
    apply(change) {
      if (!change) return;
      const { alert, events } = change;
      put(alert);
      changed.add(alert.id);
      const before = lastLinkedSeq(alert) - events.length;
      for (const [index, event] of events.entries())
        links.push({ alertId: alert.id, seq: before + index + 1, event });
    },
    decision: () => ({ alerts: [...changed].map((id) => alerts.get(id)!), links }),
  };
}

/**
 * Events by the time at which they occurred, successes of Flights after all others: a page may bring a failure and
 * a later Flight's success in any order, and the failure is what has to be told. What was found to last comes before
 * all that may end it, other facts come last.
 */
function inOrder(facts: readonly Fact[]): readonly Fact[] {
  if (facts.length < 2) return facts;
  return facts.toSorted((a, b) => rank(a) - rank(b) || occurredUs(a) - occurredUs(b) || compareKeys(a, b));
}

function rank(fact: Fact): number {
  if (fact.fact === 'flight_in_air' || fact.fact === 'bird_idle') return 0;
  if (fact.fact !== 'event') return 2;
  return fact.event.type === 'flight.succeeded' ? 1 : 0;
}

function occurredUs(fact: Fact): number {
  return fact.fact === 'event' ? fact.event.occurredAtUs : 0;
}

function compareKeys(a: Fact, b: Fact): number {
  if (a.fact !== 'event' || b.fact !== 'event') return 0;
  return a.event.key < b.event.key ? -1 : a.event.key > b.event.key ? 1 : 0;
}
