import type { Episode } from '../../../domain/digest/digest.ts';
import type { DigestRecord, DigestStore } from '../../digest-store.ts';
import type { Connection } from '../connection.ts';

interface FlightRow {
  readonly event: number;
  readonly occurred_us: number;
  readonly type: string;
  readonly region: string;
  readonly nest_id: string;
  readonly nest: string;
  readonly bird_id: string;
  readonly bird: string;
  readonly message: string;
  readonly seconds: number | null;
}

/** Of a message, what its signature is made from. */
const MAX_MESSAGE = 16_384;

export function createDigests(connection: Connection): DigestStore {
  const one = connection.prepare<{ body: string }>('SELECT body FROM digest WHERE name = ?');
  const put = connection.prepare(
    `INSERT INTO digest (name, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`,
  );
  const first = connection.prepare<{ event: number | null }>(
    'SELECT min(event) AS event FROM event INDEXED BY event_by_age WHERE occurred_us >= ?',
  );
  const last = connection.prepare<{ event: number | null }>('SELECT max(event) AS event FROM event');
  // A stretch of numbers of events, whatever they are: so no call takes long, however few of them are Flights.
  const flights = connection.prepare<FlightRow>(
    `SELECT event, occurred_us, type, stream.region AS region, nest_id, nest, event.bird_id AS bird_id, bird,
       iif(type = 'flight.failed', substr(message, 1, ${MAX_MESSAGE}), '') AS message,
       attributes ->> '$.duration_seconds' AS seconds
     FROM event JOIN stream USING (stream)
     WHERE event > ?1 AND event <= ?2 AND type IN ('flight.failed', 'flight.succeeded') ORDER BY event`,
  );
  const ended = connection.prepare<{ body: string }>(
    `SELECT body FROM episode INDEXED BY episode_by_age
     WHERE resolved_us > ? AND resolved_us <= ? ORDER BY resolved_us, alert_id LIMIT ?`,
  );
  // One end is kept from each group that would have told it. Of an alert that is let go of, its last episode is known.
  const silenced = connection.prepare<{
    alert_id: string;
    times: number;
    total: number;
    body: string | null;
  }>(
    `SELECT alert_id, max(times) AS times, count(*) OVER () AS total,
       coalesce(
         (SELECT body FROM episode WHERE episode.alert_id = one.alert_id ORDER BY starts_us DESC LIMIT 1),
         (SELECT body FROM alert WHERE id = one.alert_id)) AS body
     FROM (SELECT alert_id, count(*) AS times FROM suppression INDEXED BY suppression_by_age
       WHERE at_us > ? AND at_us <= ? AND reason = 'silenced'
       GROUP BY alert_id, group_key) AS one
     GROUP BY alert_id ORDER BY times DESC, alert_id LIMIT ?`,
  );
  const suppressed = connection.prepare<{ reason: string; count: number }>(
    `SELECT reason, count(*) AS count FROM suppression INDEXED BY suppression_by_age
     WHERE at_us > ?2 AND at_us <= ?3 AND receiver = ?1 GROUP BY reason ORDER BY count DESC, reason`,
  );
  const dead = connection.prepare<{ count: number }>(
    `SELECT count(*) AS count FROM delivery INDEXED BY delivery_undelivered
     WHERE state <> 'delivered' AND state = 'dead' AND receiver = ? AND settled_us > ? AND settled_us <= ?`,
  );

  return {
    async find(name) {
      const row = one.get(name);
      return row && (JSON.parse(row.body) as DigestRecord);
    },
    async put(record) {
      put.run(record.name, JSON.stringify(record));
    },
    async arrivals(sinceUs) {
      const newest = last.get()?.event ?? 0;
      return { before: (first.get(sinceUs)?.event ?? newest + 1) - 1, last: newest };
    },
    async endedFlights(after, upTo) {
      return flights.all(after, upTo).map((row) => ({
        number: row.event,
        occurredAtUs: row.occurred_us,
        succeeded: row.type === 'flight.succeeded',
        region: row.region,
        nest: row.nest,
        nestId: row.nest_id,
        bird: row.bird,
        birdId: row.bird_id,
        message: row.message,
        durationUs: typeof row.seconds === 'number' ? Math.round(row.seconds * 1e6) : null,
      }));
    },
    async episodes(afterUs, upToUs, limit) {
      return ended.all(afterUs, upToUs, limit).map(({ body }) => JSON.parse(body) as Episode);
    },
    async endedSilenced(afterUs, upToUs, limit) {
      const rows = silenced.all(afterUs, upToUs, limit);
      const list = rows.map(({ alert_id: alertId, times, body }) => {
        const { alertname = '', labels = {} } = JSON.parse(body ?? '{}') as Partial<Episode>;
        return { alertId, alertname, labels, times };
      });
      return { list, total: rows[0]?.total ?? 0 };
    },
    async countSuppressed(receiver, afterUs, upToUs) {
      return suppressed.all(receiver, afterUs, upToUs).map((row) => ({ ...row }));
    },
    async countDead(receiver, afterUs, upToUs) {
      return dead.get(receiver, afterUs, upToUs)!.count;
    },
  };
}
