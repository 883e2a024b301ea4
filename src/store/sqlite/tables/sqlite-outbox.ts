/**
 * The outbox. A delivery is claimable while it is `pending`, `retry` or `ambiguous`, its instant has come and it is
 * its lane's turn. The turn belongs to the oldest unsettled delivery of a lane, unless another one of the lane is
 * leased: that one keeps it until it settles. `turn` is kept in the row and given anew whenever a delivery of
 * the lane settles. A lane is one receiver's integration's own: a slow one never holds up another. A delivery that only
 * some of its recipients have not accepted leaves its lane: one full mailbox never holds up what is next for the others.
 */
import type { Notification } from '../../../domain/grouping/notification.ts';
import type { DeliveryState, OutboxStore, Settlement } from '../../outbox-store.ts';
import { type Connection, textList } from '../connection.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import { type DeliveryRow, deliveryOf } from './delivery-row.ts';
import { createIntegrationHealth } from './integration-health.ts';
import type { NotifiedEvents } from './sqlite-notified.ts';

type Lane = Pick<DeliveryRow, 'receiver' | 'position' | 'lane'>;
/** One integration of one receiver. */
type Destination = Pick<DeliveryRow, 'receiver' | 'position'>;

/** What a delivery was before it settles. */
type Before = Lane & Pick<DeliveryRow, 'seq' | 'integration' | 'state' | 'remaining'>;

interface ClaimedRow extends DeliveryRow {
  readonly body: string;
}

/** What `delivery_waiting` and `delivery_lane` are partial on; the text must be the same for SQLite to use them. */
const CLAIMABLE = "turn = 1 AND state IN ('pending', 'retry', 'ambiguous')";
/** Failed tries after which a fallback no longer waits for its time. */
const FALLBACK_FAILURES = 3;
/** Text after which no more is claimed at a time: big notifications must not fill the memory. */
const MAX_CLAIMED_BYTES = 4 * 1024 * 1024;
const LANE = 'receiver = ? AND position = ? AND lane = ?';
const UNSETTLED = "lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous')";

export function createOutbox(
  connection: Connection,
  notified: Pick<NotifiedEvents, 'record'>,
  counts: DeliveryCounts,
): Omit<OutboxStore, 'notificationsOfEvent'> {
  const health = createIntegrationHealth(connection);
  const putNotification = connection.prepare('INSERT INTO notification (seq, body) VALUES (?, ?)');
  // What was deleted may still stand beside the events that it told: its number would pass for another's.
  const newestNotification = connection.prepare<{ seq: number | null }>(
    `SELECT max(seq) AS seq FROM (
       SELECT max(seq) AS seq FROM notification UNION ALL SELECT max(notification) FROM notified_event)`,
  );
  const putDelivery = connection.prepare(
    `INSERT INTO delivery (id, notification, notification_id, receiver, integration, position, lane, turn, state,
       attempts, created_us, next_attempt_us, settled_us, last_error, fallback_us)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const waitsIn = connection.prepare(`SELECT 1 FROM delivery WHERE ${LANE} AND ${UNSETTLED} LIMIT 1`);
  const isLeasedIn = connection.prepare(
    `SELECT 1 FROM delivery WHERE ${LANE} AND turn = 1 AND ${UNSETTLED} AND state = 'leased'`,
  );
  const loseTurn = connection.prepare(
    `UPDATE delivery SET turn = 0 WHERE ${LANE} AND turn = 1 AND ${UNSETTLED} AND state <> 'leased'`,
  );
  const takeTurn = connection.prepare(
    `UPDATE delivery SET turn = 1
     WHERE seq = (
       SELECT seq FROM delivery WHERE ${LANE} AND turn = 0 AND ${UNSETTLED} ORDER BY seq LIMIT 1)`,
  );
  const due = connection.prepare<DeliveryRow & { readonly notification: number; readonly bytes: number }>(
    `SELECT delivery.*, octet_length(body) AS bytes
     FROM delivery JOIN notification ON notification.seq = notification
     WHERE receiver = ? AND position = ? AND next_attempt_us <= ? AND ${CLAIMABLE}
     ORDER BY next_attempt_us, delivery.seq LIMIT ?`,
  );
  const bodies = connection.prepare<{ seq: number; body: string }>(
    'SELECT seq, body FROM notification WHERE seq IN (SELECT value FROM json_each(?))',
  );
  const lease = connection.prepare(
    `UPDATE delivery SET state = 'leased', attempts = attempts + 1
     WHERE seq IN (SELECT value FROM json_each(?))`,
  );
  // From one to the next in two questions: to compare both columns at once would walk over all that waits.
  const nextPosition = connection.prepare<Destination>(
    `SELECT receiver, position FROM delivery WHERE receiver = ? AND position > ? AND ${CLAIMABLE}
     ORDER BY position LIMIT 1`,
  );
  const nextReceiver = connection.prepare<Destination>(
    `SELECT receiver, position FROM delivery WHERE receiver > ? AND ${CLAIMABLE}
     ORDER BY receiver, position LIMIT 1`,
  );
  const isDue = connection.prepare(
    `SELECT 1 FROM delivery WHERE receiver = ? AND position = ? AND next_attempt_us <= ? AND ${CLAIMABLE} LIMIT 1`,
  );
  const later = connection.prepare<{ at_us: number | null }>(
    `SELECT min(next_attempt_us) AS at_us FROM delivery
     WHERE receiver = ? AND position = ? AND next_attempt_us > ? AND ${CLAIMABLE}`,
  );
  // A fallback is due at once after the third failure, or when the delivery is given up before its time has come.
  const before = connection.prepare<Before>(
    `SELECT seq, receiver, position, lane, integration, state, remaining FROM delivery
     WHERE id IN (SELECT value FROM json_each(?))`,
  );
  const settle = connection.prepare(
    `UPDATE delivery SET state = ?2, next_attempt_us = ?3, last_error = ?4, settled_us = ?5, refusals = ?9, refused_by = ?10,
       fallback_us = CASE
         WHEN ?2 IN ('delivered', 'suppressed') THEN NULL
         WHEN ?6 AND (?2 = 'dead' OR attempts >= ${FALLBACK_FAILURES}) THEN min(fallback_us, ?7)
         ELSE fallback_us
       END,
       lane = iif(?8 IS NULL, lane, ''),
       remaining = CASE WHEN ?2 IN ('delivered', 'suppressed') THEN '' ELSE coalesce(?8, remaining) END
     WHERE seq = ?1`,
  );
  // What most of them come to, many at once: that costs a third of as many single ones.
  const deliver = connection.prepare(
    `UPDATE delivery SET state = 'delivered', next_attempt_us = ?2, last_error = '', settled_us = ?2, refusals = 0,
       refused_by = '', fallback_us = NULL, remaining = ''
     WHERE seq IN (SELECT value FROM json_each(?1))`,
  );
  const waitingLanes = connection.prepare<{ lane: string }>(
    `SELECT value AS lane FROM json_each(?3) WHERE EXISTS (
       SELECT 1 FROM delivery WHERE receiver = ?1 AND position = ?2 AND lane = value AND ${UNSETTLED})`,
  );
  const revive = connection.prepare<Lane>(
    `UPDATE delivery SET state = 'pending', attempts = 0, created_us = ?2, next_attempt_us = ?2, settled_us = 0,
       last_error = '', refusals = 0, refused_by = ''
     WHERE id = ?1 AND state = 'dead' RETURNING receiver, position, lane`,
  );
  const fallbacks = connection.prepare<ClaimedRow>(
    `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
     WHERE fallback_us <= ? ORDER BY fallback_us, delivery.seq LIMIT ?`,
  );
  const fellBack = connection.prepare('UPDATE delivery SET fallback_us = NULL WHERE seq = ?');
  const recover = connection.prepare<Lane>(
    `UPDATE delivery INDEXED BY delivery_undelivered SET state = 'ambiguous', next_attempt_us = ?
     WHERE state = 'leased' AND state <> 'delivered' RETURNING receiver, position, lane`,
  );
  const newest = connection.prepare<DeliveryRow>(
    'SELECT * FROM delivery WHERE (?1 IS NULL OR receiver = ?1) ORDER BY seq DESC LIMIT ?2',
  );
  const newestDelivered = connection.prepare<DeliveryRow>(
    `SELECT * FROM delivery NOT INDEXED
     WHERE (?1 IS NULL OR receiver = ?1) AND state = ?3 ORDER BY seq DESC LIMIT ?2`,
  );
  const newestInState = connection.prepare<DeliveryRow>(
    `SELECT * FROM delivery INDEXED BY delivery_undelivered
     WHERE (?1 IS NULL OR receiver = ?1) AND state = ?3 AND state <> 'delivered' ORDER BY seq DESC LIMIT ?2`,
  );
  const one = connection.prepare<ClaimedRow>(
    `SELECT delivery.*, notification.body FROM delivery JOIN notification ON notification.seq = notification
     WHERE id = ?`,
  );

  // Numbers of a transaction that was taken back are never used.
  let lastNotification = newestNotification.get()?.seq ?? 0;

  /** Most are delivered, so those are found by walking back; the others have an index. */
  function listed(state: DeliveryState | undefined, receiver: string | null, limit: number): DeliveryRow[] {
    if (state === undefined) return newest.all(receiver, limit);
    return (state === 'delivered' ? newestDelivered : newestInState).all(receiver, limit, state);
  }

  function moved(receiver: string, from: DeliveryState, to: DeliveryState): void {
    counts.add(receiver, from, -1);
    counts.add(receiver, to, 1);
  }

  function giveTurn({ receiver, position, lane }: Lane): void {
    if (lane === '') return;
    loseTurn.run(receiver, position, lane);
    if (!isLeasedIn.get(receiver, position, lane)) takeTurn.run(receiver, position, lane);
  }

  function settleOne(settlement: Settlement, nowUs: number): void {
    const {
      id,
      state,
      nextAttemptAtUs,
      lastError,
      refusals = 0,
      refusedBy = '',
      failed = false,
      remaining,
    } = settlement;
    const settledUs = state === 'retry' || state === 'ambiguous' ? 0 : nowUs;
    const row = before.get(textList([id]));
    if (!row) return;
    const left = remaining ? JSON.stringify(remaining) : null;
    settle.run(
      row.seq,
      state,
      nextAttemptAtUs,
      lastError,
      settledUs,
      failed ? 1 : 0,
      nowUs,
      left,
      refusals,
      refusedBy,
    );
    moved(row.receiver, row.state, state);
    giveTurn(row);
    // What some recipients took was accepted; that the rest does not take it says nothing of the integration.
    if (state === 'delivered' || remaining) health.accepted(row);
    else if (failed && row.remaining === '') health.failed(row, lastError, nowUs);
  }

  function settleDelivered(ids: readonly string[], nowUs: number): void {
    if (ids.length === 0) return;
    const rows = before.all(textList(ids));
    deliver.run(JSON.stringify(rows.map(({ seq }) => seq)), nowUs);
    for (const { receiver, state } of rows) moved(receiver, state, 'delivered');
    const ways = Map.groupBy(rows, ({ receiver, position }) => JSON.stringify([receiver, position]));
    for (const way of ways.values()) {
      const { receiver, position } = way[0]!;
      for (const row of new Map(way.map((one) => [one.integration, one])).values()) health.accepted(row);
      const lanes = new Set(way.map(({ lane }) => lane));
      for (const { lane } of waitingLanes.all(receiver, position, textList([...lanes]))) {
        giveTurn({ receiver, position, lane });
      }
    }
  }

  return {
    async enqueue(notification, deliveries, tells) {
      if (deliveries.length === 0) return;
      lastNotification += 1;
      const seq = lastNotification;
      putNotification.run(seq, JSON.stringify(notification));
      notified.record(seq, notification, tells);
      for (const delivery of deliveries) {
        const { receiver, position, lane } = delivery;
        const turn = lane === '' || !waitsIn.get(receiver, position, lane);
        putDelivery.run(
          delivery.id,
          seq,
          delivery.notificationId,
          receiver,
          delivery.integration,
          position,
          lane,
          turn ? 1 : 0,
          delivery.state,
          delivery.attempts,
          delivery.createdAtUs,
          delivery.nextAttemptAtUs,
          delivery.settledAtUs,
          delivery.lastError,
          delivery.fallbackAtUs ?? null,
        );
        counts.add(receiver, delivery.state, 1);
      }
    },
    async claim(receiver, position, nowUs, limit) {
      let bytes = 0;
      const rows = due.all(receiver, position, nowUs, limit).filter((row, index) => {
        bytes += row.bytes;
        return index === 0 || bytes <= MAX_CLAIMED_BYTES;
      });
      if (rows.length === 0) return [];
      lease.run(JSON.stringify(rows.map(({ seq }) => seq)));
      for (const { state } of rows) moved(receiver, state, 'leased');
      const texts = bodies.all(JSON.stringify(rows.map(({ notification }) => notification)));
      const bodyOf = new Map(texts.map(({ seq, body }) => [seq, body]));
      return rows.map((row) =>
        claimed({ ...row, state: 'leased', attempts: row.attempts + 1, body: bodyOf.get(row.notification)! }),
      );
    },
    async due(nowUs) {
      const integrations: Destination[] = [];
      let nextAtUs: number | undefined;
      let at: Destination | undefined = { receiver: '', position: -1 };
      for (;;) {
        at = nextPosition.get(at.receiver, at.position) ?? nextReceiver.get(at.receiver);
        if (!at) break;
        const { receiver, position } = at;
        if (isDue.get(receiver, position, nowUs)) integrations.push({ receiver, position });
        const atUs = later.get(receiver, position, nowUs)?.at_us ?? undefined;
        if (atUs !== undefined && (nextAtUs === undefined || atUs < nextAtUs)) nextAtUs = atUs;
      }
      return { due: integrations, ...(nextAtUs === undefined ? {} : { nextAtUs }) };
    },
    async settle(settlements, nowUs) {
      // In their order, since the health of an integration is what its last try came to.
      let delivered: string[] = [];
      for (const settlement of settlements) {
        const { id, state, lastError, failed } = settlement;
        if (state === 'delivered' && lastError === '' && !failed) {
          delivered.push(id);
          continue;
        }
        settleDelivered(delivered, nowUs);
        delivered = [];
        settleOne(settlement, nowUs);
      }
      settleDelivered(delivered, nowUs);
    },
    async redrive(ids, nowUs) {
      return ids.filter((id) => {
        const lane = revive.get(id, nowUs);
        if (lane) {
          moved(lane.receiver, 'dead', 'pending');
          giveTurn(lane);
        }
        return lane !== undefined;
      });
    },
    async takeFallbacks(nowUs, limit) {
      const rows = fallbacks.all(nowUs, limit);
      for (const { seq } of rows) fellBack.run(seq);
      return rows.map((row) => claimed({ ...row, fallback_us: null }));
    },
    async failingIntegrations() {
      return health.failing();
    },
    async recoverLeases(nowUs) {
      const recovered = recover.all(nowUs);
      for (const lane of recovered) {
        moved(lane.receiver, 'leased', 'ambiguous');
        giveTurn(lane);
      }
      return recovered.length;
    },
    async list({ state, receiver, limit }) {
      return listed(state, receiver ?? null, limit).map(deliveryOf);
    },
    async find(id) {
      const row = one.get(id);
      return row && claimed(row);
    },
    async count() {
      return counts.all();
    },
  };
}

function claimed(row: ClaimedRow) {
  return { delivery: deliveryOf(row), notification: JSON.parse(row.body) as Notification };
}
