/** Firing alerts that have the same cause, as lists show them. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { CausePage } from '../alert-store.ts';
import { type AlertRow, alertOf } from './alert-row.ts';

interface CauseKey {
  readonly alertname: string;
  readonly severity: string;
  readonly cause: string;
  readonly acknowledged: boolean | number;
}

export interface CauseRow extends CauseKey {
  readonly alerts: number;
  readonly first_us: number;
  readonly last_us: number;
}

/** One of a cause's latest alerts. */
export type CauseAlertRow = CauseKey & AlertRow;

/** The causes, each with those of `latest` that have it. */
export function causesOf(rows: readonly CauseRow[], latest: readonly CauseAlertRow[]): CausePage['causes'] {
  const alerts = new Map<string, Alert[]>();
  for (const [key, ofCause] of Map.groupBy(latest, keyOf)) alerts.set(key, ofCause.map(alertOf));
  return rows.map((row) => ({
    alertname: row.alertname,
    severity: row.severity,
    cause: row.cause,
    isAcknowledged: Boolean(row.acknowledged),
    alerts: row.alerts,
    firstStartsAtUs: row.first_us,
    lastStartsAtUs: row.last_us,
    latest: alerts.get(keyOf(row)) ?? [],
  }));
}

function keyOf({ alertname, severity, cause, acknowledged }: CauseKey): string {
  return JSON.stringify([alertname, severity, cause, acknowledged]);
}
