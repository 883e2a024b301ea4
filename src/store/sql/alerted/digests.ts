/**
 * Stores the progress of digests, and counts what a digest contains. The counts are of what other stores wrote
 * (events, resolved episodes, suppressions, deliveries), for as long as retention keeps it.
 */
import type { Digest, EndedSilenced, Episode } from '../../../domain/digest/digest.ts';
import type { EndedFlight } from '../../../domain/digest/flight-tally.ts';
import { readBody } from '../../event-store.ts';
import { beginningOf, beginningSql } from '../../filter.ts';
import type { Sql } from '../sql.ts';

/** The progress of the digests of one name. */
export interface DigestRecord {
  readonly name: string;
  /** The instant of the last digest; before the first, when the name was first known. */
  readonly lastUs: number;
  /** The number of the last event it counted; absent before the first digest. */
  readonly lastEvent?: number;
  /** Of which Birds deadlines of its period were not judged yet. */
  readonly unjudged?: UnjudgedBirds;
}

/** Up to when deadlines of such Birds were judged, by region and the Bird's id (`eu 17`). */
export type UnjudgedBirds = Readonly<Record<string, number>>;

/** The event of a Flight's end. */
interface EndedFlightRow {
  readonly event: number;
  readonly occurred_us: number;
  readonly type: string;
  readonly region: string;
  readonly message: string;
  readonly body: string;
}

/** The part of a message from which its signature is made. */
const MAX_SIGNED_MESSAGE = 16_384;

function endedFlightOf(row: EndedFlightRow): EndedFlight & { readonly number: number } {
  const { attributes, nestId, nest, birdId, bird } = readBody(row.body);
  const { duration_seconds: seconds } = attributes;
  return {
    number: row.event,
    occurredAtUs: row.occurred_us,
    status: row.type.slice('flight.'.length) as EndedFlight['status'],
    region: row.region,
    nest,
    nestId,
    bird,
    birdId,
    message: beginningOf(row.message, MAX_SIGNED_MESSAGE),
    durationUs: typeof seconds === 'number' ? Math.round(seconds * 1e6) : null,
  };
}

/** An alert of which ends were suppressed, with its last episode or, if it has none, the alert itself. */
interface EndedSilencedRow {
  readonly alert_id: string;
  readonly times: number;
  /** How many such alerts there are. */
  readonly total: number;
  readonly body: string | null;
}

function endedSilencedOf(rows: readonly EndedSilencedRow[]): EndedSilenced {
  const list = rows.map(({ alert_id: alertId, times, body }) => {
    const { alertname = '', labels = {} } = JSON.parse(body ?? '{}') as Partial<Episode>;
    return { alertId, alertname, labels, times };
  });
  return { list, total: rows[0]?.total ?? 0 };
}

/**
 * On a server another replica may be about to commit an event with a smaller number, which this transaction cannot see.
 * Every transaction that writes events reads the digests (`../watched/events.ts`), and this one writes them. So if both
 * overlap, one of the two is retried, and the event either gets a number beyond `last` or is counted.
 */
const TOUCHED = { sqlite: '', postgres: 'WITH touched AS (UPDATE digest SET body = body)' };

/** Reads a range of event numbers of whatever type, so no call takes long, however few of them are Flights. */
const ENDED_FLIGHTS = `SELECT event, occurred_us, type, stream.region AS region, body,
    CASE type WHEN 'flight.failed' THEN ${beginningSql('message', MAX_SIGNED_MESSAGE)} ELSE '' END AS message
  FROM event JOIN stream USING (stream)
  WHERE event > $1 AND event <= $2 AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
  ORDER BY event`;

/** An end is suppressed once for each group of its alert. For a deleted alert the last episode is used. */
const ENDED_SILENCED = `SELECT alert_id, max(times) AS times, count(*) OVER () AS total,
    coalesce(
      (SELECT body FROM episode WHERE episode.alert_id = one.alert_id ORDER BY starts_us DESC LIMIT 1),
      (SELECT body FROM alert WHERE id = one.alert_id)) AS body
  FROM (SELECT alert_id, count(*) AS times FROM suppression /* INDEXED BY suppression_by_age */
    WHERE at_us > $1 AND at_us <= $2 AND reason = 'silenced'
    GROUP BY alert_id, group_key) AS one
  GROUP BY alert_id ORDER BY max(times) DESC, alert_id LIMIT $3`;

export function createDigests(sql: Sql) {
  return {
    async find(name: string): Promise<DigestRecord | undefined> {
      const row = await sql.first<{ body: string }>('SELECT body FROM digest WHERE name = $1', name);
      return row && (JSON.parse(row.body) as DigestRecord);
    },
    async put(record: DigestRecord): Promise<void> {
      await sql.run(
        'INSERT INTO digest (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body',
        record.name,
        JSON.stringify(record),
      );
    },
    /**
     * Events are numbered in order of arrival. `before` is the number before the first event that occurred at or after
     * `sinceUs`; `last` is the last number of all.
     */
    async arrivals(sinceUs: number): Promise<{ readonly before: number; readonly last: number }> {
      const row = await sql.first<{ first: number | null; last: number | null }>(
        `${TOUCHED[sql.engine]} SELECT
           (SELECT min(event) FROM event /* INDEXED BY event_by_age */ WHERE occurred_us >= $1) AS first,
           (SELECT max(event) FROM event) AS last`,
        sinceUs,
      );
      const last = row?.last ?? 0;
      return { before: (row?.first ?? last + 1) - 1, last };
    },
    /** Flights that failed or succeeded, whose events have numbers with `after < number <= upTo`. */
    async endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]> {
      return (await sql.rows<EndedFlightRow>(ENDED_FLIGHTS, after, upTo)).map(endedFlightOf);
    },
    /**
     * When events other than of Flights occurred that have such numbers, if that was from `fromUs` to before `untilUs` and
     * none up to `firstNew` occurred then: the service tells some things twice.
     */
    async lateInstants(
      firstNew: number,
      [after, upTo]: readonly [number, number],
      fromUs: number,
      untilUs: number,
    ): Promise<number[]> {
      const rows = await sql.rows<{ occurred_us: number }>(
        `SELECT DISTINCT occurred_us FROM event /* NOT INDEXED */
         WHERE event > $1 AND event <= $2 AND occurred_us >= $3 AND occurred_us < $4 AND type NOT LIKE 'flight.%'
           AND NOT EXISTS (SELECT 1 FROM event AS known WHERE known.occurred_us = event.occurred_us
             AND known.event <= $5 AND known.type NOT LIKE 'flight.%')`,
        ...[after, upTo, fromUs, untilUs, firstNew],
      );
      return rows.map(({ occurred_us: us }) => us);
    },
    /** Episodes whose end was seen after `afterUs` and by `upToUs`, in order of their ends. */
    async episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]> {
      const rows = await sql.rows<{ body: string }>(
        `SELECT body FROM episode /* INDEXED BY episode_by_age */ WHERE resolved_us > $1 AND resolved_us <= $2
         ORDER BY resolved_us, alert_id LIMIT $3`,
        afterUs,
        upToUs,
        limit,
      );
      return rows.map(({ body }) => JSON.parse(body) as Episode);
    },
    /**
     * Alerts that ended in that time without a notification because of a silence, most frequent first: the first
     * `limit` by name, and the total number.
     */
    async endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced> {
      return endedSilencedOf(await sql.rows<EndedSilencedRow>(ENDED_SILENCED, afterUs, upToUs, limit));
    },
    /** How many notifications of alerts to a receiver were suppressed in that time, by reason. */
    async countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']> {
      return sql.rows<Digest['suppressed'][number]>(
        `SELECT reason, count(*) AS count FROM suppression /* INDEXED BY suppression_by_age */
         WHERE at_us > $2 AND at_us <= $3 AND receiver = $1 GROUP BY reason ORDER BY count(*) DESC, reason`,
        receiver,
        afterUs,
        upToUs,
      );
    },
    /** Deliveries to a receiver that were given up in that time. */
    async countDead(receiver: string, afterUs: number, upToUs: number): Promise<number> {
      const row = await sql.first<{ count: number }>(
        `SELECT count(*) AS count FROM delivery /* INDEXED BY delivery_undelivered */
         WHERE state <> 'delivered' AND state = 'dead' AND receiver = $1 AND settled_us > $2 AND settled_us <= $3`,
        receiver,
        afterUs,
        upToUs,
      );
      return row!.count;
    },
  };
}
