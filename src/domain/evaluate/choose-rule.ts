/** Which rule decides on a fact, and which on a stored alert. */
import type { Alert, Labels } from '../alert/alert.ts';
import { type Event, FEEDS } from '../alert/event.ts';
import type { Fact, FactName } from '../alert/fact.ts';
import { tidyLabels } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import type { Rule } from '../alert/rule.ts';
import { isRuleOf, type Kind, type KindWith } from '../kinds/kind.ts';
import { type AlertKind, defaultRule, KINDS } from '../kinds/kinds.ts';
import { matchesAll } from '../matchers/matcher.ts';
import { asKindSees } from './flapping.ts';

const BY_FACT: ReadonlyMap<FactName, readonly Kind<AlertKind>[]> = new Map(
  [...new Set(KINDS.flatMap(({ raisedBy, observes }) => [...raisedBy, ...observes]))].map((name) => [
    name,
    KINDS.filter(({ raisedBy, observes }) => raisedBy.includes(name) || observes.includes(name)),
  ]),
);

/** The kinds that an event of each of these types concerns, and under the name of a feed those of any other type of it. */
const BY_EVENT: ReadonlyMap<string, readonly Kind<AlertKind>[]> = new Map(
  [...FEEDS, ...KINDS.flatMap(({ eventTypes = [] }) => eventTypes)].map((type) => {
    const names = [type, type.split('.', 1)[0]!];
    const kinds = BY_FACT.get('event') ?? [];
    return [type, kinds.filter(({ eventTypes = names }) => names.some((name) => eventTypes.includes(name)))];
  }),
);

/** The kinds that a fact concerns, be it that it raises their alerts or changes them. */
export function kindsConcerned(fact: Fact): readonly Kind<AlertKind>[] {
  return (fact.fact === 'event' ? kindsOfEvent(fact.event) : BY_FACT.get(fact.fact)) ?? [];
}

/** Whether an event may do anything to an alert. Most of what a service logs does not. */
export function concernsAlerts(event: Event): boolean {
  return (kindsOfEvent(event)?.length ?? 0) > 0;
}

function kindsOfEvent({ type, feed }: Event): readonly Kind<AlertKind>[] | undefined {
  return BY_EVENT.get(type) ?? BY_EVENT.get(feed);
}

/** The first rule of a kind that fits these labels (all but `severity`); undefined where none does. */
export function ruleFor<P extends Parameters>(
  kind: KindWith<P>,
  topic: Labels,
  rules: readonly Rule[],
): RuleOf<P> | undefined {
  let labels: Labels | undefined;
  const found = rules.find((rule) => {
    if (rule.kind !== kind.name || rule.match.length === 0) return rule.kind === kind.name;
    labels ??= { ...tidyLabels(topic), alertname: kind.name };
    return matchesAll(rule.match, labels);
  });
  return found && isRuleOf(found, kind) ? found : undefined;
}

/** Which kinds a fact may raise an alert of, and the index of the rule that decides on it; null where none does. */
export function rulesConcerning(
  fact: Fact,
  rules: readonly Rule[],
): { readonly kind: AlertKind; readonly rule: number | null }[] {
  return kindsConcerned(fact).flatMap((kind) => {
    const topic = kind.raisedBy.includes(fact.fact) ? kind.topic(fact) : undefined;
    if (!topic) return [];
    const rule = ruleFor(kind, topic.labels, rules);
    return [{ kind: kind.name, rule: rule ? rules.indexOf(rule) : null }];
  });
}

/** The rule of a stored alert; of those that the configuration has now where its own is gone. */
export function ruleOf({ alertname, rule, labels }: Alert, rules: readonly Rule[]): Rule {
  return (
    rules.find(({ id, kind }) => id === rule && kind === alertname) ??
    rules.find(({ match, kind }) => kind === alertname && matchesAll(match, labels)) ??
    defaultRule(alertname)
  );
}

/** The rule that would decide, by the present rules, on what a stored alert is about. */
export function presentRule(alert: Alert, kind: Kind, rules: readonly Rule[]): Rule | undefined {
  const seen = asKindSees(alert);
  // What is counted for a new episode: the labels are still those of the last one.
  const isCounted = alert.state === 'resolved' && seen.state !== 'firing';
  const own = isCounted && rules.find(({ id, kind: of }) => id === alert.rule && of === kind.name);
  return own || ruleFor(kind, { ...seen.labels, severity: '' }, rules);
}
