import type { Event } from '../../alerts/event.ts';
import { NestwatchError } from '../../errors.ts';
import type { EventQuery, Transaction } from '../store.ts';
import { prepareChunks } from './chunks.ts';
import type { Connection, Value } from './connection.ts';
import type { Streams } from './streams.ts';

/** How an event is named within the store. */
export interface EventPlace {
  readonly occurred_us: number;
  readonly stream: number;
  readonly id: string;
}

export interface EventRow extends EventPlace {
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

export interface Events
  extends Pick<Transaction, 'insertEvents' | 'eventIds' | 'countEvents' | 'events' | 'event'> {
  fromRow(row: EventRow): Event;
  /** Where a stored event stands. */
  placeOf(event: Event): EventPlace | undefined;
  /** Forgets what the last transaction inserted, which may have been taken back. */
  forget(): void;
}

const MAX_EVENTS = 1000;

/** A UUIDv7 holds its creation's millisecond; an entry's `createdAt` may have been cut to the second. */
const HINT_MARGIN_US = 1_000_000;

export function createEvents(connection: Connection, streams: Streams): Events {
  const insert = prepareChunks(
    connection,
    12,
    (rows) =>
      `INSERT OR IGNORE INTO event (occurred_us, stream, id, type, occurred_at, observed_us, nest_id, nest,
         bird_id, bird, message, attributes)
       VALUES ${rows}`,
  );
  const stored = connection.prepare<EventPlace>(
    'SELECT occurred_us, id FROM event WHERE stream = ? AND occurred_us BETWEEN ? AND ?',
  );
  const ids = connection.prepare<EventPlace>(
    'SELECT occurred_us, id FROM event WHERE stream = ? AND occurred_us >= ? ORDER BY occurred_us, id',
  );
  const count = connection.prepare<{ count: number }>(
    'SELECT count(*) AS count FROM event WHERE stream = ? AND occurred_us >= ? AND occurred_us < ?',
  );
  const exact = connection.prepare<EventRow>(
    'SELECT * FROM event WHERE occurred_us = ? AND stream = ? AND id = ?',
  );
  const near = connection.prepare<EventPlace>(
    'SELECT occurred_us, stream, id FROM event WHERE occurred_us BETWEEN ? AND ? AND id = ?',
  );
  const anywhere = connection.prepare<EventPlace>(
    'SELECT occurred_us, stream, id FROM event INDEXED BY event_of_stream WHERE id = ?',
  );

  // What this transaction inserted need not be looked up again.
  const inserted = new Map<Event, number>();

  function fromRow(row: EventRow): Event {
    const { region, feed } = streams.nameOf(row.stream);
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

  /** The first of these places whose stream is of this region and feed. */
  function ofFeed(places: readonly EventPlace[], region: string, feed: string): EventPlace | undefined {
    return places.find(({ stream }) => {
      const name = streams.nameOf(stream);
      return name.region === region && name.feed === feed;
    });
  }

  /** Newest first, from `before` on: a keyset, so that a page costs the same wherever it is. */
  function page(query: EventQuery, before: EventPlace | undefined, limit: number): EventRow[] {
    const { region, feed, type, sinceUs, untilUs } = query;
    const conditions: string[] = [];
    const values: Value[] = [];
    if (before) {
      conditions.push('(occurred_us, stream, id) < (?, ?, ?)');
      values.push(before.occurred_us, before.stream, before.id);
    }
    if (region !== undefined || feed !== undefined) {
      conditions.push('+stream IN (SELECT value FROM json_each(?))');
      const wanted = streams
        .all()
        .filter((name) => region === undefined || name.region === region)
        .filter((name) => feed === undefined || name.feed === feed);
      values.push(JSON.stringify(wanted.map((name) => name.stream)));
    }
    if (type !== undefined) {
      conditions.push('type = ?');
      values.push(type);
    }
    if (sinceUs !== undefined) {
      conditions.push('occurred_us >= ?');
      values.push(sinceUs);
    }
    if (untilUs !== undefined) {
      conditions.push('occurred_us < ?');
      values.push(untilUs);
    }
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    return connection
      .prepare<EventRow>(
        `SELECT * FROM event ${where} ORDER BY occurred_us DESC, stream DESC, id DESC LIMIT ?`,
      )
      .all(...values, limit);
  }

  return {
    fromRow,
    placeOf(event) {
      const id = idOf(event);
      const stream = inserted.get(event);
      if (stream !== undefined) return { occurred_us: event.occurredAtUs, stream, id };
      const { region, feed, birdId, occurredAtUs } = event;
      const likely = streams.find(region, feed, birdId);
      return (
        (likely && exact.get(occurredAtUs, likely.stream, id)) ??
        ofFeed(near.all(occurredAtUs, occurredAtUs, id), region, feed)
      );
    },
    forget() {
      inserted.clear();
    },
    async insertEvents(stream, events) {
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
      let fresh = known.length === 0 ? [...events] : withoutRepeats(known, events);
      const count = insert(fresh.length, (index, values) => {
        const event = fresh[index]!;
        values.push(
          event.occurredAtUs,
          stream,
          idOf(event),
          event.type,
          event.occurredAt,
          event.observedAtUs,
        );
        values.push(event.nestId, event.nest, event.birdId, event.bird, event.message);
        values.push(JSON.stringify(event.attributes));
      });
      // Less than all are inserted where one call names an event twice.
      if (count < fresh.length) fresh = withoutRepeats([], fresh);
      for (const event of fresh) inserted.set(event, stream);
      return fresh;
    },
    async eventIds(stream, sinceUs) {
      return ids.all(stream, sinceUs).map((row) => ({ id: row.id, occurredAtUs: row.occurred_us }));
    },
    async countEvents(stream, fromUs, toUs) {
      return count.get(stream, fromUs, toUs)!.count;
    },
    async events(query) {
      const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
      const rows = page(query, query.cursor === undefined ? undefined : parseCursor(query.cursor), limit + 1);
      const events = rows.slice(0, limit).map(fromRow);
      const last = rows[limit - 1];
      return rows.length > limit && last ? { events, next: formatCursor(last) } : { events };
    },
    async event(key) {
      const named = streams.all().find((name) => key.startsWith(`${name.region}/${name.feed}/`));
      if (!named) return undefined;
      const { region, feed } = named;
      const id = key.slice(region.length + feed.length + 2);
      // The hint saves walking over all ids; an id that promises nothing, or wrongly, is found all the same.
      const hintUs = uuidInstantUs(id);
      const hinted =
        hintUs === undefined ? [] : near.all(hintUs - HINT_MARGIN_US, hintUs + HINT_MARGIN_US, id);
      const place = ofFeed(hinted, region, feed) ?? ofFeed(anywhere.all(id), region, feed);
      const row = place && exact.get(place.occurred_us, place.stream, place.id);
      return row && fromRow(row);
    },
  };
}

/** The first of each event, without those that are known. */
function withoutRepeats(known: readonly EventPlace[], events: readonly Event[]): Event[] {
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

function formatCursor(place: EventPlace): string {
  return Buffer.from(JSON.stringify([place.occurred_us, place.stream, place.id])).toString('base64url');
}

function parseCursor(cursor: string): EventPlace {
  try {
    const [occurredUs, stream, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof occurredUs === 'number' && typeof stream === 'number' && typeof id === 'string') {
      return { occurred_us: occurredUs, stream, id };
    }
  } catch {
    // Told below, as for any other text that was no cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
