/** What facts, and time alone, do to alerts. Pure: the events of a batch give the same alerts in whatever order. */
import type { Alert, Labels } from './alert.ts';
import { type Change, resolve } from './episode.ts';
import type { Event } from './event.ts';
import { type Fact, scopeOf } from './fact.ts';
import type { Kind, Topic } from './kind.ts';
import { birdDeactivated } from './kinds/bird-deactivated.ts';
import { birdTriggerFailing } from './kinds/bird-trigger-failing.ts';
import { connectionDisconnected } from './kinds/connection-disconnected.ts';
import { feedBehind } from './kinds/feed-behind.ts';
import { feedIncomplete } from './kinds/feed-incomplete.ts';
import { flightFailed } from './kinds/flight-failed.ts';
import { regionDown } from './kinds/region-down.ts';
import { regionUnauthorized } from './kinds/region-unauthorized.ts';
import { serviceNotification } from './kinds/service-notification.ts';
import { alertLabels, tidyLabels } from './labels.ts';
import { matchesAll } from './matcher.ts';
import { defaultRule, type Rule } from './rule.ts';

const KINDS: readonly Kind[] = [
  flightFailed,
  birdDeactivated,
  birdTriggerFailing,
  connectionDisconnected,
  serviceNotification,
  regionDown,
  regionUnauthorized,
  feedBehind,
  feedIncomplete,
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
        const context = { rule: ruleOf(alert, rules), labels: alert.labels, nowUs };
        book.apply(kind.observe(alert, fact, context));
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
    book.apply(kind.tick(alert, { rule: ruleOf(alert, rules), labels: alert.labels, nowUs }));
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
  const index = matchingRule(kind, found, rules);
  const rule = rules[index];
  if (!rule) return undefined;
  const topic = kind.narrow?.(found, fact, rule) ?? found;
  const region = topic.labels.region ?? '';
  const base = `${kind.alertname}/${index}/${region}/${topic.subject}`;
  const own = rule.severity ?? topic.severity;
  const siblings = kind.leveled ? firingSiblings(kind, scope, base, book) : [];
  const isTakenUp = own !== 'critical' && siblings.some((alert) => alert.id === `${base}/critical`);
  const severity = isTakenUp ? 'critical' : own;
  const id = kind.leveled ? `${base}/${severity}` : base;
  const alert = book.get(id) ?? blank(id, scope, index, kind, nowUs);
  const labels = alertLabels(kind.alertname, topic.labels, rule, severity);
  const change = kind.raise(alert.state === 'pending' ? { ...alert, labels } : alert, fact, {
    rule,
    labels,
    nowUs,
  });
  book.apply(change);
  if (change?.alert.state === 'firing') {
    for (const sibling of siblings) {
      if (sibling.id === id) continue;
      book.apply(resolve(sibling, change.alert.startsAtUs, `superseded: it is ${severity} now`, nowUs));
    }
  }
  return id;
}

function firingSiblings(kind: Kind, scope: string, base: string, book: Book): Alert[] {
  return book.inScope(scope, kind).filter(({ id, state }) => state === 'firing' && id.startsWith(`${base}/`));
}

function matchingRule(kind: Kind, topic: Topic, rules: readonly Rule[]): number {
  let labels: Labels | undefined;
  return rules.findIndex((rule) => {
    if (rule.kind !== kind.alertname || rule.match.length === 0) return rule.kind === kind.alertname;
    labels ??= { ...tidyLabels(topic.labels), alertname: kind.alertname };
    return matchesAll(rule.match, labels);
  });
}

/** The rule of a stored alert. After a change of the rules its index may mean another one. */
function ruleOf(alert: Alert, rules: readonly Rule[]): Rule {
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
      const before = alert.lastSeq - events.length;
      for (const [index, event] of events.entries())
        links.push({ alertId: alert.id, seq: before + index + 1, event });
    },
    decision: () => ({ alerts: [...changed].map((id) => alerts.get(id)!), links }),
  };
}

/**
 * Events by the time at which they occurred, successes of Flights after all others: a page may bring a failure and
 * a later Flight's success in any order, and the failure is what has to be told. Then the facts that are none.
 */
function inOrder(facts: readonly Fact[]): readonly Fact[] {
  if (facts.length < 2) return facts;
  return facts.toSorted((a, b) => rank(a) - rank(b) || occurredUs(a) - occurredUs(b) || compareKeys(a, b));
}

function rank(fact: Fact): number {
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
