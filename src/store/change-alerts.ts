/**
 * Changes alerts for whatever cause: loads the alerts of the facts' scopes, lets `domain/` decide, writes the
 * decision and links its events, all in the caller's transaction.
 */

import { type Action, isOpen } from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { birdScope, type FactOf, type RuledFact, scopeOf } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { type Decision, decide, type Link } from '../domain/evaluate/decide.ts';
import { type GroupMember, HAS_LEFT } from '../domain/grouping/group.ts';
import { flightFailed } from '../domain/kinds/failures/flight-failed.ts';
import {
  isPart,
  MOST_LISTED,
  type SharedCauseRule,
  sharedCause,
  subjectOfCause,
} from '../domain/kinds/failures/shared-cause.ts';
import type { Happening } from '../report.ts';
import type { Transaction } from './store.ts';

interface AlertChanges {
  /** How many alerts were written. */
  readonly written: number;
  /** Alerts that newly fire or are newly resolved. Report them once the transaction is committed. */
  readonly happenings: readonly Happening[];
}

/** Lets facts change the alerts of their scopes. */
export async function applyFacts(
  tx: Pick<Transaction, 'alerts' | 'groups' | 'faults'>,
  facts: readonly RuledFact[],
  rules: readonly Rule[],
  nowUs: number,
): Promise<AlertChanges> {
  if (facts.length === 0) return { written: 0, happenings: [] };
  const known = await tx.alerts.ofScopes([...new Set(facts.map(scopeOf))]);
  return writeDecision(tx, known, decide(facts, known, rules, nowUs), rules, nowUs);
}

/**
 * Writes what was decided about alerts, and what follows for causes that they share. `known` are the alerts it was
 * decided from, as loaded in this transaction.
 */
export async function writeDecision(
  tx: Pick<Transaction, 'alerts' | 'groups' | 'faults'>,
  known: readonly Alert[],
  { alerts, links, faults = [] }: Decision,
  rules: readonly Rule[],
  nowUs: number,
): Promise<AlertChanges> {
  if (alerts.length > 0) {
    await tx.alerts.put(alerts);
    await tx.alerts.linkEvents(links);
  }
  const happenings = transitions(known, alerts).map(
    ({ alert: { id: alertId, alertname, labels }, state }): Happening => ({
      what: 'alert',
      alertname,
      region: labels.region ?? '',
      state,
      alertId,
    }),
  );
  for (const fault of faults.length > 0 ? await tx.faults.note(faults, nowUs) : []) {
    happenings.push({ what: 'set_aside', ...fault });
  }
  const shared = await applyFacts(tx, await sharedErrors(tx, known, { alerts, links }, rules), rules, nowUs);
  return { written: alerts.length + shared.written, happenings: [...happenings, ...shared.happenings] };
}

/** An alert that fired or resolved. */
interface Transition {
  readonly alert: Alert;
  readonly state: 'firing' | 'resolved';
}

/** Which of the changed alerts entered another state that people are told about. */
export function transitions(before: readonly Alert[], after: readonly Alert[]): Transition[] {
  const states = new Map(before.map((alert) => [alert.id, alert.state]));
  return after.flatMap((alert) => {
    const was = states.get(alert.id) ?? 'pending';
    if (alert.state === was || alert.state === 'pending') return [];
    return [{ alert, state: alert.state }];
  });
}

// Finds the errors that Birds may share once alerts of failed Flights have changed, for SharedCause. Each error is looked
// up once, however many alerts changed, and nothing is looked up if none of these alerts changed.

/** Failures of one Bird that a cause begins with, at most. */
const MOST_BROUGHT = 100;

/** An error that is to be looked up, with those of the changed alerts that fire. */
interface Candidate {
  readonly rule: SharedCauseRule;
  /** `all` for the regions together. */
  readonly region: string;
  readonly error: string;
  readonly scope: string;
  readonly parts: Alert[];
}

/** `before` are the alerts as they were; what `decided` says is stored already. */
async function sharedErrors(
  tx: Pick<Transaction, 'alerts' | 'groups'>,
  before: readonly Alert[],
  { alerts, links }: Pick<Decision, 'alerts' | 'links'>,
  rules: readonly Rule[],
): Promise<RuledFact[]> {
  const candidates = new Map<string, Candidate>();
  for (const alert of alerts) {
    if (alert.alertname !== flightFailed.name || alert.state === 'pending') continue;
    const { region: own = '', error = '' } = alert.labels;
    if (error === '') continue;
    const [rule] = rulesFor(sharedCause, { region: own, error }, rules);
    if (!rule || rule.birds === 0) continue;
    const region = rule.across === 'all' ? 'all' : own;
    const scope = `${region}/${subjectOfCause(error)}`;
    const candidate = candidates.getOrInsertComputed(scope, () => ({
      ...{ rule, region, error, scope, parts: [] },
    }));
    if (alert.state === 'firing' && isPart(alert)) candidate.parts.push(alert);
  }
  if (candidates.size === 0) return [];
  const causes = await tx.alerts.ofScopes([...candidates.keys()]);
  const lasting = new Map(causes.flatMap((one) => (one.state === 'firing' ? [[one.scope, one]] : [])));
  const others = [...candidates.values()].filter(
    ({ scope, parts }) => !lasting.has(scope) && parts.length > 0,
  );
  const [everywhere, ofRegions] = [others.filter(isOfAll), others.filter((one) => !isOfAll(one))];
  // Most errors are those of a single Bird, and are sorted out together.
  const least = Math.min(...ofRegions.map(({ rule }) => rule.birds));
  const begun = ofRegions.length > 0 ? await tx.alerts.shared(ofRegions, least) : [];
  const since = {
    // One that failed with another error meanwhile joins again, with that failure.
    fired: new Set(before.flatMap((one) => (one.state === 'firing' && isPart(one) ? [one.id] : []))),
    links: Map.groupBy(links, ({ alertId }) => alertId),
  };
  const facts: RuledFact[] = [];
  for (const [scope, cause] of lasting) {
    facts.push(await lookUp(tx, candidates.get(scope)!, { cause, ...since }));
  }
  for (const candidate of [...begun, ...everywhere]) facts.push(await lookUp(tx, candidate));
  return facts;
}

const isOfAll = ({ region }: Candidate) => region === 'all';

/** A cause that fires already, and the alerts that fired before as parts of it: it has all their failures before `links`. */
interface Since {
  readonly cause: Alert;
  readonly fired: ReadonlySet<string>;
  readonly links: ReadonlyMap<string, readonly Link[]>;
}

/** With `since`, the cause fires already. */
async function lookUp(
  tx: Pick<Transaction, 'alerts' | 'groups'>,
  { rule, region, error, scope, parts }: Candidate,
  since?: Since,
): Promise<FactOf<'shared_error'> & RuledFact> {
  const regions = region === 'all' ? await tx.alerts.regions() : [region];
  const { latest, ...counts } = await tx.alerts.failingWith(
    regions,
    error,
    Math.max(rule.birds, MOST_LISTED),
  );
  // What joins it brings all its failures that were not told, and then each that comes.
  const come = ({ id }: Alert) => since?.links.get(id) ?? [];
  const brings = (part: Alert) => !since?.fired.has(part.id) && come(part).length < part.eventsTotal;
  const joining = [...(since ? [] : latest.filter(isPart)), ...parts].filter(brings);
  const ids = [...new Set(joining.map(({ id }) => id))];
  const told = ids.length === 0 ? new Map<string, number>() : toldSeqs(await tx.groups.membersOfAlerts(ids));
  if (since && ids.length > 0) {
    // It also has failures of them that not all their receivers were told of.
    const { id: causeId, lastSeq, eventsTotal } = since.cause;
    for (const [id, seq] of await tx.alerts.sharing(causeId, lastSeq - eventsTotal, lastSeq))
      told.set(id, Math.max(told.get(id) ?? 0, seq));
  }
  const spans = [...new Map(joining.map((part) => [part.id, part])).values()].map((part) => ({
    alertId: part.id,
    afterSeq: Math.max(part.lastSeq - part.eventsTotal, told.get(part.id) ?? 0),
    lastSeq: part.lastSeq,
  }));
  const brought = spans.length === 0 ? [] : [...(await tx.alerts.eventsOf(spans, MOST_BROUGHT)).values()];
  const came = parts.filter((part) => !brings(part)).flatMap((part) => come(part).map(({ event }) => event));
  return {
    ...{ fact: 'shared_error', scope, region, error, rule: rule.id, ...counts },
    said: latest[0]?.annotations.description ?? '',
    events: [...brought.flat(), ...came].toSorted((a, b) => a.occurredAtUs - b.occurredAtUs),
    parts: latest.map(({ labels, startsAtUs }) => ({
      place: {
        ...{ region: labels.region ?? '', nestId: labels.nest_id ?? '', nest: labels.nest ?? '' },
        ...{ birdId: labels.bird_id ?? '', bird: labels.bird ?? '' },
      },
      startsAtUs,
    })),
  };
}

/** Up to where the events of alerts have been told to all their receivers. */
function toldSeqs(members: readonly GroupMember[]): Map<string, number> {
  const seqs = new Map<string, number>();
  for (const { sort, alertId, notifiedSeq } of members) {
    if (sort === 'route' && notifiedSeq !== HAS_LEFT)
      seqs.set(alertId, Math.min(seqs.get(alertId) ?? notifiedSeq, notifiedSeq));
  }
  return seqs;
}

/**
 * Stores what has become of actions. Alerts of Birds that have none open any more join their groups again, since what
 * failed meanwhile was not planned for.
 */
export async function putActions(tx: Transaction, actions: readonly Action[]): Promise<void> {
  await tx.actions.put(actions);
  const over = actions.filter((one) => !isOpen(one));
  const found = await tx.alerts.ofScopes(over.map(({ region, birdId }) => birdScope(region, birdId)));
  await tx.alerts.put(found.filter((one) => one.alertname === flightFailed.name && one.state === 'firing'));
}
