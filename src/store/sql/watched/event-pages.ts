/**
 * Reads events in pages, newest first. A page begins where the previous one ended (keyset paging), so each page costs
 * the same. If few of many events match, a page examines a limited number of rows; `next` then says where to continue.
 * On SQLite the events of a few Birds are read from their own streams, one after another.
 */
import { EVENT_FEEDS, type EventFeed } from '../../../domain/alert/event.ts';
import type { EventRow } from '../../event-store.ts';
import type { Filter } from '../../filter.ts';
import type { Sql } from '../sql.ts';
import { Conditions, formatCursor, parseCursor } from './conditions.ts';

/**
 * Selects events for `page`; conditions left out match all. `name` and `severity` are those of an alert that contains
 * the event. `text` is looked for in the message, names, attributes and ids; only ASCII letters match in either case.
 */
export interface EventQuery extends Filter {
  readonly feed?: EventFeed | undefined;
  readonly type?: string | undefined;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

/** An event's place in the order of the pages. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

/** Events to look through. */
interface Source {
  readonly from: string;
  readonly where: Conditions;
  /** The streams that count among those looked through; undefined for all. */
  readonly streams?: readonly number[] | undefined;
}

const MAX_EVENTS = 1000;
/** Index rows that one page scans; SQLite takes about 40 ms, in which nothing else runs. */
const MAX_LOOKED_AT = { sqlite: 35_000, postgres: 50_000 };
/** Rows whose texts it reads, as long. */
const MAX_LOOKED_INTO = { sqlite: 3_500, postgres: 5_000 };
/**
 * The most bytes of rows whose texts are read, and of one page, exceeded by one event at most; a usual row has a
 * kilobyte. The worst search in the worst messages takes 7 ms per megabyte: a search for text that almost matches
 * everywhere.
 */
const MAX_BYTES = 8 * 2 ** 20;
/** Up to this many streams are read one by one. */
const FEW_STREAMS = 60;

const ORDER = 'ORDER BY occurred_us DESC, stream DESC, event DESC';
const BYTES = 'octet_length(message) + octet_length(body)';
const PLACE = ['number', 'number', 'number'] as const;
const PLACE_GIVEN = '(?::bigint, ?::bigint, ?::bigint)';
/** SQLite is to keep to the index by age. */
const OF_STREAM = { sqlite: '+stream', postgres: 'stream' };

export class EventPages {
  readonly #sql: Sql;
  readonly #ofFlight: (flightId: string) => Promise<number[]>;

  constructor(sql: Sql, ofFlight: (flightId: string) => Promise<number[]>) {
    this.#sql = sql;
    this.#ofFlight = ofFlight;
  }

  async page(query: EventQuery): Promise<{ rows: EventRow[]; next: string | undefined }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
    const within = withinTime(this.#sql, query);
    if (query.flight !== undefined) {
      within.add('event = ANY(?::bigint[])', await this.#ofFlight(query.flight));
      return this.#given(await this.#places({ from: 'event', where: within }, query, limit), limit);
    }
    const sources = await this.#sources(within, query);
    const lasts: Place[] = [];
    for (const source of sources) {
      const last = await this.#lastLookedAt(source, query, sources.length);
      if (last) lasts.push(last);
    }
    // Each source is examined as far back as the newest place at which one of them stopped.
    const last = lasts.sort(newestFirst)[0];
    const places: Place[] = [];
    for (const source of sources) places.push(...(await this.#places(source, query, limit, last)));
    return this.#given(sources.length > 1 ? places.sort(newestFirst) : places, limit, last);
  }

  async #sources(within: Conditions, query: EventQuery): Promise<Source[]> {
    const streams = await this.#birdStreams(query);
    if (this.#sql.engine === 'postgres') {
      if (streams) within.add('stream = ANY(?::bigint[])', streams);
      return [{ from: 'event', where: within }];
    }
    if (streams === undefined || streams.length > FEW_STREAMS) {
      return [{ from: 'event /* INDEXED BY event_by_age */', where: within, streams }];
    }
    return streams.map((stream) => ({
      from: 'event /* INDEXED BY event_of_stream */',
      where: within.copy().add('stream = ?', stream),
    }));
  }

  /**
   * The last event that a page may examine when it reads this many sources; undefined if there are fewer events, or
   * if everything examined is returned.
   */
  async #lastLookedAt(
    { from, where }: Source,
    query: EventQuery,
    sources: number,
  ): Promise<Place | undefined> {
    if (!looksInto(query)) {
      if (sources > 1 && query.type === undefined) return undefined;
      const events = Math.ceil(MAX_LOOKED_AT[this.#sql.engine] / sources);
      const [last] = await this.#sql.composed<Place>(
        `SELECT occurred_us, stream, event FROM ${from} ${where.where} ${ORDER} LIMIT 1 OFFSET ${events - 1}`,
        ...where.parameters,
      );
      return last;
    }
    const rows = Math.ceil(MAX_LOOKED_INTO[this.#sql.engine] / sources);
    const [last] = await this.#sql.composed<Place>(
      `SELECT occurred_us, stream, event FROM (
         SELECT occurred_us, stream, event, row_number() OVER newer AS rows, sum(bytes) OVER newer AS bytes
         FROM (SELECT occurred_us, stream, event, ${BYTES} AS bytes
           FROM ${from} ${where.where} ${ORDER} LIMIT ${rows}) AS first
         WINDOW newer AS (${ORDER} ROWS UNBOUNDED PRECEDING)) AS looked
       WHERE rows = ${rows} OR bytes > ${Math.floor(MAX_BYTES / sources)} ${ORDER} LIMIT 1`,
      ...where.parameters,
    );
    return last;
  }

  /** The first `limit` places, and one more. */
  #places({ from, where: looked, streams }: Source, query: EventQuery, limit: number, last?: Place) {
    const where = looked.copy();
    if (last) where.add(`(occurred_us, stream, event) >= ${PLACE_GIVEN}`, ...placeOf(last));
    const ofStream = OF_STREAM[this.#sql.engine];
    if (streams) where.add(`${ofStream} = ANY(?::bigint[])`, streams);
    addKind(where, ofStream, query);
    return this.#sql.composed<Place>(
      `SELECT occurred_us, stream, event FROM ${from} ${where.where} ${ORDER} LIMIT ${limit + 1}`,
      ...where.parameters,
    );
  }

  /** The rows at these places, up to `limit` and `MAX_BYTES`. `last` is how far the search went. */
  async #given(places: readonly Place[], limit: number, last?: Place) {
    // Only now, since of many sources most places are not in the page, and an index has no sizes.
    const sizes = await this.#sql.rows<{ readonly event: number; readonly bytes: number }>(
      `SELECT event, ${BYTES} AS bytes FROM event WHERE event = ANY($1::bigint[]) ${ORDER}`,
      places.slice(0, limit).map(({ event }) => event),
    );
    let bytes = 0;
    const given = sizes.filter((one) => {
      const isGiven = bytes < MAX_BYTES;
      bytes += one.bytes;
      return isGiven;
    });
    const rows = await this.#sql.rows<EventRow>(
      `SELECT * FROM event WHERE event = ANY($1::bigint[]) ${ORDER}`,
      given.map(({ event }) => event),
    );
    const next = rows.length < places.length ? rows.at(-1) : last;
    return { rows, next: next && formatCursor(placeOf(next)) };
  }

  /** The streams of the requested Birds and Nests; undefined if none is requested. */
  async #birdStreams(query: EventQuery): Promise<number[] | undefined> {
    const { region, nest, bird } = query;
    if (nest === undefined && bird === undefined) return undefined;
    const birds = new Conditions(this.#sql)
      .addNest('bird.nest_id', 'nest.folded', nest)
      .addBird('bird.bird_id', 'bird.folded', bird);
    if (region !== undefined) birds.add('bird.region = ?', region);
    const feed = feedOf(query);
    if (feed !== undefined) birds.add('stream.feed = ?', feed);
    const rows = await this.#sql.composed<{ readonly stream: number }>(
      `SELECT stream.stream FROM bird JOIN stream USING (region, bird_id)
         LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id ${birds.where}`,
      ...birds.parameters,
    );
    const ofNests = bird === undefined && (feed ?? 'inventory') === 'inventory';
    return [...rows, ...(ofNests ? await this.#nestStreams(region, nest) : [])].map(({ stream }) => stream);
  }

  #nestStreams(region: string | undefined, nest: string | undefined) {
    const nests = new Conditions(this.#sql).addNest('nest.nest_id', 'nest.folded', nest);
    if (region !== undefined) nests.add('nest.region = ?', region);
    return this.#sql.composed<{ readonly stream: number }>(
      `SELECT stream.stream FROM nest JOIN stream ON stream.region = nest.region AND stream.feed = 'inventory'
         AND stream.bird_id = '${ofNest('')}' || nest.nest_id ${nests.where}`,
      ...nests.parameters,
    );
  }
}

/** The place of a Nest's own events among the streams of the inventory, where Birds have their ids. */
export function ofNest(nestId: string): string {
  return `nest/${nestId}`;
}

/** A type begins with its feed, so rows of other feeds need not be read. */
function feedOf({ feed, type }: EventQuery): string | undefined {
  return feed ?? EVENT_FEEDS.find((one) => type?.startsWith(`${one}.`));
}

function addKind(where: Conditions, ofStream: string, query: EventQuery): void {
  const { region, type, nest, bird, name, severity, text } = query;
  const ofFeed = feedOf(query);
  // The streams of Birds and Nests were chosen by these.
  const isChosen = nest !== undefined || bird !== undefined;
  if (!isChosen && (region !== undefined || ofFeed !== undefined)) {
    where.add(
      `${ofStream} IN (SELECT stream.stream FROM stream
         WHERE stream.region = coalesce(?::text, stream.region) AND stream.feed = coalesce(?::text, stream.feed))`,
      region ?? null,
      ofFeed ?? null,
    );
  }
  if (type !== undefined) where.add('type = ?', type);
  if (name !== undefined || severity !== undefined) {
    where.add(
      `EXISTS (SELECT 1 FROM alert_event JOIN alert USING (alert) WHERE alert_event.event = event.event
         AND lower(alertname) = lower(coalesce(?::text, alertname)) AND severity = coalesce(?::text, severity))`,
      name ?? null,
      severity ?? null,
    );
  }
  where.addText(text, { whole: ['message', 'type', 'id'], json: ['body'] });
}

function looksInto({ name, severity, text }: EventQuery): boolean {
  return [name, severity, text].some((one) => one !== undefined);
}

function withinTime(sql: Sql, { cursor, sinceUs, untilUs }: EventQuery): Conditions {
  const within = new Conditions(sql);
  if (cursor !== undefined) {
    within.add(`(occurred_us, stream, event) < ${PLACE_GIVEN}`, ...parseCursor(cursor, PLACE));
  }
  if (sinceUs !== undefined) within.add('occurred_us >= ?', sinceUs);
  if (untilUs !== undefined) within.add('occurred_us < ?', untilUs);
  return within;
}

function placeOf(place: Place): [number, number, number] {
  return [place.occurred_us, place.stream, place.event];
}

function newestFirst(a: Place, b: Place): number {
  return b.occurred_us - a.occurred_us || b.stream - a.stream || b.event - a.event;
}
