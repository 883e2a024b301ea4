import type { Alert, Ending } from '../alert/alert.ts';
import { clear } from '../alert/lifecycle.ts';
import type { Rule } from '../alert/rule.ts';
import { ruleOf } from './choose-rule.ts';
import { applyFlapping, asKindSees, endHeld } from './flapping.ts';

/**
 * Ends an alert for a reason outside its kind, and clears its memory. An alert that is over but held ends now as
 * well. `by` says why, as for `resolve`; undefined if there is nothing to end.
 */
export function endAtOnce(
  alert: Alert,
  by: string,
  ending: Ending,
  rules: readonly Rule[],
  nowUs: number,
): Alert | undefined {
  const context = { rule: ruleOf(alert, rules), nowUs, atOnce: true };
  const released = endHeld(alert, by, context);
  if (released) return released.alert;
  const change = clear(asKindSees(alert), nowUs, by, nowUs, ending);
  return change && applyFlapping(alert, change, context).alert;
}
