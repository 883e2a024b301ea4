/**
 * Manages incidents: what a service such as PagerDuty keeps for a group under the group's key, from first news to
 * end.
 *
 *   none ──notified: something fires──► open ──everything that fires is acknowledged──► acknowledged
 *   acknowledged ──notified: something fires──► open
 *   open, acknowledged ──notified: nothing fires any more──► none
 *
 * A notification to such a service sets the state of the group's incident. A group that gathers alerts of other
 * groups (`held_back`, `catch_up`) is soon deleted, and an incident under its key would stay open for ever. So its
 * notification goes to the incidents of the groups that its alerts come from.
 */
import { createHash } from 'node:crypto';
import { RANKED_SEVERITIES, type RankedSeverity, severityRank } from '../alert/alert.ts';
import { concerns, type Silence, silenceState } from '../muting/silence.ts';
import type { Flush } from './flush.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from './group.ts';
import type { GroupNotification, NotifiedAlert } from './notification.ts';

/** True if the group notified of the alert as firing and it still fires. */
export function isInIncident({ alert, member }: AlertInGroup): boolean {
  const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
  return wasFiring && member.notifiedSeq !== HAS_LEFT && alert.state === 'firing';
}

/** True if the group's last notification said that something fires: the incident is open or acknowledged. */
export function hasIncident(inGroup: readonly AlertInGroup[]): boolean {
  return inGroup.some(({ member }) => member.notifiedState === 'firing');
}

/** True if every alert of an open incident that still fires, and that the group has notified of, is acknowledged. */
export function isAcknowledged(
  inGroup: readonly AlertInGroup[],
  acknowledgements: ReadonlyMap<string, readonly Silence[]>,
  nowUs: number,
): boolean {
  if (!hasIncident(inGroup)) return false;
  const firing = inGroup.filter(isInIncident);
  const hasAcknowledgement = ({ alert }: AlertInGroup) =>
    acknowledgements
      .get(alert.id)
      ?.some((one) => silenceState(one, nowUs) === 'active' && concerns(one, alert));
  return firing.length > 0 && firing.every(hasAcknowledgement);
}

/**
 * The part of a gathering group's flush that concerns the incident of one group; undefined if there is none.
 * `inGroup` are that group's own alerts. In a summary only firing alerts count: what came and went opens no incident.
 */
export function asIncident<F extends Flush>(
  flushed: F,
  group: Group,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): F | undefined {
  const { summary, ...rest } = flushed;
  const seqs = new Map(inGroup.map(({ alert, member }) => [alert.id, member.notifiedSeq]));
  // What has left the group fires in another one.
  const listed = rest.listed.filter(
    ({ alert: { id }, status }) => seqs.has(id) && (status === 'resolved' || seqs.get(id) !== HAS_LEFT),
  );
  const now = new Set(listed.filter(({ status }) => status === 'firing').map(({ alert }) => alert.id));
  const firing = inGroup.filter((one) => now.has(one.alert.id) || isInIncident(one));
  if (listed.length === 0 || (summary && now.size === 0)) return undefined;
  return {
    ...(rest as F),
    group: { ...group, receiver: flushed.group.receiver, notifiedAtUs: nowUs },
    listed,
    truncatedAlerts: 0,
    firingTotal: firing.length,
    newTotal: listed.filter(({ isNew }) => isNew).length,
    resolvedTotal: listed.length - now.size,
  };
}

/**
 * The incident's key, derived from the group's key as in Alertmanager, so that a team which switches keeps its
 * incidents apart in the same way.
 */
export function incidentKey({ groupKey }: { readonly groupKey: string }): string {
  return createHash('sha256').update(groupKey).digest('hex');
}

// What services that keep incidents are told about a group. Each group is one incident: what fires opens it, it is
// acknowledged when all that fires in it is acknowledged here, and it is resolved when all of it is.

/** What becomes of the incident. A notification without alerts says nothing else. */
export function incidentAction({
  acknowledged,
  alerts,
  status,
}: GroupNotification): 'trigger' | 'acknowledge' | 'resolve' {
  if (acknowledged) return 'acknowledge';
  return alerts.length === 0 || status === 'resolved' ? 'resolve' : 'trigger';
}

/** The worst severity among the open alerts. */
export function incidentSeverity(alerts: readonly NotifiedAlert[]): RankedSeverity {
  const open = alerts.filter(({ status }) => status === 'firing');
  const ranks = (open.length > 0 ? open : alerts).map(({ labels }) => severityRank(labels));
  return RANKED_SEVERITIES[Math.max(...ranks)] ?? 'error';
}
