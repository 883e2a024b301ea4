/**
 * Reads events in pages, newest first. A page begins where the previous one ended (keyset paging), so each page costs
 * the same. If few of many events match, a page examines a limited number of rows, since nothing else runs meanwhile;
 * `next` then says where to continue. The events of a few Birds are read from their own streams instead.
 */
import { FEEDS } from '../../../domain/alert/event.ts';
import type { EventQuery } from '../../event-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import type { Connection, Statement } from '../connection.ts';
import { Conditions } from './page-conditions.ts';

/** An event's place in the order of the pages. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

const MAX_EVENTS = 1000;
/** Index rows that one page scans, and rows whose texts it reads; either takes about 40 ms. */
const MAX_LOOKED_AT = 35_000;
const MAX_LOOKED_INTO = 3_500;
/**
 * The most bytes of rows whose texts are read; a usual row has a kilobyte. The worst search in the worst messages
 * takes 7 ms per megabyte: a search for text that almost matches everywhere.
 */
const MAX_BYTES = 8 * 2 ** 20;
/** The most characters in one page, exceeded by one event at most. */
const MAX_GIVEN = 8 * 2 ** 20;
/** Up to this many streams are read one by one. */
const FEW_STREAMS = 60;

const ORDER = 'ORDER BY occurred_us DESC, stream DESC, event DESC';
const PLACE = ['number', 'number', 'number'] as const;

export class EventPages {
  readonly #connection: Connection;
  readonly #ofFlight: (flightId: string) => Promise<number[]>;
  readonly #byNumber: Statement<EventRow>;

  constructor(connection: Connection, ofFlight: (flightId: string) => Promise<number[]>) {
    this.#connection = connection;
    this.#ofFlight = ofFlight;
    this.#byNumber = connection.prepare('SELECT * FROM event WHERE event = ?');
  }

  async page(query: EventQuery): Promise<{ rows: EventRow[]; next: string | undefined }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
    const within = withinTime(query);
    if (query.flight !== undefined)
      return this.#pageOf(await this.#ofFlight(query.flight), query, within, limit);
    const streams = this.#birdStreams(query);
    if (streams !== undefined && streams.length <= FEW_STREAMS) {
      return this.#pageOfStreams(streams, query, within, limit);
    }
    const from = 'FROM event INDEXED BY event_by_age';
    const last = this.#lastLookedAt(from, within, query, 1);
    if (last) addUpTo(within, last);
    if (streams) within.add('+stream IN (SELECT value FROM json_each(?))', JSON.stringify(streams));
    this.#addKind(within, query);
    return this.#given(this.#places(from, within, limit), limit, last);
  }

  /** A page from these events. */
  #pageOf(numbers: readonly number[], query: EventQuery, within: Conditions, limit: number) {
    within.add('event IN (SELECT value FROM json_each(?))', JSON.stringify(numbers));
    this.#addKind(within, query);
    return this.#given(this.#places('FROM event', within, limit), limit);
  }

  /** The newest events of each stream, and of those the newest overall. */
  #pageOfStreams(streams: readonly number[], query: EventQuery, within: Conditions, limit: number) {
    const from = 'FROM event INDEXED BY event_of_stream';
    // Each stream is examined as far back as the newest place at which one of them stopped.
    const last = streams
      .flatMap(
        (stream) =>
          this.#lastLookedAt(from, within.copy().add('stream = ?', stream), query, streams.length) ?? [],
      )
      .sort(newestFirst)[0];
    if (last) addUpTo(within, last);
    this.#addKind(within, query);
    const places = streams.flatMap((stream) =>
      this.#places(from, within.copy().add('stream = ?', stream), limit),
    );
    return this.#given(places.sort(newestFirst), limit, last);
  }

  /**
   * The last event that a page may examine when it reads this many sources; undefined if there are fewer events, or
   * if everything examined is returned.
   */
  #lastLookedAt(from: string, within: Conditions, query: EventQuery, sources: number): Place | undefined {
    if (!looksInto(query)) {
      if (sources > 1 && query.type === undefined) return undefined;
      return this.#connection
        .prepare<Place>(`SELECT occurred_us, stream, event ${from} ${within.where} ${ORDER} LIMIT 1 OFFSET ?`)
        .get(...within.values, Math.ceil(MAX_LOOKED_AT / sources) - 1);
    }
    const rows = Math.ceil(MAX_LOOKED_INTO / sources);
    return this.#connection
      .prepare<Place>(
        `SELECT occurred_us, stream, event FROM (
           SELECT occurred_us, stream, event, row_number() OVER newer AS rows, sum(bytes) OVER newer AS bytes
           FROM (SELECT occurred_us, stream, event, octet_length(message) + octet_length(body) AS bytes
             ${from} ${within.where} ${ORDER} LIMIT ?)
           WINDOW newer AS (${ORDER} ROWS UNBOUNDED PRECEDING))
         WHERE rows = ? OR bytes > ? ${ORDER} LIMIT 1`,
      )
      .get(...within.values, rows, rows, MAX_BYTES / sources);
  }

  /** The first `limit` places, and one more. */
  #places(from: string, within: Conditions, limit: number): Place[] {
    return this.#connection
      .prepare<Place>(`SELECT occurred_us, stream, event ${from} ${within.where} ${ORDER} LIMIT ?`)
      .all(...within.values, limit + 1);
  }

  /** The rows at these places, up to `limit`. `last` is how far the search went. */
  #given(places: readonly Place[], limit: number, last?: Place) {
    const rows: EventRow[] = [];
    for (let characters = 0; rows.length < Math.min(limit, places.length) && characters < MAX_GIVEN; ) {
      const row = this.#byNumber.get(places[rows.length]!.event)!;
      rows.push(row);
      characters += row.message.length + row.body.length;
    }
    const next = rows.length < places.length ? rows.at(-1) : last;
    return { rows, next: next && formatCursor(placeOf(next)) };
  }

  /** The streams of the requested Birds; undefined if no Bird is requested. */
  #birdStreams({ region, nest, bird }: EventQuery): number[] | undefined {
    if (nest === undefined && bird === undefined) return undefined;
    const where = new Conditions()
      .addNest('bird.nest_id', 'nest.folded', nest)
      .addBird('bird.bird_id', 'bird.folded', bird);
    if (region !== undefined) where.add('bird.region = ?', region);
    return this.#connection
      .prepare<{ readonly stream: number }>(
        `SELECT stream.stream FROM bird JOIN stream USING (region, bird_id)
           LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id ${where.where}`,
      )
      .all(...where.values)
      .map(({ stream }) => stream);
  }

  #addKind(within: Conditions, { region, feed, type, name, severity, text }: EventQuery): void {
    // A type begins with its feed, so rows of other feeds need not be read.
    const ofFeed = feed ?? FEEDS.find((one) => type?.startsWith(`${one}.`));
    if (region !== undefined || ofFeed !== undefined) {
      within.add(
        '+stream IN (SELECT stream FROM stream WHERE region = coalesce(?, region) AND feed = coalesce(?, feed))',
        region ?? null,
        ofFeed ?? null,
      );
    }
    if (type !== undefined) within.add('type = ?', type);
    if (name !== undefined || severity !== undefined) {
      within.add(
        `EXISTS (SELECT 1 FROM alert_event JOIN alert USING (alert) WHERE alert_event.event = event.event
           AND lower(alertname) = lower(coalesce(?, alertname)) AND severity = coalesce(?, severity))`,
        name ?? null,
        severity ?? null,
      );
    }
    within.addText(text, { whole: ['message', 'type', 'id'], json: ['body'] });
  }
}

function looksInto({ name, severity, text }: EventQuery): boolean {
  return [name, severity, text].some((one) => one !== undefined);
}

function withinTime({ cursor, sinceUs, untilUs }: EventQuery): Conditions {
  const within = new Conditions();
  if (cursor !== undefined) {
    within.add('(occurred_us, stream, event) < (?, ?, ?)', ...parseCursor(cursor, PLACE));
  }
  if (sinceUs !== undefined) within.add('occurred_us >= ?', sinceUs);
  if (untilUs !== undefined) within.add('occurred_us < ?', untilUs);
  return within;
}

/** Restricts to events not older than this place. */
function addUpTo(within: Conditions, place: Place): void {
  within.add('(occurred_us, stream, event) >= (?, ?, ?)', ...placeOf(place));
}

function placeOf(place: Place): [number, number, number] {
  return [place.occurred_us, place.stream, place.event];
}

function newestFirst(a: Place, b: Place): number {
  return b.occurred_us - a.occurred_us || b.stream - a.stream || b.event - a.event;
}
