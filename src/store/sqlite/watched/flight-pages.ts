/**
 * Reads Flights in pages by start, latest first. If few Birds are requested, each one's Flights are read from its own
 * stream. Otherwise all Flights are scanned; active and ended ones are in two separate indexes.
 */
import { foldedGuid } from '../../../text/guid.ts';
import type { FlightOverview, FlightQuery } from '../../bird-store.ts';
import {
  type FlightOverviewRow,
  type FlightPlace,
  flightOverviewOf,
  flightPlaceOf,
  MAX_SHOWN_MESSAGE,
} from '../../rows/flight-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import { beginningSql } from '../../texts/text-beginning.ts';
import { type Connection, type Statement, textList } from '../connection.ts';
import { addBird } from './bird-pages.ts';
import { Conditions } from './page-conditions.ts';

interface FlightRow extends FlightOverviewRow {
  readonly step: string | null;
}

/** A part of all Flights: an index to scan, and a condition on its rows. */
interface Source {
  readonly from: string;
  readonly where: Conditions;
}

/** Flights examined for one page; takes about 40 ms. */
const MAX_LOOKED_AT = 16_000;
/** The limits if the messages of their end events are searched: Flights, and bytes of messages. */
const MAX_READ = 2_800;
const MAX_BYTES = 8 * 2 ** 20;
/** With more Birds than this all Flights are scanned. */
const FEW_STREAMS = 50;
const MAX_PAGE = 1000;
const KEY = '(flight.started_us, flight.stream, flight.id)';
const ORDER = 'ORDER BY flight.started_us DESC, flight.stream DESC, flight.id DESC';
const PLACE = ['number', 'number', 'string'] as const;

/** The event of a Flight's last end is found by its exact instant and id. */
const ITS_EVENT = `LEFT JOIN event ON event.stream = flight.stream AND event.occurred_us = flight.ended_us
  AND event.id = flight.id || '/' || flight.status || iif(flight.ends > 1, '#' || flight.ends, '')`;
const ITS_PLACE = `JOIN stream ON stream.stream = flight.stream
  LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
  LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id`;
const COLUMNS = `flight.stream, flight.started_us, flight.id, flight.status, flight.ended_us, stream.region,
  stream.bird_id, bird.name AS bird, bird.nest_id, nest.name AS nest, event.id AS event_id,
  ${beginningSql('event.message', MAX_SHOWN_MESSAGE)} AS message,
  iif(json_valid(event.body), event.body ->> '$[4].step_id', NULL) AS step`;

const FAILED = " AND flight.open = 0 AND flight.status = 'failed'";

export class FlightPages {
  readonly #connection: Connection;
  readonly #byId: Statement<FlightRow>;
  readonly #latest: Statement<FlightRow>;
  readonly #failures: Statement<FlightRow>;

  constructor(connection: Connection) {
    this.#connection = connection;
    const flights = `SELECT ${COLUMNS} FROM flight`;
    this.#byId = connection.prepare(
      `${flights} INDEXED BY flight_by_id ${ITS_PLACE} ${ITS_EVENT}
       WHERE flight.id = ? AND stream.region IN (SELECT value FROM json_each(?)) ${ORDER} LIMIT ?`,
    );
    const ofBird = `flight.stream = (SELECT stream FROM stream WHERE region = ? AND feed = 'flight' AND bird_id = ?)`;
    const latestFirst = 'ORDER BY flight.started_us DESC, flight.id DESC LIMIT ?';
    this.#latest = connection.prepare(`${flights} ${ITS_PLACE} ${ITS_EVENT} WHERE ${ofBird} ${latestFirst}`);
    this.#failures = connection.prepare(
      `${flights} INDEXED BY flight_failed ${ITS_PLACE} ${ITS_EVENT}
       WHERE ${ofBird}${FAILED} ${latestFirst}`,
    );
  }

  async find(region: string, flightId: string): Promise<FlightOverview | undefined> {
    const row = this.#byId.get(foldedGuid(flightId), textList([region]), 1);
    return row && overviewOf(row);
  }

  async latest(region: string, birdId: string, limit: number): Promise<FlightOverview[]> {
    return this.#latest.all(region, birdId, limit).map(overviewOf);
  }

  async failures(region: string, birdId: string, limit: number): Promise<FlightOverview[]> {
    return this.#failures.all(region, birdId, limit).map(overviewOf);
  }

  async page(query: FlightQuery): Promise<{ flights: FlightOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const sources = this.#sources(query);
    let end: FlightPlace | undefined;
    const found = sources.flatMap(({ from, where }) => {
      const last =
        query.text === undefined && query.severity === undefined
          ? this.#lastLookedAt(from, where, Math.ceil(MAX_LOOKED_AT / sources.length))
          : this.#lastRead(from, where, sources.length);
      if (last && (!end || isLater(last, end))) end = last;
      return this.#read(
        from,
        last ? where.copy().add(`${KEY} >= (?, ?, ?)`, ...flightPlaceOf(last)) : where,
        query,
        limit,
      );
    });
    const rows = found.filter((row) => !end || !isLater(end, row)).sort((a, b) => (isLater(a, b) ? -1 : 1));
    const next = rows.length > limit ? rows[limit - 1] : end;
    const flights = rows.slice(0, limit).map(overviewOf);
    return next ? { flights, next: formatCursor(flightPlaceOf(next)) } : { flights };
  }

  #sources(query: FlightQuery): Source[] {
    const within = withinTime(query);
    if (query.flight !== undefined) {
      const where = within.add('flight.id = ?', foldedGuid(query.flight));
      return [{ from: 'flight INDEXED BY flight_by_id', where }];
    }
    const streams = this.#streamsOf(query);
    if (streams !== undefined && streams.length <= FEW_STREAMS) {
      const isFailed = query.status === 'failed';
      return streams.map((stream) => ({
        from: isFailed ? 'flight INDEXED BY flight_failed' : 'flight',
        where: within.copy().add(`flight.stream = ?${isFailed ? FAILED : ''}`, stream),
      }));
    }
    if (streams) within.add('flight.stream IN (SELECT value FROM json_each(?))', JSON.stringify(streams));
    return [
      { from: 'flight INDEXED BY flight_ended', where: within.copy().add('flight.open = 0') },
      { from: 'flight INDEXED BY flight_in_air', where: within.copy().add('flight.open = 1') },
    ];
  }

  /** The streams of the requested Birds; undefined for all. */
  #streamsOf({ regions, nest, bird, name }: FlightQuery): number[] | undefined {
    if (nest === undefined && bird === undefined && name === undefined) return undefined;
    const where = addBird(new Conditions().addOneOf('bird.region', regions), { nest, bird, name });
    return this.#connection
      .prepare<{ stream: number }>(
        `SELECT stream.stream FROM bird
           LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
           JOIN stream ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
         ${where.where}`,
      )
      .all(...where.values)
      .map((row) => row.stream);
  }

  /** The last Flight that the page may examine in this source; undefined if there are fewer. */
  #lastLookedAt(from: string, where: Conditions, lookedAt: number): FlightPlace | undefined {
    return this.#connection
      .prepare<FlightPlace>(
        `SELECT flight.started_us, flight.stream, flight.id FROM ${from} ${where.where} ${ORDER} LIMIT 1 OFFSET ?`,
      )
      .get(...where.values, lookedAt - 1);
  }

  /** The same if the messages of end events are read, from this many sources. */
  #lastRead(from: string, where: Conditions, sources: number): FlightPlace | undefined {
    const flights = Math.ceil(MAX_READ / sources);
    const order = 'ORDER BY started_us DESC, stream DESC, id DESC';
    return this.#connection
      .prepare<FlightPlace>(
        `SELECT started_us, stream, id FROM (
           SELECT started_us, stream, id, row_number() OVER later AS flights, sum(bytes) OVER later AS bytes
           FROM (SELECT flight.started_us, flight.stream, flight.id, octet_length(event.message) AS bytes
             FROM ${from} ${ITS_EVENT} ${where.where} ${ORDER} LIMIT ?)
           WINDOW later AS (${order} ROWS UNBOUNDED PRECEDING))
         WHERE flights = ? OR bytes > ? ${order} LIMIT 1`,
      )
      .get(...where.values, flights, flights, MAX_BYTES / sources);
  }

  #read(
    from: string,
    looked: Conditions,
    { regions, status, severity, text }: FlightQuery,
    limit: number,
  ): FlightRow[] {
    const where = looked.copy().addOneOf('stream.region', regions);
    if (status !== undefined) where.add('flight.status = ?', status);
    if (severity !== undefined) {
      where.add(
        `EXISTS (SELECT 1 FROM alert_event JOIN alert USING (alert)
           WHERE alert_event.event = event.event AND alert.severity = ?)`,
        severity,
      );
    }
    where.addText(text, {
      folded: ['bird.folded', 'nest.folded'],
      ids: ['flight.id', 'stream.bird_id'],
      whole: ['event.message'],
    });
    return this.#connection
      .prepare<FlightRow>(
        `SELECT ${COLUMNS} FROM ${from} ${ITS_PLACE} ${ITS_EVENT} ${where.where} ${ORDER} LIMIT ?`,
      )
      .all(...where.values, limit + 1);
  }
}

function withinTime({ sinceUs, untilUs, cursor }: FlightQuery): Conditions {
  const within = new Conditions();
  if (cursor !== undefined) within.add(`${KEY} < (?, ?, ?)`, ...parseCursor(cursor, PLACE));
  if (sinceUs !== undefined) within.add('flight.started_us >= ?', sinceUs);
  if (untilUs !== undefined) within.add('flight.started_us < ?', untilUs);
  return within;
}

function isLater(one: FlightPlace, other: FlightPlace): boolean {
  if (one.started_us !== other.started_us) return one.started_us > other.started_us;
  if (one.stream !== other.stream) return one.stream > other.stream;
  return one.id > other.id;
}

function overviewOf(row: FlightRow): FlightOverview {
  return flightOverviewOf(row, row.step);
}
