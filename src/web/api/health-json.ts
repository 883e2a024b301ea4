/** Formats the health answer as JSON. */
import type { HealthAnswer } from '../../health/health.ts';
import type { Impairment } from '../../health/impairment.ts';
import type { FiringCounts } from '../../operator/count-firing.ts';
import { formatInstant } from '../../time/instant.ts';

/** `alerts` is null while the store does not answer. Then it is unknown whether all is quiet. */
export function healthJson({ impairments, space }: HealthAnswer, alerts: FiringCounts | null) {
  return {
    quiet: impairments.length === 0 && alerts?.unacknowledged === 0,
    impaired: impairments.length > 0,
    impairments: impairments.map(impairmentJson),
    alerts,
    store: space ? { bytes: space.used, free_bytes: space.free ?? null } : null,
  };
}

export function impairmentJson(one: Impairment) {
  return {
    reason: one.reason,
    severity: one.severity,
    since: formatInstant(one.sinceUs),
    ...(one.region !== undefined && { region: one.region }),
    ...(one.feed !== undefined && { feed: one.feed }),
    ...(one.receiver !== undefined && { receiver: one.receiver }),
    ...(one.replica !== undefined && { replica: one.replica }),
    ...(one.path !== undefined && { path: one.path }),
    title: one.title,
    summary: one.summary,
    action: one.action,
    stops_heartbeat: one.stopsHeartbeat,
  };
}
