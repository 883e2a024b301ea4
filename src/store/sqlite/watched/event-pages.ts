/**
 * Events in pages, newest first. A page begins at the place where the one before ended (a keyset), so that it costs the
 * same wherever it is. Where few events of many are asked for, a page looks at so many rows only, since nothing else
 * runs meanwhile: `next` then says where to go on.
 */
import { FEEDS } from '../../../domain/alert/event.ts';
import { NestwatchError } from '../../../errors.ts';
import type { EventQuery } from '../../event-store.ts';
import type { Connection, Value } from '../connection.ts';
import type { EventRow } from './event-row.ts';
import type { SqliteStreams } from './sqlite-streams.ts';

/** Where an event stands in the order of the pages. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

/** Conditions, and the values of their parameters. */
interface Conditions {
  readonly sql: string[];
  readonly values: Value[];
}

const MAX_EVENTS = 1000;

/** Rows that one page looks at: they take some 60 ms. */
const MAX_LOOKED_AT = 50_000;

export class EventPages {
  readonly #connection: Connection;
  readonly #streams: SqliteStreams;

  constructor(connection: Connection, streams: SqliteStreams) {
    this.#connection = connection;
    this.#streams = streams;
  }

  page(query: EventQuery): { readonly rows: EventRow[]; readonly next: string | undefined } {
    const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
    const within = withinTime(query);
    const last = this.#lastLookedAt(within);
    if (last) add(within, '(occurred_us, stream, event) >= (?, ?, ?)', placeValues(last));
    this.#addKind(within, query);
    const rows = this.#connection
      .prepare<EventRow>(`SELECT * ${fromEvents(within)} LIMIT ?`)
      .all(...within.values, limit + 1);
    const next = rows.length > limit ? rows[limit - 1] : last;
    return { rows: rows.slice(0, limit), next: next && formatCursor(next) };
  }

  /** The last row that the page may look at; undefined where there are fewer. */
  #lastLookedAt(within: Conditions): Place | undefined {
    return this.#connection
      .prepare<Place>(`SELECT occurred_us, stream, event ${fromEvents(within)} LIMIT 1 OFFSET ?`)
      .get(...within.values, MAX_LOOKED_AT - 1);
  }

  #addKind(within: Conditions, { region, feed, type }: EventQuery): void {
    // A type begins with its feed: rows of others need not be read.
    const ofFeed = feed ?? FEEDS.find((one) => type?.startsWith(`${one}.`));
    if (region !== undefined || ofFeed !== undefined) {
      const streams = JSON.stringify(this.#streams.ofKind(region, ofFeed));
      add(within, '+stream IN (SELECT value FROM json_each(?))', [streams]);
    }
    if (type !== undefined) add(within, 'type = ?', [type]);
  }
}

function withinTime({ cursor, sinceUs, untilUs }: EventQuery): Conditions {
  const within: Conditions = { sql: [], values: [] };
  if (cursor !== undefined) {
    add(within, '(occurred_us, stream, event) < (?, ?, ?)', placeValues(parseCursor(cursor)));
  }
  if (sinceUs !== undefined) add(within, 'occurred_us >= ?', [sinceUs]);
  if (untilUs !== undefined) add(within, 'occurred_us < ?', [untilUs]);
  return within;
}

function add({ sql, values }: Conditions, condition: string, its: readonly Value[]): void {
  sql.push(condition);
  values.push(...its);
}

function fromEvents({ sql }: Conditions): string {
  const where = sql.length > 0 ? `WHERE ${sql.join(' AND ')}` : '';
  return `FROM event INDEXED BY event_by_age ${where} ORDER BY occurred_us DESC, stream DESC, event DESC`;
}

function placeValues(place: Place): Value[] {
  return [place.occurred_us, place.stream, place.event];
}

function formatCursor(place: Place): string {
  return Buffer.from(JSON.stringify(placeValues(place))).toString('base64url');
}

function parseCursor(cursor: string): Place {
  try {
    const [occurredUs, stream, event] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof occurredUs === 'number' && typeof stream === 'number' && typeof event === 'number') {
      return { occurred_us: occurredUs, stream, event };
    }
  } catch {
    // Refused below, as any other text that was no cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
