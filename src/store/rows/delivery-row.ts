import type { Notification } from '../../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery, DeliveryState } from '../outbox-store.ts';

/** A row of `delivery`. */
export interface DeliveryRow {
  readonly seq: number;
  readonly id: string;
  readonly notification_id: string;
  readonly receiver: string;
  readonly integration: string;
  readonly position: number;
  readonly lane: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly created_us: number;
  readonly next_attempt_us: number;
  readonly settled_us: number;
  readonly last_error: string;
  readonly refusals: number;
  readonly refused_by: string;
  readonly fallback_us: number | null;
  /** A JSON list; empty means all. */
  readonly remaining: string;
}

/** The same with the body of its notification. */
export interface ClaimedRow extends DeliveryRow {
  readonly body: string;
}

/** Undefined if a program or a person changed the row so that it cannot be read. */
export function readClaimed(row: ClaimedRow): ClaimedDelivery | undefined {
  try {
    const notification = JSON.parse(row.body) as Notification | null;
    return notification?.kind && { delivery: deliveryOf(row), notification };
  } catch {
    return undefined;
  }
}

export function deliveryOf(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    notificationId: row.notification_id,
    receiver: row.receiver,
    integration: row.integration,
    position: row.position,
    lane: row.lane,
    state: row.state,
    attempts: row.attempts,
    createdAtUs: row.created_us,
    nextAttemptAtUs: row.next_attempt_us,
    settledAtUs: row.settled_us,
    lastError: row.last_error,
    ...(row.refusals > 0 && { refusals: row.refusals }),
    ...(row.refused_by !== '' && { refusedBy: row.refused_by }),
    ...(row.fallback_us !== null && { fallbackAtUs: row.fallback_us }),
    ...(row.remaining !== '' && { remaining: JSON.parse(row.remaining) as string[] }),
  };
}
