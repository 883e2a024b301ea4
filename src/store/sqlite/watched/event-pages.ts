/**
 * Events in pages, newest first. A page begins at the place where the one before ended (a keyset), so that it costs the
 * same wherever it is. Where few events of many are asked for, a page looks at so many rows only, since nothing else
 * runs meanwhile: `next` then says where to go on. The events of a few Birds are read from their own streams instead.
 */
import { FEEDS } from '../../../domain/alert/event.ts';
import type { EventQuery } from '../../event-store.ts';
import type { Connection } from '../connection.ts';
import type { EventRow } from './event-row.ts';
import { Conditions, formatCursor, parseCursor } from './page-conditions.ts';
import type { SqliteStreams } from './sqlite-streams.ts';

/** Where an event stands in the order of the pages. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

const MAX_EVENTS = 1000;
/** Rows of the index that one page looks at, and rows that it reads to look into them: either takes some 60 ms at most. */
const MAX_LOOKED_AT = 50_000;
const MAX_LOOKED_INTO = 5_000;
/** Streams that are read one by one. */
const FEW_STREAMS = 60;

const ORDER = 'ORDER BY occurred_us DESC, stream DESC, event DESC';
const PLACE = ['number', 'number', 'number'] as const;

export class EventPages {
  readonly #connection: Connection;
  readonly #streams: SqliteStreams;
  readonly #ofFlight: (flightId: string) => number[];

  constructor(connection: Connection, streams: SqliteStreams, ofFlight: (flightId: string) => number[]) {
    this.#connection = connection;
    this.#streams = streams;
    this.#ofFlight = ofFlight;
  }

  page(query: EventQuery): { readonly rows: EventRow[]; readonly next: string | undefined } {
    const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
    const within = withinTime(query);
    if (query.flight !== undefined) return this.#pageOf(this.#ofFlight(query.flight), query, within, limit);
    const streams = this.#birdStreams(query);
    if (streams !== undefined && streams.length <= FEW_STREAMS) {
      return this.#pageOfStreams(streams, query, within, limit);
    }
    const mostLookedAt = looksInto(query) ? MAX_LOOKED_INTO : MAX_LOOKED_AT;
    const from = 'FROM event INDEXED BY event_by_age';
    const last = this.#connection
      .prepare<Place>(`SELECT occurred_us, stream, event ${from} ${within.where} ${ORDER} LIMIT 1 OFFSET ?`)
      .get(...within.values, mostLookedAt - 1);
    if (last) within.add('(occurred_us, stream, event) >= (?, ?, ?)', ...placeOf(last));
    if (streams) within.add('+stream IN (SELECT value FROM json_each(?))', JSON.stringify(streams));
    this.#addKind(within, query);
    const rows = this.#connection
      .prepare<EventRow>(`SELECT * ${from} ${within.where} ${ORDER} LIMIT ?`)
      .all(...within.values, limit + 1);
    const next = rows.length > limit ? rows[limit - 1] : last;
    return { rows: rows.slice(0, limit), next: next && formatCursor(placeOf(next)) };
  }

  /** Of these events. */
  #pageOf(numbers: readonly number[], query: EventQuery, within: Conditions, limit: number) {
    within.add('event IN (SELECT value FROM json_each(?))', JSON.stringify(numbers));
    this.#addKind(within, query);
    const rows = this.#connection
      .prepare<EventRow>(`SELECT * FROM event ${within.where} ${ORDER} LIMIT ?`)
      .all(...within.values, limit + 1);
    return cut(rows, limit);
  }

  /** The newest of each stream, and of those together the newest. */
  #pageOfStreams(streams: readonly number[], query: EventQuery, within: Conditions, limit: number) {
    const asked = within.copy();
    this.#addKind(asked, query);
    const statement = this.#connection.prepare<EventRow>(
      `SELECT * FROM event INDEXED BY event_of_stream ${asked.copy().add('stream = ?').where} ${ORDER} LIMIT ?`,
    );
    const rows = streams.flatMap((stream) => statement.all(...asked.values, stream, limit + 1));
    return cut(rows.sort(newestFirst), limit);
  }

  /** The streams of the Birds that are asked for; undefined where none is. */
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
    // A type begins with its feed: rows of others need not be read.
    const ofFeed = feed ?? FEEDS.find((one) => type?.startsWith(`${one}.`));
    if (region !== undefined || ofFeed !== undefined) {
      const streams = JSON.stringify(this.#streams.ofKind(region, ofFeed));
      within.add('+stream IN (SELECT value FROM json_each(?))', streams);
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
    if (text !== undefined) {
      within.add(
        `instr(lower(concat_ws(char(10), message, type, id, iif(json_valid(body),
           concat_ws(char(10), body ->> 1, body ->> 3, body ->> 4), ''))), lower(?)) > 0`,
        text,
      );
    }
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

/** A page of rows of which there may be one more than that. */
function cut(rows: readonly EventRow[], limit: number) {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), next: last && formatCursor(placeOf(last)) };
}

function placeOf(place: Place): [number, number, number] {
  return [place.occurred_us, place.stream, place.event];
}

function newestFirst(a: Place, b: Place): number {
  return b.occurred_us - a.occurred_us || b.stream - a.stream || b.event - a.event;
}
