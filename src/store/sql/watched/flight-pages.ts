/**
 * Reads Flights in pages by start, latest first. If few of many match, a page examines a limited number. On SQLite each
 * of a few Birds' Flights are read from its own stream; otherwise all are scanned, active and ended ones in an index
 * each.
 */
import type { Event } from '../../../domain/alert/event.ts';
import { foldedGuid } from '../../../text/plain-text.ts';
import type { FlightOverview, FlightQuery } from '../../bird-store.ts';
import { readBody, type FlightRow as StoredFlight } from '../../event-store.ts';
import { beginningOf, beginningSql } from '../../filter.ts';
import type { Sql } from '../sql.ts';
import { addBird } from './bird-pages.ts';
import { Conditions, formatCursor, parseCursor } from './conditions.ts';

/** The part of a message that a list of Flights shows. */
const MAX_SHOWN_MESSAGE = 2_000;

/** A Flight with its Bird, its Nest, and the event of its last end. */
interface FlightOverviewRow
  extends Pick<StoredFlight, 'stream' | 'started_us' | 'id' | 'status' | 'ended_us'> {
  readonly region: string;
  readonly bird_id: string;
  readonly bird: string | null;
  readonly nest_id: string | null;
  readonly nest: string | null;
  readonly event_id: string | null;
  readonly message: string | null;
}

/** `attributes`: those of the event of its last end. */
function flightOverviewOf(row: FlightOverviewRow, attributes: Event['attributes']): FlightOverview {
  return {
    region: row.region,
    nestId: row.nest_id ?? '',
    nest: row.nest ?? '',
    birdId: row.bird_id,
    bird: row.bird ?? '',
    flightId: row.id,
    startedAtUs: row.started_us,
    endedAtUs: row.ended_us,
    status: row.status,
    eventKey: row.event_id === null ? '' : `${row.region}/flight/${row.event_id}`,
    message: beginningOf(row.message ?? '', MAX_SHOWN_MESSAGE),
    step: String(attributes.step_id ?? ''),
    scope: String(attributes.scope ?? ''),
  };
}

/** A Flight's place in the order of starts, latest first. */
type FlightPlace = Pick<StoredFlight, 'started_us' | 'stream' | 'id'>;

function flightPlaceOf(row: FlightPlace): (string | number)[] {
  return [row.started_us, row.stream, row.id];
}

interface FlightRow extends FlightOverviewRow {
  readonly body: string | null;
}

/** A part of all Flights: an index to scan, and a condition on its rows. */
interface Source {
  readonly from: string;
  readonly where: Conditions;
}

/** Flights examined for one page; SQLite takes about 40 ms, in which nothing else runs. */
const MAX_LOOKED_AT = { sqlite: 16_000, postgres: 20_000 };
/** The limits if the messages of their end events are searched: Flights, and bytes of messages. */
const MAX_READ = { sqlite: 2_800, postgres: 4_000 };
const MAX_BYTES = 8 * 2 ** 20;
/** With more Birds than this all Flights are scanned. */
const FEW_STREAMS = 50;
const MAX_PAGE = 1000;
const KEY = '(flight.started_us, flight.stream, flight.id)';
const ORDER = 'ORDER BY flight.started_us DESC, flight.stream DESC, flight.id DESC';
/** The same order with bare column names. */
const LATER = 'ORDER BY started_us DESC, stream DESC, id DESC';
const GIVEN = '(?::bigint, ?::bigint, ?::text)';
const PLACE = ['number', 'number', 'string'] as const;

/** The event of a Flight's last end is found by its exact instant and id. */
const ITS_EVENT = `LEFT JOIN event ON event.stream = flight.stream AND event.occurred_us = flight.ended_us
  AND event.id = flight.id || '/' || flight.status || CASE WHEN flight.ends > 1 THEN '#' || flight.ends ELSE '' END`;
const flightsIn = (from: string) => `SELECT flight.stream, flight.started_us, flight.id, flight.status,
    flight.ended_us, stream.region, stream.bird_id, bird.name AS bird, bird.nest_id, nest.name AS nest,
    event.id AS event_id, ${beginningSql('event.message', MAX_SHOWN_MESSAGE)} AS message, event.body
  FROM ${from} JOIN stream ON stream.stream = flight.stream
    LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
    LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id ${ITS_EVENT}`;

const BY_ID = 'flight /* INDEXED BY flight_by_id */';
const BY_FAILURE = 'flight /* INDEXED BY flight_failed */';
const FAILED = "flight.open = 0 AND flight.status = 'failed'";
const OF_BIRD = `flight.stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)`;
const LATEST_FIRST = 'ORDER BY flight.started_us DESC, flight.id DESC LIMIT $3';

export class FlightPages {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(region: string, flightId: string): Promise<FlightOverview | undefined> {
    const id = foldedGuid(flightId);
    // Messages show the first eight signs of a GUID.
    const [isIt, ...ids] = /^[0-9a-f]{8}$/.test(id)
      ? (['flight.id >= $2 AND flight.id < $3', id, `${id}g`] as const)
      : (['flight.id = $2', id] as const);
    const row = await this.#sql.first<FlightRow>(
      `${flightsIn(BY_ID)} WHERE stream.region = $1 AND ${isIt} ${ORDER} LIMIT 1`,
      ...[region, ...ids],
    );
    return row && overviewOf(row);
  }

  async latest(
    region: string,
    birdId: string,
    limit: number,
    beforeUs = Number.MAX_SAFE_INTEGER,
  ): Promise<FlightOverview[]> {
    const text = `${flightsIn('flight')} WHERE ${OF_BIRD} AND flight.started_us < $4 ${LATEST_FIRST}`;
    return (await this.#sql.rows<FlightRow>(text, region, birdId, limit, beforeUs)).map(overviewOf);
  }

  async next(region: string, birdId: string, afterUs: number): Promise<FlightOverview | undefined> {
    const text = `${flightsIn('flight')} WHERE ${OF_BIRD} AND flight.started_us > $3
      ORDER BY flight.started_us, flight.id LIMIT 1`;
    const row = await this.#sql.first<FlightRow>(text, region, birdId, afterUs);
    return row && overviewOf(row);
  }

  async failures(region: string, birdId: string, limit: number): Promise<FlightOverview[]> {
    const text = `${flightsIn(BY_FAILURE)} WHERE ${OF_BIRD} AND ${FAILED} ${LATEST_FIRST}`;
    return (await this.#sql.rows<FlightRow>(text, region, birdId, limit)).map(overviewOf);
  }

  async page(query: FlightQuery): Promise<{ flights: FlightOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const sources = await this.#sources(query);
    let end: FlightPlace | undefined;
    const found: FlightRow[] = [];
    for (const { from, where } of sources) {
      const last =
        query.text === undefined && query.severity === undefined
          ? await this.#lastLookedAt(from, where, sources.length)
          : await this.#lastRead(from, where, sources.length);
      if (last && (!end || isLater(last, end))) end = last;
      const looked = last ? where.copy().add(`${KEY} >= ${GIVEN}`, ...flightPlaceOf(last)) : where;
      found.push(...(await this.#read(from, looked, query, limit)));
    }
    const rows =
      sources.length > 1
        ? found.filter((row) => !end || !isLater(end, row)).sort((a, b) => (isLater(a, b) ? -1 : 1))
        : found;
    const next = rows.length > limit ? rows[limit - 1] : end;
    const flights = rows.slice(0, limit).map(overviewOf);
    return next ? { flights, next: formatCursor(flightPlaceOf(next)) } : { flights };
  }

  async #sources(query: FlightQuery): Promise<Source[]> {
    const within = withinTime(this.#sql, query);
    if (query.flight !== undefined) {
      within.add('flight.id = ?', foldedGuid(query.flight));
      if (this.#sql.engine === 'sqlite') return [{ from: BY_ID, where: within }];
    }
    const streams = await this.#streamsOf(query);
    if (this.#sql.engine === 'sqlite' && streams !== undefined && streams.length <= FEW_STREAMS) {
      const isFailed = query.status === 'failed';
      return streams.map((stream) => {
        const where = within.copy().add('flight.stream = ?', stream);
        return isFailed ? { from: BY_FAILURE, where: where.add(FAILED) } : { from: 'flight', where };
      });
    }
    if (streams) within.add('flight.stream = ANY(?::bigint[])', streams);
    if (this.#sql.engine === 'postgres') return [{ from: 'flight', where: within }];
    return [
      { from: 'flight /* INDEXED BY flight_ended */', where: within.copy().add('flight.open = 0') },
      { from: 'flight /* INDEXED BY flight_in_air */', where: within.copy().add('flight.open = 1') },
    ];
  }

  /** The streams of the requested Birds; undefined for all. */
  async #streamsOf({ regions, nest, bird, name }: FlightQuery): Promise<number[] | undefined> {
    if (nest === undefined && bird === undefined && name === undefined) return undefined;
    const birds = addBird(new Conditions(this.#sql).addOneOf('bird.region', regions), { nest, bird, name });
    const rows = await this.#sql.composed<{ stream: number }>(
      `SELECT stream.stream FROM bird
         LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
         JOIN stream ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
       ${birds.where}`,
      ...birds.parameters,
    );
    return rows.map((row) => row.stream);
  }

  /** The last Flight that the page may examine in this source, of this many; undefined if there are fewer. */
  async #lastLookedAt(from: string, where: Conditions, sources: number): Promise<FlightPlace | undefined> {
    const flights = Math.ceil(MAX_LOOKED_AT[this.#sql.engine] / sources);
    const [last] = await this.#sql.composed<FlightPlace>(
      `SELECT flight.started_us, flight.stream, flight.id FROM ${from} ${where.where} ${ORDER}
       LIMIT 1 OFFSET ${flights - 1}`,
      ...where.parameters,
    );
    return last;
  }

  /** The same if the messages of end events are read. */
  async #lastRead(from: string, where: Conditions, sources: number): Promise<FlightPlace | undefined> {
    const flights = Math.ceil(MAX_READ[this.#sql.engine] / sources);
    const [last] = await this.#sql.composed<FlightPlace>(
      `SELECT started_us, stream, id FROM (
         SELECT started_us, stream, id, row_number() OVER later AS flights, sum(bytes) OVER later AS bytes
         FROM (SELECT flight.started_us, flight.stream, flight.id, octet_length(event.message) AS bytes
           FROM ${from} ${ITS_EVENT} ${where.where} ${ORDER} LIMIT ${flights}) AS first
         WINDOW later AS (${LATER} ROWS UNBOUNDED PRECEDING)) AS looked
       WHERE flights = ${flights} OR bytes > ${Math.floor(MAX_BYTES / sources)} ${LATER} LIMIT 1`,
      ...where.parameters,
    );
    return last;
  }

  #read(
    from: string,
    looked: Conditions,
    { regions, status, severity, text }: FlightQuery,
    limit: number,
  ): Promise<FlightRow[]> {
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
    return this.#sql.composed<FlightRow>(
      `${flightsIn(from)} ${where.where} ${ORDER} LIMIT ${limit + 1}`,
      ...where.parameters,
    );
  }
}

function withinTime(sql: Sql, { sinceUs, untilUs, cursor }: FlightQuery): Conditions {
  const within = new Conditions(sql);
  if (cursor !== undefined) within.add(`${KEY} < ${GIVEN}`, ...parseCursor(cursor, PLACE));
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
  return flightOverviewOf(row, row.body === null ? {} : readBody(row.body).attributes);
}
