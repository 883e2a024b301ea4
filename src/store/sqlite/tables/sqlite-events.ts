import { type Event, FEEDS } from '../../../domain/alert/event.ts';
import { NestwatchError } from '../../../errors.ts';
import type { EventQuery, EventStore } from '../../event-store.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList, type Value } from '../connection.ts';
import type { Streams } from './sqlite-streams.ts';

export interface EventRow {
  /** Numbered in the order of arrival. */
  readonly event: number;
  readonly stream: number;
  readonly occurred_us: number;
  readonly id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly observed_us: number;
  readonly nest_id: string;
  readonly nest: string;
  readonly bird_id: string;
  readonly bird: string;
  readonly message: string;
  readonly attributes: string;
}

/** The order in which events are listed. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

export interface Events extends EventStore {
  fromRow(row: EventRow): Event;
  /** What `find` gives, at once. */
  lookUp(key: string): Event | undefined;
  /** The number of a stored event. */
  numberOf(event: Event): number | undefined;
  /** Forgets what the last transaction inserted, which may have been taken back. */
  forget(): void;
}

const MAX_EVENTS = 1000;

/** Rows that one page looks at: they take some 60 ms. */
const MAX_LOOKED_AT = 50_000;

/** A UUIDv7 holds its creation's millisecond; an entry's `createdAt` may have been cut to the second. */
const HINT_MARGIN_US = 1_000_000;

export function createEvents(connection: Connection, streams: Streams): Events {
  const insert = prepareChunks(
    connection,
    13,
    (rows) =>
      `INSERT INTO event (event, stream, occurred_us, id, type, occurred_at, observed_us, nest_id, nest,
         bird_id, bird, message, attributes)
       VALUES ${rows} ON CONFLICT (stream, occurred_us, id) DO NOTHING`,
  );
  // What was deleted is still counted by digests: its number would pass for another event's.
  const newest = connection.prepare<{ event: number | null }>(
    `SELECT max(event) AS event FROM (
       SELECT max(event) AS event FROM event UNION ALL SELECT max(body ->> '$.lastEvent') FROM digest)`,
  );
  const stored = connection.prepare<Pick<EventRow, 'occurred_us' | 'id'>>(
    'SELECT occurred_us, id FROM event WHERE stream = ? AND occurred_us BETWEEN ? AND ?',
  );
  const ids = connection.prepare<Pick<EventRow, 'occurred_us' | 'id'>>(
    `SELECT occurred_us, id FROM event WHERE stream = ? AND occurred_us >= ? AND occurred_us < ?
     ORDER BY occurred_us, id`,
  );
  // The index is walked over the whole stream, since it has the time before the id; none of it leaves the database.
  const known = connection.prepare<Pick<EventRow, 'id'>>(
    `SELECT id FROM event INDEXED BY event_of_stream
     WHERE stream = ? AND id IN (SELECT value FROM json_each(?))`,
  );
  const count = connection.prepare<{ count: number }>(
    'SELECT count(*) AS count FROM event WHERE stream = ? AND occurred_us >= ? AND occurred_us < ?',
  );
  const exact = connection.prepare<Pick<EventRow, 'event'>>(
    'SELECT event FROM event WHERE stream = ? AND occurred_us = ? AND id = ?',
  );
  const near = connection.prepare<EventRow>(
    'SELECT * FROM event INDEXED BY event_by_age WHERE occurred_us BETWEEN ? AND ? AND id = ?',
  );
  const anywhere = connection.prepare<Pick<EventRow, 'event' | 'stream'>>(
    'SELECT event, stream FROM event INDEXED BY event_of_stream WHERE id = ?',
  );
  const byNumber = connection.prepare<EventRow>('SELECT * FROM event WHERE event = ?');

  // Numbers of a transaction that was taken back are never used.
  let lastNumber = newest.get()?.event ?? 0;

  // What this transaction inserted need not be looked up again.
  const inserted = new Map<Event, number>();

  function fromRow(row: EventRow): Event {
    const { region, feed } = streams.kindOf(row.stream);
    return {
      key: `${region}/${feed}/${row.id}`,
      region,
      feed,
      type: row.type,
      occurredAt: row.occurred_at,
      occurredAtUs: row.occurred_us,
      observedAtUs: row.observed_us,
      nestId: row.nest_id,
      nest: row.nest,
      birdId: row.bird_id,
      bird: row.bird,
      message: row.message,
      attributes: JSON.parse(row.attributes) as Event['attributes'],
    };
  }

  /** The number of the first of these rows whose stream is of this region and feed. */
  function firstOf(
    rows: readonly Pick<EventRow, 'event' | 'stream'>[],
    region: string,
    feed: string,
  ): number | undefined {
    return rows.find(({ stream }) => {
      const kind = streams.kindOf(stream);
      return kind.region === region && kind.feed === feed;
    })?.event;
  }

  /**
   * Newest first, from `before` on: a keyset, so that a page costs the same wherever it is. Where few events of many
   * are asked for, it looks at so many rows only, since nothing else runs meanwhile: `next` then tells where to go on.
   */
  function page(
    { region, feed, type, sinceUs, untilUs }: EventQuery,
    before: Place | undefined,
    limit: number,
  ): { readonly rows: EventRow[]; readonly next: Place | undefined } {
    const within: string[] = [];
    const values: Value[] = [];
    if (before) {
      within.push('(occurred_us, stream, event) < (?, ?, ?)');
      values.push(before.occurred_us, before.stream, before.event);
    }
    if (sinceUs !== undefined) {
      within.push('occurred_us >= ?');
      values.push(sinceUs);
    }
    if (untilUs !== undefined) {
      within.push('occurred_us < ?');
      values.push(untilUs);
    }
    const from = (conditions: readonly string[]) => {
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
      return `FROM event INDEXED BY event_by_age ${where} ORDER BY occurred_us DESC, stream DESC, event DESC`;
    };
    const last = connection
      .prepare<Place>(`SELECT occurred_us, stream, event ${from(within)} LIMIT 1 OFFSET ?`)
      .get(...values, MAX_LOOKED_AT - 1);
    if (last) {
      within.push('(occurred_us, stream, event) >= (?, ?, ?)');
      values.push(last.occurred_us, last.stream, last.event);
    }
    // A type begins with its feed: rows of others need not be read.
    const ofFeed = feed ?? FEEDS.find((one) => type?.startsWith(`${one}.`));
    if (region !== undefined || ofFeed !== undefined) {
      within.push('+stream IN (SELECT value FROM json_each(?))');
      values.push(JSON.stringify(streams.ofKind(region, ofFeed)));
    }
    if (type !== undefined) {
      within.push('type = ?');
      values.push(type);
    }
    const rows = connection.prepare<EventRow>(`SELECT * ${from(within)} LIMIT ?`).all(...values, limit + 1);
    if (rows.length <= limit) return { rows, next: last };
    return { rows: rows.slice(0, limit), next: rows[limit - 1] };
  }

  function lookUp(key: string): Event | undefined {
    const kind = streams.kinds().find((one) => key.startsWith(`${one.region}/${one.feed}/`));
    if (!kind) return undefined;
    const { region, feed } = kind;
    const id = key.slice(region.length + feed.length + 2);
    // The hint saves walking over all ids; an id that promises nothing, or wrongly, is found all the same.
    const hintUs = uuidInstantUs(id);
    const hinted = hintUs === undefined ? [] : near.all(hintUs - HINT_MARGIN_US, hintUs + HINT_MARGIN_US, id);
    const number = firstOf(hinted, region, feed) ?? firstOf(anywhere.all(id), region, feed);
    return number === undefined ? undefined : fromRow(byNumber.get(number)!);
  }

  return {
    fromRow,
    lookUp,
    numberOf(event) {
      const number = inserted.get(event);
      if (number !== undefined) return number;
      const { region, feed, birdId, occurredAtUs } = event;
      const id = idOf(event);
      const likely = streams.find(region, feed, birdId);
      return (
        (likely && exact.get(likely, occurredAtUs, id)?.event) ??
        firstOf(near.all(occurredAtUs, occurredAtUs, id), region, feed)
      );
    },
    forget() {
      inserted.clear();
    },
    async insert(stream, events) {
      if (events.length === 0) return [];
      // A page covers a short stretch of time of which mostly nothing is stored. To look there first is faster
      // than to insert with `OR IGNORE` and to be told by `RETURNING` which rows were new.
      let fromUs = Number.POSITIVE_INFINITY;
      let toUs = Number.NEGATIVE_INFINITY;
      for (const { occurredAtUs } of events) {
        if (occurredAtUs < fromUs) fromUs = occurredAtUs;
        if (occurredAtUs > toUs) toUs = occurredAtUs;
      }
      const known = stored.all(stream, fromUs, toUs);
      const fresh = known.length === 0 ? events : withoutRepeats(known, events);
      const before = lastNumber;
      lastNumber += fresh.length;
      const written = insert(fresh.length, (index, values) => {
        const event = fresh[index]!;
        inserted.set(event, before + index + 1);
        values.push(
          before + index + 1,
          stream,
          event.occurredAtUs,
          idOf(event),
          event.type,
          event.occurredAt,
        );
        values.push(event.observedAtUs, event.nestId, event.nest, event.birdId, event.bird, event.message);
        values.push(JSON.stringify(event.attributes));
      });
      // Less than all are written where one call names an event twice: the first of them stands.
      if (written === fresh.length) return [...fresh];
      for (const event of fresh) inserted.delete(event);
      return withoutRepeats([], fresh);
    },
    async ids(stream, sinceUs, untilUs = Number.MAX_SAFE_INTEGER) {
      return ids.all(stream, sinceUs, untilUs).map((row) => ({ id: row.id, occurredAtUs: row.occurred_us }));
    },
    async knownIds(stream, ids) {
      return new Set(known.all(stream, textList(ids)).map((row) => row.id));
    },
    async count(stream, fromUs, toUs) {
      return count.get(stream, fromUs, toUs)!.count;
    },
    async page(query) {
      const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
      const before = query.cursor === undefined ? undefined : parseCursor(query.cursor);
      const { rows, next } = page(query, before, limit);
      const events = rows.map(fromRow);
      return next ? { events, next: formatCursor(next) } : { events };
    },
    find: async (key) => lookUp(key),
  };
}

/** The first of each event, without those that are known. */
function withoutRepeats(
  known: readonly Pick<EventRow, 'occurred_us' | 'id'>[],
  events: readonly Event[],
): Event[] {
  const seen = new Set(known.map((row) => `${row.occurred_us} ${row.id}`));
  return events.filter((event) => {
    const name = `${event.occurredAtUs} ${idOf(event)}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

/** The last part of the key: for the end of a Flight it has two parts itself. */
function idOf(event: Event): string {
  return event.key.slice(event.region.length + event.feed.length + 2);
}

function uuidInstantUs(id: string): number | undefined {
  const match = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(id);
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) * 1000 : undefined;
}

function formatCursor(place: Place): string {
  return Buffer.from(JSON.stringify([place.occurred_us, place.stream, place.event])).toString('base64url');
}

function parseCursor(cursor: string): Place {
  try {
    const [occurredUs, stream, event] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof occurredUs === 'number' && typeof stream === 'number' && typeof event === 'number') {
      return { occurred_us: occurredUs, stream, event };
    }
  } catch {
    // Told below, as for any other text that was no cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
