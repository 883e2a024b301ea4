import type { Event } from '../../../domain/alert/event.ts';
import type { Period } from '../../../time/zone-format.ts';
import type {
  BirdOverview,
  BirdQuery,
  EndCounts,
  FlightCounts,
  FlightEnds,
  FlightEndsQuery,
  FlightOverview,
  FlightQuery,
  NestKey,
  NestOverview,
  NestQuery,
} from '../../bird-store.ts';
import { type EventRow, HOUR_US } from '../../event-store.ts';
import type { Sql } from '../sql.ts';
import { BirdPages } from './bird-pages.ts';
import type { SqlEvents } from './events.ts';
import { FlightPages } from './flight-pages.ts';

/** Flights of a Bird that are counted; takes about 50 ms. */
const MAX_COUNTED = 100_000;
/** Entries of a Bird's log that are searched for some types. */
const MAX_SEARCHED = 2_000;

const streamOf = (feed: string) =>
  `(SELECT stream FROM stream WHERE region = $1 AND feed = '${feed}' AND bird_id = $2)`;

const SINCE = {
  sqlite: 'SELECT value AS since_us, key AS at FROM json_each($3)',
  postgres: 'SELECT * FROM unnest($3::bigint[]) WITH ORDINALITY AS given (since_us, at)',
};
const countFlights = (engine: Sql['engine']) => `WITH since AS (${SINCE[engine]}),
  ended AS (
    SELECT greatest(started_us, ended_us) AS us, status FROM flight
    WHERE stream = ${streamOf('flight')} AND started_us >= $4 AND open = 0
    ORDER BY started_us DESC LIMIT ${MAX_COUNTED})
  SELECT since_us AS "sinceUs", count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
    count(*) FILTER (WHERE status = 'failed') AS failed,
    count(*) FILTER (WHERE status = 'cancelled') AS cancelled
  FROM since LEFT JOIN ended ON us >= since_us GROUP BY at, since_us ORDER BY at`;

const LOG = `SELECT * FROM event WHERE stream = ${streamOf('bird_log')} ORDER BY occurred_us DESC, id DESC`;

const ofLog = (feed: string) =>
  `SELECT * FROM (SELECT * FROM event WHERE stream = ${streamOf(feed)} ORDER BY occurred_us DESC, id DESC LIMIT $3) AS ${feed}`;
const LOG_AND_OWN = `SELECT * FROM (${ofLog('bird_log')} UNION ALL ${ofLog('inventory')} UNION ALL ${ofLog('action')}) AS latest
  ORDER BY occurred_us DESC, id DESC LIMIT $3`;

const CHANGES = `SELECT * FROM event /* INDEXED BY event_of_change */
  WHERE stream = ${streamOf('bird_log')} AND type IN ('bird_log.Published', 'bird_log.Activated')
    AND occurred_us >= $3 AND occurred_us <= $4
  ORDER BY occurred_us DESC LIMIT $5`;

const PUBLISHES = `SELECT occurred_us FROM event /* INDEXED BY event_of_change */
  WHERE type IN ('bird_log.Published', 'bird_log.Activated') AND type = 'bird_log.Published' AND occurred_us >= $1
  ORDER BY occurred_us DESC LIMIT 1000`;

export function createBirds(sql: Sql, events: SqlEvents) {
  const birds = new BirdPages(sql);
  const flights = new FlightPages(sql);
  const counts = countFlights(sql.engine);
  return {
    page: (query: BirdQuery): Promise<{ birds: BirdOverview[]; next?: string }> => birds.page(query),
    /** A Bird, even one that is no longer listed. */
    find: (region: string, birdId: string): Promise<BirdOverview | undefined> => birds.find(region, birdId),
    /** Listed Nests: those with the most alerting Birds first, then those with the most failing ones. */
    nestPage: (query: NestQuery): Promise<{ nests: NestOverview[]; next?: string }> => birds.nestPage(query),
    /** How Flights ended in each half hour since `sinceUs` that had ends, oldest first. */
    flightEnds: (query: FlightEndsQuery): Promise<FlightEnds[]> => birds.flightEnds(query),
    /** The same of each of these Nests, in their order. */
    nestEnds: (nests: readonly NestKey[], sinceUs: number): Promise<FlightEnds[][]> =>
      birds.nestEnds(nests, sinceUs),
    /** The same of a Nest on each of these days, which follow each other; a half hour is of the day on which it begins. */
    nestDays: (nest: NestKey, days: readonly Period[]): Promise<EndCounts[]> => birds.nestDays(nest, days),
    /** The Nests of a region in which a Flight failed since then, give or take an hour. */
    async nestsFailingSince(region: string, sinceUs: number): Promise<string[]> {
      const rows = await sql.rows<{ nest_id: string }>(
        `SELECT DISTINCT nest_id FROM nest_hour /* INDEXED BY nest_hour_by_age */
         WHERE hour >= $2 AND region = $1 AND failed > 0 ORDER BY nest_id`,
        region,
        Math.floor(sinceUs / HOUR_US),
      );
      return rows.map((row) => row.nest_id);
    },
    /** Flights in order of their starts, latest first. */
    flightPage: (query: FlightQuery): Promise<{ flights: FlightOverview[]; next?: string }> =>
      flights.page(query),
    findFlight: (region: string, flightId: string): Promise<FlightOverview | undefined> =>
      flights.find(region, flightId),
    /** The last `limit` Flights of the Bird, of those that started before `beforeUs` if given, latest first. */
    latestFlights: (
      region: string,
      birdId: string,
      limit: number,
      beforeUs?: number,
    ): Promise<FlightOverview[]> => flights.latest(region, birdId, limit, beforeUs),
    /** The Flight of the Bird that started next after that instant. */
    nextFlight: (region: string, birdId: string, afterUs: number): Promise<FlightOverview | undefined> =>
      flights.next(region, birdId, afterUs),
    /** The last `limit` failed Flights of the Bird, latest first. */
    failures: (region: string, birdId: string, limit: number): Promise<FlightOverview[]> =>
      flights.failures(region, birdId, limit),
    /**
     * Counts since each of these instants, among the Bird's last 100,000 Flights, excluding those that started before
     * the first instant.
     */
    countFlights: (region: string, birdId: string, sincesUs: readonly number[]): Promise<FlightCounts[]> =>
      sql.rows<FlightCounts>(counts, region, birdId, sincesUs, Math.min(...sincesUs)),
    /** The Bird's own log, what the inventory noticed of it, and what nestwatch did to it, newest first. */
    async log(region: string, birdId: string, limit: number): Promise<Event[]> {
      return events.fromRows(await sql.rows<EventRow>(LOG_AND_OWN, region, birdId, limit));
    },
    /** When the Bird was published or activated between these instants, newest first. */
    async changes(
      region: string,
      birdId: string,
      fromUs: number,
      untilUs: number,
      limit: number,
    ): Promise<Event[]> {
      return events.fromRows(await sql.rows<EventRow>(CHANGES, region, birdId, fromUs, untilUs, limit));
    },
    /** When any Bird was published since that instant: the newest thousand, in any order. */
    async publishesSince(sinceUs: number): Promise<number[]> {
      const rows = await sql.rows<{ occurred_us: number }>(PUBLISHES, sinceUs);
      return rows.map((row) => row.occurred_us);
    },
    /** The newest event of the Bird's log with one of these types, among its last 2,000. */
    async lastOfTypes(region: string, birdId: string, types: readonly string[]): Promise<Event | undefined> {
      const rows = await sql.rows<EventRow>(
        `SELECT * FROM (${LOG} LIMIT ${MAX_SEARCHED}) AS latest
         WHERE type = ANY($3::text[]) ORDER BY occurred_us DESC, id DESC LIMIT 1`,
        region,
        birdId,
        types,
      );
      return (await events.fromRows(rows))[0];
    },
  };
}
