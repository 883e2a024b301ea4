/**
 * Reads alerts in pages: most severe unacknowledged first, or newest first. A page begins where the previous one
 * ended, so alerts that come and go in between hide none of the others.
 */
import type { Alert } from '../../../domain/alert/alert.ts';
import type { AlertQuery, CausePage, CauseQuery } from '../../alert-store.ts';
import { type CauseAlertRow, type CauseRow, causesOf } from '../../rows/cause-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import type { Connection } from '../connection.ts';
import { Conditions } from '../watched/page-conditions.ts';

interface PageRow {
  readonly body: string;
  readonly alert: number;
  readonly place0: number;
  readonly place1: number;
  readonly place2: number;
  readonly place3: number;
}

const MAX_PAGE = 1000;
/** Alerts shown for each cause. */
const LATEST = 5;
const PLACE = ['number', 'number', 'number', 'number', 'number'] as const;

/**
 * Whether somebody has acknowledged the current episode, at the instant `?`. The `CASE` makes NULL false. Without it,
 * SQLite would scan all acknowledgements for each alert without one, to tell false from NULL.
 */
const ACKNOWLEDGED = `CASE WHEN state = 'firing' AND (id, starts_us) IN (
  SELECT body ->> '$.alertId', body ->> '$.alertStartsAtUs' FROM silence
  WHERE ends_us > ? AND json_type(body, '$.alertId') = 'text') THEN 1 ELSE 0 END`;

/** For resolved alerts only the time counts. */
const ORDERS = {
  severest: [
    `state <> 'firing'`,
    'acknowledged',
    `CASE WHEN state = 'firing' THEN rank ELSE 0 END`,
    `CASE WHEN state = 'firing' THEN -starts_us ELSE -ends_us END`,
  ],
  newest: ['0', '0', '0', '-starts_us'],
} as const;

export class AlertPages {
  readonly #connection: Connection;
  readonly #events: SqlEvents;
  readonly #pause: () => Promise<void>;

  /** `pause` lets other work run. */
  constructor(connection: Connection, events: SqlEvents, pause: () => Promise<void>) {
    this.#connection = connection;
    this.#events = events;
    this.#pause = pause;
  }

  async page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = await this.#conditions(query);
    if (query.cause !== undefined) where.add('cause = ?', query.cause);
    const after = new Conditions();
    if (query.cursor !== undefined) {
      after.add(
        '(place0, place1, place2, place3, alert) > (?, ?, ?, ?, ?)',
        ...parseCursor(query.cursor, PLACE),
      );
    }
    const places = ORDERS[query.order].map((sql, index) => `${sql} AS place${index}`).join(', ');
    const rows = this.#connection
      .prepare<PageRow>(
        `WITH known AS (SELECT *, ${ACKNOWLEDGED} AS acknowledged FROM alert),
         placed AS (SELECT alert, ${places} FROM known ${where.where}),
         page AS MATERIALIZED (
           SELECT * FROM placed ${after.where} ORDER BY place0, place1, place2, place3, alert LIMIT ?)
         SELECT page.*, body FROM page JOIN alert USING (alert)
         ORDER BY place0, place1, place2, place3, alert`,
      )
      .all(query.nowUs, ...where.values, ...after.values, limit + 1);
    const alerts = rows.slice(0, limit).map((row) => JSON.parse(row.body) as Alert);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    if (!last) return { alerts };
    return { alerts, next: formatCursor([last.place0, last.place1, last.place2, last.place3, last.alert]) };
  }

  /** Firing alerts grouped by cause. The order changes with each alert, so pages are found by offset. */
  async causes(query: CauseQuery): Promise<CausePage> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = await this.#conditions({ ...query, state: 'firing' });
    const [skipped] = query.cursor === undefined ? [0] : parseCursor(query.cursor, ['number']);
    const rows = this.#connection
      .prepare<CauseRow>(
        `WITH known AS (SELECT *, ${ACKNOWLEDGED} AS acknowledged FROM alert)
         SELECT alertname, severity, cause, acknowledged, count(*) AS alerts,
           min(starts_us) AS first_us, max(starts_us) AS last_us
         FROM known ${where.where} GROUP BY acknowledged, rank, alertname, severity, cause
         ORDER BY acknowledged, rank, alerts DESC, last_us DESC, alertname, cause LIMIT ? OFFSET ?`,
      )
      .all(query.nowUs, ...where.values, limit + 1, skipped!);
    // Each of the two queries scans all firing alerts and all silences.
    await this.#pause();
    const shown = rows.slice(0, limit);
    const latest = this.#latestOf(shown, where, query.nowUs);
    const causes = causesOf(shown, latest);
    const isMore = rows.length > limit;
    return isMore ? { causes, next: formatCursor([Number(skipped) + limit]) } : { causes };
  }

  /** The latest alerts of each of these causes. */
  #latestOf(causes: readonly CauseRow[], where: Conditions, nowUs: number): CauseAlertRow[] {
    const among = where.copy().addOneOf(
      'cause',
      causes.map(({ cause }) => cause),
    );
    return this.#connection
      .prepare<CauseAlertRow>(
        `WITH known AS (SELECT *, ${ACKNOWLEDGED} AS acknowledged FROM alert),
         numbered AS (
           SELECT alert, alertname, severity, cause, acknowledged, starts_us, row_number() OVER (
             PARTITION BY acknowledged, alertname, severity, cause ORDER BY starts_us DESC, alert) AS number
           FROM known ${among.where})
         SELECT numbered.alertname, numbered.severity, numbered.cause, numbered.acknowledged, body
         FROM numbered JOIN alert USING (alert) WHERE number <= ? ORDER BY number`,
      )
      .all(nowUs, ...among.values, LATEST);
  }

  async #conditions(query: Omit<AlertQuery, 'order' | 'limit'>): Promise<Conditions> {
    const { region, nest, bird, flight, name, severity, text, sinceUs, untilUs, state, isAcknowledged } =
      query;
    const where = new Conditions();
    if (state === undefined) where.add(`state IN ('firing', 'resolved')`);
    else where.add('state = ?', state);
    if (region !== undefined) where.add('region = ?', region);
    where.addNest('nest_id', 'nest', nest).addBird('bird_id', 'bird', bird);
    if (name !== undefined) where.add('lower(alertname) = lower(?)', name);
    if (severity !== undefined) where.add('severity = ?', severity);
    where.addNamed('id', 'words', text);
    if (flight !== undefined) {
      where.add(
        'alert IN (SELECT alert_event.alert FROM alert_event WHERE event IN (SELECT value FROM json_each(?)))',
        JSON.stringify(await this.#events.numbersOfFlight(flight)),
      );
    }
    // Matches alerts that fired at some instant of that time.
    if (sinceUs !== undefined) where.add(`(state = 'firing' OR ends_us >= ?)`, sinceUs);
    if (untilUs !== undefined) where.add('starts_us < ?', untilUs);
    if (isAcknowledged !== undefined) where.add('acknowledged = ?', isAcknowledged ? 1 : 0);
    return where;
  }
}
