/** Reads Flights in pages by start, latest first. If few of many match, a page examines a limited number. */
import { foldedGuid } from '../../../text/guid.ts';
import type { FlightOverview, FlightQuery } from '../../bird-store.ts';
import { readBody } from '../../rows/event-row.ts';
import {
  type FlightOverviewRow,
  type FlightPlace,
  flightOverviewOf,
  flightPlaceOf,
  MAX_SHOWN_MESSAGE,
} from '../../rows/flight-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import { beginningSql } from '../../texts/text-beginning.ts';
import type { Statements } from '../statements.ts';
import { addBird } from './postgres-bird-pages.ts';
import { PostgresConditions } from './postgres-conditions.ts';

interface FlightRow extends FlightOverviewRow {
  readonly body: string | null;
}

/** Flights examined for one page; fewer, and limited in bytes, if the messages of their end events are searched. */
const MAX_LOOKED_AT = 20_000;
const MAX_READ = 4_000;
const MAX_BYTES = 8 * 2 ** 20;
const MAX_PAGE = 1000;
const KEY = '(flight.started_us, flight.stream, flight.id)';
const ORDER = 'ORDER BY flight.started_us DESC, flight.stream DESC, flight.id DESC';
const GIVEN = '(?::bigint, ?::bigint, ?::text)';
const PLACE = ['number', 'number', 'string'] as const;

/** The event of a Flight's last end is found by its exact instant and id. */
const ITS_EVENT = `LEFT JOIN event ON event.stream = flight.stream AND event.occurred_us = flight.ended_us
  AND event.id = flight.id || '/' || flight.status || CASE WHEN flight.ends > 1 THEN '#' || flight.ends ELSE '' END`;
const FLIGHT = `SELECT flight.stream, flight.started_us, flight.id, flight.status, flight.ended_us, stream.region,
    stream.bird_id, bird.name AS bird, bird.nest_id, nest.name AS nest, event.id AS event_id,
    ${beginningSql('event.message', MAX_SHOWN_MESSAGE)} AS message, event.body
  FROM flight JOIN stream ON stream.stream = flight.stream
    LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
    LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id ${ITS_EVENT}`;
const OF_BIRD = `flight.stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)`;
const LATEST_FIRST = 'ORDER BY flight.started_us DESC, flight.id DESC LIMIT $3';

export class PostgresFlightPages {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async find(region: string, flightId: string): Promise<FlightOverview | undefined> {
    const row = await this.#statements.first<FlightRow>(
      `${FLIGHT} WHERE flight.id = $1 AND stream.region = $2 ${ORDER} LIMIT 1`,
      foldedGuid(flightId),
      region,
    );
    return row && overviewOf(row);
  }

  async latest(region: string, birdId: string, limit: number): Promise<FlightOverview[]> {
    const rows = await this.#statements.rows<FlightRow>(
      `${FLIGHT} WHERE ${OF_BIRD} ${LATEST_FIRST}`,
      region,
      birdId,
      limit,
    );
    return rows.map(overviewOf);
  }

  async failures(region: string, birdId: string, limit: number): Promise<FlightOverview[]> {
    const rows = await this.#statements.rows<FlightRow>(
      `${FLIGHT} WHERE ${OF_BIRD} AND flight.open = 0 AND flight.status = 'failed' ${LATEST_FIRST}`,
      region,
      birdId,
      limit,
    );
    return rows.map(overviewOf);
  }

  async page(query: FlightQuery): Promise<{ flights: FlightOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const within = withinTime(query);
    if (query.flight !== undefined) within.add('flight.id = ?', foldedGuid(query.flight));
    addStreams(within, query);
    const end = await this.#lastLookedAt(within, query);
    if (end) within.add(`${KEY} >= ${GIVEN}`, ...flightPlaceOf(end));
    within.addOneOf('stream.region', query.regions);
    if (query.status !== undefined) within.add('flight.status = ?', query.status);
    if (query.severity !== undefined) {
      within.add(
        `EXISTS (SELECT 1 FROM alert_event JOIN alert USING (alert)
           WHERE alert_event.event = event.event AND alert.severity = ?)`,
        query.severity,
      );
    }
    within.addText(query.text, {
      folded: ['bird.folded', 'nest.folded'],
      ids: ['flight.id', 'stream.bird_id'],
      whole: ['event.message'],
    });
    const rows = await this.#statements.composed<FlightRow>(
      `${FLIGHT} ${within.where} ${ORDER} LIMIT ${limit + 1}`,
      ...within.parameters,
    );
    const next = rows.length > limit ? rows[limit - 1] : end;
    const flights = rows.slice(0, limit).map(overviewOf);
    return next ? { flights, next: formatCursor(flightPlaceOf(next)) } : { flights };
  }

  /** The last Flight that the page may examine; undefined if there are fewer. */
  async #lastLookedAt(
    within: PostgresConditions,
    { text, severity }: FlightQuery,
  ): Promise<FlightPlace | undefined> {
    const [last] = await this.#statements.composed<FlightPlace>(
      text === undefined && severity === undefined
        ? `SELECT flight.started_us, flight.stream, flight.id FROM flight ${within.where} ${ORDER}
           LIMIT 1 OFFSET ${MAX_LOOKED_AT - 1}`
        : `SELECT started_us, stream, id FROM (
             SELECT started_us, stream, id, row_number() OVER later AS flights, sum(bytes) OVER later AS bytes
             FROM (SELECT flight.started_us, flight.stream, flight.id, octet_length(event.message) AS bytes
               FROM flight ${ITS_EVENT} ${within.where} ${ORDER} LIMIT ${MAX_READ}) AS first
             WINDOW later AS (${LATER} ROWS UNBOUNDED PRECEDING)) AS looked
           WHERE flights = ${MAX_READ} OR bytes > ${MAX_BYTES} ${LATER} LIMIT 1`,
      ...within.parameters,
    );
    return last;
  }
}

/** The same order with bare column names. */
const LATER = 'ORDER BY started_us DESC, stream DESC, id DESC';

/** Restricts to Flights of the requested Birds. */
function addStreams(within: PostgresConditions, { regions, nest, bird, name }: FlightQuery): void {
  if (nest === undefined && bird === undefined && name === undefined) return;
  const birds = new PostgresConditions(within.parameters).addOneOf('bird.region', regions);
  addBird(birds, { nest, bird, name });
  within.take(
    birds,
    (where) => `flight.stream IN (SELECT stream.stream FROM bird
      LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
      JOIN stream ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
      ${where})`,
  );
}

function withinTime({ sinceUs, untilUs, cursor }: FlightQuery): PostgresConditions {
  const within = new PostgresConditions();
  if (cursor !== undefined) within.add(`${KEY} < ${GIVEN}`, ...parseCursor(cursor, PLACE));
  if (sinceUs !== undefined) within.add('flight.started_us >= ?', sinceUs);
  if (untilUs !== undefined) within.add('flight.started_us < ?', untilUs);
  return within;
}

function overviewOf(row: FlightRow): FlightOverview {
  return flightOverviewOf(row, row.body === null ? undefined : readBody(row.body).attributes.step_id);
}
