import type { Alert, Ending } from '../alert/alert.ts';
import { clear } from '../alert/lifecycle.ts';
import type { Rule } from '../alert/rule.ts';
import { ruleOf } from './decide.ts';
import { asKindSees, dampen, letGo } from './flapping.ts';

/**
 * Ends an alert for a reason that is not its kind's, and forgets what it remembered: held back it is no longer.
 * `by` says why, as for `resolve`; undefined where there is nothing to end.
 */
export function endAtOnce(
  alert: Alert,
  by: string,
  ending: Ending,
  rules: readonly Rule[],
  nowUs: number,
): Alert | undefined {
  const context = { rule: ruleOf(alert, rules), nowUs, atOnce: true };
  const released = letGo(alert, by, context);
  if (released) return released.alert;
  const change = clear(asKindSees(alert), nowUs, by, nowUs, ending);
  return change && dampen(alert, change, context).alert;
}
