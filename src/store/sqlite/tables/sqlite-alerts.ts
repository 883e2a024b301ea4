import type { Alert, Labels } from '../../../domain/alert/alert.ts';
import type { Episode } from '../../../domain/digest/digest.ts';
import type { AlertStore } from '../../alert-store.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList } from '../connection.ts';
import type { EventRow, Events } from './sqlite-events.ts';

export interface AlertRow {
  readonly body: string;
}

export function createAlerts(connection: Connection, events: Events): Omit<AlertStore, 'ofEvent'> {
  const one = connection.prepare<AlertRow>('SELECT body FROM alert WHERE id = ?');
  const ofScopes = connection.prepare<AlertRow>(
    'SELECT body FROM alert WHERE scope IN (SELECT value FROM json_each(?)) ORDER BY id',
  );
  const regions = connection.prepare<{ region: string }>('SELECT DISTINCT region FROM alert ORDER BY region');
  const scopes = connection.prepare<{ scope: string }>(
    'SELECT DISTINCT scope FROM alert WHERE region = ? ORDER BY scope',
  );
  const due = connection.prepare<AlertRow>(
    'SELECT body FROM alert WHERE due_us <= ? ORDER BY due_us, id LIMIT ?',
  );
  const put = connection.prepare(
    `INSERT INTO alert (id, region, scope, alertname, severity, state, flaps_on, starts_us, due_us, changed, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET region = excluded.region, scope = excluded.scope, alertname = excluded.alertname,
       severity = excluded.severity, state = excluded.state, flaps_on = excluded.flaps_on,
       starts_us = excluded.starts_us, due_us = excluded.due_us, changed = coalesce(changed, excluded.changed), body = excluded.body`,
  );
  const remember = connection.prepare(
    `INSERT INTO episode (alert_id, starts_us, resolved_us, body) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body`,
  );
  const newest = connection.prepare<{ changed: number | null }>('SELECT max(changed) AS changed FROM alert');
  const numberOf = connection.prepare<{ alert: number }>('SELECT alert FROM alert WHERE id = ?');
  const link = prepareChunks(
    connection,
    3,
    (rows) =>
      `INSERT INTO alert_event (alert, seq, event) VALUES ${rows}
       ON CONFLICT DO UPDATE SET event = excluded.event`,
  );
  const linked = connection.prepare<EventRow & { readonly seq: number }>(
    `SELECT alert_event.seq, event.* FROM alert_event JOIN event USING (event)
     WHERE alert_event.alert = (SELECT alert FROM alert WHERE id = ?) AND alert_event.seq > ? AND alert_event.seq <= ?
     ORDER BY alert_event.seq DESC LIMIT ?`,
  );
  const firstFresh = connection.prepare<{ seq: number }>(
    `SELECT alert_event.seq FROM alert_event JOIN event USING (event)
     WHERE alert_event.alert = (SELECT alert FROM alert WHERE id = ?) AND alert_event.seq > ?
       AND event.observed_us - event.occurred_us <= ? ORDER BY alert_event.seq LIMIT 1`,
  );
  const linkedSpan = connection.prepare<{
    last_seq: number | null;
    from_us: number;
    to_us: number;
  }>(
    `SELECT max(alert_event.seq) AS last_seq, min(event.occurred_us) AS from_us, max(event.occurred_us) AS to_us
     FROM alert_event JOIN event USING (event)
     WHERE alert_event.alert = (SELECT alert FROM alert WHERE id = ?) AND alert_event.seq > ? AND alert_event.seq < ?`,
  );
  const changed = connection.prepare<AlertRow>(
    'SELECT body FROM alert WHERE changed IS NOT NULL ORDER BY changed LIMIT ?',
  );
  const routed = connection.prepare(
    'UPDATE alert SET changed = NULL WHERE changed IS NOT NULL AND id IN (SELECT value FROM json_each(?))',
  );
  const inState = connection.prepare<AlertRow>(
    'SELECT body FROM alert WHERE state = ? ORDER BY starts_us DESC, id LIMIT ?',
  );
  const firing = connection.prepare<{ labels: string }>(
    `SELECT body ->> '$.labels' AS labels FROM alert WHERE state = 'firing' AND flaps_on = 0`,
  );
  const firingNamed = connection.prepare<{ labels: string }>(
    `SELECT body ->> '$.labels' AS labels FROM alert INDEXED BY alert_firing
     WHERE state = 'firing' AND alertname IN (SELECT value FROM json_each(?)) AND flaps_on = 0`,
  );
  const count = connection.prepare<{
    alertname: string;
    severity: string;
    state: string;
    count: number;
  }>(
    `SELECT alertname, severity, state, count(*) AS count FROM alert
     GROUP BY alertname, severity, state ORDER BY alertname, severity, state`,
  );
  const remove = connection.prepare('DELETE FROM alert WHERE id IN (SELECT value FROM json_each(?))');
  const unlink = connection.prepare(
    `DELETE FROM alert_event WHERE alert IN
       (SELECT alert FROM alert WHERE id IN (SELECT value FROM json_each(?)))`,
  );
  const leave = connection.prepare(
    'DELETE FROM group_member WHERE alert_id IN (SELECT value FROM json_each(?))',
  );

  // Counts on from what waits; where nothing waits, the order may begin anew.
  let lastChanged = newest.get()?.changed ?? 0;

  return {
    async find(id) {
      const row = one.get(id);
      return row && alertOf(row);
    },
    async ofScopes(wanted) {
      return ofScopes.all(textList(wanted)).map(alertOf);
    },
    async regions() {
      return regions.all().map((row) => row.region);
    },
    async scopes(region) {
      return scopes.all(region).map((row) => row.scope);
    },
    async due(nowUs, limit) {
      return due.all(nowUs, limit).map(alertOf);
    },
    async put(alerts) {
      for (const alert of alerts) {
        lastChanged += 1;
        put.run(
          alert.id,
          regionOf(alert.scope),
          alert.scope,
          alert.alertname,
          alert.labels.severity ?? '',
          alert.state,
          alert.flapping?.held && alert.flapping.isFlapping ? 1 : 0,
          alert.startsAtUs,
          alert.dueAtUs,
          lastChanged,
          JSON.stringify(alert),
        );
        if (alert.state === 'resolved') {
          const { id, startsAtUs, updatedAtUs } = alert;
          remember.run(id, startsAtUs, updatedAtUs, JSON.stringify(episodeOf(alert)));
        }
      }
    },
    async linkEvents(links) {
      const numbers = new Map<string, number>();
      link(links.length, (index, values) => {
        const { alertId, seq, event } = links[index]!;
        const alert = numbers.get(alertId) ?? numberOf.get(alertId)?.alert;
        const number = events.numberOf(event);
        if (alert === undefined) throw new Error(`The alert ${alertId} is not in the store.`);
        if (number === undefined) throw new Error(`The event ${event.key} is not in the store.`);
        numbers.set(alertId, alert);
        values.push(alert, seq, number);
      });
    },
    async oldEvents(alertId, afterSeq, maxAgeUs, lastSeq) {
      const first = firstFresh.get(alertId, afterSeq, maxAgeUs)?.seq ?? Number.MAX_SAFE_INTEGER;
      if (first === afterSeq + 1) return undefined;
      const span = linkedSpan.get(alertId, afterSeq, Math.min(first, lastSeq + 1))!;
      return span.last_seq === null
        ? undefined
        : { lastSeq: span.last_seq, fromUs: span.from_us, toUs: span.to_us };
    },
    async events(alertId, afterSeq, limit, lastSeq = Number.MAX_SAFE_INTEGER) {
      return linked
        .all(alertId, afterSeq, lastSeq, limit)
        .map((row) => ({ alertId, seq: row.seq, event: events.fromRow(row) }));
    },
    async changed(limit) {
      return changed.all(limit).map(alertOf);
    },
    async markRouted(alertIds) {
      routed.run(textList(alertIds));
    },
    async list({ state, limit }) {
      const states = state === undefined ? ['firing', 'resolved'] : [state];
      return states
        .flatMap((one) => inState.all(one, limit).map(alertOf))
        .sort((a, b) => b.startsAtUs - a.startsAtUs)
        .slice(0, limit);
    },
    async firingLabels(alertnames) {
      const rows = alertnames === null ? firing.all() : firingNamed.all(textList(alertnames));
      return rows.map(({ labels }) => JSON.parse(labels) as Labels);
    },
    async count() {
      return count.all().map((row) => ({ ...row }));
    },
    async delete(alertIds) {
      const list = textList(alertIds);
      unlink.run(list);
      remove.run(list);
      leave.run(list);
    },
  };
}

function episodeOf({ id, alertname, labels, startsAtUs, endsAtUs, eventsTotal, ending }: Alert): Episode {
  return {
    alertId: id,
    alertname,
    labels,
    startsAtUs,
    endsAtUs,
    events: eventsTotal,
    ending: ending ?? null,
  };
}

/** A scope is a region or begins with one. */
function regionOf(scope: string): string {
  return scope.split('/', 1)[0]!;
}

export function alertOf(row: AlertRow): Alert {
  return JSON.parse(row.body) as Alert;
}
