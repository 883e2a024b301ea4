/**
 * Changes alerts for whatever cause: loads the alerts of the facts' scopes, lets `domain/` decide, writes the
 * decision and links its events, all in the caller's transaction.
 */
import type { Alert } from '../../domain/alert/alert.ts';
import { type RuledFact, scopeOf } from '../../domain/alert/fact.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { transitions } from '../../domain/alert/transition.ts';
import type { Decision } from '../../domain/evaluate/alert-book.ts';
import { decide } from '../../domain/evaluate/decide.ts';
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
  tx: Pick<Transaction, 'alerts' | 'faults'>,
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
  tx: Pick<Transaction, 'alerts' | 'faults'>,
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
