/**
 * Somebody says that an alert is over, as of a connection that was mended: the service reports no end, or late. The
 * episode ends like any other, and the next fact begins another one.
 */

import { plainText } from '../../text/plain-text.ts';
import type { Alert } from '../alert/alert.ts';
import type { Rule } from '../alert/rule.ts';
import { kindOf } from '../kinds/kinds.ts';
import { endAtOnce } from './end-at-once.ts';

/** The alert as it is to be written, or why it cannot be ended. */
export type ResolvedByHand =
  | { readonly ok: true; readonly alert: Alert }
  | {
      readonly ok: false;
      readonly problem: 'invalid';
      /** For people, without a full stop. */
      readonly message: string;
      /** The region that is to be asked at once: its answer, and nothing else, ends the alert. */
      readonly probes?: string;
    };

const MAX_NAME_LENGTH = 200;
const MAX_REASON_LENGTH = 2_000;

/** Whether somebody may end it: not while what it says is measured, and is still so. */
export function isResolvable(alert: Alert): boolean {
  if (alert.state !== 'firing' || alert.flapping?.held !== undefined) return alert.state === 'firing';
  return kindOf(alert.alertname)?.isResolvableByHand(alert) ?? true;
}

/** Whether the alert says that its region is not asked but for probes: a person who mended that may have one sent now. */
export function isEndedByProbe({ state, alertname }: Alert): boolean {
  return state === 'firing' && kindOf(alertname)?.inhibitsRegion === true;
}

/** One that is over and only held, because it flaps, say, may be ended whatever its kind is. */
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
