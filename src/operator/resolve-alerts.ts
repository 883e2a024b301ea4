/** Resolves alerts by hand in the store, in one transaction each, and then has alerting look again. */

import type { Rule } from '../domain/alert/rule.ts';
import { type ResolvedByHand, resolveByHand } from '../domain/evaluate/resolve-by-hand.ts';
import type { Report } from '../report.ts';
import { writeDecision } from '../store/alerts/change-alerts.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { type FoundAlert, findAlert, type Signature } from './find-alert.ts';

export interface AlertResolver {
  /** Resolves the current episode of a firing alert. `startsAtUs` names the intended episode, if it is known. */
  resolve(alertId: string, by: Signature, startsAtUs?: number): Promise<FoundAlert | ResolvedByHand>;
}

interface AlertResolverOptions {
  readonly store: Store;
  readonly rules: readonly Rule[];
  readonly clock: Clock;
  readonly report: Report;
  /** Makes intake probe at once a region that it otherwise probes only now and then. */
  readonly probe: (region: string) => void;
  /** Called after an alert was resolved. */
  readonly changed: () => void;
}

export function createAlertResolver({
  store,
  rules,
  clock,
  report,
  probe,
  changed,
}: AlertResolverOptions): AlertResolver {
  return {
    async resolve(alertId, by, startsAtUs) {
      const { result, happenings } = await store.transaction(async (tx) => {
        const meant = await findAlert(tx, alertId, startsAtUs);
        if (!meant.ok) return { result: meant, happenings: [] };
        const result = resolveByHand(meant.alert, by, rules, clock.nowUs());
        const alerts = result.ok ? [result.alert] : [];
        const decision = { alerts, links: [] };
        return { result, ...(await writeDecision(tx, [meant.alert], decision, rules, clock.nowUs())) };
      });
      if (!result.ok) {
        if ('probes' in result && result.probes !== undefined) probe(result.probes);
        return result;
      }
      for (const happening of happenings) report(happening);
      changed();
      return result;
    },
  };
}
