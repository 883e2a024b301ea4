/**
 * Changes alerts for whatever cause: loads the alerts of the facts' scopes, lets `domain/` decide, writes the
 * decision and links its events, all in the caller's transaction.
 */
import type { Alert } from '../../domain/alert/alert.ts';
import { type RuledFact, scopeOf } from '../../domain/alert/fact.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { type Decision, decide } from '../../domain/evaluate/decide.ts';
import type { Happening } from '../../report.ts';
import type { Transaction } from '../store.ts';
import { sharedErrors } from './shared-errors.ts';

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
