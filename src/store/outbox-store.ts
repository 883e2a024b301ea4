/**
 * The room of the outbox: notifications and their deliveries, from the moment when they are queued to the retention.
 *
 *   pending → leased → delivered
 *                    → retry      refused for now; claimed again when its instant has come
 *                    → ambiguous  whether it was accepted is unknown; claimed again likewise
 *                    → dead       given up; `redrive` makes it pending again
 *                    → suppressed never to be sent, with the reason
 *
 * A claim is written before anything is sent: after a crash every attempt that was under way is known, as ambiguous.
 */
import type { Notification } from '../domain/grouping/notification.ts';
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
  /** The `webhook-id`, and what the mail's Message-ID is made from: the same on every try. */
  readonly id: string;
  readonly notificationId: string;
  readonly receiver: string;
  /** Its kind: `email`, `webhook`, `slack` and the like. */
  readonly integration: string;
  /** Position among the receiver's integrations, from 0. */
  readonly position: number;
  /**
   * Deliveries of one integration's lane are sent one after another, as they were created; empty: in no order, as are
   * those with `remaining`, and those that fail alone.
   */
  readonly lane: string;
  readonly state: DeliveryState;
  /** Tries begun. */
  readonly attempts: number;
  readonly createdAtUs: number;
  /** When it may be claimed again. */
  readonly nextAttemptAtUs: number;
  /** When it was delivered, died or was suppressed; 0 before. */
  readonly settledAtUs: number;
  /** What the last try ended with, for people; empty when none failed. */
  readonly lastError: string;
  /** How many of the last tries in a row the receiver refused; absent for none. */
  readonly refusals?: number;
  /** Who of several recipients refused it for good, each with the receiver's words; absent for nobody. */
  readonly refusedBy?: string;
  /** When it is given to the receiver's fallback as well, unless it is accepted before; absent for never. */
  readonly fallbackAtUs?: number;
  /** Of several recipients those who are still to be reached, since the others have accepted it; absent for all. */
  readonly remaining?: readonly string[];
  /** Of a claimed one: how the service called the last message of its lane that it accepted; absent for none. */
  readonly reference?: string;
}

/** A claimed delivery with what it carries. */
export interface ClaimedDelivery {
  readonly delivery: Delivery;
  readonly notification: Notification;
}

/** How long beyond its instant a replica leaves to others what it could claim. */
export interface LeftToOthers {
  /** What it has tried last itself. */
  readonly triedUs: number;
  /** What nobody has tried. */
  readonly freshUs: number;
}

/** What of all that is due is claimed. */
export interface ClaimChoice {
  /** Only what was due for so long, of what is left to others. */
  readonly left?: LeftToOthers | undefined;
  /** Only what nobody has tried. */
  readonly isFresh?: boolean;
}

/** How an attempt ended. */
export interface Settlement {
  readonly id: string;
  readonly state: 'delivered' | 'retry' | 'ambiguous' | 'dead' | 'suppressed';
  readonly nextAttemptAtUs: number;
  readonly lastError: string;
  /** Both as in `Delivery`; absent, they end what was counted and kept before. */
  readonly refusals?: number;
  readonly refusedBy?: string;
  /** True when a try came to nothing: it counts for the fallback, and for the integration's health if it was for all. */
  readonly failed?: boolean;
  /** True where its integration is no longer configured: nobody waits for that to accept anything. */
  readonly isGone?: boolean;
  /** Who is still to be reached after it; absent for those before it. */
  readonly remaining?: readonly string[];
  /** True where it fails alone: what waits behind it in its lane is sent from now on. */
  readonly leavesLane?: boolean;
  /** How the service calls the message that it has accepted. */
  readonly reference?: string;
  /** Which try has ended, as `attempts` counts them: passed over where another was begun since. Absent for any. */
  readonly attempt?: number;
}

/** An integration that has accepted nothing since its tries began to fail. */
export interface FailingIntegration {
  readonly receiver: string;
  readonly integration: string;
  readonly position: number;
  /** Tries that failed in a row. */
  readonly failures: number;
  /** When the first of them ended. */
  readonly sinceUs: number;
  readonly lastError: string;
}

/** A notification with its deliveries, without what it says. */
export interface SentNotification {
  readonly id: string;
  readonly receiver: string;
  /** Why the group notified. */
  readonly reason: string;
  readonly createdAtUs: number;
  readonly deliveries: readonly Delivery[];
}

/**
 * Which deliveries `page` and `list` give; a condition left out is met by all. Those of `Filter` are for `page` alone:
 * where, name and severity are of an alert that was notified of and is still kept, `text` is looked for in its id, its
 * receiver and its last error, `sinceUs` and `untilUs` are of when it was queued.
 */
export interface DeliveryQuery extends Filter {
  readonly state?: DeliveryState | undefined;
  readonly receiver?: string | undefined;
  readonly limit: number;
  /** `next` of an earlier answer of `page`. */
  readonly cursor?: string | undefined;
}

/** Events of an alert, those with `afterSeq < seq <= lastSeq`. */
export interface LinkedSpan {
  readonly alertId: string;
  readonly afterSeq: number;
  readonly lastSeq: number;
}

export interface OutboxStore {
  /**
   * Queues a notification for its deliveries: all or none. The alerts that it lists must be, or once have been, in the store. `covers` says which events it notifies of; without it,
   * those that it lists.
   */
  enqueue(
    notification: Notification,
    deliveries: readonly Delivery[],
    covers?: readonly LinkedSpan[],
  ): Promise<void>;
  /** The notifications that cover an event, listed or only counted, the oldest first; then those that forward it. */
  notificationsOfEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]>;
  /** The notifications that list an alert, the newest first; also once the alert itself is gone. */
  notificationsOfAlert(alertId: string, limit: number): Promise<SentNotification[]>;
  /**
   * Claims up to `limit` deliveries of one receiver's integration that are due, the first of each lane only, and
   * records the attempt: they are `leased` and their `attempts` counts this one. `holder` is the replica that sends
   * them, where several share the store. `choice` leaves some out.
   */
  claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder?: number,
    choice?: ClaimChoice,
  ): Promise<ClaimedDelivery[]>;
  /** Receivers' integrations with something due at `nowUs`, and the next instant at which something is. */
  due(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }>;
  /** Ends attempts, in this order. Ids that are not in the store are passed over. */
  settle(settlements: readonly Settlement[], nowUs: number): Promise<void>;
  /**
   * Puts dead deliveries back as if they were queued now: with 72 h and all tries before them. Ids of others change
   * nothing. Returns the ids that were put back.
   */
  redrive(ids: readonly string[], nowUs: number): Promise<string[]>;
  /** Takes up to `limit` deliveries whose `fallbackAtUs` has come: each is given once. */
  takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Has a delivery that was taken come once more, at this instant. */
  fallBackAt(id: string, atUs: number): Promise<void>;
  /** Integrations that accept nothing now, by receiver and position. */
  failingIntegrations(): Promise<FailingIntegration[]>;
  /**
   * What was left leased by whoever lives no more becomes ambiguous, due now: at a start all, or all but what these
   * replicas hold. Returns how many.
   */
  recoverLeases(nowUs: number, living?: readonly number[]): Promise<number>;
  /** Deliveries, newest first. */
  list(query: DeliveryQuery): Promise<Delivery[]>;
  /**
   * The same in pages; `next` is absent at the end. A page may hold fewer than `limit`, even none, and have a `next`.
   * Throws `usage` for a cursor that no answer gave.
   */
  page(query: DeliveryQuery): Promise<{ deliveries: Delivery[]; next?: string }>;
  find(id: string): Promise<ClaimedDelivery | undefined>;
  count(): Promise<{ receiver: string; state: DeliveryState; count: number }[]>;
}
