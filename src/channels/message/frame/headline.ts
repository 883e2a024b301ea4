/** Writes the title of a message about several alerts: what is new in it, and what else still fires. */
import type { GroupNotification, NotifiedAlert } from '../../../domain/grouping/notification.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import { howMany } from '../../../text/counts.ts';
import type { Cluster } from '../alert-clusters.ts';
import { isNoRecovery, stateWords, subjectOf } from '../alert-subject.ts';

type Counted = Pick<
  GroupNotification,
  'alerts' | 'firingTotal' | 'newTotal' | 'resolvedTotal' | 'truncatedAlerts' | 'threadPosition' | 'reason'
>;

/**
 * Of a first message: `Flight failed: 5 Birds, 2 causes, 1 resolved`. Of a later one, what is new in it: `Flight
 * failed: 2 new, 1 recovered, 3 still failing`, or `Recovered: Translate blog, 3 still failing`. Alerts of several
 * kinds are just called `Alerts`.
 */
export function headlineOf(counted: Counted, clusters: readonly Cluster[], goesOn: boolean): string {
  const { alerts, firingTotal, resolvedTotal } = counted;
  const open = alerts.filter((alert) => alert.status === 'firing');
  if (isOfChanges(counted)) return changesOf(counted);
  const counting = open.length > 0 ? open : alerts;
  const causes = clusters.filter(({ tone }) => tone !== 'resolved' && tone !== 'neutral').length;
  const counts = [
    countedAlerts(counting, open.length > 0 ? firingTotal : resolvedTotal),
    ...(open.length > 0 && causes > 1 && counted.truncatedAlerts === 0 ? [`${causes} causes`] : []),
    ...(open.length > 0 && resolvedTotal > 0 ? [`${resolvedTotal} resolved`] : []),
  ];
  return `${oneOf(counting.map((alert) => stateWords(alert, goesOn)))}: ${counts.join(', ')}`;
}

/** True if the only news is that some recovered, while others still fire. */
export function isOnlyRecovery(counted: Counted): boolean {
  const over = counted.alerts.filter(({ status }) => status === 'resolved');
  return (
    isOfChanges(counted) &&
    newOf(counted) === 0 &&
    over.length > 0 &&
    !over.some(isNoRecovery) &&
    !counted.alerts.some(({ status, events }) => status === 'firing' && events.length > 0)
  );
}

/** True for a later message of its thread that brings more than new events, while something still fires. */
function isOfChanges({ threadPosition, firingTotal, reason }: Counted): boolean {
  return threadPosition > 0 && firingTotal > 0 && (reason === 'new_alerts' || reason === 'resolved');
}

function changesOf(counted: Counted): string {
  const { alerts, firingTotal, resolvedTotal } = counted;
  const fresh = alerts.filter(({ isNew }) => isNew);
  const over = alerts.filter(({ status }) => status === 'resolved');
  const freshTotal = newOf(counted);
  const stillTotal = firingTotal - freshTotal;
  const still = stillTotal > 0 ? [`${stillTotal} ${stillWords(alerts)}`] : [];
  if (freshTotal > 0) {
    const [only] = fresh;
    const one = freshTotal === 1 && only ? subjectOf(only) : `${freshTotal} new`;
    const ended = resolvedTotal > 0 ? [`${resolvedTotal} ${overWords(over)}`] : [];
    return `${oneOf(fresh.map((alert) => stateWords(alert, false)))}: ${[one, ...ended, ...still].join(', ')}`;
  }
  const [only] = over;
  const ended = resolvedTotal === 1 && only ? subjectOf(only) : countedAlerts(over, resolvedTotal);
  return `${oneOf(over.map((alert) => stateWords(alert, false)))}: ${[ended, ...still].join(', ')}`;
}

/** True if it is the first notification of something that fires: no reminder, recovery, or news of what goes on. */
export function firesNewly(counted: Counted): boolean {
  return counted.firingTotal > 0 && (counted.reason === 'first' || newOf(counted) > 0);
}

function newOf({ newTotal, alerts }: Counted): number {
  return newTotal ?? alerts.filter(({ isNew }) => isNew).length;
}

/** `still failing`, or what it is called for the only kind that still fires. */
function stillWords(alerts: readonly NotifiedAlert[]): string {
  const going = alerts.filter(({ status, isNew }) => status === 'firing' && !isNew);
  const kinds = [...new Set(going.map(({ labels }) => labels.alertname ?? ''))];
  const [, words] = (kinds.length === 1 && /\b(still .*)$/.exec(kindOf(kinds[0]!)?.words.still ?? '')) || [];
  return words ?? 'still open';
}

function overWords(over: readonly NotifiedAlert[]): string {
  const recovered = over.every(
    ({ labels, ending }) => ending === 'over' && labels.alertname === 'FlightFailed',
  );
  return recovered ? 'recovered' : 'over';
}

/** The words, if they are the same for all. */
function oneOf(all: readonly string[]): string {
  const [words = 'Alerts', ...others] = new Set(all);
  return others.length > 0 ? 'Alerts' : words;
}

/** `5 Birds` if each alert is about another Bird, otherwise `5 alerts`. */
function countedAlerts(alerts: readonly NotifiedAlert[], total: number): string {
  const birds = new Set(alerts.flatMap(({ labels }) => labels.bird_id || labels.bird || []));
  const noun = birds.size === alerts.length ? 'Bird' : 'alert';
  return howMany(total, noun);
}
