/**
 * Checks what people were not notified of, and whether that was right. A reason counts if the store has it for
 * exactly this event, and if the world gave cause for it at that time.
 */
import { kindOf } from '../../src/domain/kinds/kinds.ts';
import type { Suppression } from '../../src/domain/muting/suppression.ts';
import type { Transaction } from '../../src/store/store.ts';
import { type Expected, MINUTE_US } from './expected.ts';
import type { Arrival, ToldAlert } from './receivers.ts';
import type { Remains } from './run.ts';

/**
 * The alert of a region that was away flaps, then keeps firing until it has been calm for long enough; then a flush.
 */
const AFTER_ALARM_US = 36 * MINUTE_US;
/** `max_alert_age` of the stage. */
const OLD_US = 6 * 3_600e6;

/** News of which nobody was notified. */
export type Untold =
  | { readonly of: 'event'; readonly event: Expected; readonly alertname: string; readonly foundAtUs: number }
  | { readonly of: 'end'; readonly alert: ToldAlert; readonly toldUs: number };

export async function mayBeKeptBack(
  tx: { readonly suppressions: Pick<Transaction['suppressions'], 'ofAlert' | 'ofEvent'> },
  untold: Untold,
  /** What arrived in the inbox, without what was not notified. */
  arrivals: readonly Arrival[],
  { plan, happenings, endedAtUs }: Pick<Remains, 'plan' | 'happenings' | 'endedAtUs'>,
): Promise<boolean> {
  const steps = plan.clockSteps.reduce((sum, { byMs }) => sum + Math.abs(byMs), Math.abs(plan.clockAheadMs));
  /** How far the daemon's clock can be from the service's. */
  const skewUs = steps * 1000 + MINUTE_US;

  function wasHidden({ reason, atUs }: Suppression, region: string): boolean {
    const isAway = happenings.alarms.some(
      (alarm) =>
        alarm.region === region &&
        atUs > alarm.atUs - skewUs &&
        atUs < alarm.untilUs + AFTER_ALARM_US + skewUs,
    );
    return reason === 'inhibited' && isAway;
  }

  // That an alert has resolved is withheld only from people who are told of a worse one about its Bird. Else it waits
  // until its region is back, and may still be waiting.
  if (untold.of === 'end') {
    const { labels } = untold.alert;
    const { supersededBy } = kindOf(labels.alertname ?? '') ?? {};
    const isToldAsWorse = arrivals.some(({ inbox, atUs, alerts }) => {
      const isAbout = alerts.some(
        (one) => one.labels.alertname === supersededBy && one.labels.bird_id === labels.bird_id,
      );
      return inbox === 'mail' && atUs >= untold.toldUs && isAbout;
    });
    if (isToldAsWorse) return true;
    return happenings.alarms.some(
      ({ region, untilUs }) => region === labels.region && untilUs + AFTER_ALARM_US > endedAtUs,
    );
  }
  const { event, alertname, foundAtUs } = untold;
  const { region } = event.world;
  const isOld = foundAtUs - event.occurredAtUs > OLD_US - skewUs;
  const isSummedUp = arrivals.some(({ isSummary, atUs, alerts }) => {
    const isAbout = alerts.some(({ labels }) => labels.alertname === alertname && labels.region === region);
    return isSummary && isAbout && atUs > event.occurredAtUs;
  });
  return (await tx.suppressions.ofEvent(event.key)).some((one) =>
    one.reason === 'too_old' ? isOld && isSummedUp : wasHidden(one, region),
  );
}
