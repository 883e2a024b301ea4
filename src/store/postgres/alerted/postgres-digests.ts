import type { Digest, EndedSilenced, Episode } from '../../../domain/digest/digest.ts';
import type { EndedFlight } from '../../../domain/digest/flight-tally.ts';
import type { DigestRecord, DigestStore } from '../../digest-store.ts';
import {
  type EndedFlightRow,
  type EndedSilencedRow,
  endedFlightOf,
  endedSilencedOf,
} from '../../rows/digest-row.ts';
import type { Statements } from '../statements.ts';

export class PostgresDigests implements DigestStore {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async find(name: string): Promise<DigestRecord | undefined> {
    const row = await this.#statements.first<{ body: string }>(
      'SELECT body FROM digest WHERE name = $1',
      name,
    );
    return row && (JSON.parse(row.body) as DigestRecord);
  }

  async put(record: DigestRecord): Promise<void> {
    await this.#statements.run(
      'INSERT INTO digest (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body',
      record.name,
      JSON.stringify(record),
    );
  }

  /**
   * Another replica may be about to commit an event with a smaller number, which this transaction cannot see. Every
   * transaction that writes events reads the digests (`postgres-events.ts`), and this one writes them. So if both
   * overlap, one of the two is retried, and the event either gets a number beyond `last` or is counted.
   */
  async arrivals(sinceUs: number): Promise<{ before: number; last: number }> {
    const row = await this.#statements.first<{ first: number | null; last: number | null }>(
      `WITH touched AS (UPDATE digest SET body = body)
       SELECT (SELECT min(event) FROM event WHERE occurred_us >= $1) AS first, (SELECT max(event) FROM event) AS last`,
      sinceUs,
    );
    const last = row?.last ?? 0;
    return { before: (row?.first ?? last + 1) - 1, last };
  }

  async endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]> {
    const rows = await this.#statements.rows<EndedFlightRow>(
      `SELECT event, occurred_us, type, stream.region AS region, body,
         CASE type WHEN 'flight.failed' THEN message ELSE '' END AS message
       FROM event JOIN stream USING (stream)
       WHERE event > $1 AND event <= $2 AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
       ORDER BY event`,
      after,
      upTo,
    );
    return rows.map(endedFlightOf);
  }

  async episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]> {
    const rows = await this.#statements.rows<{ body: string }>(
      `SELECT body FROM episode WHERE resolved_us > $1 AND resolved_us <= $2
       ORDER BY resolved_us, alert_id LIMIT $3`,
      afterUs,
      upToUs,
      limit,
    );
    return rows.map(({ body }) => JSON.parse(body) as Episode);
  }

  /** An end is suppressed once for each group of its alert. For a deleted alert the last episode is used. */
  async endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced> {
    const rows = await this.#statements.rows<EndedSilencedRow>(
      `SELECT alert_id, max(times) AS times, count(*) OVER () AS total,
         coalesce(
           (SELECT body FROM episode WHERE episode.alert_id = one.alert_id ORDER BY starts_us DESC LIMIT 1),
           (SELECT body FROM alert WHERE id = one.alert_id)) AS body
       FROM (SELECT alert_id, count(*) AS times FROM suppression
         WHERE at_us > $1 AND at_us <= $2 AND reason = 'silenced'
         GROUP BY alert_id, group_key) AS one
       GROUP BY alert_id ORDER BY max(times) DESC, alert_id LIMIT $3`,
      afterUs,
      upToUs,
      limit,
    );
    return endedSilencedOf(rows);
  }

  async countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']> {
    return this.#statements.rows<Digest['suppressed'][number]>(
      `SELECT reason, count(*) AS count FROM suppression
       WHERE at_us > $2 AND at_us <= $3 AND receiver = $1 GROUP BY reason ORDER BY count(*) DESC, reason`,
      receiver,
      afterUs,
      upToUs,
    );
  }

  async countDead(receiver: string, afterUs: number, upToUs: number): Promise<number> {
    const row = await this.#statements.first<{ count: number }>(
      `SELECT count(*) AS count FROM delivery
       WHERE state = 'dead' AND receiver = $1 AND settled_us > $2 AND settled_us <= $3`,
      receiver,
      afterUs,
      upToUs,
    );
    return row!.count;
  }
}
