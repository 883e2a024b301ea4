import type { Event } from '../../../domain/alert/event.ts';
import type { BirdQuery, BirdStore, FlightCounts, FlightQuery, NestQuery } from '../../bird-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import type { Statements } from '../statements.ts';
import { PostgresBirdPages } from './postgres-bird-pages.ts';
import type { PostgresEvents } from './postgres-events.ts';
import { PostgresFlightPages } from './postgres-flight-pages.ts';

/** Flights of a Bird that are counted. */
const MAX_COUNTED = 100_000;
/** Entries of a Bird's log that are searched for some types. */
const MAX_SEARCHED = 2_000;

const streamOf = (feed: string) =>
  `(SELECT stream FROM stream WHERE region = $1 AND feed = '${feed}' AND bird_id = $2)`;

export class PostgresBirds implements BirdStore {
  readonly #statements: Statements;
  readonly #events: PostgresEvents;
  readonly #birds: PostgresBirdPages;
  readonly #flights: PostgresFlightPages;

  constructor(statements: Statements, events: PostgresEvents) {
    this.#statements = statements;
    this.#events = events;
    this.#birds = new PostgresBirdPages(statements);
    this.#flights = new PostgresFlightPages(statements);
  }

  page(query: BirdQuery) {
    return this.#birds.page(query);
  }

  find(region: string, birdId: string) {
    return this.#birds.find(region, birdId);
  }

  nestPage(query: NestQuery) {
    return this.#birds.nestPage(query);
  }

  flightPage(query: FlightQuery) {
    return this.#flights.page(query);
  }

  findFlight(region: string, flightId: string) {
    return this.#flights.find(region, flightId);
  }

  latestFlights(region: string, birdId: string, limit: number) {
    return this.#flights.latest(region, birdId, limit);
  }

  failures(region: string, birdId: string, limit: number) {
    return this.#flights.failures(region, birdId, limit);
  }

  async countFlights(region: string, birdId: string, sincesUs: readonly number[]): Promise<FlightCounts[]> {
    const rows = await this.#statements.rows<Omit<FlightCounts, 'sinceUs'> & { readonly since_us: number }>(
      `WITH since AS (SELECT * FROM unnest($3::bigint[]) WITH ORDINALITY AS given (since_us, at)),
       ended AS (
         SELECT greatest(started_us, ended_us) AS us, status FROM flight
         WHERE stream = ${streamOf('flight')} AND started_us >= $4 AND open = 0
         ORDER BY started_us DESC LIMIT ${MAX_COUNTED})
       SELECT since_us, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
         count(*) FILTER (WHERE status = 'failed') AS failed,
         count(*) FILTER (WHERE status = 'cancelled') AS cancelled
       FROM since LEFT JOIN ended ON us >= since_us GROUP BY at, since_us ORDER BY at`,
      region,
      birdId,
      sincesUs,
      Math.min(...sincesUs),
    );
    return rows.map(({ since_us: sinceUs, ...counts }) => ({ sinceUs, ...counts }));
  }

  async log(region: string, birdId: string, limit: number): Promise<Event[]> {
    const rows = await this.#statements.rows<EventRow>(
      `SELECT * FROM event WHERE stream = ${streamOf('bird_log')} ORDER BY occurred_us DESC, id DESC LIMIT $3`,
      region,
      birdId,
      limit,
    );
    return this.#events.fromRows(rows);
  }

  async lastOfTypes(region: string, birdId: string, types: readonly string[]): Promise<Event | undefined> {
    const rows = await this.#statements.rows<EventRow>(
      `SELECT * FROM (
         SELECT * FROM event WHERE stream = ${streamOf('bird_log')}
         ORDER BY occurred_us DESC, id DESC LIMIT ${MAX_SEARCHED}) AS latest
       WHERE type = ANY($3::text[]) ORDER BY occurred_us DESC, id DESC LIMIT 1`,
      region,
      birdId,
      types,
    );
    return (await this.#events.fromRows(rows))[0];
  }
}
