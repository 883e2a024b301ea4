/** Chooses the rule that decides on a fact, and the one for a stored alert. */
import type { Alert, Labels } from '../alert/alert.ts';
import { type Event, FEEDS } from '../alert/event.ts';
import { type Fact, type FactName, type FactOf, type RuledFact, scopeOf } from '../alert/fact.ts';
import { labelsOfEvent, matchedLabels, tidyLabels } from '../alert/labels.ts';
import type { Parameters, Rule, RuleOf } from '../alert/rule.ts';
import { type EventRule, eventMatched, scopeOfMatch } from '../kinds/event-matched.ts';
import type { Kind, KindWith } from '../kinds/kind.ts';
import { type AlertKind, defaultRule, KINDS } from '../kinds/kinds.ts';
import { matchesAll } from '../matchers/matcher.ts';
import { asKindSees } from './flapping.ts';

const BY_FACT: ReadonlyMap<FactName, readonly Kind<AlertKind>[]> = new Map(
  [...new Set(KINDS.flatMap(({ raisedBy, observes }) => [...raisedBy, ...observes]))].map((name) => [
    name,
    KINDS.filter(({ raisedBy, observes }) => raisedBy.includes(name) || observes.includes(name)),
  ]),
);

/** The kinds that events concern, by event type; under a feed's name, those for all other types of that feed. */
const BY_EVENT: ReadonlyMap<string, readonly Kind<AlertKind>[]> = new Map(
  [...FEEDS, ...KINDS.flatMap(({ eventTypes = [] }) => eventTypes)].map((type) => {
    const names = [type, type.split('.', 1)[0]!];
    const kinds = BY_FACT.get('event') ?? [];
    return [type, kinds.filter(({ eventTypes = names }) => names.some((name) => eventTypes.includes(name)))];
  }),
);

/** The kinds that a fact concerns, by raising their alerts or by changing them. */
export function kindsConcerned(fact: Fact): readonly Kind<AlertKind>[] {
  return (fact.fact === 'event' ? kindsOfEvent(fact.event) : BY_FACT.get(fact.fact)) ?? [];
}

/** Whether an event can affect any alert. Most of what a service logs cannot. */
export function concernsAlerts(event: Event): boolean {
  return (kindsOfEvent(event)?.length ?? 0) > 0;
}

/** Whether an event can raise an alert, rather than end or change one at most. */
export function mayRaise(event: Event): boolean {
  return (kindsOfEvent(event) ?? []).some(
    ({ raisedBy, topic }) =>
      raisedBy.includes('event') && topic({ fact: 'event', event, historic: false }) !== undefined,
  );
}

function kindsOfEvent({ type, feed }: Event): readonly Kind<AlertKind>[] | undefined {
  return BY_EVENT.get(type) ?? BY_EVENT.get(feed);
}

/**
 * The rules of a kind that decide about these labels (all but `severity`): the first that matches, or every one that
 * does if the kind is on request.
 */
export function rulesFor<P extends Parameters>(
  kind: KindWith<P>,
  topic: Labels,
  rules: readonly Rule[],
): RuleOf<P>[] {
  let labels: Labels | undefined;
  const found: RuleOf<P>[] = [];
  for (const rule of rulesOf(kind, rules)) {
    // Most rules fit everything, and most facts concern no alert.
    if (rule.match.length > 0) {
      labels ??= { ...tidyLabels(topic), alertname: kind.name };
      if (!matchesAll(rule.match, labels)) continue;
    }
    found.push(rule);
    if (!kind.isOnRequest) break;
  }
  return found;
}

const RULES_BY_KIND = new WeakMap<readonly Rule[], ReadonlyMap<string, readonly Rule[]>>();

/** Found by kind, since a configuration may have hundreds of one, and each event is judged by several kinds. */
function rulesOf<P extends Parameters>(kind: KindWith<P>, rules: readonly Rule[]) {
  const byKind = RULES_BY_KIND.getOrInsertComputed(rules, () => Map.groupBy(rules, (rule) => rule.kind));
  return (byKind.get(kind.name) ?? []) as readonly RuleOf<P>[];
}

/** The kinds with rules that are judged as soon as a Flight starts or succeeds. */
export function wokenKinds(rules: readonly Rule[]): readonly Kind<AlertKind>[] {
  return KINDS.filter(
    ({ name, judges }) =>
      judges?.of === 'bird' && judges.isWokenByFlights && rules.some(({ kind }) => kind === name),
  );
}

interface Concerned {
  readonly kind: AlertKind;
  readonly rule: number | null;
}

/** The kinds whose alerts a fact may raise, with the index of each rule that decides; null if none does. */
export function rulesConcerning(fact: Fact, rules: readonly Rule[]): Concerned[] {
  const asked = fact.fact === 'event' ? rulesOnEvents(rules)?.(fact.event) : undefined;
  const matched = asked?.map((rule): Concerned => ({ kind: eventMatched.name, rule: rules.indexOf(rule) }));
  const byKind = kindsConcerned(fact).flatMap((kind): Concerned[] => {
    const topic = kind.raisedBy.includes(fact.fact) ? kind.topic(fact) : undefined;
    if (!topic) return [];
    const deciding = rulesFor(kind, topic.labels, rules);
    if (deciding.length === 0) return [{ kind: kind.name, rule: null }];
    return deciding.map((rule) => ({ kind: kind.name, rule: rules.indexOf(rule) }));
  });
  return [
    ...byKind,
    ...(matched?.length === 0 ? [{ kind: eventMatched.name, rule: null }] : (matched ?? [])),
  ];
}

/** The rule of a stored alert; if its own no longer exists, one of the present configuration. */
export function ruleOf({ alertname, rule, labels }: Alert, rules: readonly Rule[]): Rule {
  return (
    rules.find(({ id, kind }) => id === rule && kind === alertname) ??
    rules.find(({ match, kind }) => kind === alertname && matchesAll(match, labels)) ??
    defaultRule(alertname)
  );
}

/**
 * The rule that would now decide on the subject of a stored alert. One of a kind on request has only its own: any other
 * makes an alert of its own.
 */
export function presentRule(alert: Alert, kind: Kind, rules: readonly Rule[]): Rule | undefined {
  const seen = asKindSees(alert);
  const isOwn = ({ id, kind: of }: Rule) => id === alert.rule && of === kind.name;
  // While a new episode is being counted, the labels are still those of the last one.
  const isCounted = alert.state === 'resolved' && seen.state !== 'firing';
  // The labels of a moment are not all that its rule matched.
  const own = (isCounted || kind.words.isMoment) && rules.find(isOwn);
  const fitting = () => rulesFor(kind, { ...seen.labels, severity: '' }, rules);
  return own || (kind.isOnRequest ? fitting().find(isOwn) : fitting()[0]);
}

// Finds the rules on events (EventMatched) that an event fits. Which rules may fit the events of a type in a Nest follows
// from their matchers on these, and is remembered, so an event that nobody asks for costs one look-up. Without such rules
// nothing is matched at all.

/** The labels that many events have in common. */
const SHARED: ReadonlySet<string> = new Set(['region', 'nest', 'type']);

/** Their combinations that are remembered; the service may name any. */
const MOST_SHARED = 5_000;

/** Events of one reading of the inventory about which one rule has an alert each; beyond, they share one. */
const MOST_APART = 200;

/** The scopes of all alerts that an event may raise. */
export function scopesOfEvent(event: Event, rules: readonly Rule[]): string[] {
  const asked = rulesOnEvents(rules)?.(event) ?? [];
  const own = scopeOf({ fact: 'event', event, historic: false });
  return [...new Set([own, ...asked.map(({ forEach }) => scopeOfMatch(event, forEach))])];
}

type FindRules = (event: Event) => readonly EventRule[];

/** Undefined if no rule asks for events. */
export function rulesOnEvents(rules: readonly Rule[]): FindRules | undefined {
  const asking = rulesOf(eventMatched, rules);
  if (asking.length === 0) return undefined;
  const byShared = new Map<string, readonly EventRule[]>();
  const candidatesFor = (event: Event) => {
    if (byShared.size >= MOST_SHARED) byShared.clear();
    return byShared.getOrInsertComputed(`${event.region}\n${event.type}\n${event.nest}`, () => {
      const labels = labelsOfEvent(event);
      return asking.filter(({ match }) => match.every((one) => !SHARED.has(one.name) || one.matches(labels)));
    });
  };
  return (event) => {
    const candidates = candidatesFor(event);
    if (candidates.length === 0) return candidates;
    const labels = matchedLabels(event);
    return candidates.filter(({ match }) => matchesAll(match, labels));
  };
}

/** A fact for each event and each rule that it fits. */
export function matchedFacts(events: readonly Event[], rulesOf: FindRules): RuledFact[] {
  const found = events.flatMap((event) => rulesOf(event).map((rule) => ({ event, rule })));
  const listed = Map.groupBy(
    found.filter(({ event }) => event.feed === 'inventory'),
    ({ rule }) => rule,
  );
  return found.map(({ event, rule }): FactOf<'event_matched'> & RuledFact => {
    const { length: many = 0 } = listed.get(rule) ?? [];
    const isMany = event.feed === 'inventory' && many > MOST_APART;
    const forEach = isMany ? 'region' : rule.forEach;
    const about = { event, forEach, ...(isMany && { others: many - 1 }) };
    return { fact: 'event_matched', ...about, scope: scopeOfMatch(event, forEach), rule: rule.id };
  });
}
