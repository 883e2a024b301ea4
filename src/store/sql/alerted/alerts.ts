import type { Alert, Labels } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { regionOfScope } from '../../../domain/alert/fact.ts';
import { type Failing, MOST_FAILING } from '../../../domain/context/findings.ts';
import type { Episode } from '../../../domain/digest/digest.ts';
import type { Link } from '../../../domain/evaluate/decide.ts';
import type { OldEvents } from '../../../domain/grouping/sorts.ts';
import {
  type AgedSpan,
  type AlertQuery,
  type AlertRow,
  alertOf,
  type CausePage,
  type CauseQuery,
  episodeOf,
  foundBy,
  type LabelsRow,
  labelsPage,
} from '../../alert-store.ts';
import type { LinkedSpan } from '../../outbox-store.ts';
import { readable } from '../readable.ts';
import { createNumbering, lastOfEach, namesOf, type Parameter, type RowStatement, type Sql } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';
import type { BirdStanding } from '../watched/nests-and-birds.ts';
import { AlertEvents } from './alert-events.ts';
import { AlertPages } from './alert-pages.ts';
import type { SqlGroups } from './groups.ts';

interface FailingRow {
  readonly region: string;
  readonly alert: number;
  readonly alerts: number;
  readonly nest: string;
  readonly starts_us: number;
}

interface FiringRow {
  readonly alertname: string;
  readonly severity: string;
  readonly region: string;
  readonly nestId: string;
  readonly count: number;
}

const ON_BOTH = `id text, region text, scope text, alertname text, severity text, nest_id text, state text,
  flaps_on integer, starts_us bigint, ends_us bigint, due_us bigint, rank integer, bird_id text, cause text, nest text,
  bird text, words text, body text`;
/** A server cannot read all JSON that a body may hold, so it has columns that repeat parts of it. */
const COLUMNS = {
  sqlite: ON_BOTH,
  postgres: `${ON_BOTH}, labels text, flight_id text, flight_started_us bigint`,
};

/** The number of a new alert: that of the process, as no other writes to the file, or the server's. */
const NUMBER = { sqlite: 'given.alert', postgres: `nextval(pg_get_serial_sequence('alert', 'alert'))` };

/** An alert's number stays its own as long as a notification that lists it is kept. */
const put = (engine: Sql['engine']): RowStatement => {
  const names = namesOf(COLUMNS[engine]);
  return {
    columns: `alert bigint, ${COLUMNS[engine]}`,
    text: (given) => `INSERT INTO alert (alert, ${names.join(', ')})
      SELECT coalesce((SELECT former_alert.alert FROM former_alert WHERE former_alert.id = given.id), ${NUMBER[engine]}),
        ${names.map((name) => `given.${name}`).join(', ')}
      FROM ${given} WHERE true
      ON CONFLICT (id) DO UPDATE SET ${names
        .slice(1)
        .map((name) => `${name} = excluded.${name}`)
        .join(', ')}`,
  };
};

/** Numbers of deleted alerts are not reused. */
const LAST_NUMBER = `SELECT max(alert) AS last FROM (
  SELECT max(alert) AS alert FROM alert UNION ALL SELECT max(alert) FROM former_alert)`;

const PUT_EPISODES: RowStatement = {
  columns: 'alert_id text, starts_us bigint, resolved_us bigint, body text',
  text: (
    given,
  ) => `INSERT INTO episode (alert_id, starts_us, resolved_us, body) SELECT * FROM ${given} WHERE true
    ON CONFLICT (alert_id, starts_us) DO UPDATE SET body = excluded.body`,
};

/**
 * An alert that already waits keeps its position. Its row is written anyway: another replica that is just routing the
 * alert has read its earlier state, and must not remove the row.
 */
const CHANGE: RowStatement = {
  columns: 'at bigint, id text',
  text: (given) => `INSERT INTO changed_alert (alert)
    SELECT alert.alert FROM ${given} INNER JOIN alert USING (id) WHERE true ORDER BY at
    ON CONFLICT (alert) DO UPDATE SET alert = excluded.alert`,
};

const NAMED = '(SELECT alert FROM alert WHERE id = ANY($1::text[]))';

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

/** Many alerts may have started at the same instant; the bodies of those beyond the page are not read. */
const FIRING = `SELECT body FROM alert JOIN (
    SELECT alert FROM alert /* INDEXED BY alert_state */
    WHERE state = 'firing' AND starts_us <= $1 AND (starts_us < $1 OR id > $2)
    ORDER BY starts_us DESC, id LIMIT $3) AS page USING (alert)
  ORDER BY starts_us DESC, id`;

/** Of an alert that cannot be read, there are none. */
const LABELS = {
  sqlite: `CASE WHEN json_valid(body) THEN body ->> '$.labels' ELSE '{}' END`,
  postgres: 'labels',
};
const labelsOf = (engine: Sql['engine'], condition: string) =>
  `SELECT alert, flaps_on, ${LABELS[engine]} AS labels FROM alert JOIN (
     SELECT alert FROM alert /* INDEXED BY alert_firing */
     WHERE state = 'firing' AND ${condition} AND alert > $1 ORDER BY alert LIMIT $2) AS page USING (alert)
   ORDER BY alert`;

const isWith = (region: string, error: string) => `state = 'firing' AND alertname = 'FlightFailed'
  AND alert.region = ${region} AND substr(cause, 1, 200) = substr(${error}, 1, 200) AND cause = ${error}`;
/** One alert of each Bird: with `for_each: flight`, a Bird may have many. */
const WITH_ERROR = `SELECT min(alert) AS alert, count(*) AS alerts, min(nest_id) AS nest, max(starts_us) AS starts_us FROM (
    SELECT alert, bird_id, nest_id, starts_us FROM alert /* INDEXED BY alert_of_error */
    WHERE ${isWith('$1', '$2::text')} LIMIT $3) AS looked_at
  GROUP BY bird_id ORDER BY starts_us DESC, bird_id`;

const SHARING = `SELECT id, max(other.seq) AS seq
  FROM alert_event AS own JOIN alert_event AS other USING (event) JOIN alert ON alert.alert = other.alert
  WHERE own.alert = (SELECT alert FROM alert WHERE id = $1) AND own.seq > $2 AND own.seq <= $3
    AND other.alert <> own.alert
  GROUP BY id ORDER BY id`;
const OF_MANY = {
  sqlite: `SELECT given.key + 1 AS at FROM json_each($2) AS given
    WHERE (SELECT count(*) FROM (SELECT 1 FROM alert /* INDEXED BY alert_of_error */
      WHERE ${isWith('given.value ->> 0', 'given.value ->> 1')} LIMIT $1)) >= $1`,
  postgres: `SELECT at FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS given (region, error, at)
    WHERE (SELECT count(*) FROM (SELECT 1 FROM alert
      WHERE ${isWith('given.region', 'given.error')} LIMIT $1) AS looked_at) >= $1`,
};

/** An id begins with the name and a slash; 0 is the character after that. */
const LAST_EPISODES = {
  sqlite: `SELECT body, max(starts_us) FROM episode
    WHERE alert_id > $1 || '/' AND alert_id < $1 || '0' AND body ->> '$.labels.region' = $2 GROUP BY alert_id`,
  postgres: `SELECT DISTINCT ON (alert_id) body FROM episode
    WHERE starts_with(alert_id, $1::text || '/') AND body::jsonb -> 'labels' ->> 'region' = $2
    ORDER BY alert_id, starts_us DESC`,
};

/** `$4` finds those with the region, and perhaps others; within a text the quotes of such a member would be escaped. */
const EPISODES_SINCE = `SELECT body FROM episode
  WHERE alert_id > $1 AND alert_id < $2 AND resolved_us >= $3 AND body LIKE $4 ORDER BY resolved_us DESC LIMIT 1000`;

export function createAlerts(
  sql: Sql,
  {
    events,
    standing,
    groups,
  }: { events: SqlEvents; standing: BirdStanding; groups: Pick<SqlGroups, 'forget'> },
) {
  const linked = new AlertEvents(sql, events);
  const pages = new AlertPages(sql, events);
  const putAlerts = put(sql.engine);
  const takeNumbers = createNumbering(sql, LAST_NUMBER);

  const alerts = async (text: string, ...parameters: readonly Parameter[]) =>
    readable(sql, 'alert', await sql.rows<AlertRow>(text, ...parameters), alertOf);

  async function columnValues(changed: readonly Alert[]) {
    const first = await takeNumbers(changed.length);
    return changed.map((alert, index) => [
      first + index,
      ...valuesOf(alert),
      ...(sql.engine === 'postgres' ? fromAlertBody(alert) : []),
    ]);
  }

  async function joinAgain(alertIds: readonly string[]): Promise<void> {
    await sql.write(
      CHANGE,
      [...new Set(alertIds)].map((id, at) => [at, id]),
    );
  }

  return {
    /** One alert, in any state. */
    find: async (id: string): Promise<Alert | undefined> =>
      (await alerts('SELECT body FROM alert WHERE id = $1', id))[0],
    // A scope says its region too; both are given because the index begins with the region.
    /** Alerts of these scopes, in any state. */
    ofScopes: (scopes: readonly string[]): Promise<Alert[]> =>
      alerts(
        'SELECT body FROM alert WHERE region = ANY($1::text[]) AND scope = ANY($2::text[]) ORDER BY id',
        [...new Set(scopes.map(regionOfScope))],
        scopes,
      ),
    /** The alerts that an event is linked to, with its `seq` in each, without deleted ones. */
    async ofEvent(key: string): Promise<{ alert: Alert; seq: number }[]> {
      const event = await events.numberOfKey(key);
      if (event === undefined) return [];
      const rows = await sql.rows<AlertRow & { seq: number }>(
        'SELECT body, seq FROM alert_event JOIN alert USING (alert) WHERE event = $1 ORDER BY id',
        event,
      );
      return readable(sql, 'alert', rows, (row) => ({ alert: alertOf(row), seq: row.seq }));
    },
    /** Regions that have an alert in the store, in any state. */
    async regions(): Promise<string[]> {
      const rows = await sql.rows<{ region: string }>('SELECT DISTINCT region FROM alert ORDER BY region');
      return rows.map(({ region }) => region);
    },
    /** Scopes of a region that have an alert in the store, in any state. */
    async scopes(region: string): Promise<string[]> {
      const rows = await sql.rows<{ scope: string }>(
        'SELECT DISTINCT scope FROM alert WHERE region = $1 ORDER BY scope',
        region,
      );
      return rows.map(({ scope }) => scope);
    },
    /** Firing alerts of this kind and severity in the region, at most `limit`. */
    ofKind: (alertname: string, severity: string, region: string, limit: number): Promise<Alert[]> =>
      alerts(
        `SELECT body FROM alert /* INDEXED BY alert_firing */
         WHERE state = 'firing' AND alertname = $1 AND severity = $2 AND region = $3 LIMIT $4`,
        alertname,
        severity,
        region,
        limit,
      ),
    /** The alerts of these kinds in the region, in any state. */
    ofKinds: (alertnames: readonly string[], region: string): Promise<Alert[]> =>
      alerts(
        'SELECT body FROM alert WHERE region = $1 AND alertname = ANY($2::text[]) ORDER BY id',
        region,
        alertnames,
      ),
    /** Other alerts with events that this one has with `afterSeq < seq <= lastSeq`, each with its own last `seq` of these. */
    async sharing(
      alertId: string,
      afterSeq: number,
      lastSeq: number,
    ): Promise<(readonly [alertId: string, seq: number])[]> {
      const rows = await sql.rows<{ id: string; seq: number }>(SHARING, alertId, afterSeq, lastSeq);
      return rows.map(({ id, seq }) => [id, seq] as const);
    },
    /** Those of these errors with which at least `least` alerts of kind FlightFailed fire in their region. */
    async shared<T extends { readonly region: string; readonly error: string }>(
      errors: readonly T[],
      least: number,
    ): Promise<T[]> {
      const [regions, texts] = [errors.map(({ region }) => region), errors.map(({ error }) => error)];
      const pairs = errors.map(({ region, error }) => [region, error]);
      const given = sql.engine === 'sqlite' ? [pairs] : [regions, texts];
      const rows = await sql.rows<{ at: number }>(OF_MANY[sql.engine], least, ...given);
      return rows.map(({ at }) => errors[at - 1]!);
    },
    /**
     * How many Birds of these regions, in how many Nests, have a firing FlightFailed with this error, among `MOST_FAILING`
     * of these alerts in each region, and one alert of each of those `limit` that began to fail last, the latest first.
     */
    async failingWith(regions: readonly string[], error: string, limit: number): Promise<Failing> {
      const ofBirds: FailingRow[] = [];
      let isAll = true;
      for (const region of regions) {
        const found = await sql.rows<Omit<FailingRow, 'region'>>(WITH_ERROR, region, error, MOST_FAILING);
        isAll &&= found.reduce((sum, row) => sum + row.alerts, 0) < MOST_FAILING;
        for (const row of found) ofBirds.push({ ...row, region });
      }
      const latest = ofBirds.toSorted((a, b) => b.starts_us - a.starts_us).slice(0, limit);
      const numbers = latest.map(({ alert }) => alert);
      const rows = await sql.rows<AlertRow & { alert: number }>(
        'SELECT alert, body FROM alert WHERE alert = ANY($1::bigint[])',
        numbers,
      );
      const stored = new Map(await readable(sql, 'alert', rows, (row) => [row.alert, alertOf(row)] as const));
      return {
        birds: ofBirds.length,
        nests: new Set(ofBirds.map(({ region, nest }) => `${region}/${nest}`)).size,
        isAll,
        latest: numbers.flatMap((number) => stored.get(number) ?? []),
      };
    },
    /** Alerts whose `dueAtUs` has come, oldest first. */
    due: (nowUs: number, limit: number): Promise<Alert[]> =>
      alerts('SELECT body FROM alert WHERE due_us <= $1 ORDER BY due_us, id LIMIT $2', nowUs, limit),
    /**
     * Writes alerts and marks them as changed, so that `changed` returns them until `markRouted`. The episode of a
     * resolved alert is added to the history.
     */
    async put(changed: readonly Alert[]): Promise<void> {
      if (changed.length === 0) return;
      groups.forget();
      const last = lastOfEach(changed, ({ id }) => id);
      await sql.write(putAlerts, await columnValues(last));
      const over = lastOfEach(
        changed.filter(({ state }) => state === 'resolved'),
        ({ id, startsAtUs }) => `${startsAtUs} ${id}`,
      );
      await sql.write(
        PUT_EPISODES,
        over.map((one) => [one.id, one.startsAtUs, one.updatedAtUs, JSON.stringify(episodeOf(one))]),
      );
      await joinAgain(last.map(({ id }) => id));
      standing.alerted(changed.map(({ scope }) => scope));
    },
    /** Links events to alerts, replacing links with the same `seq`. Both must be in the store. */
    linkEvents: (links: readonly Link[]): Promise<void> => linked.link(links),
    /**
     * Of each span, its oldest events up to the first one that was observed within `maxAgeUs` of when it occurred, in the
     * order of the spans; undefined if there are none.
     */
    oldEvents: (spans: readonly AgedSpan[]): Promise<(OldEvents | undefined)[]> => linked.old(spans),
    /** The alert's events with `afterSeq < seq`, and `seq <= lastSeq` if given: the newest `limit`, newest first. */
    events: (
      alertId: string,
      afterSeq: number,
      limit: number,
      lastSeq = Number.MAX_SAFE_INTEGER,
    ): Promise<Link[]> => linked.list(alertId, afterSeq, limit, lastSeq),
    /** The newest `limit` events of each span, newest first, by alert. Each alert may have only one span. */
    eventsOf: (spans: readonly LinkedSpan[], limit: number): Promise<ReadonlyMap<string, readonly Event[]>> =>
      linked.ofSpans(spans, limit),
    /** Alerts changed since they were last routed, oldest change first. */
    changed: (limit: number): Promise<Alert[]> =>
      alerts('SELECT body FROM changed_alert JOIN alert USING (alert) ORDER BY position LIMIT $1', limit),
    /** Adds these alerts to `changed`, if they exist. */
    joinAgain,
    /** Removes these alerts from `changed` until they are written again. */
    async markRouted(alertIds: readonly string[]): Promise<void> {
      await sql.run(`DELETE FROM changed_alert WHERE alert IN ${NAMED}`, alertIds);
    },
    /** Firing alerts after the given one, newest first. */
    firing: (
      { startsAtUs, id }: Pick<Alert, 'id' | 'startsAtUs'> | undefined = {
        startsAtUs: Number.MAX_SAFE_INTEGER,
        id: '',
      },
      limit: number,
    ): Promise<Alert[]> => alerts(FIRING, startsAtUs, id, limit),
    /** The alert's ended episodes, latest first, even if the alert itself was deleted. */
    episodes: async (alertId: string, limit: number): Promise<Episode[]> =>
      episodes(
        await sql.rows<AlertRow>(
          'SELECT body FROM episode WHERE alert_id = $1 ORDER BY starts_us DESC LIMIT $2',
          alertId,
          limit,
        ),
      ),
    /** The last ended episode of each alert of that name in a region, even if the alert itself was deleted. */
    lastEpisodes: async (alertname: string, region: string): Promise<Episode[]> =>
      episodes(await sql.rows<AlertRow>(LAST_EPISODES[sql.engine], alertname, region)),
    /** Episodes in a region, of the alerts of that name, whose end was seen at `sinceUs` or later. */
    episodesSince: async (alertname: string, region: string, sinceUs: number): Promise<Episode[]> =>
      episodes(
        await sql.rows<AlertRow>(
          EPISODES_SINCE,
          `${alertname}/`,
          `${alertname}0`,
          sinceUs,
          `%"region":${JSON.stringify(region)}%`,
        ),
      ).filter(({ labels }) => labels.region === region),
    /** All ended episodes after the given one, each with when its end was seen; latest first. */
    async endedBefore(
      place: { readonly resolvedAtUs: number; readonly alertId: string } | undefined,
      limit: number,
    ): Promise<{ episode: Episode; resolvedAtUs: number }[]> {
      const { resolvedAtUs = Number.MAX_SAFE_INTEGER, alertId = '' } = place ?? {};
      const rows = await sql.rows<AlertRow & { readonly resolved_us: number }>(
        `SELECT body, resolved_us FROM episode /* INDEXED BY episode_by_age */
         WHERE (resolved_us, alert_id) < ($1::bigint, $2::text) ORDER BY resolved_us DESC, alert_id DESC LIMIT $3`,
        resolvedAtUs,
        alertId,
        limit,
      );
      const ended = episodes(rows);
      return rows.map((row, index) => ({ episode: ended[index]!, resolvedAtUs: row.resolved_us }));
    },
    /**
     * Labels of firing alerts, of all or of those with these names, in no particular order. Alerts that fire on only
     * because they flap are left out. Examines at most `limit` alerts; `next` is the `after` of the next call, and
     * absent at the end. Start with 0.
     */
    async firingLabels(
      alertnames: readonly string[] | null,
      after: number,
      limit: number,
    ): Promise<{ labels: Labels[]; next?: number }> {
      const rows =
        alertnames === null
          ? await sql.rows<LabelsRow>(labelsOf(sql.engine, 'true'), after, limit)
          : await sql.rows<LabelsRow>(
              labelsOf(sql.engine, 'alertname = ANY($3::text[])'),
              after,
              limit,
              alertnames,
            );
      return labelsPage(rows, limit);
    },
    /** Alerts in pages; `next` is absent at the end. Throws `usage` for a cursor that no earlier answer gave. */
    page: (query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }> => pages.page(query),
    /** The causes of firing alerts: unacknowledged first, then by severity, then by the number of alerts. */
    causes: (query: CauseQuery): Promise<CausePage> => pages.causes(query),
    count: (): Promise<{ alertname: string; severity: string; state: string; count: number }[]> =>
      sql.rows<{ alertname: string; severity: string; state: string; count: number }>(
        `SELECT alertname, severity, state, count(*) AS count FROM alert
         GROUP BY alertname, severity, state ORDER BY alertname, severity, state`,
      ),
    /** How many alerts fire, by label values; a missing label is empty. */
    countFiring: (): Promise<
      { alertname: string; severity: string; region: string; nestId: string; count: number }[]
    > =>
      sql.rows<FiringRow>(
        `SELECT alertname, severity, region, nest_id AS "nestId", count(*) AS count
         FROM alert /* INDEXED BY alert_firing */ WHERE state = 'firing'
         GROUP BY alertname, severity, region, nest_id ORDER BY alertname, severity, region, nest_id`,
      ),
    /** Deletes alerts with their links and their memberships in groups. Their events and episodes stay. */
    async delete(alertIds: readonly string[]): Promise<void> {
      if (alertIds.length === 0) return;
      groups.forget();
      const scopes = await sql.rows<{ scope: string }>(
        'SELECT DISTINCT scope FROM alert WHERE id = ANY($1::text[])',
        alertIds,
      );
      for (const text of DELETE) await sql.run(text, alertIds);
      standing.alerted(scopes.map(({ scope }) => scope));
    },
  };
}

function episodes(rows: readonly AlertRow[]): Episode[] {
  return rows.map(({ body }) => JSON.parse(body) as Episode);
}

function valuesOf(alert: Alert) {
  const { id, scope, alertname, labels, state, startsAtUs, endsAtUs, dueAtUs } = alert;
  const { rank, birdId, cause, nest, bird, words } = foundBy(alert);
  return [
    ...[id, regionOfScope(scope), scope, alertname, labels.severity ?? '', labels.nest_id ?? '', state],
    alert.flapping?.held && alert.flapping.isFlapping ? 1 : 0,
    ...[startsAtUs, endsAtUs, dueAtUs, rank, birdId, cause, nest, bird, words, JSON.stringify(alert)],
  ];
}

/** What a server cannot find in the body: `labels`, `flight_id` and `flight_started_us`. */
export function fromAlertBody(alert: Alert): [string, string, number] {
  const { labels } = alert;
  return [JSON.stringify(labels), labels.flight_id ?? '', flightStartOf(alert)];
}

/** When the Flight of an alert about one started, as its kind remembers it. */
function flightStartOf({ memory }: Alert): number {
  if (typeof memory !== 'object' || memory === null || !('startedAtUs' in memory)) return 0;
  return typeof memory.startedAtUs === 'number' ? memory.startedAtUs : 0;
}
