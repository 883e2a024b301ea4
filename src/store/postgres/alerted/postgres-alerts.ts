import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { regionOfScope } from '../../../domain/alert/fact.ts';
import type { Episode } from '../../../domain/digest/digest.ts';
import type { Link } from '../../../domain/evaluate/alert-book.ts';
import type { OldEvents } from '../../../domain/grouping/sorts/catch-up-sort.ts';
import type { AgedSpan, AlertQuery, AlertStore, CausePage, CauseQuery } from '../../alert-store.ts';
import type { LinkedSpan } from '../../outbox-store.ts';
import {
  type AlertRow,
  alertOf,
  episodeOf,
  foundBy,
  type LabelsRow,
  labelsPage,
} from '../../rows/alert-row.ts';
import type { EventRow } from '../../rows/event-row.ts';
import type { SqlGroups } from '../../sql/alerted/groups.ts';
import { lastOfEach, type Parameter } from '../../sql/sql.ts';
import type { BirdStanding } from '../../sql/watched/bird-standing.ts';
import { columnsOf, given, type Statements } from '../statements.ts';
import type { PostgresEvents } from '../watched/postgres-events.ts';
import { PostgresAlertPages } from './postgres-alert-pages.ts';

type FiringRow = Awaited<ReturnType<AlertStore['countFiring']>>[number];

/** The written columns of an alert. Its number stays its own as long as a notification that lists it is kept. */
const COLUMNS = `id text, region text, scope text, alertname text, severity text, nest_id text, state text,
  flaps_on integer, starts_us bigint, ends_us bigint, due_us bigint, rank integer, bird_id text, cause text, nest text,
  bird text, words text, labels text, flight_id text, flight_started_us bigint, body text`;
const NAMES = COLUMNS.split(',').map((column) => column.trim().split(' ')[0]!);
const PUT = `INSERT INTO alert (alert, ${NAMES.join(', ')})
  SELECT coalesce(former_alert.alert, nextval(pg_get_serial_sequence('alert', 'alert'))),
    ${NAMES.map((name) => `given.${name}`).join(', ')}
  FROM ${given(COLUMNS, { at: true })} LEFT JOIN former_alert ON former_alert.id = given.id ORDER BY at
  ON CONFLICT (id) DO UPDATE SET ${NAMES.slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

const PUT_EPISODES = `INSERT INTO episode (alert_id, starts_us, resolved_us, body)
  SELECT * FROM ${given('alert_id text, starts_us bigint, resolved_us bigint, body text')}
  ON CONFLICT (alert_id, starts_us) DO UPDATE SET body = excluded.body`;

const LINK = `INSERT INTO alert_event (alert, seq, event)
  SELECT alert.alert, given.seq, given.event FROM ${given('id text, seq bigint, event bigint')} JOIN alert USING (id)
  ON CONFLICT (alert, seq) DO UPDATE SET event = excluded.event`;

/**
 * An alert that already waits keeps its position. Its row is written anyway: another replica that is just routing the
 * alert has read its earlier state, and must not remove the row.
 */
const CHANGE = `INSERT INTO changed_alert (alert)
  SELECT alert.alert FROM ${given('id text', { at: true })} JOIN alert USING (id) ORDER BY at
  ON CONFLICT (alert) DO UPDATE SET alert = excluded.alert`;

const OF_ALERT = 'alert_event.alert = (SELECT alert FROM alert WHERE id = $1) AND alert_event.seq > $2';
const NAMED = '(SELECT alert FROM alert WHERE id = ANY($1::text[]))';

const OLD_EVENTS = `SELECT at, old.last_seq, old.from_us, old.to_us
  FROM ${given('id text, after_seq bigint, last_seq bigint, max_age_us bigint', { at: true })} JOIN alert USING (id)
    CROSS JOIN LATERAL (
      SELECT least(given.last_seq + 1, (SELECT seq FROM alert_event JOIN event USING (event)
        WHERE alert_event.alert = alert.alert AND seq > after_seq AND observed_us - occurred_us <= max_age_us
        ORDER BY seq LIMIT 1)) AS end_seq OFFSET 0) AS fresh
    CROSS JOIN LATERAL (
      SELECT max(seq) AS last_seq, min(occurred_us) AS from_us, max(occurred_us) AS to_us
      FROM alert_event JOIN event USING (event)
      WHERE alert_event.alert = alert.alert AND seq > after_seq AND seq < end_seq) AS old
  WHERE old.last_seq IS NOT NULL`;

export class PostgresAlerts implements AlertStore {
  readonly #statements: Statements;
  readonly #events: PostgresEvents;
  readonly #standing: BirdStanding;
  readonly #groups: Pick<SqlGroups, 'forget'>;
  readonly #pages: PostgresAlertPages;

  constructor(
    statements: Statements,
    events: PostgresEvents,
    standing: BirdStanding,
    groups: Pick<SqlGroups, 'forget'>,
  ) {
    this.#statements = statements;
    this.#events = events;
    this.#standing = standing;
    this.#groups = groups;
    this.#pages = new PostgresAlertPages(statements, events);
  }

  async find(id: string): Promise<Alert | undefined> {
    return (await this.#alerts('SELECT body FROM alert WHERE id = $1', id))[0];
  }

  async ofScopes(scopes: readonly string[]): Promise<Alert[]> {
    return this.#alerts(
      `SELECT body FROM alert WHERE (region, scope) IN (SELECT * FROM ${given('region text, scope text')}) ORDER BY id`,
      scopes.map(regionOfScope),
      scopes,
    );
  }

  async ofEvent(key: string): Promise<{ alert: Alert; seq: number }[]> {
    const event = await this.#events.numberOfKey(key);
    if (event === undefined) return [];
    const rows = await this.#statements.rows<AlertRow & { seq: number }>(
      'SELECT body, seq FROM alert_event JOIN alert USING (alert) WHERE event = $1 ORDER BY id',
      event,
    );
    return rows.map((row) => ({ alert: alertOf(row), seq: row.seq }));
  }

  async regions(): Promise<string[]> {
    const rows = await this.#statements.rows<{ region: string }>(
      'SELECT DISTINCT region FROM alert ORDER BY region',
    );
    return rows.map(({ region }) => region);
  }

  async scopes(region: string): Promise<string[]> {
    const rows = await this.#statements.rows<{ scope: string }>(
      'SELECT DISTINCT scope FROM alert WHERE region = $1 ORDER BY scope',
      region,
    );
    return rows.map(({ scope }) => scope);
  }

  async due(nowUs: number, limit: number): Promise<Alert[]> {
    return this.#alerts(
      'SELECT body FROM alert WHERE due_us <= $1 ORDER BY due_us, id LIMIT $2',
      nowUs,
      limit,
    );
  }

  async put(alerts: readonly Alert[]): Promise<void> {
    if (alerts.length === 0) return;
    this.#groups.forget();
    const last = lastOfEach(alerts, ({ id }) => id);
    await this.#statements.run(PUT, ...columnsOf(NAMES.length, last.map(columnValues)));
    const over = lastOfEach(
      alerts.filter(({ state }) => state === 'resolved'),
      ({ id, startsAtUs }) => `${startsAtUs} ${id}`,
    );
    if (over.length > 0) {
      const rows = over.map((one) => [
        one.id,
        one.startsAtUs,
        one.updatedAtUs,
        JSON.stringify(episodeOf(one)),
      ]);
      await this.#statements.run(PUT_EPISODES, ...columnsOf(4, rows));
    }
    await this.joinAgain(last.map(({ id }) => id));
    this.#standing.alerted(alerts.map(({ scope }) => scope));
  }

  async linkEvents(links: readonly Link[]): Promise<void> {
    if (links.length === 0) return;
    const last = lastOfEach(links, ({ alertId, seq }) => `${seq} ${alertId}`);
    const numbers = await this.#events.numbersOf(last.map(({ event }) => event));
    const rows = last.map(({ alertId, seq, event }, index) => {
      const number = numbers[index];
      if (number === undefined) throw new Error(`The event ${event.key} is not in the store.`);
      return [alertId, seq, number];
    });
    const linked = await this.#statements.run(LINK, ...columnsOf(3, rows));
    if (linked !== rows.length) throw new Error('An alert of an event is not in the store.');
  }

  async oldEvents(spans: readonly AgedSpan[]): Promise<(OldEvents | undefined)[]> {
    const found: (OldEvents | undefined)[] = spans.map(() => undefined);
    if (spans.length === 0) return found;
    const rows = await this.#statements.rows<{
      at: number;
      last_seq: number;
      from_us: number;
      to_us: number;
    }>(
      OLD_EVENTS,
      ...columnsOf(
        4,
        spans.map(({ alertId, afterSeq, lastSeq, maxAgeUs }) => [alertId, afterSeq, lastSeq, maxAgeUs]),
      ),
    );
    for (const { at, last_seq: lastSeq, from_us: fromUs, to_us: toUs } of rows) {
      found[at - 1] = { lastSeq, fromUs, toUs };
    }
    return found;
  }

  async events(
    alertId: string,
    afterSeq: number,
    limit: number,
    lastSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<Link[]> {
    const rows = await this.#statements.rows<EventRow & { readonly seq: number }>(
      `SELECT alert_event.seq, event.* FROM alert_event JOIN event USING (event)
       WHERE ${OF_ALERT} AND alert_event.seq <= $3 ORDER BY alert_event.seq DESC LIMIT $4`,
      alertId,
      afterSeq,
      lastSeq,
      limit,
    );
    const events = await this.#events.fromRows(rows);
    return rows.map(({ seq }, index) => ({ alertId, seq, event: events[index]! }));
  }

  async eventsOf(
    spans: readonly LinkedSpan[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly Event[]>> {
    if (spans.length === 0) return new Map();
    const rows = await this.#statements.rows<EventRow & { readonly at: number }>(
      `SELECT at, event.* FROM ${given('id text, after_seq bigint, last_seq bigint', { from: 2, at: true })}
         JOIN alert USING (id)
         CROSS JOIN LATERAL (SELECT seq, event FROM alert_event
           WHERE alert_event.alert = alert.alert AND seq > after_seq AND seq <= last_seq
           ORDER BY seq DESC LIMIT $1) AS newest
         JOIN event USING (event)
       ORDER BY at, newest.seq DESC`,
      limit,
      ...columnsOf(
        3,
        spans.map(({ alertId, afterSeq, lastSeq }) => [alertId, afterSeq, lastSeq]),
      ),
    );
    const events = await this.#events.fromRows(rows);
    const found = new Map<string, Event[]>();
    rows.forEach(({ at }, index) => {
      const { alertId } = spans[at - 1]!;
      const list = found.get(alertId) ?? [];
      found.set(alertId, list);
      list.push(events[index]!);
    });
    return found;
  }

  async changed(limit: number): Promise<Alert[]> {
    return this.#alerts(
      'SELECT body FROM changed_alert JOIN alert USING (alert) ORDER BY position LIMIT $1',
      limit,
    );
  }

  async joinAgain(alertIds: readonly string[]): Promise<void> {
    await this.#statements.run(CHANGE, [...new Set(alertIds)]);
  }

  async markRouted(alertIds: readonly string[]): Promise<void> {
    await this.#statements.run(`DELETE FROM changed_alert WHERE alert IN ${NAMED}`, alertIds);
  }

  async list({ state, limit }: Parameters<AlertStore['list']>[0]): Promise<Alert[]> {
    return this.#alerts(
      `SELECT body FROM alert WHERE state = ANY($1::text[]) ORDER BY starts_us DESC, id LIMIT $2`,
      state === undefined ? ['firing', 'resolved'] : [state],
      limit,
    );
  }

  firing(
    { startsAtUs, id }: Parameters<AlertStore['firing']>[0] = { startsAtUs: Number.MAX_SAFE_INTEGER, id: '' },
    limit: number,
  ): Promise<Alert[]> {
    return this.#alerts(
      `SELECT body FROM alert
       WHERE state = 'firing' AND starts_us <= $1 AND (starts_us < $1 OR id > $2)
       ORDER BY starts_us DESC, id LIMIT $3`,
      startsAtUs,
      id,
      limit,
    );
  }

  page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }> {
    return this.#pages.page(query);
  }

  causes(query: CauseQuery): Promise<CausePage> {
    return this.#pages.causes(query);
  }

  async episodes(alertId: string, limit: number): Promise<Episode[]> {
    const rows = await this.#statements.rows<AlertRow>(
      'SELECT body FROM episode WHERE alert_id = $1 ORDER BY starts_us DESC LIMIT $2',
      alertId,
      limit,
    );
    return rows.map(({ body }) => JSON.parse(body) as Episode);
  }

  async lastEpisodes(alertname: string, region: string): Promise<Episode[]> {
    const rows = await this.#statements.rows<AlertRow>(
      `SELECT DISTINCT ON (alert_id) body FROM episode
       WHERE starts_with(alert_id, $1) AND body::jsonb -> 'labels' ->> 'region' = $2
       ORDER BY alert_id, starts_us DESC`,
      `${alertname}/`,
      region,
    );
    return rows.map(({ body }) => JSON.parse(body) as Episode);
  }

  async endedBefore(place: Parameters<AlertStore['endedBefore']>[0], limit: number) {
    const { resolvedAtUs = Number.MAX_SAFE_INTEGER, alertId = '' } = place ?? {};
    const rows = await this.#statements.rows<AlertRow & { readonly resolved_us: number }>(
      `SELECT body, resolved_us FROM episode WHERE (resolved_us, alert_id) < ($1::bigint, $2::text)
       ORDER BY resolved_us DESC, alert_id DESC LIMIT $3`,
      resolvedAtUs,
      alertId,
      limit,
    );
    return rows.map((row) => ({
      episode: JSON.parse(row.body) as Episode,
      resolvedAtUs: row.resolved_us,
    }));
  }

  async firingLabels(alertnames: readonly string[] | null, after: number, limit: number) {
    const rows = await this.#statements.rows<LabelsRow>(
      `SELECT alert, flaps_on, labels FROM alert
       WHERE state = 'firing' AND ($1::text[] IS NULL OR alertname = ANY($1::text[])) AND alert > $2
       ORDER BY alert LIMIT $3`,
      alertnames,
      after,
      limit,
    );
    return labelsPage(rows, limit);
  }

  async count() {
    return this.#statements.rows<{ alertname: string; severity: string; state: string; count: number }>(
      `SELECT alertname, severity, state, count(*) AS count FROM alert
       GROUP BY alertname, severity, state ORDER BY alertname, severity, state`,
    );
  }

  async countFiring() {
    return this.#statements.rows<FiringRow>(
      `SELECT alertname, severity, region, nest_id AS "nestId", count(*) AS count FROM alert
       WHERE state = 'firing'
       GROUP BY alertname, severity, region, nest_id ORDER BY alertname, severity, region, nest_id`,
    );
  }

  async delete(alertIds: readonly string[]): Promise<void> {
    if (alertIds.length === 0) return;
    this.#groups.forget();
    const scopes = await this.#statements.rows<{ scope: string }>(
      'SELECT DISTINCT scope FROM alert WHERE id = ANY($1::text[])',
      alertIds,
    );
    for (const sql of DELETE) await this.#statements.run(sql, alertIds);
    this.#standing.alerted(scopes.map(({ scope }) => scope));
  }

  async #alerts(sql: string, ...parameters: readonly Parameter[]) {
    return (await this.#statements.rows<AlertRow>(sql, ...parameters)).map(alertOf);
  }
}

/** What refers to alerts, then the alerts themselves. */
const DELETE = [
  `DELETE FROM alert_event WHERE alert IN ${NAMED}`,
  `DELETE FROM group_member WHERE alert IN ${NAMED}`,
  `DELETE FROM changed_alert WHERE alert IN ${NAMED}`,
  `INSERT INTO former_alert (alert, id) SELECT alert, id FROM alert
   WHERE id = ANY($1::text[]) AND EXISTS (SELECT 1 FROM notified_alert WHERE notified_alert.alert = alert.alert)
   ON CONFLICT DO NOTHING`,
  'DELETE FROM alert WHERE id = ANY($1::text[])',
];

function columnValues(alert: Alert) {
  const { id, scope, alertname, labels, state, startsAtUs, endsAtUs, dueAtUs } = alert;
  const { rank, birdId, cause, nest, bird, words } = foundBy(alert);
  return [
    id,
    regionOfScope(scope),
    scope,
    alertname,
    labels.severity ?? '',
    labels.nest_id ?? '',
    state,
    alert.flapping?.held && alert.flapping.isFlapping ? 1 : 0,
    startsAtUs,
    endsAtUs,
    dueAtUs,
    rank,
    birdId,
    cause,
    nest,
    bird,
    words,
    ...fromAlertBody(alert),
    JSON.stringify(alert),
  ];
}

/** What the server cannot find in the body: `labels`, `flight_id` and `flight_started_us`. */
export function fromAlertBody(alert: Alert): [string, string, number] {
  const { labels } = alert;
  return [JSON.stringify(labels), labels.flight_id ?? '', flightStartOf(alert)];
}

/** When the Flight of an alert about one started, as its kind remembers it. */
function flightStartOf({ memory }: Alert): number {
  if (typeof memory !== 'object' || memory === null || !('startedAtUs' in memory)) return 0;
  return typeof memory.startedAtUs === 'number' ? memory.startedAtUs : 0;
}
