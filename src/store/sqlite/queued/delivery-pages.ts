/**
 * Reads deliveries in pages, newest first. If few of many match, a page examines a limited number; `next` then says
 * where to continue.
 */
import type { Delivery, DeliveryQuery } from '../../outbox-store.ts';
import { type DeliveryRow, deliveryOf } from '../../rows/delivery-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import type { Connection } from '../connection.ts';
import { Conditions } from '../watched/page-conditions.ts';

const MAX_PAGE = 1000;
const MAX_LOOKED_AT = 20_000;

export class DeliveryPages {
  readonly #connection: Connection;
  readonly #events: SqlEvents;

  constructor(connection: Connection, events: SqlEvents) {
    this.#connection = connection;
    this.#events = events;
  }

  async page(query: DeliveryQuery): Promise<{ deliveries: Delivery[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = new Conditions();
    if (query.cursor !== undefined) where.add('seq < ?', ...parseCursor(query.cursor, ['number']));
    // Deliveries that were given up or wait are few and have an index; all others are found by scanning.
    const isFew = query.state !== undefined && query.state !== 'delivered';
    if (query.state !== undefined) where.add('state = ?', query.state);
    if (isFew) where.add(`state <> 'delivered'`);
    const from = `FROM delivery ${isFew ? 'INDEXED BY delivery_undelivered' : 'NOT INDEXED'}`;
    const last = this.#connection
      .prepare<{ seq: number }>(`SELECT seq ${from} ${where.where} ORDER BY seq DESC LIMIT 1 OFFSET ?`)
      .get(...where.values, MAX_LOOKED_AT - 1);
    if (last) where.add('seq >= ?', last.seq);
    await this.#addContent(where, query);
    const rows = this.#connection
      .prepare<DeliveryRow>(`SELECT * ${from} ${where.where} ORDER BY seq DESC LIMIT ?`)
      .all(...where.values, limit + 1);
    const end = rows.length > limit ? rows[limit - 1] : last;
    const deliveries = rows.slice(0, limit).map(deliveryOf);
    return end ? { deliveries, next: formatCursor([end.seq]) } : { deliveries };
  }

  async #addContent(where: Conditions, query: DeliveryQuery): Promise<void> {
    const { receiver, text, sinceUs, untilUs, region, nest, bird, flight, name, severity } = query;
    if (receiver !== undefined) where.add('receiver = ?', receiver);
    if (sinceUs !== undefined) where.add('created_us >= ?', sinceUs);
    if (untilUs !== undefined) where.add('created_us < ?', untilUs);
    where.addText(text, { whole: ['id', 'receiver', 'integration', 'last_error'] });
    const alert = new Conditions();
    if (region !== undefined) alert.add('alert.region = ?', region);
    alert.addNest('alert.nest_id', 'alert.nest', nest).addBird('alert.bird_id', 'alert.bird', bird);
    if (name !== undefined) alert.add('lower(alertname) = lower(?)', name);
    if (severity !== undefined) alert.add('severity = ?', severity);
    if (alert.where !== '') {
      where.add(
        `notification IN (SELECT notified_alert.notification FROM alert
           JOIN notified_alert USING (alert) ${alert.where})`,
        ...alert.values,
      );
    }
    if (flight !== undefined) {
      where.add(
        `notification IN (SELECT notified_event.notification FROM notified_event
           WHERE event IN (SELECT value FROM json_each(?)))`,
        JSON.stringify(await this.#events.numbersOfFlight(flight)),
      );
    }
  }
}
