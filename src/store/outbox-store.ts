import type { Notification } from '../domain/grouping/notification.ts';
import type {
  ClaimedDelivery,
  Delivery,
  DeliveryQuery,
  DeliveryState,
  FailingIntegration,
  Settlement,
} from './record.ts';

export interface OutboxStore {
  /**
   * Queues a notification for its deliveries: all or none. `tells` says which events it tells, those with
   * `afterSeq < seq <= lastSeq` of each alert; without it, those that it lists.
   */
  enqueue(
    notification: Notification,
    deliveries: readonly Delivery[],
    tells?: readonly { readonly alertId: string; readonly afterSeq: number; readonly lastSeq: number }[],
  ): Promise<void>;
  /** The notifications that tell an event, or count it, the oldest first; then those that forward it. */
  notificationsOfEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]>;
  /**
   * Claims up to `limit` deliveries of one receiver's integration that are due, the first of each lane only, and
   * records the attempt: they are `leased` and their `attempts` counts this one.
   */
  claim(receiver: string, position: number, nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Receivers' integrations with something due at `nowUs`, and the next instant at which something is. */
  due(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }>;
  /** Ends an attempt. */
  settle(settlements: readonly Settlement[], nowUs: number): Promise<void>;
  /**
   * Puts dead deliveries back as if they were queued now: with 72 h and all tries before them. Ids of others change
   * nothing. Returns the ids that were put back.
   */
  redrive(ids: readonly string[], nowUs: number): Promise<string[]>;
  /** Takes up to `limit` deliveries whose `fallbackAtUs` has come: each is given once. */
  takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Integrations that accept nothing now, by receiver and position. */
  failingIntegrations(): Promise<FailingIntegration[]>;
  /** At start: what another life of this process left leased becomes ambiguous, due now. Returns how many. */
  recoverLeases(nowUs: number): Promise<number>;
  /** Newest first. */
  list(query: DeliveryQuery): Promise<Delivery[]>;
  find(id: string): Promise<ClaimedDelivery | undefined>;
  count(): Promise<{ receiver: string; state: DeliveryState; count: number }[]>;
}
