import type { Event } from '../../../domain/alert/event.ts';
import { readShortId, SHORT_ID_ERA, shortId } from '../../../domain/alert/short-id.ts';
import { foldedGuid } from '../../../text/guid.ts';
import type { EventQuery, EventStore } from '../../event-store.ts';
import { bodyOf, type EventRow, eventOf, idOf } from '../../rows/event-row.ts';
import { nestHours } from '../../rows/nest-hours.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList } from '../connection.ts';
import { EventPages } from './event-pages.ts';
import type { SqliteStreams } from './sqlite-streams.ts';

/** A UUIDv7 holds the millisecond of its creation, but an entry's `createdAt` may have been cut to the second. */
const HINT_MARGIN_US = 1_000_000;

/** The year 2255: no stored instant is later. */
const LAST_SECOND = 9_000_000_000;

/** Stores events as rows with numbers, by which other tables refer to them. */
export class SqliteEvents implements EventStore {
  readonly #streams: SqliteStreams;
  readonly #pages: EventPages;
  readonly #sql: ReturnType<typeof prepareEvents>;
  readonly #insert: ReturnType<typeof prepareChunks>;
  /** Numbers used by a transaction that was rolled back are skipped. */
  #lastNumber: number;
  /** What this transaction inserted, so that it need not be looked up: lists of events with consecutive numbers. */
  #inserted: { readonly first: number; readonly events: readonly Event[] }[] = [];

  constructor(connection: Connection, streams: SqliteStreams) {
    this.#streams = streams;
    this.#pages = new EventPages(connection, streams, (flightId) => this.numbersOfFlight(flightId));
    this.#sql = prepareEvents(connection);
    this.#insert = prepareChunks(
      connection,
      8,
      (rows) =>
        `INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body)
         VALUES ${rows} ON CONFLICT (stream, occurred_us, id) DO NOTHING`,
    );
    // Digests may still refer to the numbers of deleted events, which must not be reused.
    const newest = connection.prepare<{ event: number | null }>(
      `SELECT max(event) AS event FROM (
         SELECT max(event) AS event FROM event UNION ALL SELECT max(body ->> '$.lastEvent') FROM digest)`,
    );
    this.#lastNumber = newest.get()?.event ?? 0;
  }

  /** Discards what the last transaction inserted, which may have been rolled back. */
  forget(): void {
    if (this.#inserted.length > 0) this.#inserted = [];
  }

  fromRow(row: EventRow): Event {
    return eventOf(row, this.#streams.kindOf(row.stream));
  }

  /** The number of a stored event. */
  numberOf(event: Event): number | undefined {
    for (const { first, events } of this.#inserted) {
      const at = events.indexOf(event);
      if (at >= 0) return first + at;
    }
    const { region, feed, birdId, occurredAtUs } = event;
    const id = idOf(event);
    const likely = this.#streams.find(region, feed, birdId);
    return (
      (likely && this.#sql.exact.get(likely, occurredAtUs, id)?.event) ??
      this.#firstOf(this.#sql.near.all(occurredAtUs, occurredAtUs, id), region, feed)
    );
  }

  /** The number of the event with this key. */
  numberOfKey(key: string): number | undefined {
    const kind = this.#streams.kinds().find((one) => key.startsWith(`${one.region}/${one.feed}/`));
    if (!kind) return undefined;
    const { region, feed } = kind;
    const id = key.slice(region.length + feed.length + 2);
    const ofFlight =
      feed === 'flight'
        ? this.#firstOf(this.#sql.endOfFlight.all(id.split('/', 1)[0]!, id), region, feed)
        : undefined;
    if (ofFlight !== undefined) return ofFlight;
    // The id's own time spares a scan over all ids. An id without one, or with a wrong one, is found anyway.
    const hintUs = uuidInstantUs(id);
    const hinted =
      hintUs === undefined ? [] : this.#sql.near.all(hintUs - HINT_MARGIN_US, hintUs + HINT_MARGIN_US, id);
    return this.#firstOf(hinted, region, feed) ?? this.#firstOf(this.#sql.anywhere.all(id), region, feed);
  }

  /** The numbers of the events of Flights with this id, in any region. */
  numbersOfFlight(flightId: string): number[] {
    return this.#sql.ofFlight.all(foldedGuid(flightId)).map(({ event }) => event);
  }

  async insert(stream: number, events: readonly Event[]): Promise<Event[]> {
    if (events.length === 0) return [];
    const first = this.#lastNumber + 1;
    // Usually all are new. Only if some are not, a query finds out which: `RETURNING` would have a cost for each row.
    const isEachNew = this.#write(stream, events) === events.length;
    const written = isEachNew ? [...events] : this.#numberedFrom(first, events);
    if (isEachNew) this.#inserted.push({ first, events: written });
    for (const { region, nestId, hour, succeeded, failed } of nestHours(written)) {
      this.#sql.addHour.run(region, nestId, hour, succeeded, failed);
    }
    return written;
  }

  /**
   * Those of these events, numbered in order from `first`, that became rows. The others were already stored, or occur
   * among these a second time.
   */
  #numberedFrom(first: number, events: readonly Event[]): Event[] {
    const written = new Set(this.#sql.numbersFrom.all(first).map((row) => row.event));
    return events.filter((_, at) => written.has(first + at));
  }

  /** Assigns numbers to the events and inserts those that are new; returns how many were. */
  #write(stream: number, events: readonly Event[]): number {
    const before = this.#lastNumber;
    this.#lastNumber += events.length;
    return this.#insert(events.length, (index, values) => {
      const event = events[index]!;
      values.push(before + index + 1, stream, event.occurredAtUs, idOf(event));
      values.push(event.type, event.observedAtUs, event.message, bodyOf(event));
    });
  }

  async ids(stream: number, sinceUs: number, untilUs = Number.MAX_SAFE_INTEGER) {
    return this.#sql.ids
      .all(stream, sinceUs, untilUs)
      .map((row) => ({ id: row.id, occurredAtUs: row.occurred_us }));
  }

  async knownIds(stream: number, ids: readonly string[]): Promise<Set<string>> {
    return new Set(this.#sql.known.all(stream, textList(ids)).map((row) => row.id));
  }

  async count(stream: number, fromUs: number, toUs: number): Promise<number> {
    return this.#sql.count.get(stream, fromUs, toUs)!.count;
  }

  async page(query: EventQuery): Promise<{ events: Event[]; next?: string }> {
    const { rows, next } = this.#pages.page(query);
    const events = rows.map((row) => this.fromRow(row));
    return next === undefined ? { events } : { events, next };
  }

  async find(key: string): Promise<Event | undefined> {
    const number = this.numberOfKey(key);
    return number === undefined ? undefined : this.fromRow(this.#sql.byNumber.get(number)!);
  }

  async withShortId(text: string): Promise<Event[]> {
    const wanted = readShortId(text);
    if (!wanted) return [];
    const found: Event[] = [];
    for (let second = wanted.second; second < LAST_SECOND; second += SHORT_ID_ERA) {
      const rows = this.#sql.within.all(second * 1e6, (second + 1) * 1e6);
      const events = rows.map((row) => this.fromRow(row));
      found.push(...events.filter((event) => shortId(event) === wanted.text));
    }
    return found;
  }

  /** The number of the first of these rows whose stream has this region and feed. */
  #firstOf(
    rows: readonly Pick<EventRow, 'event' | 'stream'>[],
    region: string,
    feed: string,
  ): number | undefined {
    return rows.find(({ stream }) => {
      const kind = this.#streams.kindOf(stream);
      return kind.region === region && kind.feed === feed;
    })?.event;
  }
}

function prepareEvents(connection: Connection) {
  return {
    numbersFrom: connection.prepare<Pick<EventRow, 'event'>>('SELECT event FROM event WHERE event >= ?'),
    ids: connection.prepare<Pick<EventRow, 'occurred_us' | 'id'>>(
      `SELECT occurred_us, id FROM event WHERE stream = ? AND occurred_us >= ? AND occurred_us < ?
       ORDER BY occurred_us, id`,
    ),
    // Scans the stream's whole index, which has the time before the id; the rows stay inside the database.
    known: connection.prepare<Pick<EventRow, 'id'>>(
      `SELECT id FROM event INDEXED BY event_of_stream
       WHERE stream = ? AND id IN (SELECT value FROM json_each(?))`,
    ),
    count: connection.prepare<{ count: number }>(
      'SELECT count(*) AS count FROM event WHERE stream = ? AND occurred_us >= ? AND occurred_us < ?',
    ),
    exact: connection.prepare<Pick<EventRow, 'event'>>(
      'SELECT event FROM event WHERE stream = ? AND occurred_us = ? AND id = ?',
    ),
    near: connection.prepare<Pick<EventRow, 'event' | 'stream'>>(
      'SELECT event, stream FROM event INDEXED BY event_by_age WHERE occurred_us BETWEEN ? AND ? AND id = ?',
    ),
    // The Flight's row tells the stream, so that only that part of the index is scanned.
    endOfFlight: connection.prepare<Pick<EventRow, 'event' | 'stream'>>(
      `SELECT event.event, event.stream FROM flight INDEXED BY flight_by_id
         JOIN event INDEXED BY event_of_stream ON event.stream = flight.stream AND event.id = ?2
       WHERE flight.id = ?1`,
    ),
    anywhere: connection.prepare<Pick<EventRow, 'event' | 'stream'>>(
      'SELECT event, stream FROM event INDEXED BY event_of_stream WHERE id = ?',
    ),
    // The ends of a Flight, each under the Flight's id and status.
    ofFlight: connection.prepare<Pick<EventRow, 'event'>>(
      `SELECT event FROM flight CROSS JOIN event INDEXED BY event_of_stream USING (stream)
       WHERE flight.id = ? AND occurred_us >= started_us
         AND substr(event.id, 1, length(flight.id) + 1) = flight.id || '/'
       ORDER BY event`,
    ),
    within: connection.prepare<EventRow>(
      'SELECT * FROM event INDEXED BY event_by_age WHERE occurred_us >= ? AND occurred_us < ? LIMIT 10000',
    ),
    byNumber: connection.prepare<EventRow>('SELECT * FROM event WHERE event = ?'),
    addHour: connection.prepare(
      `INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed`,
    ),
  };
}

function uuidInstantUs(id: string): number | undefined {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id);
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) * 1000 : undefined;
}
