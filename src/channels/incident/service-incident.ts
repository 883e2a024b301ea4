/**
 * What services that keep incidents are told about a group. Each group is one incident: what fires opens it, it is
 * acknowledged when all that fires in it is acknowledged here, and it is resolved when all of it is.
 */
import { RANKED_SEVERITIES, type RankedSeverity, severityRank } from '../../domain/alert/severity.ts';
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

/** The worst severity among the open alerts. */
export function incidentSeverity(alerts: readonly NotifiedAlert[]): RankedSeverity {
  const open = alerts.filter(({ status }) => status === 'firing');
  const ranks = (open.length > 0 ? open : alerts).map(({ labels }) => severityRank(labels));
  return RANKED_SEVERITIES[Math.max(...ranks)] ?? 'error';
}
