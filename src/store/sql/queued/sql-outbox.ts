import type { Notification } from '../../../domain/grouping/notification.ts';
import {
  type ClaimChoice,
  type ClaimedDelivery,
  type ClaimedRow,
  type Delivery,
  type DeliveryQuery,
  type DeliveryState,
  type FailingIntegration,
  type Lane,
  type LinkedSpan,
  type ListedDelivery,
  readClaimed,
  type SentNotification,
  type Settlement,
} from '../../outbox-store.ts';
import { BESIDE_HELD, createNumbering, type HeldRows, namesOf, type RowStatement, type Sql } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';
import { firstInLanes, LANE_IS_FREE, SqlClaims, SqlLanes, SqlSettlements } from './claims.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import { DeliveryPages } from './delivery-pages.ts';
import { type Covered, SqlNotified } from './notified.ts';

/** A notification with its deliveries, about to be written. */
interface Queued {
  readonly number: number;
  readonly body: string;
  readonly deliveries: readonly Delivery[];
  readonly covered: Covered;
}

/** The most notification text held back: parts of a large one must neither fill the memory nor make one long write. */
const MAX_HELD_CHARACTERS = 4 * 1024 * 1024;

const NOTIFICATION = 'number bigint, body text';
const NOTIFICATIONS: { readonly [engine in Sql['engine']]: RowStatement } = {
  sqlite: {
    columns: NOTIFICATION,
    text: (given) =>
      `INSERT INTO notification (seq, body) SELECT number, body FROM ${given} WHERE true RETURNING seq`,
  },
  postgres: {
    columns: NOTIFICATION,
    text: (given) => `INSERT INTO notification (body) SELECT body FROM ${given} RETURNING seq`,
  },
};

const DELIVERY = `notification bigint, id text, notification_id text, receiver text, integration text,
  position integer, lane text, state text, attempts integer, created_us bigint, next_attempt_us bigint,
  settled_us bigint, last_error text, fallback_us bigint`;
const NAMES = namesOf(DELIVERY).join(', ');
const DELIVERIES: RowStatement = {
  columns: `${DELIVERY}, is_first integer`,
  text: (given) => `INSERT INTO delivery (${NAMES}, turn)
    SELECT ${NAMES}, CASE WHEN is_first = 1 AND ${LANE_IS_FREE} THEN 1 ELSE 0 END FROM ${given} WHERE true`,
};

/** `notified_event` may still contain the number of a deleted notification. */
const LAST_NUMBER = `SELECT max(seq) AS last FROM (
  SELECT max(seq) AS seq FROM notification UNION ALL SELECT max(notification) FROM notified_event)`;

/** The outbox, composed of lanes, claims, settlements and pages. */
export class SqlOutbox {
  readonly #sql: Sql;
  readonly #counts: DeliveryCounts;
  readonly #notified: SqlNotified;
  readonly #lanes: SqlLanes;
  readonly #claims: SqlClaims;
  readonly #settlements: SqlSettlements;
  readonly #pages: DeliveryPages;
  readonly #takeNumbers: (count: number) => Promise<number>;
  readonly #holds: () => void;
  #held: Queued[] = [];
  #heldCharacters = 0;
  /** What precedes a hyphen in the ids of the held deliveries. */
  readonly #heldPrefixes = new Set<string>();

  constructor(sql: Sql, events: SqlEvents, counts: DeliveryCounts) {
    this.#sql = sql;
    this.#counts = counts;
    this.#notified = new SqlNotified(sql, events, counts);
    this.#lanes = new SqlLanes(sql);
    this.#claims = new SqlClaims(sql, counts);
    this.#settlements = new SqlSettlements(sql, this.#lanes, counts);
    this.#pages = new DeliveryPages(sql, events);
    this.#takeNumbers = createNumbering(sql, LAST_NUMBER);
    this.#holds = sql.hold({
      writes: ['notification', 'delivery', 'notified_alert', 'notified_event', 'forwarded_batch'],
      reads: ['alert', 'former_alert', 'alert_event'],
      write: () => this.#taken(),
      forget: () => this.#forget(),
    });
  }

  /**
   * Queues a notification for all of its deliveries, or for none. The alerts that it lists must be, or once have
   * been, in the store. `covers` says which events it notifies of; by default those that it lists.
   */
  async enqueue(
    notification: Notification,
    deliveries: readonly Delivery[],
    covers?: readonly LinkedSpan[],
  ): Promise<void> {
    if (deliveries.length === 0) return;
    const covered = await this.#notified.coveredBy(notification, covers);
    for (const { id, receiver, state } of deliveries) {
      this.#counts.add(receiver, state, 1);
      for (const { index } of id.matchAll(/-/g)) this.#heldPrefixes.add(id.slice(0, index));
    }
    const body = JSON.stringify(notification);
    const number = await this.#takeNumbers(1);
    this.#held.push({ number, body, deliveries, covered });
    this.#heldCharacters += body.length;
    this.#holds();
    if (this.#heldCharacters > MAX_HELD_CHARACTERS) await this.#sql.writeHeld();
  }

  *#taken(): Iterable<HeldRows> {
    const queued = this.#held;
    this.#forget();
    let numbers: number[] = [];
    yield {
      statement: NOTIFICATIONS[this.#sql.engine],
      rows: queued.map(({ number, body }) => [number, body]),
      returned(rows) {
        numbers = (rows as { seq: number }[]).map(({ seq }) => seq).toSorted((a, b) => a - b);
      },
    };
    const deliveries = queued.flatMap((one) => one.deliveries);
    const isFirst = firstInLanes(deliveries);
    const notifications = queued.flatMap((one, at) => one.deliveries.map(() => numbers[at]!));
    yield {
      statement: DELIVERIES,
      rows: deliveries.map((one, at) => [
        notifications[at]!,
        one.id,
        one.notificationId,
        one.receiver,
        one.integration,
        one.position,
        one.lane,
        one.state,
        one.attempts,
        one.createdAtUs,
        one.nextAttemptAtUs,
        one.settledAtUs,
        one.lastError,
        one.fallbackAtUs ?? null,
        isFirst[at] ? 1 : 0,
      ]),
    };
    yield* this.#notified.note(queued.map(({ covered }, at) => ({ ...covered, seq: numbers[at]! })));
  }

  #forget(): void {
    this.#held = [];
    this.#heldCharacters = 0;
    this.#heldPrefixes.clear();
  }

  /**
   * Those of these lanes in which something is not settled yet; with `alertIds`, something that lists one of these
   * alerts.
   */
  unsettledLanes(lanes: readonly Lane[], alertIds?: readonly string[]): Promise<Lane[]> {
    return this.#lanes.unsettled(lanes, alertIds);
  }

  /** Moves what is not settled yet in these lanes of an integration to the lane `into` of the same integration. */
  joinLanes(lanes: readonly Lane[], into: string): Promise<void> {
    return this.#lanes.join(lanes, into);
  }

  /** The notifications that cover an event, by listing or counting it, oldest first; then those that forward it. */
  notificationsOfEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]> {
    return this.#notified.ofEvent(key);
  }

  /** The notifications that list an alert, newest first, even if the alert itself was deleted. */
  notificationsOfAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    return this.#notified.ofAlert(alertId, limit);
  }

  /**
   * When what these receivers may still give to their fallbacks was last queued, for each of these alerts that it lists.
   */
  lastToFallBack(
    alertIds: readonly string[],
    receivers: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    return this.#notified.lastToFallBack(alertIds, receivers);
  }

  /**
   * Claims up to `limit` due deliveries of one receiver's integration, only the first of each lane, and records the
   * attempt: they become `leased`, and `attempts` includes this one. `holder` is the sending replica, if several
   * share the store. `choice` restricts which are claimed.
   */
  async claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder = 0,
    choice: ClaimChoice = {},
  ): Promise<ClaimedDelivery[]> {
    const found = await this.#claims.claim(receiver, position, nowUs, limit, holder, choice);
    const lastError = 'its message in the store cannot be read';
    await this.settle(
      found.unreadable.map((id) => ({ id, state: 'dead', nextAttemptAtUs: 0, lastError })),
      nowUs,
    );
    return found.claimed;
  }

  /** Integrations with something due at `nowUs`, and the next instant at which something will be. */
  due(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }> {
    return this.#claims.due(nowUs);
  }

  /** Ends attempts, in this order. Ids that are not in the store are skipped. */
  settle(settlements: readonly Settlement[], nowUs: number): Promise<void> {
    return this.#settlements.settle(settlements, nowUs);
  }

  /**
   * Puts dead deliveries back as if they were queued now, with 72 h and all attempts ahead. Other ids are ignored.
   * Returns the ids that were put back.
   */
  async redrive(ids: readonly string[], nowUs: number): Promise<string[]> {
    const revived = await this.#sql.rows<Lane & { readonly id: string }>(
      `UPDATE delivery SET state = 'pending', attempts = 0, cut_off = 0, created_us = $2, next_attempt_us = $2,
         not_before_us = 0, settled_us = 0, last_error = '', refusals = 0, refused_by = ''
       WHERE id = ANY($1::text[]) AND state = 'dead' RETURNING id, receiver, position, lane`,
      ids,
      nowUs,
    );
    for (const { receiver } of revived) this.#counts.move(receiver, 'dead', 'pending');
    await this.#lanes.giveTurns(revived);
    const known = new Set(revived.map(({ id }) => id));
    return [...new Set(ids)].filter((id) => known.has(id));
  }

  /** Takes up to `limit` deliveries whose `fallbackAtUs` has come. Each is returned only once. */
  async takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]> {
    const rows = await this.#sql.rows<ClaimedRow>(
      `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
       WHERE fallback_us <= $1 ORDER BY fallback_us, delivery.seq LIMIT $2`,
      nowUs,
      limit,
    );
    await this.#sql.run(
      'UPDATE delivery SET fallback_us = NULL WHERE seq = ANY($1::bigint[])',
      rows.map(({ seq }) => seq),
    );
    return rows.flatMap((row) => readClaimed({ ...row, fallback_us: null }) ?? []);
  }

  /** Makes a taken delivery due for its fallback again, at this instant. */
  async fallBackAt(id: string, atUs: number): Promise<void> {
    await this.#sql.run('UPDATE delivery SET fallback_us = $2 WHERE id = $1', id, atUs);
  }

  /** Integrations that accept nothing now, by receiver and position. */
  failingIntegrations(): Promise<FailingIntegration[]> {
    return this.#settlements.failing();
  }

  /**
   * Makes deliveries ambiguous and due now that were left leased by processes that have ended: at a start all of
   * them, with `living` all but those these replicas hold. Returns how many.
   */
  async recoverLeases(nowUs: number, living: readonly number[] = []): Promise<number> {
    const recovered = await this.#sql.rows<Lane>(
      `UPDATE delivery /* INDEXED BY delivery_undelivered */
       SET state = 'ambiguous', next_attempt_us = $1, cut_off = cut_off + 1
       WHERE state = 'leased' AND state <> 'delivered' AND NOT holder = ANY($2::bigint[])
       RETURNING receiver, position, lane`,
      nowUs,
      living,
    );
    for (const { receiver } of recovered) this.#counts.move(receiver, 'leased', 'ambiguous');
    await this.#lanes.giveTurns(recovered);
    return recovered.length;
  }

  /**
   * Deliveries in pages, newest first; `next` is absent at the end. A page may hold fewer than `limit` deliveries, or none, and still
   * have a `next`. Throws `usage` for a cursor that no earlier answer gave.
   */
  async page(query: DeliveryQuery): Promise<{ deliveries: ListedDelivery[]; next?: string }> {
    return this.#pages.page(query);
  }

  async find(id: string): Promise<ClaimedDelivery | undefined> {
    const row = await this.#sql.first<ClaimedRow>(
      `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
       WHERE id = $1`,
      id,
    );
    return row && readClaimed(row);
  }

  /** Whether a delivery is kept whose id begins with this and a hyphen. */
  async hasIdsOf(prefix: string): Promise<boolean> {
    if (this.#heldPrefixes.has(prefix)) return true;
    // The character after the hyphen is the full stop.
    const sql = `SELECT seq FROM delivery WHERE id >= $1 AND id < $2 LIMIT 1 ${BESIDE_HELD}`;
    return (await this.#sql.first(sql, `${prefix}-`, `${prefix}.`)) !== undefined;
  }

  count(): Promise<{ receiver: string; state: DeliveryState; count: number }[]> {
    return this.#counts.all();
  }
}
