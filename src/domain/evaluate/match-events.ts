/**
 * Finds the rules on events (EventMatched) that an event fits. Which rules may fit the events of a type in a Nest follows
 * from their matchers on these, and is remembered, so an event that nobody asks for costs one look-up. Without such rules
 * nothing is matched at all.
 */
import type { Event } from '../alert/event.ts';
import { labelsOfEvent, matchedLabels } from '../alert/event-words.ts';
import { type FactOf, type RuledFact, scopeOf } from '../alert/fact.ts';
import type { Rule } from '../alert/rule.ts';
import { type EventRule, eventMatched, scopeOfMatch } from '../kinds/event-matched.ts';
import { isRuleOf } from '../kinds/kind.ts';
import { matchesAll } from '../matchers/matcher.ts';

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

export type FindRules = (event: Event) => readonly EventRule[];

/** Undefined if no rule asks for events. */
export function rulesOnEvents(rules: readonly Rule[]): FindRules | undefined {
  const asking = rules.filter((rule) => isRuleOf(rule, eventMatched)) as readonly EventRule[];
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
    const isMany = (listed.get(rule)?.length ?? 0) > MOST_APART;
    const forEach = isMany ? 'region' : rule.forEach;
    return { fact: 'event_matched', event, forEach, scope: scopeOfMatch(event, forEach), rule: rule.id };
  });
}
