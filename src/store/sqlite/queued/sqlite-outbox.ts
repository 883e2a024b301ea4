import type { Notification } from '../../../domain/grouping/notification.ts';
import type {
  ClaimChoice,
  ClaimedDelivery,
  Delivery,
  DeliveryQuery,
  DeliveryState,
  FailingIntegration,
  Lane,
  LinkedSpan,
  OutboxStore,
  SentNotification,
  Settlement,
} from '../../outbox-store.ts';
import { type ClaimedRow, claimedOf, type DeliveryRow, deliveryOf } from '../../rows/delivery-row.ts';
import type { DeliveryCounts } from '../../sql/queued/delivery-counts.ts';
import { DeliveryPages } from '../../sql/queued/delivery-pages.ts';
import { SqlLanes } from '../../sql/queued/lanes.ts';
import { SqlSettlements } from '../../sql/queued/settlements.ts';
import type { Sql } from '../../sql/sql.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import { prepareChunks } from '../chunks.ts';
import type { Connection } from '../connection.ts';
import { DeliveryClaims } from './delivery-claims.ts';
import { DeliveryLanes } from './delivery-lanes.ts';
import type { Covered, NotifiedEvents } from './notified-events.ts';

/** A notification with its deliveries, about to be written. */
interface Queued {
  readonly seq: number;
  readonly body: string;
  readonly covered: Covered | undefined;
  readonly deliveries: readonly Delivery[];
}

/** The most notification text held back: parts of a large one must neither fill the memory nor make one long write. */
const MAX_HELD_CHARACTERS = 4 * 1024 * 1024;

/** The outbox, composed of lanes, claims and settlements. */
export class SqliteOutbox implements OutboxStore {
  readonly #notified: NotifiedEvents;
  readonly #counts: DeliveryCounts;
  readonly #turns: DeliveryLanes;
  readonly #lanes: SqlLanes;
  readonly #pages: DeliveryPages;
  readonly #claims: DeliveryClaims;
  readonly #settlements: SqlSettlements;
  readonly #write: ReturnType<typeof prepareWriting>;
  readonly #list: ReturnType<typeof prepareListing>;
  /** Numbers used by a transaction that was rolled back are skipped. */
  #lastNotification: number;
  readonly #holds: () => void;
  #held: Queued[] = [];
  #heldCharacters = 0;

  constructor(
    connection: Connection,
    events: SqlEvents,
    notified: NotifiedEvents,
    counts: DeliveryCounts,
    sql: Sql,
  ) {
    this.#pages = new DeliveryPages(sql, events);
    this.#notified = notified;
    this.#counts = counts;
    this.#turns = new DeliveryLanes(connection);
    this.#lanes = new SqlLanes(sql);
    this.#claims = new DeliveryClaims(connection, counts);
    this.#settlements = new SqlSettlements(sql, this.#lanes, counts);
    this.#write = prepareWriting(connection);
    this.#list = prepareListing(connection);
    // `notified_event` may still contain the number of a deleted notification, which must not be reused.
    const newest = connection.prepare<{ seq: number | null }>(
      `SELECT max(seq) AS seq FROM (
         SELECT max(seq) AS seq FROM notification UNION ALL SELECT max(notification) FROM notified_event)`,
    );
    this.#lastNotification = newest.get()?.seq ?? 0;
    this.#holds = connection.held.add({
      writes: ['notification', 'delivery', 'notified_alert', 'notified_event'],
      reads: ['alert', 'former_alert', 'alert_event'],
      write: () => this.#writeQueued(),
      forget: () => {
        this.#held = [];
        this.#heldCharacters = 0;
      },
    });
  }

  async enqueue(
    notification: Notification,
    deliveries: readonly Delivery[],
    covers?: readonly LinkedSpan[],
  ): Promise<void> {
    if (deliveries.length === 0) return;
    this.#lastNotification += 1;
    const seq = this.#lastNotification;
    const covered = await this.#notified.coveredBy(seq, notification, covers);
    for (const { receiver, state } of deliveries) this.#counts.add(receiver, state, 1);
    const body = JSON.stringify(notification);
    this.#held.push({ seq, body, covered, deliveries });
    this.#heldCharacters += body.length;
    this.#holds();
    if (this.#heldCharacters > MAX_HELD_CHARACTERS) this.#writeQueued();
  }

  #writeQueued(): void {
    const queued = this.#held;
    if (queued.length === 0) return;
    this.#held = [];
    this.#heldCharacters = 0;
    this.#write.notifications(queued.length, (index, values) => {
      const { seq, body } = queued[index]!;
      values.push(seq, body);
    });
    this.#notified.note(queued.flatMap(({ covered }) => covered ?? []));
    const deliveries = queued.flatMap((one) =>
      one.deliveries.map((delivery) => ({ delivery, seq: one.seq })),
    );
    const takesTurn = this.#turns.turnsAmong(deliveries.map(({ delivery }) => delivery));
    this.#write.deliveries(deliveries.length, (index, values) => {
      const { delivery, seq } = deliveries[index]!;
      values.push(delivery.id, seq, delivery.notificationId, delivery.receiver, delivery.integration);
      values.push(
        delivery.position,
        delivery.lane,
        takesTurn(delivery) ? 1 : 0,
        delivery.state,
        delivery.attempts,
      );
      values.push(delivery.createdAtUs, delivery.nextAttemptAtUs, delivery.settledAtUs, delivery.lastError);
      values.push(delivery.fallbackAtUs ?? null);
    });
  }

  async unsettledLanes(lanes: readonly Lane[], alertIds?: readonly string[]): Promise<Lane[]> {
    return this.#lanes.unsettled(lanes, alertIds);
  }

  async joinLanes(lanes: readonly Lane[], into: string): Promise<void> {
    await this.#lanes.join(lanes, into);
  }

  async notificationsOfEvent(key: string) {
    return this.#notified.ofEvent(key);
  }

  async notificationsOfAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    return this.#notified.ofAlert(alertId, limit);
  }

  async claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder = 0,
    choice: ClaimChoice = {},
  ): Promise<ClaimedDelivery[]> {
    return this.#claims.claim(receiver, position, nowUs, limit, holder, choice);
  }

  async due(nowUs: number) {
    return this.#claims.due(nowUs);
  }

  async settle(settlements: readonly Settlement[], nowUs: number): Promise<void> {
    await this.#settlements.settle(settlements, nowUs);
  }

  async redrive(ids: readonly string[], nowUs: number): Promise<string[]> {
    const revived = ids.flatMap((id) => {
      const lane = this.#write.revive.get(id, nowUs);
      return lane ? [{ id, lane }] : [];
    });
    for (const { lane } of revived) this.#counts.move(lane.receiver, 'dead', 'pending');
    await this.#lanes.giveTurns(revived.map(({ lane }) => lane));
    return revived.map(({ id }) => id);
  }

  async takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]> {
    const rows = this.#list.fallbacks.all(nowUs, limit);
    for (const { seq } of rows) this.#write.fellBack.run(seq);
    return rows.map((row) => claimedOf({ ...row, fallback_us: null }));
  }

  async fallBackAt(id: string, atUs: number): Promise<void> {
    this.#write.fallBackAt.run(id, atUs);
  }

  async failingIntegrations(): Promise<FailingIntegration[]> {
    return this.#settlements.failing();
  }

  async recoverLeases(nowUs: number, living: readonly number[] = []): Promise<number> {
    const recovered = this.#write.recover.all(nowUs, JSON.stringify(living));
    for (const lane of recovered) this.#counts.move(lane.receiver, 'leased', 'ambiguous');
    await this.#lanes.giveTurns(recovered);
    return recovered.length;
  }

  async list({ state, receiver, limit }: DeliveryQuery): Promise<Delivery[]> {
    return this.#newest(state, receiver ?? null, limit).map(deliveryOf);
  }

  /** Most deliveries are delivered, so these are found by scanning backwards; the others have an index. */
  #newest(state: DeliveryState | undefined, receiver: string | null, limit: number): DeliveryRow[] {
    if (state === undefined) return this.#list.newest.all(receiver, limit);
    const { newestDelivered, newestInState } = this.#list;
    return (state === 'delivered' ? newestDelivered : newestInState).all(receiver, limit, state);
  }

  async page(query: DeliveryQuery): Promise<{ deliveries: Delivery[]; next?: string }> {
    return this.#pages.page(query);
  }

  async find(id: string): Promise<ClaimedDelivery | undefined> {
    const row = this.#list.one.get(id);
    return row && claimedOf(row);
  }

  async hasIdsOf(prefix: string): Promise<boolean> {
    return this.#list.ofPrefix.get(prefix) !== undefined;
  }

  async count() {
    return this.#counts.all();
  }
}

function prepareWriting(connection: Connection) {
  return {
    notifications: prepareChunks(
      connection,
      2,
      (rows) => `INSERT INTO notification (seq, body) VALUES ${rows}`,
    ),
    deliveries: prepareChunks(
      connection,
      15,
      (rows) =>
        `INSERT INTO delivery (id, notification, notification_id, receiver, integration, position, lane, turn, state,
           attempts, created_us, next_attempt_us, settled_us, last_error, fallback_us)
         VALUES ${rows}`,
    ),
    revive: connection.prepare<Lane>(
      `UPDATE delivery SET state = 'pending', attempts = 0, cut_off = 0, created_us = ?2, next_attempt_us = ?2, not_before_us = 0, settled_us = 0,
         last_error = '', refusals = 0, refused_by = ''
       WHERE id = ?1 AND state = 'dead' RETURNING receiver, position, lane`,
    ),
    fellBack: connection.prepare('UPDATE delivery SET fallback_us = NULL WHERE seq = ?'),
    fallBackAt: connection.prepare('UPDATE delivery SET fallback_us = ?2 WHERE id = ?1'),
    recover: connection.prepare<Lane>(
      `UPDATE delivery INDEXED BY delivery_undelivered SET state = 'ambiguous', next_attempt_us = ?1, cut_off = cut_off + 1
       WHERE state = 'leased' AND state <> 'delivered' AND holder NOT IN (SELECT value FROM json_each(?2))
       RETURNING receiver, position, lane`,
    ),
  };
}

function prepareListing(connection: Connection) {
  return {
    newest: connection.prepare<DeliveryRow>(
      'SELECT * FROM delivery WHERE (?1 IS NULL OR receiver = ?1) ORDER BY seq DESC LIMIT ?2',
    ),
    newestDelivered: connection.prepare<DeliveryRow>(
      `SELECT * FROM delivery NOT INDEXED
       WHERE (?1 IS NULL OR receiver = ?1) AND state = ?3 ORDER BY seq DESC LIMIT ?2`,
    ),
    newestInState: connection.prepare<DeliveryRow>(
      `SELECT * FROM delivery INDEXED BY delivery_undelivered
       WHERE (?1 IS NULL OR receiver = ?1) AND state = ?3 AND state <> 'delivered' ORDER BY seq DESC LIMIT ?2`,
    ),
    fallbacks: connection.prepare<ClaimedRow>(
      `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
       WHERE fallback_us <= ? ORDER BY fallback_us, delivery.seq LIMIT ?`,
    ),
    one: connection.prepare<ClaimedRow>(
      `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
       WHERE id = ?`,
    ),
    // The character after the hyphen is the full stop.
    ofPrefix: connection.prepare<{ seq: number }>(
      "SELECT seq FROM delivery WHERE id >= ?1 || '-' AND id < ?1 || '.' LIMIT 1",
    ),
  };
}
