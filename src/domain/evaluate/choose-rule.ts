/** Chooses the rule that decides on a fact, and the one for a stored alert. */
import type { Alert, Labels } from '../alert/alert.ts';
import { type Event, FEEDS } from '../alert/event.ts';
import type { Fact, FactName } from '../alert/fact.ts';
import { tidyLabels } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import type { Rule } from '../alert/rule.ts';
import { eventMatched } from '../kinds/event-matched.ts';
import { isRuleOf, type Kind, type KindWith } from '../kinds/kind.ts';
import { type AlertKind, defaultRule, KINDS } from '../kinds/kinds.ts';
import { matchesAll } from '../matchers/matcher.ts';
import { asKindSees } from './flapping.ts';
import { rulesOnEvents } from './match-events.ts';

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
  for (const rule of rules) {
    if (!isRuleOf(rule, kind)) continue;
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
