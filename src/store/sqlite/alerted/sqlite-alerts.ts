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
import type { SqlGroups } from '../../sql/alerted/groups.ts';
import type { BirdStanding } from '../../sql/watched/bird-standing.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, encodeText, textList } from '../connection.ts';
import type { SqliteEvents } from '../watched/sqlite-events.ts';
import { AlertEvents } from './alert-events.ts';
import { AlertPages } from './alert-pages.ts';

type FiringRow = Awaited<ReturnType<AlertStore['countFiring']>>[number];

export class SqliteAlerts implements AlertStore {
  readonly #events: SqliteEvents;
  readonly #standing: BirdStanding;
  readonly #groups: Pick<SqlGroups, 'forget'>;
  readonly #alertEvents: AlertEvents;
  readonly #pages: AlertPages;
  readonly #find: ReturnType<typeof prepareFinding>;
  readonly #list: ReturnType<typeof prepareListing>;
  readonly #write: ReturnType<typeof prepareWriting>;
  /** Numbers of deleted alerts are not reused. */
  #lastNumber: number;

  constructor(
    connection: Connection,
    events: SqliteEvents,
    standing: BirdStanding,
    groups: Pick<SqlGroups, 'forget'>,
    pause: () => Promise<void>,
  ) {
    this.#groups = groups;
    this.#events = events;
    this.#standing = standing;
    this.#alertEvents = new AlertEvents(connection, events);
    this.#pages = new AlertPages(connection, events, pause);
    this.#find = prepareFinding(connection);
    this.#list = prepareListing(connection);
    this.#write = prepareWriting(connection);
    const newest = connection.prepare<{ alert: number | null }>(
      `SELECT max(alert) AS alert FROM (
         SELECT max(alert) AS alert FROM alert UNION ALL SELECT max(alert) FROM former_alert)`,
    );
    this.#lastNumber = newest.get()?.alert ?? 0;
  }

  async find(id: string): Promise<Alert | undefined> {
    const row = this.#find.one.get(id);
    return row && alertOf(row);
  }

  async ofScopes(scopes: readonly string[]): Promise<Alert[]> {
    const places = scopes.map((scope) => [regionOfScope(scope), scope].map(encodeText));
    return this.#find.ofScopes.all(JSON.stringify(places)).map(alertOf);
  }

  async ofEvent(key: string): Promise<{ alert: Alert; seq: number }[]> {
    const event = this.#events.numberOfKey(key);
    if (event === undefined) return [];
    return this.#find.ofEvent.all(event).map((row) => ({ alert: alertOf(row), seq: row.seq }));
  }

  async regions(): Promise<string[]> {
    return this.#list.regions.all().map((row) => row.region);
  }

  async scopes(region: string): Promise<string[]> {
    return this.#list.scopes.all(region).map((row) => row.scope);
  }

  async due(nowUs: number, limit: number): Promise<Alert[]> {
    return this.#find.due.all(nowUs, limit).map(alertOf);
  }

  async put(alerts: readonly Alert[]): Promise<void> {
    this.#write.put(alerts.length, (index, values) => {
      const alert = alerts[index]!;
      const { id, scope, alertname, labels, state, startsAtUs, endsAtUs, dueAtUs } = alert;
      this.#lastNumber += 1;
      values.push(this.#lastNumber, id, regionOfScope(scope), scope, alertname);
      values.push(labels.severity ?? '', labels.nest_id ?? '', state);
      values.push(alert.flapping?.held && alert.flapping.isFlapping ? 1 : 0, startsAtUs, endsAtUs, dueAtUs);
      const { rank, birdId, cause, nest, bird, words } = foundBy(alert);
      values.push(rank, birdId, cause, nest, bird, words, JSON.stringify(alert));
    });
    for (const alert of alerts) if (alert.state === 'resolved') this.#rememberEpisode(alert);
    this.#write.change.run(textList(alerts.map(({ id }) => id)));
    this.#groups.forget();
    this.#standing.alerted(alerts.map((one) => one.scope));
  }

  #rememberEpisode(alert: Alert): void {
    const { id, startsAtUs, updatedAtUs } = alert;
    this.#write.episode.run(id, startsAtUs, updatedAtUs, JSON.stringify(episodeOf(alert)));
  }

  async linkEvents(links: readonly Link[]): Promise<void> {
    this.#alertEvents.link(links);
  }

  async oldEvents(spans: readonly AgedSpan[]): Promise<(OldEvents | undefined)[]> {
    return spans.map((span) => this.#alertEvents.old(span));
  }

  async events(
    alertId: string,
    afterSeq: number,
    limit: number,
    lastSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<Link[]> {
    return this.#alertEvents.list(alertId, afterSeq, limit, lastSeq);
  }

  async eventsOf(
    spans: readonly LinkedSpan[],
    limit: number,
  ): Promise<ReadonlyMap<string, readonly Event[]>> {
    return this.#alertEvents.ofSpans(spans, limit);
  }

  async changed(limit: number): Promise<Alert[]> {
    return this.#find.changed.all(limit).map(alertOf);
  }

  async joinAgain(alertIds: readonly string[]): Promise<void> {
    this.#write.change.run(textList(alertIds));
  }

  async markRouted(alertIds: readonly string[]): Promise<void> {
    this.#write.routed.run(textList(alertIds));
  }

  async list({ state, limit }: Parameters<AlertStore['list']>[0]): Promise<Alert[]> {
    const states = state === undefined ? ['firing', 'resolved'] : [state];
    return states
      .flatMap((one) => this.#list.inState.all(one, limit).map(alertOf))
      .sort((a, b) => b.startsAtUs - a.startsAtUs)
      .slice(0, limit);
  }

  async firing(
    { startsAtUs, id }: Parameters<AlertStore['firing']>[0] = { startsAtUs: Number.MAX_SAFE_INTEGER, id: '' },
    limit: number,
  ): Promise<Alert[]> {
    return this.#list.firing.all(startsAtUs, startsAtUs, id, limit).map(alertOf);
  }

  async page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }> {
    return this.#pages.page(query);
  }

  async causes(query: CauseQuery): Promise<CausePage> {
    return this.#pages.causes(query);
  }

  async episodes(alertId: string, limit: number): Promise<Episode[]> {
    return this.#list.episodes.all(alertId, limit).map(({ body }) => JSON.parse(body) as Episode);
  }

  async lastEpisodes(alertname: string, region: string): Promise<Episode[]> {
    // An id begins with the name and a slash; 0 is the character after that.
    const rows = this.#list.lastEpisodes.all(`${alertname}/`, `${alertname}0`, region);
    return rows.map(({ body }) => JSON.parse(body) as Episode);
  }

  async endedBefore(place: Parameters<AlertStore['endedBefore']>[0], limit: number) {
    const { resolvedAtUs = Number.MAX_SAFE_INTEGER, alertId = '' } = place ?? {};
    return this.#list.endedBefore.all(resolvedAtUs, alertId, limit).map((row) => ({
      episode: JSON.parse(row.body) as Episode,
      resolvedAtUs: row.resolved_us,
    }));
  }

  async firingLabels(alertnames: readonly string[] | null, after: number, limit: number) {
    const { labels, labelsNamed } = this.#list;
    const rows =
      alertnames === null ? labels.all(after, limit) : labelsNamed.all(textList(alertnames), after, limit);
    return labelsPage(rows, limit);
  }

  async count() {
    return this.#list.count.all().map((row) => ({ ...row }));
  }

  async countFiring() {
    return this.#list.countFiring.all().map((row) => ({ ...row }));
  }

  async delete(alertIds: readonly string[]): Promise<void> {
    if (alertIds.length === 0) return;
    const list = textList(alertIds);
    const scopes = this.#find.scopesOf.all(list).map((row) => row.scope);
    this.#alertEvents.unlink(list);
    this.#write.leaveGroups.run(list);
    this.#write.routed.run(list);
    this.#write.remember.run(list);
    this.#write.remove.run(list);
    this.#groups.forget();
    this.#standing.alerted(scopes);
  }
}

function prepareFinding(connection: Connection) {
  return {
    one: connection.prepare<AlertRow>('SELECT body FROM alert WHERE id = ?'),
    ofScopes: connection.prepare<AlertRow>(
      `SELECT body FROM alert
       WHERE (region, scope) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?)) ORDER BY id`,
    ),
    ofEvent: connection.prepare<AlertRow & { seq: number }>(
      'SELECT body, seq FROM alert_event JOIN alert USING (alert) WHERE event = ? ORDER BY id',
    ),
    scopesOf: connection.prepare<{ scope: string }>(
      'SELECT DISTINCT scope FROM alert WHERE id IN (SELECT value FROM json_each(?))',
    ),
    due: connection.prepare<AlertRow>('SELECT body FROM alert WHERE due_us <= ? ORDER BY due_us, id LIMIT ?'),
    changed: connection.prepare<AlertRow>(
      'SELECT body FROM changed_alert JOIN alert USING (alert) ORDER BY position LIMIT ?',
    ),
  };
}

function prepareListing(connection: Connection) {
  return {
    regions: connection.prepare<{ region: string }>('SELECT DISTINCT region FROM alert ORDER BY region'),
    scopes: connection.prepare<{ scope: string }>(
      'SELECT DISTINCT scope FROM alert WHERE region = ? ORDER BY scope',
    ),
    inState: connection.prepare<AlertRow>(
      'SELECT body FROM alert WHERE state = ? ORDER BY starts_us DESC, id LIMIT ?',
    ),
    episodes: connection.prepare<AlertRow>(
      'SELECT body FROM episode WHERE alert_id = ? ORDER BY starts_us DESC LIMIT ?',
    ),
    // Of each alert, SQLite takes the body from the row with the maximum.
    lastEpisodes: connection.prepare<AlertRow>(
      `SELECT body, MAX(starts_us) FROM episode
       WHERE alert_id > ? AND alert_id < ? AND body ->> '$.labels.region' = ? GROUP BY alert_id`,
    ),
    endedBefore: connection.prepare<AlertRow & { readonly resolved_us: number }>(
      `SELECT body, resolved_us FROM episode INDEXED BY episode_by_age
       WHERE (resolved_us, alert_id) < (?, ?) ORDER BY resolved_us DESC, alert_id DESC LIMIT ?`,
    ),
    // Many alerts may have started at the same instant; the bodies of those beyond the page are not read.
    firing: connection.prepare<AlertRow>(
      `SELECT body FROM alert JOIN (
         SELECT alert FROM alert INDEXED BY alert_state
         WHERE state = 'firing' AND starts_us <= ? AND (starts_us < ? OR id > ?)
         ORDER BY starts_us DESC, id LIMIT ?) USING (alert)
       ORDER BY starts_us DESC, id`,
    ),
    labels: connection.prepare<LabelsRow>(
      `SELECT alert, flaps_on, body ->> '$.labels' AS labels FROM alert JOIN (
         SELECT alert FROM alert INDEXED BY alert_firing
         WHERE state = 'firing' AND alert > ? ORDER BY alert LIMIT ?) USING (alert)
       ORDER BY alert`,
    ),
    labelsNamed: connection.prepare<LabelsRow>(
      `SELECT alert, flaps_on, body ->> '$.labels' AS labels FROM alert JOIN (
         SELECT alert FROM alert INDEXED BY alert_firing
         WHERE state = 'firing' AND alertname IN (SELECT value FROM json_each(?)) AND alert > ?
         ORDER BY alert LIMIT ?) USING (alert)
       ORDER BY alert`,
    ),
    count: connection.prepare<{ alertname: string; severity: string; state: string; count: number }>(
      `SELECT alertname, severity, state, count(*) AS count FROM alert
       GROUP BY alertname, severity, state ORDER BY alertname, severity, state`,
    ),
    countFiring: connection.prepare<FiringRow>(
      `SELECT alertname, severity, region, nest_id AS nestId, count(*) AS count FROM alert INDEXED BY alert_firing
       WHERE state = 'firing'
       GROUP BY alertname, severity, region, nest_id ORDER BY alertname, severity, region, nest_id`,
    ),
  };
}

const COLUMNS = `alert, id, region, scope, alertname, severity, nest_id, state, flaps_on, starts_us, ends_us, due_us,
  rank, bird_id, cause, nest, bird, words, body`;

function prepareWriting(connection: Connection) {
  const named = '(SELECT alert FROM alert WHERE id IN (SELECT value FROM json_each(?)))';
  return {
    put: prepareChunks(
      connection,
      19,
      (rows) =>
        `WITH given (${COLUMNS}) AS (VALUES ${rows})
       INSERT INTO alert (${COLUMNS})
       SELECT coalesce((SELECT former_alert.alert FROM former_alert WHERE former_alert.id = given.id), given.alert),
         ${COLUMNS.slice('alert, '.length)}
       FROM given WHERE true ON CONFLICT (id) DO UPDATE SET region = excluded.region, scope = excluded.scope, alertname = excluded.alertname,
         severity = excluded.severity, nest_id = excluded.nest_id, state = excluded.state,
         flaps_on = excluded.flaps_on, starts_us = excluded.starts_us, ends_us = excluded.ends_us, due_us = excluded.due_us,
         rank = excluded.rank,
         bird_id = excluded.bird_id, cause = excluded.cause, nest = excluded.nest, bird = excluded.bird,
         words = excluded.words, body = excluded.body`,
    ),
    episode: connection.prepare(
      `INSERT INTO episode (alert_id, starts_us, resolved_us, body) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET body = excluded.body`,
    ),
    // An alert that already waits keeps its position.
    change: connection.prepare(
      `INSERT OR IGNORE INTO changed_alert (alert)
       SELECT alert.alert FROM json_each(?) AS given CROSS JOIN alert ON alert.id = given.value ORDER BY given.key`,
    ),
    routed: connection.prepare(`DELETE FROM changed_alert WHERE alert IN ${named}`),
    leaveGroups: connection.prepare(`DELETE FROM group_member WHERE alert IN ${named}`),
    remember: connection.prepare(
      `INSERT OR IGNORE INTO former_alert (alert, id) SELECT alert, id FROM alert
       WHERE id IN (SELECT value FROM json_each(?))
         AND EXISTS (SELECT 1 FROM notified_alert WHERE notified_alert.alert = alert.alert)`,
    ),
    remove: connection.prepare('DELETE FROM alert WHERE id IN (SELECT value FROM json_each(?))'),
  };
}
