import type { Event } from '../../../domain/alert/event.ts';
import type { BirdQuery, BirdStore, FlightCounts, FlightQuery, NestQuery } from '../../bird-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import { type Connection, textList } from '../connection.ts';
import { BirdPages } from './bird-pages.ts';
import { FlightPages } from './flight-pages.ts';
import type { SqliteEvents } from './sqlite-events.ts';

/** Flights of a Bird that are counted; takes about 50 ms. */
const MAX_COUNTED = 100_000;
/** Entries of a Bird's log that are searched for some types. */
const MAX_SEARCHED = 2_000;

export class SqliteBirds implements BirdStore {
  readonly #events: SqliteEvents;
  readonly #birds: BirdPages;
  readonly #flights: FlightPages;
  readonly #sql: ReturnType<typeof prepareBird>;

  constructor(connection: Connection, events: SqliteEvents) {
    this.#events = events;
    this.#birds = new BirdPages(connection);
    this.#flights = new FlightPages(connection);
    this.#sql = prepareBird(connection);
  }

  async page(query: BirdQuery) {
    return this.#birds.page(query);
  }

  async find(region: string, birdId: string) {
    return this.#birds.find(region, birdId);
  }

  async nestPage(query: NestQuery) {
    return this.#birds.nestPage(query);
  }

  async flightPage(query: FlightQuery) {
    return this.#flights.page(query);
  }

  async findFlight(region: string, flightId: string) {
    return this.#flights.find(region, flightId);
  }

  async latestFlights(region: string, birdId: string, limit: number) {
    return this.#flights.latest(region, birdId, limit);
  }

  async failures(region: string, birdId: string, limit: number) {
    return this.#flights.failures(region, birdId, limit);
  }

  async countFlights(region: string, birdId: string, sincesUs: readonly number[]): Promise<FlightCounts[]> {
    const rows = this.#sql.counts.all(JSON.stringify(sincesUs), region, birdId, Math.min(...sincesUs));
    return rows.map((row) => ({
      sinceUs: row.since_us,
      succeeded: row.succeeded,
      failed: row.failed,
      cancelled: row.cancelled,
    }));
  }

  async log(region: string, birdId: string, limit: number): Promise<Event[]> {
    return this.#sql.log.all(region, birdId, limit).map((row) => this.#events.fromRow(row));
  }

  async lastOfTypes(region: string, birdId: string, types: readonly string[]): Promise<Event | undefined> {
    const row = this.#sql.lastOfTypes.get(region, birdId, textList(types));
    return row && this.#events.fromRow(row);
  }
}

function prepareBird(connection: Connection) {
  const streamOf = (feed: string) =>
    `(SELECT stream FROM stream WHERE region = ? AND feed = '${feed}' AND bird_id = ?)`;
  return {
    counts: connection.prepare<{ since_us: number; succeeded: number; failed: number; cancelled: number }>(
      `WITH since AS (SELECT value AS since_us, key FROM json_each(?)),
       ended AS (
         SELECT max(started_us, ended_us) AS us, status FROM flight
         WHERE stream = ${streamOf('flight')} AND started_us >= ? AND open = 0
         ORDER BY started_us DESC LIMIT ${MAX_COUNTED})
       SELECT since_us, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
         count(*) FILTER (WHERE status = 'failed') AS failed,
         count(*) FILTER (WHERE status = 'cancelled') AS cancelled
       FROM since LEFT JOIN ended ON us >= since_us GROUP BY key ORDER BY key`,
    ),
    log: connection.prepare<EventRow>(
      `SELECT * FROM event WHERE stream = ${streamOf('bird_log')}
       ORDER BY occurred_us DESC, id DESC LIMIT ?`,
    ),
    lastOfTypes: connection.prepare<EventRow>(
      `SELECT * FROM (
         SELECT * FROM event WHERE stream = ${streamOf('bird_log')}
         ORDER BY occurred_us DESC, id DESC LIMIT ${MAX_SEARCHED})
       WHERE type IN (SELECT value FROM json_each(?)) LIMIT 1`,
    ),
  };
}
