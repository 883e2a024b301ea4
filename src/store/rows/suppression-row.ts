import type { Suppression } from '../../domain/muting/suppression.ts';

/** A row of `suppression`. */
export interface SuppressionRow {
  readonly alert_id: string;
  readonly after_seq: number;
  readonly last_seq: number;
  readonly group_key: string;
  readonly receiver: string;
  readonly reason: Suppression['reason'];
  readonly detail: string;
  readonly at_us: number;
}

export function suppressionOf(row: SuppressionRow): Suppression {
  return {
    alertId: row.alert_id,
    afterSeq: row.after_seq,
    lastSeq: row.last_seq,
    groupKey: row.group_key,
    receiver: row.receiver,
    reason: row.reason,
    detail: row.detail,
    atUs: row.at_us,
  };
}
