import type { BirdStore, FlightCounts } from '../../bird-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import { HOUR_US } from '../../rows/nest-hours.ts';
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

export function createBirds(sql: Sql, events: SqlEvents): BirdStore {
  const birds = new BirdPages(sql);
  const flights = new FlightPages(sql);
  const counts = countFlights(sql.engine);
  return {
    page: (query) => birds.page(query),
    find: (region, birdId) => birds.find(region, birdId),
    nestPage: (query) => birds.nestPage(query),
    flightEnds: (query) => birds.flightEnds(query),
    nestEnds: (nests, sinceUs) => birds.nestEnds(nests, sinceUs),
    async nestsFailingSince(region, sinceUs) {
      const rows = await sql.rows<{ nest_id: string }>(
        `SELECT DISTINCT nest_id FROM nest_hour /* INDEXED BY nest_hour_by_age */
         WHERE hour >= $2 AND region = $1 AND failed > 0 ORDER BY nest_id`,
        region,
        Math.floor(sinceUs / HOUR_US),
      );
      return rows.map((row) => row.nest_id);
    },
    flightPage: (query) => flights.page(query),
    findFlight: (region, flightId) => flights.find(region, flightId),
    latestFlights: (region, birdId, limit, beforeUs) => flights.latest(region, birdId, limit, beforeUs),
    nextFlight: (region, birdId, afterUs) => flights.next(region, birdId, afterUs),
    failures: (region, birdId, limit) => flights.failures(region, birdId, limit),
    countFlights: (region, birdId, sincesUs) =>
      sql.rows<FlightCounts>(counts, region, birdId, sincesUs, Math.min(...sincesUs)),
    async log(region, birdId, limit) {
      return events.fromRows(await sql.rows<EventRow>(LOG_AND_OWN, region, birdId, limit));
    },
    async changes(region, birdId, fromUs, untilUs, limit) {
      return events.fromRows(await sql.rows<EventRow>(CHANGES, region, birdId, fromUs, untilUs, limit));
    },
    async publishesSince(sinceUs) {
      const rows = await sql.rows<{ occurred_us: number }>(PUBLISHES, sinceUs);
      return rows.map((row) => row.occurred_us);
    },
    async lastOfTypes(region, birdId, types) {
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
