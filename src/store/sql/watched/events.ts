/**
 * Stores events, which nestwatch makes of the service's entries. An event is written once and never changed. No two
 * events of a stream have the same instant and id, so reading a page twice inserts nothing twice.
 */
import { type Event, type OwnFeed, readShortId, SHORT_ID_ERA, shortId } from '../../../domain/alert/event.ts';
import { foldedGuid } from '../../../text/plain-text.ts';
import { bodyOf, type EventRow, eventOf, idOf, nestHours } from '../../event-store.ts';
import { createNumbering, namesOf, type RowStatement, type Sql } from '../sql.ts';
import { EventPages, type EventQuery, ofNest } from './event-pages.ts';
import type { SqlStreams } from './feed-streams.ts';

/** A UUIDv7 holds the millisecond of its creation, but an entry's `createdAt` may have been cut to the second. */
const HINT_MARGIN_US = 1_000_000;

/** The year 2255: no stored instant is later. */
const LAST_SECOND = 9_000_000_000;

const COLUMNS = `event bigint, stream bigint, occurred_us bigint, id text, type text, observed_us bigint, message text,
  body text`;

/**
 * Numbers come from this process: no other writes to the file. `RETURNING` would have a cost for each row, while usually
 * all are new.
 */
const INSERT_NUMBERED: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO event (${namesOf(COLUMNS).join(', ')}) SELECT * FROM ${given} WHERE true
    ON CONFLICT (stream, occurred_us, id) DO NOTHING`,
};

/**
 * Numbers come from the server; `event` is only the order. The statement reads the digests so that it conflicts with a
 * transaction that counts up to the newest number (`digests.ts`).
 */
const INSERT_RETURNING: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO event (${namesOf(COLUMNS).slice(1).join(', ')})
    SELECT ${namesOf(COLUMNS).slice(1).join(', ')} FROM ${given} WHERE (SELECT count(*) FROM digest) >= 0
    ORDER BY event ON CONFLICT (stream, occurred_us, id) DO NOTHING RETURNING event, occurred_us, id`,
};

/** Digests may still refer to the numbers of deleted events, which must not be reused. */
const LAST_NUMBER = `SELECT max(event) AS last FROM (
  SELECT max(event) AS event FROM event UNION ALL SELECT max(body ->> '$.lastEvent') FROM digest)`;

const HOURS = `region text, nest_id text, hour bigint, succeeded bigint, failed bigint, late_succeeded bigint,
  late_failed bigint`;
const ADD_HOURS: RowStatement = {
  columns: HOURS,
  text: (given) => `INSERT INTO nest_hour (${namesOf(HOURS).join(', ')}) SELECT * FROM ${given} WHERE true
    ON CONFLICT (region, nest_id, hour) DO UPDATE SET succeeded = nest_hour.succeeded + excluded.succeeded,
      failed = nest_hour.failed + excluded.failed,
      late_succeeded = nest_hour.late_succeeded + excluded.late_succeeded,
      late_failed = nest_hour.late_failed + excluded.late_failed`,
};

const NAMED = 'at bigint, region text, feed text, bird_id text, occurred_us bigint, id text';

/**
 * Finds events in the Bird's own stream or the region's, where nearly all are. On a server, `OFFSET 0` makes it look up
 * each one by its unique key: a plan made while the tables are nearly empty would scan the whole stream for each.
 */
const NUMBERS: Record<Sql['engine'], RowStatement> = {
  sqlite: {
    columns: NAMED,
    text: (given) => `SELECT at, event.event FROM ${given}
      INNER JOIN stream ON stream.region = given.region AND stream.feed = given.feed
        AND stream.bird_id IN (given.bird_id, '')
      INNER JOIN event INDEXED BY event_of_stream ON event.stream = stream.stream
        AND event.occurred_us = given.occurred_us AND event.id = given.id
      ORDER BY at, stream.bird_id <> given.bird_id`,
  },
  postgres: {
    columns: NAMED,
    text: (given) => `SELECT at, found.event FROM ${given}
      CROSS JOIN LATERAL (SELECT stream, bird_id FROM stream WHERE region = given.region AND feed = given.feed
        AND bird_id IN (given.bird_id, '') OFFSET 0) AS own
      CROSS JOIN LATERAL (SELECT event FROM event WHERE stream = own.stream AND occurred_us = given.occurred_us
        AND id = given.id OFFSET 0) AS found
      ORDER BY at, own.bird_id <> given.bird_id`,
  },
};

/** Finds events by instant and id in any stream of the region and feed. */
const NUMBERS_ANYWHERE: RowStatement = {
  columns: NAMED,
  text: (given) => `SELECT at, event.event FROM ${given}
    INNER JOIN event /* INDEXED BY event_by_age */ ON event.occurred_us = given.occurred_us AND event.id = given.id
    INNER JOIN stream ON stream.stream = event.stream AND stream.region = given.region AND stream.feed = given.feed
    ORDER BY at, event.event`,
};

const OF_KIND =
  'INNER JOIN stream ON stream.stream = event.stream AND stream.region = $1 AND stream.feed = $2';

/** The Flight's row tells the stream, so that only that part of the index is scanned. */
const END_OF_FLIGHT = `SELECT event.event FROM flight /* INDEXED BY flight_by_id */
    INNER JOIN event /* INDEXED BY event_of_stream */ ON event.stream = flight.stream AND event.id = $3 ${OF_KIND}
  WHERE flight.id = $4 ORDER BY event.event LIMIT 1`;
const NEAR = `SELECT event.event FROM event /* INDEXED BY event_by_age */ ${OF_KIND}
  WHERE event.id = $3 AND occurred_us BETWEEN $4 AND $5 ORDER BY event.event LIMIT 1`;
const ANYWHERE = `SELECT event.event FROM event /* INDEXED BY event_of_stream */ ${OF_KIND}
  WHERE event.id = $3 ORDER BY event.event LIMIT 1`;

/** The ends of a Flight, each under the Flight's id and status. */
const ENDS_OF_FLIGHT = `SELECT event.event FROM flight INNER JOIN event /* INDEXED BY event_of_stream */ USING (stream)
  WHERE flight.id = $1 AND occurred_us >= started_us
    AND substr(event.id, 1, length(flight.id) + 1) = flight.id || '/'
  ORDER BY event.event`;

type Found = Pick<EventRow, 'event'>;
type StreamOf = (event: Event) => number;

/** Stores events as rows with numbers, by which other tables refer to them. */
export class SqlEvents {
  readonly #sql: Sql;
  readonly #streams: SqlStreams;
  readonly #pages: EventPages;
  readonly #takeNumbers: (count: number) => Promise<number>;
  /** What this transaction inserted, so that it need not be looked up. */
  readonly #inserted = new Map<Event, number>();

  constructor(sql: Sql, streams: SqlStreams) {
    this.#sql = sql;
    this.#streams = streams;
    this.#takeNumbers = createNumbering(sql, LAST_NUMBER);
    this.#pages = new EventPages(sql, (flightId) => this.numbersOfFlight(flightId));
  }

  /** Discards what the last transaction inserted, which may have been rolled back. */
  forget(): void {
    this.#inserted.clear();
  }

  async fromRows(rows: readonly EventRow[]): Promise<Event[]> {
    await this.#streams.know(rows.map(({ stream }) => stream));
    return rows.map((row) => eventOf(row, this.#streams.kindOf(row.stream)));
  }

  /**
   * Inserts the events that are not there yet (same stream, instant and id) and returns those, in their given order.
   */
  async insert(stream: number, events: readonly Event[]): Promise<Event[]> {
    return this.#insert(() => stream, events);
  }

  /** The same for events of a region that nestwatch itself makes, each in the stream of its Bird, or else of its Nest or the region. */
  async insertNoticed(region: string, events: readonly Event[]): Promise<Event[]> {
    const subjectOf = ({ birdId, nestId }: Event) => birdId || (nestId && ofNest(nestId));
    const fresh: Event[] = [];
    for (const [feed, some] of Map.groupBy(events, (event) => event.feed as OwnFeed)) {
      const streams = await this.#streams.openNoticed(region, feed, some.map(subjectOf));
      fresh.push(...(await this.#insert((event) => streams.get(subjectOf(event))!, some)));
    }
    return fresh;
  }

  async #insert(streamOf: StreamOf, events: readonly Event[]): Promise<Event[]> {
    if (events.length === 0) return [];
    const fresh =
      this.#sql.engine === 'sqlite'
        ? await this.#insertNumbered(streamOf, events)
        : await this.#insertReturning(streamOf, events);
    const hours = nestHours(fresh);
    await this.#sql.write(
      ADD_HOURS,
      hours.map((one) => [
        ...[one.region, one.nestId, one.hour],
        ...[one.succeeded, one.failed, one.lateSucceeded, one.lateFailed],
      ]),
    );
    return fresh;
  }

  async #insertNumbered(streamOf: StreamOf, events: readonly Event[]): Promise<Event[]> {
    const first = await this.#takeNumbers(events.length);
    const written = await this.#sql.write(INSERT_NUMBERED, rowsOf(streamOf, events, first));
    let isNew = (_number: number) => true;
    if (written < events.length) {
      const rows = await this.#sql.rows<Found>('SELECT event FROM event WHERE event >= $1', first);
      const found = new Set(rows.map(({ event }) => event));
      isNew = (number) => found.has(number);
    }
    return events.filter((event, index) => {
      if (!isNew(first + index)) return false;
      this.#inserted.set(event, first + index);
      return true;
    });
  }

  async #insertReturning(streamOf: StreamOf, events: readonly Event[]): Promise<Event[]> {
    const written = await this.#sql.returning<Pick<EventRow, 'event' | 'occurred_us' | 'id'>>(
      INSERT_RETURNING,
      rowsOf(streamOf, events, 1),
    );
    const numbers = new Map(written.map((row) => [`${row.occurred_us} ${row.id}`, row.event]));
    return events.filter((event) => {
      const name = `${event.occurredAtUs} ${idOf(event)}`;
      const number = numbers.get(name);
      if (number === undefined) return false;
      this.#inserted.set(event, number);
      // If one call contains an event twice, the first counts.
      return numbers.delete(name);
    });
  }

  /** The numbers of these events, in their order; undefined for one that is not stored. */
  async numbersOf(events: readonly Event[]): Promise<(number | undefined)[]> {
    const found = new Map<Event, number>();
    for (const statement of [NUMBERS[this.#sql.engine], NUMBERS_ANYWHERE]) {
      const unknown = events.filter((event) => !this.#inserted.has(event) && !found.has(event));
      if (unknown.length === 0) break;
      const rows = await this.#sql.returning<Found & { readonly at: number }>(
        statement,
        unknown.map((event, at) => [
          ...[at, event.region, event.feed, event.birdId],
          ...[event.occurredAtUs, idOf(event)],
        ]),
      );
      for (const { at, event } of rows) {
        if (!found.has(unknown[at]!)) found.set(unknown[at]!, event);
      }
    }
    return events.map((event) => this.#inserted.get(event) ?? found.get(event));
  }

  /** The number of the event with this key. */
  async numberOfKey(key: string): Promise<number | undefined> {
    // Names of regions and feeds contain no slash.
    const [, region, feed, id] = /^([^/]+)\/([^/]+)\/(.*)$/s.exec(key) ?? [];
    if (region === undefined || feed === undefined || id === undefined) return undefined;
    const find = async (text: string, ...values: readonly (string | number)[]) =>
      (await this.#sql.first<Found>(text, region, feed, id, ...values))?.event;
    const ofFlight = feed === 'flight' ? await find(END_OF_FLIGHT, id.split('/', 1)[0]!) : undefined;
    if (ofFlight !== undefined) return ofFlight;
    // The id's own time spares a scan over all ids. An id without one, or with a wrong one, is found anyway.
    const hintUs = uuidInstantUs(id);
    const hinted =
      hintUs === undefined ? undefined : await find(NEAR, hintUs - HINT_MARGIN_US, hintUs + HINT_MARGIN_US);
    return hinted ?? find(ANYWHERE);
  }

  /** The numbers of the events of Flights with this id, in any region. */
  async numbersOfFlight(flightId: string): Promise<number[]> {
    return (await this.#sql.rows<Found>(ENDS_OF_FLIGHT, foldedGuid(flightId))).map(({ event }) => event);
  }

  /** Ids (the last part of the key) of the stream's events that occurred in [sinceUs, untilUs), oldest first. */
  async ids(
    stream: number,
    sinceUs: number,
    untilUs = Number.MAX_SAFE_INTEGER,
  ): Promise<{ id: string; occurredAtUs: number }[]> {
    const rows = await this.#sql.rows<Pick<EventRow, 'occurred_us' | 'id'>>(
      `SELECT occurred_us, id FROM event WHERE stream = $1 AND occurred_us >= $2 AND occurred_us < $3
       ORDER BY occurred_us, id`,
      stream,
      sinceUs,
      untilUs,
    );
    return rows.map((row) => ({ id: row.id, occurredAtUs: row.occurred_us }));
  }

  /** Which of these ids the stream has events of, at any time. */
  async knownIds(stream: number, ids: readonly string[]): Promise<Set<string>> {
    // SQLite scans the stream's whole index, which has the time before the id; the rows stay inside the database.
    const rows = await this.#sql.rows<Pick<EventRow, 'id'>>(
      'SELECT id FROM event /* INDEXED BY event_of_stream */ WHERE stream = $1 AND id = ANY($2::text[])',
      stream,
      ids,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** How many events of the stream occurred in [fromUs, toUs). */
  async count(stream: number, fromUs: number, toUs: number): Promise<number> {
    const row = await this.#sql.first<{ count: number }>(
      'SELECT count(*) AS count FROM event WHERE stream = $1 AND occurred_us >= $2 AND occurred_us < $3',
      stream,
      fromUs,
      toUs,
    );
    return row!.count;
  }

  /**
   * Events, newest first. `next` is absent at the end. A page may hold fewer than `limit` events, or none, and still
   * have a `next`. Throws `usage` for a cursor that no earlier answer gave.
   */
  async page(query: EventQuery): Promise<{ events: Event[]; next?: string }> {
    const { rows, next } = await this.#pages.page(query);
    const events = await this.fromRows(rows);
    return next === undefined ? { events } : { events, next };
  }

  /** One event by its key. */
  async find(key: string): Promise<Event | undefined> {
    const number = await this.numberOfKey(key);
    if (number === undefined) return undefined;
    const rows = await this.#sql.rows<EventRow>('SELECT * FROM event WHERE event = $1', number);
    return (await this.fromRows(rows))[0];
  }

  /** The events with this short id, usually one; none if the text is not a short id. */
  async withShortId(text: string): Promise<Event[]> {
    const wanted = readShortId(text);
    if (!wanted) return [];
    const found: Event[] = [];
    for (let second = wanted.second; second < LAST_SECOND; second += SHORT_ID_ERA) {
      const rows = await this.#sql.rows<EventRow>(
        `SELECT * FROM event /* INDEXED BY event_by_age */
         WHERE occurred_us >= $1 AND occurred_us < $2 LIMIT 10000`,
        second * 1e6,
        (second + 1) * 1e6,
      );
      found.push(...(await this.fromRows(rows)).filter((event) => shortId(event) === wanted.text));
    }
    return found;
  }
}

function rowsOf(streamOf: StreamOf, events: readonly Event[], first: number) {
  return events.map((event, index) => [
    ...[first + index, streamOf(event), event.occurredAtUs, idOf(event)],
    ...[event.type, event.observedAtUs, event.message, bodyOf(event)],
  ]);
}

function uuidInstantUs(id: string): number | undefined {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id);
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) * 1000 : undefined;
}
