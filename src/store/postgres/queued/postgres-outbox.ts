import type { Notification } from '../../../domain/grouping/notification.ts';
import type {
  ClaimChoice,
  ClaimedDelivery,
  Delivery,
  DeliveryQuery,
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
import type { SqlEvents } from '../../sql/watched/events.ts';
import type { HoldingStatements } from '../holding-statements.ts';
import { PostgresSql } from '../postgres-sql.ts';
import { columnsOf, given, type Statements } from '../statements.ts';
import { PostgresClaims } from './postgres-claims.ts';
import { firstInLanes, LANE_IS_FREE } from './postgres-lanes.ts';
import { type Covered, noteCovered, PostgresNotified } from './postgres-notified.ts';

/** A notification with its deliveries, about to be written. */
interface Queued {
  readonly body: string;
  readonly deliveries: readonly Delivery[];
}

/** The most notification text held back: parts of a large one must neither fill the memory nor make one long write. */
const MAX_HELD_CHARACTERS = 4 * 1024 * 1024;

const DELIVERY = `id text, notification_id text, receiver text, integration text, position integer, lane text,
  state text, attempts integer, created_us bigint, next_attempt_us bigint, settled_us bigint, last_error text,
  fallback_us bigint`;
const NAMES = DELIVERY.split(',').map((column) => column.trim().split(' ')[0]!);

/**
 * Writes notifications with their deliveries, in their order, in one round trip, and returns their numbers. `number`
 * is the position of a delivery's notification, from 1.
 */
const ENQUEUE = `WITH written AS (
    INSERT INTO notification (body) SELECT body FROM ${given('body text', { at: true })} ORDER BY at RETURNING seq),
  queued AS (
    INSERT INTO delivery (notification, turn, ${NAMES.join(', ')})
    SELECT (SELECT array_agg(seq ORDER BY seq) FROM written)[given.number], (given.is_first AND ${LANE_IS_FREE})::int,
      ${NAMES.map((name) => `given.${name}`).join(', ')}
    FROM ${given(`number bigint, is_first boolean, ${DELIVERY}`, { from: 2, at: true })} ORDER BY at)
  SELECT seq FROM written ORDER BY seq`;

/** Returns the notifications' numbers, in their order. */
async function write(statements: Statements, queued: readonly Queued[]): Promise<number[]> {
  const all = queued.flatMap(({ deliveries }, index) =>
    deliveries.map((one) => ({ one, number: index + 1 })),
  );
  const isFirst = firstInLanes(all.map(({ one }) => one));
  const rows = all.map(({ one, number }, index) => [
    number,
    isFirst[index]!,
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
  ]);
  const written = await statements.rows<{ seq: number }>(
    ENQUEUE,
    queued.map(({ body }) => body),
    ...columnsOf(NAMES.length + 2, rows),
  );
  return written.map(({ seq }) => seq);
}

/** The outbox, composed of lanes, claims and settlements. */
export class PostgresOutbox implements OutboxStore {
  readonly #statements: Statements;
  readonly #counts: DeliveryCounts;
  readonly #notified: PostgresNotified;
  readonly #lanes: SqlLanes;
  readonly #claims: PostgresClaims;
  readonly #settlements: SqlSettlements;
  readonly #pages: DeliveryPages;
  readonly #holds: () => void;
  #held: (Queued & { readonly covered: Covered })[] = [];
  #heldCharacters = 0;

  constructor(statements: HoldingStatements, events: SqlEvents, counts: DeliveryCounts) {
    this.#statements = statements;
    this.#counts = counts;
    this.#notified = new PostgresNotified(statements, events, counts);
    this.#lanes = new SqlLanes(new PostgresSql(statements));
    this.#claims = new PostgresClaims(statements, counts);
    this.#settlements = new SqlSettlements(new PostgresSql(statements), this.#lanes, counts);
    this.#pages = new DeliveryPages(new PostgresSql(statements), events);
    this.#holds = statements.hold({
      writes: ['notification', 'delivery', 'notified_alert', 'notified_event'],
      reads: ['alert', 'former_alert', 'alert_event'],
      write: (own) => this.#write(own),
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
    for (const { receiver, state } of deliveries) this.#counts.add(receiver, state, 1);
    const body = JSON.stringify(notification);
    if (notification.kind === 'forward') {
      const [seq] = await write(this.#statements, [{ body, deliveries }]);
      return this.#notified.noteBatch(seq!, notification);
    }
    const covered = await this.#notified.coveredBy(notification, covers);
    this.#held.push({ body, deliveries, covered });
    this.#heldCharacters += body.length;
    this.#holds();
    if (this.#heldCharacters > MAX_HELD_CHARACTERS) await this.#write(this.#statements);
  }

  async #write(statements: Statements): Promise<void> {
    const queued = this.#held;
    if (queued.length === 0) return;
    this.#held = [];
    this.#heldCharacters = 0;
    const numbers = await write(statements, queued);
    const covered = queued.map((one, index) => ({ ...one.covered, seq: numbers[index]! }));
    await noteCovered(statements, covered);
  }

  unsettledLanes(lanes: readonly Lane[], alertIds?: readonly string[]): Promise<Lane[]> {
    return this.#lanes.unsettled(lanes, alertIds);
  }

  joinLanes(lanes: readonly Lane[], into: string): Promise<void> {
    return this.#lanes.join(lanes, into);
  }

  notificationsOfEvent(key: string) {
    return this.#notified.ofEvent(key);
  }

  notificationsOfAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    return this.#notified.ofAlert(alertId, limit);
  }

  claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder = 0,
    choice: ClaimChoice = {},
  ): Promise<ClaimedDelivery[]> {
    return this.#claims.claim(receiver, position, nowUs, limit, holder, choice);
  }

  due(nowUs: number) {
    return this.#claims.due(nowUs);
  }

  settle(settlements: readonly Settlement[], nowUs: number): Promise<void> {
    return this.#settlements.settle(settlements, nowUs);
  }

  async redrive(ids: readonly string[], nowUs: number): Promise<string[]> {
    const revived = await this.#statements.rows<Lane & { readonly id: string }>(
      `UPDATE delivery SET state = 'pending', attempts = 0, cut_off = 0, created_us = $2, next_attempt_us = $2, not_before_us = 0,
         settled_us = 0, last_error = '', refusals = 0, refused_by = ''
       WHERE id = ANY($1::text[]) AND state = 'dead' RETURNING id, receiver, position, lane`,
      ids,
      nowUs,
    );
    for (const { receiver } of revived) this.#counts.move(receiver, 'dead', 'pending');
    await this.#lanes.giveTurns(revived);
    const known = new Set(revived.map(({ id }) => id));
    return [...new Set(ids)].filter((id) => known.has(id));
  }

  async takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]> {
    const rows = await this.#statements.rows<ClaimedRow>(
      `WITH due AS (
         SELECT seq, fallback_us AS due_us FROM delivery WHERE fallback_us <= $1
         ORDER BY fallback_us, seq LIMIT $2),
       taken AS (
         UPDATE delivery SET fallback_us = NULL FROM due WHERE delivery.seq = due.seq RETURNING delivery.*, due.due_us)
       SELECT taken.*, notification.body FROM taken JOIN notification ON notification.seq = taken.notification
       ORDER BY taken.due_us, taken.seq`,
      nowUs,
      limit,
    );
    return rows.map(claimedOf);
  }

  async fallBackAt(id: string, atUs: number): Promise<void> {
    await this.#statements.run('UPDATE delivery SET fallback_us = $2 WHERE id = $1', id, atUs);
  }

  failingIntegrations(): Promise<FailingIntegration[]> {
    return this.#settlements.failing();
  }

  async recoverLeases(nowUs: number, living: readonly number[] = []): Promise<number> {
    const recovered = await this.#statements.rows<Lane>(
      `UPDATE delivery SET state = 'ambiguous', next_attempt_us = $1, cut_off = cut_off + 1
       WHERE state = 'leased' AND NOT holder = ANY($2::bigint[]) RETURNING receiver, position, lane`,
      nowUs,
      living,
    );
    for (const { receiver } of recovered) this.#counts.move(receiver, 'leased', 'ambiguous');
    await this.#lanes.giveTurns(recovered);
    return recovered.length;
  }

  async list({ state, receiver, limit }: DeliveryQuery): Promise<Delivery[]> {
    const rows = await this.#statements.rows<DeliveryRow>(
      `SELECT * FROM delivery
       WHERE ($1::text IS NULL OR receiver = $1) AND ($2::text IS NULL OR state = $2) ORDER BY seq DESC LIMIT $3`,
      receiver ?? null,
      state ?? null,
      limit,
    );
    return rows.map(deliveryOf);
  }

  page(query: DeliveryQuery): Promise<{ deliveries: Delivery[]; next?: string }> {
    return this.#pages.page(query);
  }

  async find(id: string): Promise<ClaimedDelivery | undefined> {
    const row = await this.#statements.first<ClaimedRow>(
      `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
       WHERE id = $1`,
      id,
    );
    return row && claimedOf(row);
  }

  async hasIdsOf(prefix: string): Promise<boolean> {
    // The character after the hyphen is the full stop.
    const sql = 'SELECT seq FROM delivery WHERE id >= $1 AND id < $2 LIMIT 1';
    return (await this.#statements.first(sql, `${prefix}-`, `${prefix}.`)) !== undefined;
  }

  count() {
    return this.#counts.all();
  }
}
