/**
 * Finds the errors that Birds may share once alerts of failed Flights have changed, for SharedCause. Each error is looked
 * up once, however many alerts changed, and nothing is looked up if none of these alerts changed.
 */
import type { Alert } from '../../domain/alert/alert.ts';
import type { FactOf, RuledFact } from '../../domain/alert/fact.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import type { Link } from '../../domain/evaluate/alert-book.ts';
import { rulesFor } from '../../domain/evaluate/choose-rule.ts';
import { flightFailed } from '../../domain/kinds/failures/flight-failed.ts';
import {
  MOST_LISTED,
  type SharedCauseRule,
  sharedCause,
  subjectOfCause,
} from '../../domain/kinds/failures/shared-cause.ts';
import type { Transaction } from '../store.ts';

/** Failures of one Bird that a cause begins with. */
const MOST_BEFORE = 100;

/** An error that is to be looked up, with the alerts that changed. */
interface Candidate {
  readonly rule: SharedCauseRule;
  /** `all` for the regions together. */
  readonly region: string;
  readonly error: string;
  readonly scope: string;
  readonly parts: Alert[];
}

/** `changed` and `links` are stored already. */
export async function sharedErrors(
  tx: Pick<Transaction, 'alerts'>,
  changed: readonly Alert[],
  links: readonly Link[],
  rules: readonly Rule[],
): Promise<RuledFact[]> {
  const candidates = new Map<string, Candidate>();
  for (const alert of changed) {
    if (alert.alertname !== flightFailed.name || alert.state === 'pending') continue;
    const { region: own = '', error = '' } = alert.labels;
    if (error === '') continue;
    const [rule] = rulesFor(sharedCause, { region: own, error }, rules);
    if (!rule || rule.birds === 0) continue;
    const region = rule.across === 'all' ? 'all' : own;
    const scope = `${region}/${subjectOfCause(error)}`;
    candidates
      .getOrInsertComputed(scope, () => ({ rule, region, error, scope, parts: [] }))
      .parts.push(alert);
  }
  if (candidates.size === 0) return [];
  const known = new Map(
    (await tx.alerts.ofScopes([...candidates.keys()])).map((cause) => [cause.scope, cause]),
  );
  const facts: RuledFact[] = [];
  for (const candidate of candidates.values()) {
    const fact = await look(tx, candidate, known.get(candidate.scope), links);
    if (fact) facts.push(fact);
  }
  return facts;
}

async function look(
  tx: Pick<Transaction, 'alerts'>,
  { rule, region, error, scope, parts }: Candidate,
  cause: Alert | undefined,
  links: readonly Link[],
): Promise<RuledFact | undefined> {
  const lasts = cause?.state === 'firing';
  const firing = parts.filter(({ state }) => state === 'firing');
  if (!lasts && firing.length === 0) return undefined;
  const regions = region === 'all' ? await tx.alerts.regions() : [region];
  const failing = await tx.alerts.failingWith(regions, error, Math.max(rule.birds, MOST_LISTED));
  const { birds, nests, isAll } = failing;
  if (!lasts && birds < rule.birds) return undefined;
  // One that begins has the failures so far of each Bird; then it gets all that come.
  const linkedIds = new Set(links.map(({ alertId }) => alertId));
  const untold = lasts ? firing.filter(({ id }) => !linkedIds.has(id)) : [...failing.latest, ...firing];
  const spans = [...new Map(untold.map((part) => [part.id, part])).values()].map((part) => ({
    alertId: part.id,
    afterSeq: part.lastSeq - part.eventsTotal,
    lastSeq: part.lastSeq,
  }));
  const before = spans.length === 0 ? [] : [...(await tx.alerts.eventsOf(spans, MOST_BEFORE)).values()];
  const partIds = new Set(firing.map(({ id }) => id));
  const come = lasts ? links.flatMap(({ alertId, event }) => (partIds.has(alertId) ? [event] : [])) : [];
  const events = [...before.flat(), ...come].toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const fact: FactOf<'shared_error'> & RuledFact = {
    ...{ fact: 'shared_error', scope, region, error, birds, nests, isAll, events, rule: rule.id },
    parts: failing.latest.map(({ labels, startsAtUs }) => ({
      place: {
        ...{ region: labels.region ?? '', nestId: labels.nest_id ?? '', nest: labels.nest ?? '' },
        ...{ birdId: labels.bird_id ?? '', bird: labels.bird ?? '' },
      },
      startsAtUs,
    })),
  };
  return fact;
}
