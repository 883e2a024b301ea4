import type { Alert } from '../domain/alert/alert.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { presentRule } from '../domain/evaluate/choose-rule.ts';
import { endAtOnce } from '../domain/evaluate/resolve-by-hand.ts';
import { sharedCause } from '../domain/kinds/failures/shared-cause.ts';
import { isRuleOf } from '../domain/kinds/kind.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import type { Happening } from '../report.ts';
import { writeDecision } from '../store/alerts/change-alerts.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** Alerts looked at between two pauses. */
const BATCH = 200;

/**
 * Resolves the alerts of kinds on request whose rule is no longer configured, or no longer fits: nothing judges them any
 * more. Other kinds have a default rule, which judges on.
 */
export async function endRemovedRules(tx: Transaction, rules: readonly Rule[], nowUs: number): Promise<Step> {
  const happenings: Happening[] = [];
  for (const kind of KINDS.filter(({ isOnRequest, name }) => isOnRequest || name === sharedCause.name)) {
    const query = { state: 'firing', name: kind.name, order: 'newest', nowUs, limit: BATCH } as const;
    for (let cursor: string | undefined; ; await tx.pause()) {
      const { alerts, next } = await tx.alerts.page({ ...query, cursor });
      const lost = alerts.filter((alert) => isOff(presentRule(alert, kind, rules)));
      const ended = lost.flatMap((alert) => endAtOnce(alert, reasonOf(alert), 'gone', rules, nowUs) ?? []);
      happenings.push(
        ...(await writeDecision(tx, lost, { alerts: ended, links: [] }, rules, nowUs)).happenings,
      );
      if (next === undefined) break;
      cursor = next;
    }
  }
  return { done: 0, queued: 0, happenings };
}

/** Whether nothing is judged by it any more. */
function isOff(rule: Rule | undefined): boolean {
  return !rule || (isRuleOf(rule, sharedCause) && rule.birds === 0);
}

function reasonOf({ rule }: Alert): string {
  return `its rule ${rule} is no longer configured for it`;
}
