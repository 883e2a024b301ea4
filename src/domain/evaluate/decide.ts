/** Decides what facts, and time alone, do to alerts. Pure: the events of a batch give the same alerts in any order. */

import { plainText } from '../../text/plain-text.ts';
import {
  type Alert,
  boundedKey,
  type Change,
  clear,
  type Ending,
  type FlappingState,
  freeId,
  remember,
  resolve,
} from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { type Fact, type RuledFact, scopeOf } from '../alert/fact.ts';
import { type Fault, FaultBox } from '../alert/fault.ts';
import { alertLabels } from '../alert/labels.ts';
import type { Rule } from '../alert/rule.ts';
import { isMemoryOf, type Kind, subjectPart, type Topic, withInstants } from '../kinds/kind.ts';
import { type AlertKind, kindOf } from '../kinds/kinds.ts';
import { kindsConcerned, presentRule, ruleOf, rulesFor } from './choose-rule.ts';
import { applyFlapping, asKindSees, endHeld, flappingTick, lastLinkedSeq, trueSinceUs } from './flapping.ts';

/** The context in which all facts of a batch are judged. */
interface Judging {
  readonly book: AlertBook;
  readonly rules: readonly Rule[];
  readonly nowUs: number;
}

/**
 * Applies facts to alerts. `known` must contain every alert of the facts' scopes (`scopeOf`), in any state. An event
 * must come only once. If a kind has several rules, the first whose matchers fit decides, and of a kind on request every
 * one; matchers see all labels but `severity`. If none fits, there is no alert.
 */
export function decide(
  facts: readonly RuledFact[],
  known: readonly Alert[],
  rules: readonly Rule[],
  nowUs: number,
): Decision {
  const book = openBook(known);
  const judging = { book, rules, nowUs };
  const faults = new FaultBox();
  forgetUnreadable(known, book, faults);
  for (const fact of inOrder(facts)) {
    const scope = scopeOf(fact);
    for (const kind of kindsConcerned(fact)) {
      const name = judgedName({ alertname: kind.name, scope });
      const isRaised = kind.raisedBy.includes(fact.fact);
      const raised = isRaised ? faults.guard('rule', name, () => raise(kind, fact, scope, judging), []) : [];
      // Most facts concern a scope without alerts; these cost only one lookup.
      if (!book.hasScope(scope) || !kind.observes.includes(fact.fact)) continue;
      for (const alert of book.inScope(scope, kind)) {
        // What one rule on request was asked about says nothing of the alerts of others.
        const isOfOther = kind.isOnRequest && fact.rule !== undefined && fact.rule !== alert.rule;
        if (isOfOther || raised.includes(alert.id)) continue;
        faults.guard('rule', name, () => observe(kind, alert, fact, judging), undefined);
      }
    }
  }
  return withFaults(book.decision(), faults);
}

/** Applies the passing of time to alerts whose `dueAtUs` has come; others in `due` stay as they are. */
export function tick(due: readonly Alert[], rules: readonly Rule[], nowUs: number): Decision {
  const book = openBook(due);
  const faults = new FaultBox();
  forgetUnreadable(due, book, faults);
  for (const { id } of due) {
    const alert = book.get(id)!;
    const kind = kindOf(alert.alertname);
    if (!kind || alert.dueAtUs === null || alert.dueAtUs > nowUs) continue;
    const act = () => {
      const seen = asKindSees(alert);
      const context = { rule: ruleOf(alert, rules), labels: seen.labels, nowUs };
      const ticked = () => kind.tick?.(seen, context) ?? remember(seen, seen.memory, null, nowUs);
      book.apply(flappingTick(alert, context) ?? applyFlapping(alert, ticked(), context));
    };
    faults.guard('rule', judgedName(alert), act, undefined);
  }
  return withFaults(book.decision(), faults);
}

/** Clears the memory of alerts whose kind cannot read it, and reports that. */
function forgetUnreadable(alerts: readonly Alert[], book: AlertBook, faults: FaultBox): void {
  for (const alert of alerts) {
    const kind = kindOf(alert.alertname);
    if (!kind || alert.memory === null || isMemoryOf(kind.remembers, alert.memory)) continue;
    faults.note(
      'rule',
      judgedName(alert),
      `what ${alert.id} remembered cannot be read: it is judged without`,
    );
    book.apply({ alert: { ...alert, memory: null }, events: [] });
  }
}

function withFaults(decision: Decision, box: FaultBox): Decision {
  const faults = box.all();
  return faults.length > 0 ? { ...decision, faults } : decision;
}

/** The name of what could not be judged, for a fault. */
export function judgedName({ alertname, scope }: Pick<Alert, 'alertname' | 'scope'>): string {
  return `${alertname} of ${scope}`;
}

/** Lets a fact change an alert of its scope that it has not raised. */
function observe(kind: Kind<AlertKind>, alert: Alert, fact: Fact, { book, rules, nowUs }: Judging): void {
  const seen = asKindSees(alert);
  const context = { rule: ruleOf(alert, rules), labels: seen.labels, nowUs };
  const change = kind.observe?.(seen, fact, context);
  if (change) book.apply(applyFlapping(alert, change, context));
}

/** Lets a fact raise or renew the alert that it is about, of each rule that decides; returns the ids of these alerts. */
function raise(kind: Kind, fact: RuledFact, scope: string, judging: Judging): string[] {
  const found = kind.topic(fact);
  if (!found) return [];
  const own = ({ kind: name }: Rule) => name === kind.name;
  const fitting = found.isMatched ? judging.rules.filter(own) : rulesFor(kind, found.labels, judging.rules);
  return fitting
    .filter(({ id }) => fact.rule === undefined || fact.rule === id)
    .map((rule) => raiseFor(rule, kind, fact, found, scope, judging));
}

function raiseFor(
  rule: Rule,
  kind: Kind,
  fact: Fact,
  found: Topic,
  scope: string,
  { book, rules, nowUs }: Judging,
): string {
  const narrowed = kind.narrow?.(found, fact, rule);
  const topic = narrowed ?? found;
  const { subject } = topic;
  const related = book.inScope(scope, kind).filter((alert) => alert.subject === subject);
  const firstRule = firstRuleOf(kind, rule, related, rules);
  const base = boundedKey([kind.name, subjectPart(firstRule), topic.labels.region ?? '', subject].join('/'));
  const hasLevels = kind.severities.length > 1;
  const levels = hasLevels ? related.filter((alert) => alert.firstRule === firstRule) : [];
  const lasting = levels.filter(isTrue);
  const own = narrowed?.severity ?? rule.severity ?? found.severity ?? kind.severities[0]!;
  const isCritical = lasting.some((alert) => alert.id === `${base}/critical`);
  const severity = isCritical ? 'critical' : own;
  const id = hasLevels ? `${base}/${severity}` : base;
  // Several rules may decide: receivers would take their alerts for one if they had the same labels.
  const added = kind.isOnRequest ? { rule: rule.id, ...rule.labels } : rule.labels;
  const labels = alertLabels(kind.name, topic.labels, added, severity);
  const stored = book.get(id) ?? { ...BLANK, id, scope, subject, firstRule, alertname: kind.name };
  const alert = { ...stored, rule: rule.id, ...(stored.state === 'pending' && { labels }) };
  const seen = { rule, labels, nowUs, levels: levels.map(asKindSees) };
  const change = kind.raise(asKindSees(alert), fact, seen);
  if (!change) return id;
  const sinceUs = lasting.map(trueSinceUs).toSorted((a, b) => a - b)[0];
  book.apply(applyFlapping(alert, change, { rule, nowUs, sinceUs }));
  if (change.alert.state === 'firing') {
    const others = lasting.filter((level) => level.id !== id);
    for (const other of others) book.apply(supersede(other, severity, change, rule, nowUs));
  }
  return id;
}

/** Ends an alert because one of another severity takes over. */
function supersede(alert: Alert, severity: string, { alert: by }: Change, rule: Rule, nowUs: number): Change {
  const ended = resolve(asKindSees(alert), by.startsAtUs, `it is ${severity} now`, nowUs, 'superseded');
  return applyFlapping(alert, ended, { rule, nowUs, atOnce: true });
}

/**
 * The rule that names the identity of an alert, considering `related` alerts about the same subject. While an alert
 * is true, or its kind remembers something (for example while it waits to fire), it keeps the rule it began with,
 * even if another one judges it after a change of the configuration: one problem must not become two alerts. It never
 * shares an identity with an alert of another rule, which has labels of its own.
 */
function firstRuleOf(kind: Kind, rule: Rule, related: readonly Alert[], rules: readonly Rule[]): string {
  const lasting = related.filter((alert) => isTrue(alert) || alert.memory !== null);
  const own = lasting.filter((alert) => presentRule(alert, kind, rules)?.id === rule.id);
  const kept = own.find((alert) => alert.firstRule === rule.id) ?? own[0];
  if (kept) return kept.firstRule;
  const isTaken = (id: string) => lasting.some((alert) => alert.firstRule === id);
  const isOfOther = (id: string) => id !== rule.id && rules.some((one) => one.id === id);
  return freeId(rule.id, (id) => isTaken(id) || isOfOther(id));
}

/** Whether it is true now: it fires, or waits for the rule's `for`. */
function isTrue(alert: Alert): boolean {
  return asKindSees(alert).state === 'firing';
}

const BLANK: Omit<Alert, 'id' | 'scope' | 'subject' | 'rule' | 'firstRule' | 'alertname'> = {
  state: 'pending',
  labels: {},
  annotations: {},
  startsAtUs: 0,
  endsAtUs: 0,
  updatedAtUs: 0,
  eventsTotal: 0,
  lastSeq: 0,
  memory: null,
  dueAtUs: null,
};

/**
 * Orders events by when they occurred, but successes of Flights after all others: a page may bring a failure and a
 * later Flight's success in any order, and people must be notified of the failure. Lasting conditions come before
 * everything that may end them; other facts come last.
 */
function inOrder(facts: readonly RuledFact[]): readonly RuledFact[] {
  if (facts.length < 2) return facts;
  return facts.toSorted((a, b) => rank(a) - rank(b) || occurredUs(a) - occurredUs(b) || compareKeys(a, b));
}

function rank(fact: Fact): number {
  if (fact.fact === 'flight_in_air' || fact.fact === 'bird_idle') return 0;
  if (fact.fact !== 'event') return 2;
  return fact.event.type === 'flight.succeeded' ? 1 : 0;
}

function occurredUs(fact: Fact): number {
  return 'event' in fact ? fact.event.occurredAtUs : 0;
}

function compareKeys(a: Fact, b: Fact): number {
  if (!('event' in a && 'event' in b)) return 0;
  return a.event.key < b.event.key ? -1 : a.event.key > b.event.key ? 1 : 0;
}

/** An event joined to an alert: the `seq`-th ever of that alert's identity. */
export interface Link {
  readonly alertId: string;
  readonly seq: number;
  /** An event that waited in an alert's memory has a shortened message; the store has the whole one. */
  readonly event: Event;
}

export interface Decision {
  /** The alerts that changed, each once, in their final state. */
  readonly alerts: readonly Alert[];
  /** In order of `seq`. */
  readonly links: readonly Link[];
  /** What failed meanwhile; everything else was decided. Absent for nothing. */
  readonly faults?: readonly Fault[];
}

/** The alerts of some scopes while a batch of facts is applied to them. */
interface AlertBook {
  get(id: string): Alert | undefined;
  hasScope(scope: string): boolean;
  inScope(scope: string, kind: Kind): Alert[];
  apply(change: Change | undefined): void;
  decision(): Decision;
}

function openBook(known: readonly Alert[]): AlertBook {
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
    inScope: (scope, { name }) => byScope.get(scope)?.filter((alert) => alert.alertname === name) ?? [],
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

// Resolves an alert because somebody says that it is over, for example after repairing a connection: the service
// reports no end, or reports it late. The episode ends like any other, and the next fact begins another one.

/** The alert to be written, or why it cannot be resolved. */
export type ResolvedByHand =
  | { readonly ok: true; readonly alert: Alert }
  | {
      readonly ok: false;
      readonly problem: 'invalid';
      /** For people, without a full stop. */
      readonly message: string;
      /** The region to probe at once, since only its answer ends the alert. */
      readonly probes?: string;
    };

const MAX_NAME_LENGTH = 200;
const MAX_REASON_LENGTH = 2_000;

/** Whether somebody may resolve it: not while its condition is measured and still true. */
export function isResolvable(alert: Alert): boolean {
  if (alert.state !== 'firing' || alert.flapping?.held !== undefined) return alert.state === 'firing';
  return kindOf(alert.alertname)?.isResolvableByHand(alert) ?? true;
}

/** Whether the alert means that its region is only probed: a person who repaired it may request a probe now. */
export function isEndedByProbe({ state, alertname }: Alert): boolean {
  return state === 'firing' && kindOf(alertname)?.inhibitsRegion === true;
}

/**
 * Resolves an alert by hand. One that is over and only held, for example because it flaps, may be resolved for any
 * kind.
 */
export function resolveByHand(
  alert: Alert,
  { createdBy, comment }: { readonly createdBy: string; readonly comment: string },
  rules: readonly Rule[],
  nowUs: number,
): ResolvedByHand {
  if (alert.state !== 'firing') return refused('the alert is not firing');
  const reason = plainText(comment, MAX_REASON_LENGTH);
  const by = `it was resolved by hand by ${plainText(createdBy, MAX_NAME_LENGTH)}${reason && `: ${reason}`}`;
  if (!isResolvable(alert)) {
    if (isEndedByProbe(alert)) {
      const message = 'the region is asked again now, and the alert ends once it answers as it should';
      return { ...refused(message), probes: alert.labels.region ?? '' };
    }
    return refused('it is measured again and again and is still so: acknowledge or silence it instead');
  }
  return { ok: true, alert: endAtOnce(alert, by, 'by_hand', rules, nowUs)! };
}

function refused(message: string) {
  return { ok: false, problem: 'invalid', message } as const;
}

/**
 * Ends an alert for a reason outside its kind, and clears its memory. An alert that is over but held ends now as
 * well. `by` says why, as for `resolve`; undefined if there is nothing to end.
 */
export function endAtOnce(
  alert: Alert,
  by: string,
  ending: Ending,
  rules: readonly Rule[],
  nowUs: number,
): Alert | undefined {
  const context = { rule: ruleOf(alert, rules), nowUs, atOnce: true };
  const released = endHeld(alert, by, context);
  if (released) return released.alert;
  const change = clear(asKindSees(alert), nowUs, by, nowUs, ending);
  return change && applyFlapping(alert, change, context).alert;
}

type Move = (us: number) => number;

/**
 * The alert after our own clock was set back by `byUs` to `nowUs`: it waits for as long as intended, not `byUs`
 * longer. Instants given by the service stay. Returns the same object if nothing needs to be moved.
 */
export function rolledBackAlert(alert: Alert, byUs: number, nowUs: number): Alert {
  const { alertname, flapping, memory } = alert;
  const ahead: Move = (us) => (us > nowUs ? us - byUs : us);
  const dueAtUs = orNull(alert.dueAtUs, ahead);
  // The due instant is computed from remembered ones, which may have passed.
  const counted: Move = dueAtUs === alert.dueAtUs ? ahead : (us) => us - byUs;
  const remembered = withInstants(kindOf(alertname)?.remembers, memory, counted);
  const moved = {
    ...alert,
    dueAtUs,
    memory: remembered,
    ...(flapping && { flapping: flaps(flapping, ahead, counted) }),
  };
  return JSON.stringify(moved) === JSON.stringify(alert) ? alert : moved;
}

/**
 * The alert after our own clock was set ahead by `byUs`: what must last for its rule's `for`, or be over for its
 * `keep_firing_for`, does so as long as intended. Returns the same object if nothing has to.
 */
export function setAheadAlert(alert: Alert, byUs: number): Alert {
  const later: Move = (us) => us + byUs;
  const { flapping, memory } = alert;
  const { awaits, held } = flapping ?? {};
  if (flapping && awaits) {
    const isOfKind = alert.dueAtUs === awaits.dueAtUs;
    const dueAtUs = isOfKind ? alert.dueAtUs : earliest(orNull(alert.dueAtUs, later), awaits.dueAtUs);
    return {
      ...alert,
      dueAtUs,
      flapping: { ...flapping, awaits: { ...awaits, sinceUs: later(awaits.sinceUs) } },
    };
  }
  const seen = asKindSees(alert);
  const remembers = seen.state === 'firing' ? undefined : kindOf(alert.alertname)?.remembers;
  const moved = withInstants(remembers, memory, later, ['since']);
  const isCounted = JSON.stringify(moved) !== JSON.stringify(memory);
  const ofKindUs = isCounted ? orNull(seen.dueAtUs, later) : seen.dueAtUs;
  if (flapping && held) {
    const next = { ...held, untilUs: later(held.untilUs), dueAtUs: ofKindUs };
    return {
      ...alert,
      memory: moved,
      dueAtUs: earliest(next.untilUs, ofKindUs),
      flapping: { ...flapping, held: next },
    };
  }
  return isCounted ? { ...alert, memory: moved, dueAtUs: ofKindUs } : alert;
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function flaps(flapping: FlappingState, ahead: Move, counted: Move): FlappingState {
  const { changesUs, awaits, held } = flapping;
  const dueIn = (one: { readonly dueAtUs: number | null }) => ({ dueAtUs: orNull(one.dueAtUs, ahead) });
  return {
    ...flapping,
    changesUs: changesUs.map(ahead),
    ...(awaits && { awaits: { ...awaits, sinceUs: counted(awaits.sinceUs), ...dueIn(awaits) } }),
    ...(held && { held: { ...held, untilUs: ahead(held.untilUs), ...dueIn(held) } }),
  };
}

function orNull(us: number | null, move: Move): number | null {
  return us === null ? null : move(us);
}
