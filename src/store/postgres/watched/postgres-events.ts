import type { Event } from '../../../domain/alert/event.ts';
import { readShortId, SHORT_ID_ERA, shortId } from '../../../domain/alert/short-id.ts';
import { foldedGuid } from '../../../text/guid.ts';
import type { EventQuery, EventStore } from '../../event-store.ts';
import { bodyOf, type EventRow, eventOf, idOf } from '../../rows/event-row.ts';
import { nestHours } from '../../rows/nest-hours.ts';
import { columnsOf, given, type Statements } from '../statements.ts';
import { PostgresEventPages } from './postgres-event-pages.ts';
import type { PostgresStreams } from './postgres-streams.ts';

/** A UUIDv7 holds the millisecond of its creation, but an entry's `createdAt` may have been cut to the second. */
const HINT_MARGIN_US = 1_000_000;

/** The year 2255: no stored instant is later. */
const LAST_SECOND = 9_000_000_000;

/**
 * Inserts a page of entries in one statement that returns which are new. It reads the digests so that it conflicts
 * with a transaction that counts up to the newest number (`PostgresDigests.arrivals`).
 */
const INSERT = `INSERT INTO event (stream, occurred_us, id, type, observed_us, message, body)
  SELECT $1::bigint, occurred_us, id, type, observed_us, message, body
  FROM ${given('occurred_us bigint, id text, type text, observed_us bigint, message text, body text', { from: 2, at: true })}
  WHERE (SELECT count(*) FROM digest) >= 0
  ORDER BY at ON CONFLICT (stream, occurred_us, id) DO NOTHING RETURNING event, occurred_us, id`;

const ADD_HOURS = `INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed)
  SELECT * FROM ${given('region text, nest_id text, hour bigint, succeeded bigint, failed bigint')}
  ON CONFLICT (region, nest_id, hour) DO UPDATE SET succeeded = nest_hour.succeeded + excluded.succeeded,
    failed = nest_hour.failed + excluded.failed`;

const NAMED = given('region text, feed text, bird_id text, occurred_us bigint, id text', { at: true });

/**
 * Finds events in the Bird's own stream or the region's, where nearly all are. `OFFSET 0` makes the server look up
 * each one by its unique key: a plan made while the tables are nearly empty would scan the whole stream for each.
 */
const NUMBERS = `SELECT DISTINCT ON (at) at, found.event
  FROM ${NAMED}
    CROSS JOIN LATERAL (SELECT stream, bird_id FROM stream WHERE region = given.region AND feed = given.feed
      AND bird_id IN (given.bird_id, '') OFFSET 0) AS own
    CROSS JOIN LATERAL (SELECT event FROM event WHERE stream = own.stream AND occurred_us = given.occurred_us
      AND id = given.id OFFSET 0) AS found
  ORDER BY at, (own.bird_id = given.bird_id) DESC`;

/** Finds events by instant and id in any stream of the region and feed. */
const NUMBERS_ANYWHERE = `SELECT DISTINCT ON (at) at, event.event
  FROM ${NAMED}
    JOIN event ON event.occurred_us = given.occurred_us AND event.id = given.id
    JOIN stream ON stream.stream = event.stream AND stream.region = given.region AND stream.feed = given.feed
  ORDER BY at, event.event`;

/** Stores events as rows with numbers, by which other tables refer to them. */
export class PostgresEvents implements EventStore {
  readonly #statements: Statements;
  readonly #streams: PostgresStreams;
  readonly #pages: PostgresEventPages;
  /** What this transaction inserted, so that it need not be looked up. */
  readonly #inserted = new Map<Event, number>();

  constructor(statements: Statements, streams: PostgresStreams) {
    this.#statements = statements;
    this.#streams = streams;
    this.#pages = new PostgresEventPages(statements, (flightId) => this.numbersOfFlight(flightId));
  }

  /** Discards what the last transaction inserted, which may have been rolled back. */
  forget(): void {
    this.#inserted.clear();
  }

  async fromRows(rows: readonly EventRow[]): Promise<Event[]> {
    await this.#streams.know(rows.map(({ stream }) => stream));
    return rows.map((row) => eventOf(row, this.#streams.kindOf(row.stream)));
  }

  async insert(stream: number, events: readonly Event[]): Promise<Event[]> {
    if (events.length === 0) return [];
    const rows = events.map((event) => [
      event.occurredAtUs,
      idOf(event),
      event.type,
      event.observedAtUs,
      event.message,
      bodyOf(event),
    ]);
    const written = await this.#statements.rows<Pick<EventRow, 'event' | 'occurred_us' | 'id'>>(
      INSERT,
      stream,
      ...columnsOf(6, rows),
    );
    if (written.length === 0) return [];
    const numbers = new Map(written.map((row) => [`${row.occurred_us} ${row.id}`, row.event]));
    const fresh = events.filter((event) => {
      const name = `${event.occurredAtUs} ${idOf(event)}`;
      const number = numbers.get(name);
      if (number === undefined) return false;
      this.#inserted.set(event, number);
      // If one call contains an event twice, the first counts.
      return numbers.delete(name);
    });
    const hours = nestHours(fresh).map((one) => [
      one.region,
      one.nestId,
      one.hour,
      one.succeeded,
      one.failed,
    ]);
    if (hours.length > 0) await this.#statements.run(ADD_HOURS, ...columnsOf(5, hours));
    return fresh;
  }

  /** The numbers of these events, in their order; undefined for one that is not stored. */
  async numbersOf(events: readonly Event[]): Promise<(number | undefined)[]> {
    const found = new Map<Event, number>();
    const isUnknown = (event: Event) => !this.#inserted.has(event) && !found.has(event);
    for (const statement of [NUMBERS, NUMBERS_ANYWHERE]) {
      const unknown = events.filter(isUnknown);
      if (unknown.length === 0) break;
      const named = unknown.map((event) => [
        event.region,
        event.feed,
        event.birdId,
        event.occurredAtUs,
        idOf(event),
      ]);
      const rows = await this.#statements.rows<{ at: number; event: number }>(
        statement,
        ...columnsOf(5, named),
      );
      for (const { at, event } of rows) found.set(unknown[at - 1]!, event);
    }
    return events.map((event) => this.#inserted.get(event) ?? found.get(event));
  }

  /** The number of the event with this key. */
  async numberOfKey(key: string): Promise<number | undefined> {
    // Names of regions and feeds contain no slash.
    const [, region, feed, id] = /^([^/]+)\/([^/]+)\/(.*)$/s.exec(key) ?? [];
    if (region === undefined || feed === undefined || id === undefined) return undefined;
    const find = (condition: string, ...values: readonly (string | number)[]) =>
      this.#statements.first<{ event: number }>(
        `SELECT event FROM event JOIN stream USING (stream)
         WHERE region = $1 AND feed = $2 AND event.id = $3 AND ${condition} ORDER BY event LIMIT 1`,
        region,
        feed,
        id,
        ...values,
      );
    if (feed === 'flight') {
      const ofFlight = await find(
        'stream IN (SELECT flight.stream FROM flight WHERE flight.id = $4)',
        id.split('/', 1)[0]!,
      );
      if (ofFlight) return ofFlight.event;
    }
    // The id's own time spares a scan over all ids. An id without one, or with a wrong one, is found anyway.
    const hintUs = uuidInstantUs(id);
    const hinted =
      hintUs === undefined
        ? undefined
        : await find('occurred_us BETWEEN $4 AND $5', hintUs - HINT_MARGIN_US, hintUs + HINT_MARGIN_US);
    return (hinted ?? (await find('true')))?.event;
  }

  /** The numbers of the events of Flights with this id, in any region. */
  async numbersOfFlight(flightId: string): Promise<number[]> {
    const rows = await this.#statements.rows<{ event: number }>(
      `SELECT event FROM flight JOIN event USING (stream)
       WHERE flight.id = $1 AND occurred_us >= started_us
         AND substr(event.id, 1, length(flight.id) + 1) = flight.id || '/'
       ORDER BY event`,
      foldedGuid(flightId),
    );
    return rows.map(({ event }) => event);
  }

  async ids(stream: number, sinceUs: number, untilUs = Number.MAX_SAFE_INTEGER) {
    const rows = await this.#statements.rows<Pick<EventRow, 'occurred_us' | 'id'>>(
      `SELECT occurred_us, id FROM event WHERE stream = $1 AND occurred_us >= $2 AND occurred_us < $3
       ORDER BY occurred_us, id`,
      stream,
      sinceUs,
      untilUs,
    );
    return rows.map((row) => ({ id: row.id, occurredAtUs: row.occurred_us }));
  }

  async knownIds(stream: number, ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.#statements.rows<Pick<EventRow, 'id'>>(
      'SELECT id FROM event WHERE stream = $1 AND id = ANY($2::text[])',
      stream,
      ids,
    );
    return new Set(rows.map(({ id }) => id));
  }

  async count(stream: number, fromUs: number, toUs: number): Promise<number> {
    const row = await this.#statements.first<{ count: number }>(
      'SELECT count(*) AS count FROM event WHERE stream = $1 AND occurred_us >= $2 AND occurred_us < $3',
      stream,
      fromUs,
      toUs,
    );
    return row!.count;
  }

  async page(query: EventQuery): Promise<{ events: Event[]; next?: string }> {
    const { rows, next } = await this.#pages.page(query);
    const events = await this.fromRows(rows);
    return next === undefined ? { events } : { events, next };
  }

  async find(key: string): Promise<Event | undefined> {
    const number = await this.numberOfKey(key);
    if (number === undefined) return undefined;
    return (
      await this.fromRows(
        await this.#statements.rows<EventRow>('SELECT * FROM event WHERE event = $1', number),
      )
    )[0];
  }

  async withShortId(text: string): Promise<Event[]> {
    const wanted = readShortId(text);
    if (!wanted) return [];
    const found: Event[] = [];
    for (let second = wanted.second; second < LAST_SECOND; second += SHORT_ID_ERA) {
      const rows = await this.#statements.rows<EventRow>(
        'SELECT * FROM event WHERE occurred_us >= $1 AND occurred_us < $2 LIMIT 10000',
        second * 1e6,
        (second + 1) * 1e6,
      );
      found.push(...(await this.fromRows(rows)).filter((event) => shortId(event) === wanted.text));
    }
    return found;
  }
}

function uuidInstantUs(id: string): number | undefined {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id);
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) * 1000 : undefined;
}
