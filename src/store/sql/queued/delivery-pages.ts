/**
 * Reads deliveries in pages, newest first. If few of many match, a page examines a limited number; `next` then says
 * where to continue.
 */

import { type AlertRow, alertOf } from '../../alert-store.ts';
import { type DeliveryQuery, type DeliveryRow, deliveryOf, type ListedDelivery } from '../../outbox-store.ts';
import { readable } from '../readable.ts';
import type { Sql } from '../sql.ts';
import { Conditions, formatCursor, parseCursor } from '../watched/conditions.ts';
import type { SqlEvents } from '../watched/events.ts';

const MAX_PAGE = 1000;
const MAX_LOOKED_AT = 20_000;

export class DeliveryPages {
  readonly #sql: Sql;
  readonly #events: SqlEvents;

  constructor(sql: Sql, events: SqlEvents) {
    this.#sql = sql;
    this.#events = events;
  }

  async page(query: DeliveryQuery): Promise<{ deliveries: ListedDelivery[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = new Conditions(this.#sql);
    if (query.cursor !== undefined) where.add('seq < ?', ...parseCursor(query.cursor, ['number']));
    if (query.state !== undefined) where.add('state = ?', query.state);
    // Deliveries that were given up or wait are few and have an index; all others are found by scanning.
    const isFew = query.state !== undefined && query.state !== 'delivered';
    if (isFew) where.add(`state <> 'delivered'`);
    const from = `FROM delivery /* ${isFew ? 'INDEXED BY delivery_undelivered' : 'NOT INDEXED'} */`;
    const [last] = await this.#sql.composed<{ seq: number }>(
      `SELECT seq ${from} ${where.where} ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_LOOKED_AT - 1}`,
      ...where.parameters,
    );
    if (last) where.add('seq >= ?', last.seq);
    await this.#addContent(where, query);
    const rows = await this.#sql.composed<DeliveryRow & { readonly notification: number }>(
      `SELECT * ${from} ${where.where} ORDER BY seq DESC LIMIT ${limit + 1}`,
      ...where.parameters,
    );
    const end = rows.length > limit ? rows[limit - 1] : last;
    const shown = rows.slice(0, limit);
    const notifications = [...new Set(shown.map(({ notification }) => notification))];
    const about = await this.#alertsOf(notifications);
    const others = notifications.filter((one) => !about.has(one));
    const texts = await this.#sql.rows<{ seq: number; beginning: string }>(
      'SELECT seq, substr(body, 1, 4000) AS beginning FROM notification WHERE seq = ANY($1::bigint[])',
      others,
    );
    for (const { seq, beginning } of texts) about.set(seq, { about: aboutOf(beginning), aboutMore: 0 });
    const deliveries = shown.map((row) => ({
      ...deliveryOf(row),
      ...(about.get(row.notification) ?? { about: '', aboutMore: 0 }),
    }));
    return end ? { deliveries, next: formatCursor([end.seq]) } : { deliveries };
  }

  async #alertsOf(notifications: readonly number[]) {
    const counted = await this.#sql.rows<{ notification: number; alert: number; total: number }>(
      `SELECT notification, min(alert) AS alert, count(*) AS total FROM notified_alert
       WHERE notification = ANY($1::bigint[]) GROUP BY notification`,
      notifications,
    );
    const rows = await this.#sql.rows<AlertRow & { alert: number }>(
      'SELECT alert, body FROM alert WHERE alert = ANY($1::bigint[])',
      [...new Set(counted.map(({ alert }) => alert))],
    );
    const read = (row: AlertRow & { alert: number }) =>
      [row.alert, alertOf(row).annotations.summary ?? ''] as const;
    const summaries = new Map(await readable(this.#sql, 'alert', rows, read));
    return new Map(
      counted.map(({ notification, alert, total }) => [
        notification,
        { about: summaries.get(alert) ?? '', aboutMore: total - 1 },
      ]),
    );
  }

  async #addContent(where: Conditions, query: DeliveryQuery): Promise<void> {
    const { receiver, text, sinceUs, untilUs, region, nest, bird, flight, name, severity } = query;
    if (receiver !== undefined) where.add('receiver = ?', receiver);
    if (sinceUs !== undefined) where.add('created_us >= ?', sinceUs);
    if (untilUs !== undefined) where.add('created_us < ?', untilUs);
    where.addText(text, { whole: ['id', 'receiver', 'integration', 'last_error'] });
    const alert = where.others();
    if (region !== undefined) alert.add('alert.region = ?', region);
    alert.addNest('alert.nest_id', 'alert.nest', nest).addBird('alert.bird_id', 'alert.bird', bird);
    if (name !== undefined) alert.add('lower(alertname) = lower(?::text COLLATE "C")', name);
    if (severity !== undefined) alert.add('severity = ?', severity);
    if (!alert.isEmpty) {
      where.add(
        `notification IN (SELECT notified_alert.notification FROM alert
           JOIN notified_alert USING (alert) ${alert.where})`,
      );
    }
    if (flight !== undefined) {
      where.add(
        'notification IN (SELECT notified_event.notification FROM notified_event WHERE event = ANY(?::bigint[]))',
        await this.#events.numbersOfFlight(flight),
      );
    }
  }
}

/** What a notification is about whose alerts are not stored, by the beginning of its JSON; empty if that does not say. */
function aboutOf(beginning: string): string {
  const text = (before: string) => {
    const [, found] = new RegExp(`${before}:("(?:[^"\\\\]|\\\\.)*")`).exec(beginning) ?? [];
    return found === undefined ? '' : String(JSON.parse(found));
  };
  // With the type and the Bird of its first event.
  if (beginning.startsWith('{"kind":"forward"'))
    return ['Events', [text('"type"'), text('"bird"')].filter(Boolean).join(', ')].filter(Boolean).join(': ');
  if (beginning.startsWith('{"kind":"digest"')) return `Report ${text('"digest":\\{"name"')}`.trim();
  return text('"summary"');
}
