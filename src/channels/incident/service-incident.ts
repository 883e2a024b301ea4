/**
 * What services that keep incidents open hear of a group: each group is one incident, opened by what fires, acknowledged
 * when all that fires in it is acknowledged here, and ended when all of it is resolved.
 */
import { createHash } from 'node:crypto';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';

/**
 * The incident's key, made of the group's key as Alertmanager makes it, so that a team which changes over keeps its
 * incidents apart in the same way.
 */
export function incidentKey({ groupKey }: Pick<GroupNotification, 'groupKey'>): string {
  return createHash('sha256').update(groupKey).digest('hex');
}

/** What becomes of the incident; without alerts there is nothing to say but that. */
export function incidentAction({
  acknowledged,
  alerts,
  status,
}: GroupNotification): 'trigger' | 'acknowledge' | 'resolve' {
  if (acknowledged) return 'acknowledge';
  return alerts.length === 0 || status === 'resolved' ? 'resolve' : 'trigger';
}

export type IncidentSeverity = 'critical' | 'error' | 'warning' | 'info';

const RANKS: readonly IncidentSeverity[] = ['info', 'warning', 'error', 'critical'];
const SEVERITIES: ReadonlyMap<string, IncidentSeverity> = new Map([
  ['critical', 'critical'],
  ['page', 'critical'],
  ['error', 'error'],
  ['warning', 'warning'],
  ['info', 'info'],
  ['none', 'info'],
]);

/** The worst of the open alerts; names that are not known are errors, as in Alertmanager. */
export function incidentSeverity(alerts: readonly NotifiedAlert[]): IncidentSeverity {
  const open = alerts.filter(({ status }) => status === 'firing');
  const ranks = (open.length > 0 ? open : alerts).map(({ labels }) =>
    RANKS.indexOf(SEVERITIES.get((labels.severity ?? '').toLowerCase()) ?? 'error'),
  );
  return RANKS[Math.max(...ranks)] ?? 'error';
}
