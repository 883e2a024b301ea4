import type { Digest, EndedSilenced, Episode } from '../../../domain/digest/digest.ts';
import type { EndedFlight } from '../../../domain/digest/flight-tally.ts';
import type { DigestRecord, DigestStore } from '../../digest-store.ts';
import {
  type EndedFlightRow,
  type EndedSilencedRow,
  endedFlightOf,
  endedSilencedOf,
  MAX_SIGNED_MESSAGE,
} from '../../rows/digest-row.ts';
import { beginningSql } from '../../texts/text-beginning.ts';
import type { Connection } from '../connection.ts';

export class SqliteDigests implements DigestStore {
  readonly #digests: ReturnType<typeof prepareDigests>;
  readonly #arrivals: ReturnType<typeof prepareArrivals>;
  readonly #sums: ReturnType<typeof prepareSums>;

  constructor(connection: Connection) {
    this.#digests = prepareDigests(connection);
    this.#arrivals = prepareArrivals(connection);
    this.#sums = prepareSums(connection);
  }

  async find(name: string): Promise<DigestRecord | undefined> {
    const row = this.#digests.one.get(name);
    return row && (JSON.parse(row.body) as DigestRecord);
  }

  async put(record: DigestRecord): Promise<void> {
    this.#digests.put.run(record.name, JSON.stringify(record));
  }

  async arrivals(sinceUs: number): Promise<{ before: number; last: number }> {
    const last = this.#arrivals.last.get()?.event ?? 0;
    return { before: (this.#arrivals.first.get(sinceUs)?.event ?? last + 1) - 1, last };
  }

  async endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]> {
    return this.#arrivals.flights.all(after, upTo).map(endedFlightOf);
  }

  async episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]> {
    const rows = this.#sums.episodes.all(afterUs, upToUs, limit);
    return rows.map(({ body }) => JSON.parse(body) as Episode);
  }

  async endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced> {
    const rows = this.#sums.silenced.all(afterUs, upToUs, limit);
    return endedSilencedOf(rows);
  }

  async countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']> {
    return this.#sums.suppressed.all(receiver, afterUs, upToUs).map((row) => ({ ...row }));
  }

  async countDead(receiver: string, afterUs: number, upToUs: number): Promise<number> {
    return this.#sums.dead.get(receiver, afterUs, upToUs)!.count;
  }
}

function prepareDigests(connection: Connection) {
  return {
    one: connection.prepare<{ body: string }>('SELECT body FROM digest WHERE name = ?'),
    put: connection.prepare(
      `INSERT INTO digest (name, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`,
    ),
  };
}

function prepareArrivals(connection: Connection) {
  return {
    first: connection.prepare<{ event: number | null }>(
      'SELECT min(event) AS event FROM event INDEXED BY event_by_age WHERE occurred_us >= ?',
    ),
    last: connection.prepare<{ event: number | null }>('SELECT max(event) AS event FROM event'),
    // Reads a range of event numbers of whatever type, so no call takes long, however few of them are Flights.
    flights: connection.prepare<EndedFlightRow>(
      `SELECT event, occurred_us, type, stream.region AS region,
         iif(type = 'flight.failed', ${beginningSql('message', MAX_SIGNED_MESSAGE)}, '') AS message, body
       FROM event JOIN stream USING (stream)
       WHERE event > ?1 AND event <= ?2 AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
       ORDER BY event`,
    ),
  };
}

function prepareSums(connection: Connection) {
  return {
    episodes: connection.prepare<{ body: string }>(
      `SELECT body FROM episode INDEXED BY episode_by_age
       WHERE resolved_us > ? AND resolved_us <= ? ORDER BY resolved_us, alert_id LIMIT ?`,
    ),
    // An end is suppressed once for each group of its alert. For a deleted alert the last episode is used.
    silenced: connection.prepare<EndedSilencedRow>(
      `SELECT alert_id, max(times) AS times, count(*) OVER () AS total,
         coalesce(
           (SELECT body FROM episode WHERE episode.alert_id = one.alert_id ORDER BY starts_us DESC LIMIT 1),
           (SELECT body FROM alert WHERE id = one.alert_id)) AS body
       FROM (SELECT alert_id, count(*) AS times FROM suppression INDEXED BY suppression_by_age
         WHERE at_us > ? AND at_us <= ? AND reason = 'silenced'
         GROUP BY alert_id, group_key) AS one
       GROUP BY alert_id ORDER BY times DESC, alert_id LIMIT ?`,
    ),
    suppressed: connection.prepare<{ reason: string; count: number }>(
      `SELECT reason, count(*) AS count FROM suppression INDEXED BY suppression_by_age
       WHERE at_us > ?2 AND at_us <= ?3 AND receiver = ?1 GROUP BY reason ORDER BY count DESC, reason`,
    ),
    dead: connection.prepare<{ count: number }>(
      `SELECT count(*) AS count FROM delivery INDEXED BY delivery_undelivered
       WHERE state <> 'delivered' AND state = 'dead' AND receiver = ? AND settled_us > ? AND settled_us <= ?`,
    ),
  };
}
