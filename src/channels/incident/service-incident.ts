/**
 * What services that keep incidents are told about a group. Each group is one incident: what fires opens it, it is
 * acknowledged when all that fires in it is acknowledged here, and it is resolved when all of it is.
 */
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';

/** What becomes of the incident. A notification without alerts says nothing else. */
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

/** The worst severity among the open alerts. Unknown severities count as errors, as in Alertmanager. */
export function incidentSeverity(alerts: readonly NotifiedAlert[]): IncidentSeverity {
  const open = alerts.filter(({ status }) => status === 'firing');
  const ranks = (open.length > 0 ? open : alerts).map(({ labels }) =>
    RANKS.indexOf(SEVERITIES.get((labels.severity ?? '').toLowerCase()) ?? 'error'),
  );
  return RANKS[Math.max(...ranks)] ?? 'error';
}
