/** Computes what a report of a month says of alerts: how long they fired, what failed and why, and how it ended. */
import type { Period } from '../../time/calendar-period.ts';
import { flightFailed } from '../kinds/failures/flight-failed.ts';
import { kindOf } from '../kinds/kinds.ts';
import { type Episode, isRecovery } from './digest.ts';

/**
 * `episodes` may begin or end outside the month; what fires ends when the month does, or later. Alerts about the watch
 * itself count only as what impaired it. Durations, in microseconds, are how long at least one of the alerts fired within
 * the month, but a time to recover is how long an alert about failed Flights fired until its end was observed or somebody
 * resolved it; not finite if there was none. The Birds that failed longest come first, and the most frequent causes.
 */
export function alertsOfMonth(episodes: readonly Episode[], month: Period) {
  const within = episodes.filter((one) => one.startsAtUs < month.untilUs && one.endsAtUs >= month.fromUs);
  const served = within.filter((one) => !impairsWatch(one));
  const critical = served.filter(({ labels }) => labels.severity === 'critical');
  const ended = served.filter(({ endsAtUs }) => endsAtUs < month.untilUs);
  const failures = served.filter(isOfFailures);
  const recovered = ended.filter((one) => isOfFailures(one) && isRecovery(one));
  const lastedUs = recovered.map(({ startsAtUs, endsAtUs }) => endsAtUs - startsAtUs);
  return {
    figures: {
      critical_downtime: spanUs(critical, month),
      watch_impaired: spanUs(within.filter(impairsWatch), month),
      mean_time_to_recover: lastedUs.reduce((sum, us) => sum + us, 0) / lastedUs.length,
      longest_time_to_recover: lastedUs.reduce((most, us) => Math.max(most, us), Number.NEGATIVE_INFINITY),
    },
    endings: Map.groupBy(ended, ({ ending }) => ending ?? ''),
    birds: groupsOf(failures, birdOf, month),
    causes: groupsOf(failures, errorOf, month).sort((a, b) => b.figures.times - a.figures.times),
  };
}

export const impairsWatch = ({ alertname }: Episode) => kindOf(alertname)?.impairsWatch === true;
const isOfFailures = ({ alertname }: Episode) => alertname === flightFailed.name;
const errorOf = ({ labels }: Episode) => labels.error ?? '';
const birdOf = ({ labels }: Episode) => `${labels.region} ${labels.bird_id}`;

/** Those failing longest first. */
function groupsOf(episodes: readonly Episode[], keyOf: (one: Episode) => string, month: Period) {
  const groups = [...Map.groupBy(episodes, keyOf).values()].map((all) => ({
    newest: all.reduce((latest, one) => (one.startsAtUs > latest.startsAtUs ? one : latest)),
    figures: { times: all.length, failing_for: spanUs(all, month) },
  }));
  return groups.sort((a, b) => b.figures.failing_for - a.figures.failing_for);
}

function spanUs(episodes: readonly Episode[], { fromUs, untilUs }: Period): number {
  let us = 0;
  let reachedUs = fromUs;
  for (const { startsAtUs, endsAtUs } of episodes.toSorted((a, b) => a.startsAtUs - b.startsAtUs)) {
    us += Math.max(0, Math.min(endsAtUs, untilUs) - Math.max(startsAtUs, reachedUs));
    reachedUs = Math.max(reachedUs, Math.min(endsAtUs, untilUs));
  }
  return us;
}
