/**
 * Reads deliveries in pages, newest first. If few of many match, a page examines a limited number; `next` then says
 * where to continue.
 */
import type { Delivery, DeliveryQuery } from '../../outbox-store.ts';
import { type DeliveryRow, deliveryOf } from '../../rows/delivery-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import type { Statements } from '../statements.ts';
import { PostgresConditions } from '../watched/postgres-conditions.ts';

const MAX_PAGE = 1000;
const MAX_LOOKED_AT = 20_000;

export class PostgresDeliveryPages {
  readonly #statements: Statements;
  readonly #events: SqlEvents;

  constructor(statements: Statements, events: SqlEvents) {
    this.#statements = statements;
    this.#events = events;
  }

  async page(query: DeliveryQuery): Promise<{ deliveries: Delivery[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = new PostgresConditions();
    if (query.cursor !== undefined) where.add('seq < ?', ...parseCursor(query.cursor, ['number']));
    if (query.state !== undefined) where.add('state = ?', query.state);
    // Deliveries that were given up or wait are few and have an index; all others are found by scanning.
    if (query.state !== undefined && query.state !== 'delivered') where.add(`state <> 'delivered'`);
    const [last] = await this.#statements.composed<{ seq: number }>(
      `SELECT seq FROM delivery ${where.where} ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_LOOKED_AT - 1}`,
      ...where.parameters,
    );
    if (last) where.add('seq >= ?', last.seq);
    await this.#addContent(where, query);
    const rows = await this.#statements.composed<DeliveryRow>(
      `SELECT * FROM delivery ${where.where} ORDER BY seq DESC LIMIT ${limit + 1}`,
      ...where.parameters,
    );
    const end = rows.length > limit ? rows[limit - 1] : last;
    const deliveries = rows.slice(0, limit).map(deliveryOf);
    return end ? { deliveries, next: formatCursor([end.seq]) } : { deliveries };
  }

  async #addContent(where: PostgresConditions, query: DeliveryQuery): Promise<void> {
    const { receiver, text, sinceUs, untilUs, region, nest, bird, flight, name, severity } = query;
    if (receiver !== undefined) where.add('receiver = ?', receiver);
    if (sinceUs !== undefined) where.add('created_us >= ?', sinceUs);
    if (untilUs !== undefined) where.add('created_us < ?', untilUs);
    where.addText(text, { whole: ['id', 'receiver', 'integration', 'last_error'] });
    const alert = new PostgresConditions(where.parameters);
    if (region !== undefined) alert.add('alert.region = ?', region);
    alert.addNest('alert.nest_id', 'alert.nest', nest).addBird('alert.bird_id', 'alert.bird', bird);
    if (name !== undefined) alert.add('lower(alertname) = lower(?::text COLLATE "C")', name);
    if (severity !== undefined) alert.add('severity = ?', severity);
    if (!alert.isEmpty) {
      where.take(
        alert,
        (sql) => `notification IN (SELECT notified_alert.notification FROM alert
        JOIN notified_alert USING (alert) ${sql})`,
      );
    }
    if (flight !== undefined) {
      where.add(
        `notification IN (SELECT notified_event.notification FROM notified_event WHERE event = ANY(?::bigint[]))`,
        await this.#events.numbersOfFlight(flight),
      );
    }
  }
}
