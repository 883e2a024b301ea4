/**
 * Moves rows that wait for an instant, after our clock was set. A damaged row stays: its next reader sets it
 * aside.
 */
import type { Alert } from '../../domain/alert/alert.ts';
import { rolledBackAlert, setAheadAlert } from '../../domain/evaluate/rolled-back.ts';
import { type Group, rolledBackGroup } from '../../domain/grouping/group.ts';
import { type AlertRow, alertOf } from './alert-row.ts';

export interface WaitingGroupRow {
  readonly body: string;
  readonly next_flush_us: number;
}

/** Undefined if nothing needs to be moved. */
export function rolledBackAlertRow(row: AlertRow, byUs: number, nowUs: number): Alert | undefined {
  return changed(
    () => alertOf(row),
    (alert) => rolledBackAlert(alert, byUs, nowUs),
  );
}

/** Undefined if nothing needs to be moved. */
export function setAheadAlertRow(row: AlertRow, byUs: number): Alert | undefined {
  return changed(
    () => alertOf(row),
    (alert) => setAheadAlert(alert, byUs),
  );
}

/** Undefined if nothing needs to be moved. */
export function rolledBackGroupRow(row: WaitingGroupRow, byUs: number, nowUs: number): Group | undefined {
  return changed(
    () => ({ ...(JSON.parse(row.body) as Group), nextFlushAtUs: row.next_flush_us }),
    (group) => rolledBackGroup(group, byUs, nowUs),
  );
}

function changed<T>(read: () => T, move: (before: T) => T): T | undefined {
  try {
    const before = read();
    const after = move(before);
    return after === before ? undefined : after;
  } catch {
    return undefined;
  }
}
