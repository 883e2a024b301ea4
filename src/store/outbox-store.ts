/**
 * Stores the outbox: notifications and their deliveries, from when they are queued until retention deletes them.
 *
 *   pending → leased → delivered
 *                    → retry       refused for now; claimed again when its instant has come
 *                    → ambiguous   unknown whether it was accepted; claimed again likewise
 *                    → dead        given up; `redrive` makes it pending again
 *                    → suppressed  never to be sent, with the reason
 *
 * A claim is written before anything is sent. So after a crash, every attempt that was in progress is known and
 * becomes ambiguous.
 *
 * While an integration accepts nothing and something waits for it, it is tried at least every `TRIED_EVERY_US`. When
 * it accepts something again, all that waits for it is due at once. Neither holds for what was refused, nor before the
 * instant that the receiver asked for.
 */
import type { Notification, NotifiedAlert } from '../domain/grouping/notification.ts';
import type { Filter } from './filter.ts';

/** Only pending, retry and ambiguous deliveries are claimed. */
export const DELIVERY_STATES = [
  'pending',
  'leased',
  'delivered',
  'retry',
  'ambiguous',
  'dead',
  'suppressed',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One notification on its way to one integration of one receiver. */
export interface Delivery {
  /** The `webhook-id`, from which a mail's Message-ID is made too: the same for every attempt. */
  readonly id: string;
  readonly notificationId: string;
  readonly receiver: string;
  /** The kind of integration: `email`, `webhook`, `slack` and so on. */
  readonly integration: string;
  /** Which of the receiver's integrations it is for: a number that each keeps (`channels/integration-identity.ts`). */
  readonly position: number;
  /**
   * Deliveries in the same lane of an integration are sent one after another, in order of creation. An empty lane
   * means no order; so do `remaining` and failing alone.
   */
  readonly lane: string;
  readonly state: DeliveryState;
  /** Attempts begun. */
  readonly attempts: number;
  readonly createdAtUs: number;
  /** When it may be claimed again. */
  readonly nextAttemptAtUs: number;
  /** When it was delivered, given up or suppressed; 0 before. */
  readonly settledAtUs: number;
  /** The error of the last attempt, for people; empty if none failed. */
  readonly lastError: string;
  /** How many attempts in a row the receiver has refused up to now; absent for none. */
  readonly refusals?: number;
  /** Recipients whom it does not reach, now or ever, each with the reason; absent for none. */
  readonly refusedBy?: string;
  /** When it is also sent to the receiver's fallback, unless it is accepted before; absent for never. */
  readonly fallbackAtUs?: number;
  /** If some of several recipients have accepted it: those still to be reached. Absent means all. */
  readonly remaining?: readonly string[];
  /** When claimed: the service's id of the last accepted message in its lane; absent for none. */
  readonly reference?: string;
}

/** A delivery with what it is about. */
export interface ListedDelivery extends Delivery {
  /** The summary of the first of its alerts that the store still has, or else what it is; empty if that is not known. */
  readonly about: string;
  /** How many other alerts it is about. */
  readonly aboutMore: number;
}

/** A claimed delivery with its notification. */
export interface ClaimedDelivery {
  readonly delivery: Delivery;
  readonly notification: Notification;
}

/** Which of the due deliveries are claimed. */
export interface ClaimChoice {
  /** Of what no other replica has attempted last, only deliveries due for at least this long; 0 by default. */
  readonly leftUs?: number;
  /** Only those that nobody has attempted. */
  readonly isFresh?: boolean;
}

/** How an attempt ended. */
export interface Settlement {
  readonly id: string;
  readonly state: 'delivered' | 'retry' | 'ambiguous' | 'dead' | 'suppressed';
  readonly nextAttemptAtUs: number;
  /** It is not claimed before, even if its integration accepts others; absent for no such instant. */
  readonly notBeforeUs?: number;
  readonly lastError: string;
  /** Both as in `Delivery`; if absent, earlier values are cleared. */
  readonly refusals?: number;
  readonly refusedBy?: string;
  /**
   * True if an attempt failed. It counts for the fallback, and for the integration's health if it was addressed to
   * all recipients.
   */
  readonly failed?: boolean;
  /** True if its integration is no longer configured, so that nobody waits for it to accept anything. */
  readonly isGone?: boolean;
  /** True if none of those for whom it is can be reached: it falls back at once. */
  readonly isForNobody?: boolean;
  /** The recipients still to be reached; if absent, they stay as before. */
  readonly remaining?: readonly string[];
  /** True if it fails alone: deliveries behind it in its lane no longer wait for it. */
  readonly leavesLane?: boolean;
  /** The service's id of the message that it accepted. */
  readonly reference?: string;
  /**
   * The attempt that ended, as counted by `attempts`; absent for the last one. If another one has begun since, this
   * one counts only when none is under way, and never makes the delivery due sooner or gives it up.
   */
  readonly attempt?: number;
}

/** An integration that has accepted nothing since its attempts began to fail. */
export interface FailingIntegration {
  readonly receiver: string;
  readonly integration: string;
  readonly position: number;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** When the first of them ended. */
  readonly sinceUs: number;
  readonly lastError: string;
}

/** A notification with its deliveries, without its content. */
export interface SentNotification {
  readonly id: string;
  readonly receiver: string;
  /** Why the group notified. */
  readonly reason: string;
  readonly createdAtUs: number;
  /** What it says of the alert; absent if it does not list it as firing. */
  readonly firing?: Pick<NotifiedAlert, 'startsAtUs' | 'annotations'>;
  readonly deliveries: readonly Delivery[];
}

/**
 * Selects deliveries; conditions left out match all. Of those of `Filter`, place, name and severity are those of a notified alert that is still kept; `text` is looked for in the id, the
 * receiver and the last error; `sinceUs` and `untilUs` bound when it was queued.
 */
export interface DeliveryQuery extends Filter {
  readonly state?: DeliveryState | undefined;
  readonly receiver?: string | undefined;
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

/** A lane of one integration. */
export type Lane = Pick<Delivery, 'receiver' | 'position' | 'lane'>;

/** Events of an alert with `afterSeq < seq <= lastSeq`. */
export interface LinkedSpan {
  readonly alertId: string;
  readonly afterSeq: number;
  readonly lastSeq: number;
}

/** How often an integration that accepts nothing is tried at least, while something waits for it. */
export const TRIED_EVERY_US = 60_000_000;
/**
 * An integration that accepts something after it accepted nothing for this long has recovered. One that refuses only
 * some attempts, because it is overloaded, must not be tried the more for it.
 */
export const RECOVERED_AFTER_US = 60_000_000;

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
