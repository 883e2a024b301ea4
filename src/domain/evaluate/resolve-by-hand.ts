/**
 * Resolves an alert because somebody says that it is over, for example after repairing a connection: the service
 * reports no end, or reports it late. The episode ends like any other, and the next fact begins another one.
 */

import { plainText } from '../../text/plain-text.ts';
import { type Alert, clear, type Ending } from '../alert/alert.ts';
import type { Rule } from '../alert/rule.ts';
import { kindOf } from '../kinds/kinds.ts';
import { ruleOf } from './choose-rule.ts';
import { applyFlapping, asKindSees, endHeld } from './flapping.ts';

/** The alert to be written, or why it cannot be resolved. */
export type ResolvedByHand =
  | { readonly ok: true; readonly alert: Alert }
  | {
      readonly ok: false;
      readonly problem: 'invalid';
      /** For people, without a full stop. */
      readonly message: string;
      /** The region to probe at once, since only its answer ends the alert. */
      readonly probes?: string;
    };

const MAX_NAME_LENGTH = 200;
const MAX_REASON_LENGTH = 2_000;

/** Whether somebody may resolve it: not while its condition is measured and still true. */
export function isResolvable(alert: Alert): boolean {
  if (alert.state !== 'firing' || alert.flapping?.held !== undefined) return alert.state === 'firing';
  return kindOf(alert.alertname)?.isResolvableByHand(alert) ?? true;
}

/** Whether the alert means that its region is only probed: a person who repaired it may request a probe now. */
export function isEndedByProbe({ state, alertname }: Alert): boolean {
  return state === 'firing' && kindOf(alertname)?.inhibitsRegion === true;
}

/**
 * Resolves an alert by hand. One that is over and only held, for example because it flaps, may be resolved for any
 * kind.
 */
export function resolveByHand(
  alert: Alert,
  { createdBy, comment }: { readonly createdBy: string; readonly comment: string },
  rules: readonly Rule[],
  nowUs: number,
): ResolvedByHand {
  if (alert.state !== 'firing') return refused('the alert is not firing');
  const reason = plainText(comment, MAX_REASON_LENGTH);
  const by = `it was resolved by hand by ${plainText(createdBy, MAX_NAME_LENGTH)}${reason && `: ${reason}`}`;
  if (!isResolvable(alert)) {
    if (isEndedByProbe(alert)) {
      const message = 'the region is asked again now, and the alert ends once it answers as it should';
      return { ...refused(message), probes: alert.labels.region ?? '' };
    }
    return refused('it is measured again and again and is still so: acknowledge or silence it instead');
  }
  return { ok: true, alert: endAtOnce(alert, by, 'by_hand', rules, nowUs)! };
}

function refused(message: string) {
  return { ok: false, problem: 'invalid', message } as const;
}

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
