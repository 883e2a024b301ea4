/**
 * Reads alerts in pages: most severe unacknowledged first, or newest first. A page begins where the previous one
 * ended, so alerts that come and go in between hide none of the others.
 */
import type { Alert } from '../../../domain/alert/alert.ts';
import {
  type AlertQuery,
  type AlertRow,
  alertOf,
  type CausePage,
  type CauseQuery,
} from '../../alert-store.ts';
import { readable } from '../readable.ts';
import type { Sql } from '../sql.ts';
import { Conditions, formatCursor, parseCursor } from '../watched/conditions.ts';
import type { SqlEvents } from '../watched/events.ts';

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
 * Alerts, and whether somebody has acknowledged the current episode at the instant `$1`. The `CASE` makes NULL false.
 * Without it, SQLite would scan all acknowledgements for each alert without one, to tell false from NULL.
 */
const KNOWN = `SELECT *, CASE WHEN state = 'firing' AND (id, starts_us) IN (
    SELECT alert_id, alert_starts_us FROM silence WHERE ends_us > $1 AND alert_id IS NOT NULL)
    THEN 1 ELSE 0 END AS acknowledged
  FROM alert`;

/** For resolved alerts only the time counts. */
const ORDERS = {
  severest: [
    `(state <> 'firing')::integer`,
    'acknowledged',
    `CASE WHEN state = 'firing' THEN rank ELSE 0 END`,
    `CASE WHEN state = 'firing' THEN -starts_us ELSE -ends_us END`,
  ],
  newest: ['0', '0', '0', '-starts_us'],
} as const;

export class AlertPages {
  readonly #sql: Sql;
  readonly #events: SqlEvents;

  constructor(sql: Sql, events: SqlEvents) {
    this.#sql = sql;
    this.#events = events;
  }

  async page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = await this.#conditions(query);
    const after = where.others();
    if (query.cursor !== undefined) {
      after.add(
        '(place0, place1, place2, place3, alert) > (?::bigint, ?::bigint, ?::bigint, ?::bigint, ?::bigint)',
        ...parseCursor(query.cursor, PLACE),
      );
    }
    const places = ORDERS[query.order].map((sql, index) => `${sql} AS place${index}`).join(', ');
    const rows = await this.#sql.composed<PageRow>(
      // Sorted by the keys alone; the texts of a page are read afterwards.
      `WITH known AS (${KNOWN}),
       placed AS (SELECT alert, ${places} FROM known ${where.where}),
       page AS MATERIALIZED (SELECT * FROM placed ${after.where}
         ORDER BY place0, place1, place2, place3, alert LIMIT ${limit + 1})
       SELECT page.*, body FROM page JOIN alert USING (alert) ORDER BY place0, place1, place2, place3, alert`,
      ...where.parameters,
    );
    const alerts = await readable(this.#sql, 'alert', rows.slice(0, limit), alertOf);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    if (!last) return { alerts };
    return { alerts, next: formatCursor([last.place0, last.place1, last.place2, last.place3, last.alert]) };
  }

  /** Firing alerts grouped by cause. The order changes with each alert, so pages are found by offset. */
  async causes(query: CauseQuery): Promise<CausePage> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = await this.#conditions({ ...query, state: 'firing' });
    const [skipped] = query.cursor === undefined ? [0] : parseCursor(query.cursor, ['number']);
    const rows = await this.#sql.composed<CauseRow>(
      `WITH known AS (${KNOWN})
       SELECT alertname, severity, cause, acknowledged, count(*) AS alerts,
         CASE WHEN min(region) = max(region) THEN min(region) END AS region,
         CASE WHEN min(nest_id) = max(nest_id) THEN min(nest_id) END AS nest_id,
         min(starts_us) AS first_us, max(starts_us) AS last_us
       FROM known ${where.where} GROUP BY acknowledged, alertname, severity, cause
       ORDER BY acknowledged, min(rank), alerts DESC, last_us DESC, alertname, cause
       LIMIT ${limit + 1} OFFSET ${Math.max(0, Math.trunc(Number(skipped)))}`,
      ...where.parameters,
    );
    // Each of the two queries scans all firing alerts and all silences.
    await this.#sql.pause();
    const shown = rows.slice(0, limit);
    const latest = await this.#latestOf(shown, where);
    const read = await readable(this.#sql, 'alert', latest, (row) => ({
      key: keyOf(row),
      alert: alertOf(row),
    }));
    const causes = causesOf(shown, read);
    const isMore = rows.length > limit;
    return isMore ? { causes, next: formatCursor([Number(skipped) + limit]) } : { causes };
  }

  /** The latest alerts of each of these causes. */
  #latestOf(causes: readonly CauseRow[], where: Conditions): Promise<CauseAlertRow[]> {
    const among = where.copy().addOneOf(
      'cause',
      causes.map(({ cause }) => cause),
    );
    return this.#sql.composed<CauseAlertRow>(
      `WITH known AS (${KNOWN}),
       numbered AS (
         SELECT alert, alertname, severity, cause, acknowledged, row_number() OVER (
           PARTITION BY acknowledged, alertname, severity, cause ORDER BY starts_us DESC, alert) AS number
         FROM known ${among.where})
       SELECT numbered.alertname, numbered.severity, numbered.cause, numbered.acknowledged, body
       FROM numbered JOIN alert USING (alert) WHERE number <= ${LATEST} ORDER BY number`,
      ...among.parameters,
    );
  }

  async #conditions(query: Omit<AlertQuery, 'order' | 'limit'>): Promise<Conditions> {
    const { region, nest, bird, flight, name, severity, cause, text, sinceUs, untilUs } = query;
    const { state, isAcknowledged } = query;
    const where = new Conditions(this.#sql, [query.nowUs]);
    if (state === undefined) where.add(`state IN ('firing', 'resolved')`);
    else where.add('state = ?', state);
    if (region !== undefined) where.add('region = ?', region);
    where.addNest('nest_id', 'nest', nest).addBird('bird_id', 'bird', bird);
    if (name !== undefined) where.add('lower(alertname) = lower(?::text COLLATE "C")', name);
    if (severity !== undefined) where.add('severity = ?', severity);
    if (cause !== undefined) where.add('cause = ?', cause);
    where.addNamed('id', 'words', text);
    if (flight !== undefined) {
      where.add(
        'alert IN (SELECT alert_event.alert FROM alert_event WHERE event = ANY(?::bigint[]))',
        await this.#events.numbersOfFlight(flight),
      );
    }
    // Matches alerts that fired at some instant of that time.
    if (sinceUs !== undefined) where.add(`(state = 'firing' OR ends_us >= ?)`, sinceUs);
    if (untilUs !== undefined) where.add('starts_us < ?', untilUs);
    if (isAcknowledged !== undefined) where.add('acknowledged = ?', Number(isAcknowledged));
    return where;
  }
}

interface CauseKey {
  readonly alertname: string;
  readonly severity: string;
  readonly cause: string;
  readonly acknowledged: boolean | number;
}

interface CauseRow extends CauseKey {
  readonly region: string | null;
  readonly nest_id: string | null;
  readonly alerts: number;
  readonly first_us: number;
  readonly last_us: number;
}

/** One of a cause's latest alerts. */
type CauseAlertRow = CauseKey & AlertRow;

/** The causes, each with those of `latest` that have it. */
function causesOf(
  rows: readonly CauseRow[],
  latest: readonly { readonly key: string; readonly alert: Alert }[],
): CausePage['causes'] {
  const alerts = Map.groupBy(latest, ({ key }) => key);
  return rows.map((row) => ({
    alertname: row.alertname,
    severity: row.severity,
    cause: row.cause,
    isAcknowledged: Boolean(row.acknowledged),
    region: row.region ?? undefined,
    nestId: row.nest_id ?? undefined,
    alerts: row.alerts,
    firstStartsAtUs: row.first_us,
    lastStartsAtUs: row.last_us,
    latest: (alerts.get(keyOf(row)) ?? []).map(({ alert }) => alert),
  }));
}

function keyOf({ alertname, severity, cause, acknowledged }: CauseKey): string {
  return JSON.stringify([alertname, severity, cause, acknowledged]);
}
