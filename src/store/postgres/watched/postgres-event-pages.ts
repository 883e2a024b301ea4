/**
 * Reads events in pages, newest first. A page begins where the previous one ended (keyset paging), so each page costs
 * the same. If few of many events match, a page examines a limited number of rows; `next` then says where to
 * continue. The events of a few Birds are read from their own streams instead.
 */
import { FEEDS } from '../../../domain/alert/event.ts';
import type { EventQuery } from '../../event-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import type { Statements } from '../statements.ts';
import { PostgresConditions } from './postgres-conditions.ts';

/** An event's place in the order of the pages. */
type Place = Pick<EventRow, 'occurred_us' | 'stream' | 'event'>;

const MAX_EVENTS = 1000;
/** Index rows that one page scans, and rows whose texts it reads. */
const MAX_LOOKED_AT = 50_000;
const MAX_LOOKED_INTO = 5_000;
/** The most bytes of rows whose texts are read, and of one page, exceeded by one event at most. */
const MAX_BYTES = 8 * 2 ** 20;

const ORDER = 'ORDER BY occurred_us DESC, stream DESC, event DESC';
const BYTES = 'octet_length(message) + octet_length(body)';
const PLACE = ['number', 'number', 'number'] as const;

export class PostgresEventPages {
  readonly #statements: Statements;
  readonly #ofFlight: (flightId: string) => Promise<number[]>;

  constructor(statements: Statements, ofFlight: (flightId: string) => Promise<number[]>) {
    this.#statements = statements;
    this.#ofFlight = ofFlight;
  }

  async page(query: EventQuery): Promise<{ readonly rows: EventRow[]; readonly next: string | undefined }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_EVENTS);
    const within = withinTime(query);
    if (query.flight !== undefined) {
      within.add('event = ANY(?::bigint[])', await this.#ofFlight(query.flight));
      return this.#read(within, query, limit, undefined);
    }
    if (query.nest !== undefined || query.bird !== undefined) addBirds(within, query);
    const last = await this.#lastLookedAt(within, query);
    if (last)
      within.add('(occurred_us, stream, event) >= (?::bigint, ?::bigint, ?::bigint)', ...placeOf(last));
    return this.#read(within, query, limit, last);
  }

  /** The last event that a page may examine; undefined if there are fewer. */
  async #lastLookedAt(within: PostgresConditions, query: EventQuery): Promise<Place | undefined> {
    const [last] = await this.#statements.composed<Place>(
      looksInto(query)
        ? `SELECT occurred_us, stream, event FROM (
             SELECT occurred_us, stream, event, row_number() OVER newer AS rows, sum(bytes) OVER newer AS bytes
             FROM (SELECT occurred_us, stream, event, ${BYTES} AS bytes FROM event ${within.where} ${ORDER}
               LIMIT ${MAX_LOOKED_INTO}) AS first
             WINDOW newer AS (${ORDER} ROWS UNBOUNDED PRECEDING)) AS looked
           WHERE rows = ${MAX_LOOKED_INTO} OR bytes > ${MAX_BYTES} ${ORDER} LIMIT 1`
        : `SELECT occurred_us, stream, event FROM event ${within.where} ${ORDER} LIMIT 1 OFFSET ${MAX_LOOKED_AT - 1}`,
      ...within.parameters,
    );
    return last;
  }

  /** Reads the places first, since all rows together may exceed a page. */
  async #read(within: PostgresConditions, query: EventQuery, limit: number, last: Place | undefined) {
    addKind(within, query);
    const places = await this.#statements.composed<Place & { readonly bytes: number }>(
      `SELECT occurred_us, stream, event, ${BYTES} AS bytes FROM event ${within.where} ${ORDER} LIMIT ${limit + 1}`,
      ...within.parameters,
    );
    let bytes = 0;
    const given = places.slice(0, limit).filter((place) => {
      const isGiven = bytes < MAX_BYTES;
      bytes += place.bytes;
      return isGiven;
    });
    const rows = await this.#statements.rows<EventRow>(
      `SELECT * FROM event WHERE event = ANY($1::bigint[]) ${ORDER}`,
      given.map(({ event }) => event),
    );
    const next = given.length < places.length ? given.at(-1) : last;
    return { rows, next: next && formatCursor(placeOf(next)) };
  }
}

/** Restricts to events of the requested Birds. */
function addBirds(within: PostgresConditions, { region, nest, bird }: EventQuery): PostgresConditions {
  const birds = new PostgresConditions(within.parameters)
    .addNest('bird.nest_id', 'nest.folded', nest)
    .addBird('bird.bird_id', 'bird.folded', bird);
  if (region !== undefined) birds.add('bird.region = ?', region);
  return within.take(
    birds,
    (where) => `stream IN (SELECT stream.stream FROM bird JOIN stream USING (region, bird_id)
      LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id ${where})`,
  );
}

function addKind(within: PostgresConditions, { region, feed, type, name, severity, text }: EventQuery): void {
  // A type begins with its feed, so rows of other feeds need not be read.
  const ofFeed = feed ?? FEEDS.find((one) => type?.startsWith(`${one}.`));
  if (region !== undefined || ofFeed !== undefined) {
    within.add(
      `stream IN (SELECT stream.stream FROM stream
         WHERE stream.region = coalesce(?::text, stream.region) AND stream.feed = coalesce(?::text, stream.feed))`,
      region ?? null,
      ofFeed ?? null,
    );
  }
  if (type !== undefined) within.add('type = ?', type);
  if (name !== undefined || severity !== undefined) {
    within.add(
      `EXISTS (SELECT 1 FROM alert_event JOIN alert USING (alert) WHERE alert_event.event = event.event
         AND lower(alertname) = lower(coalesce(?::text, alertname)) AND severity = coalesce(?::text, severity))`,
      name ?? null,
      severity ?? null,
    );
  }
  within.addText(text, { whole: ['message', 'type', 'id'], json: ['body'] });
}

function looksInto({ name, severity, text }: EventQuery): boolean {
  return [name, severity, text].some((one) => one !== undefined);
}

function withinTime({ cursor, sinceUs, untilUs }: EventQuery): PostgresConditions {
  const within = new PostgresConditions();
  if (cursor !== undefined) {
    within.add(
      '(occurred_us, stream, event) < (?::bigint, ?::bigint, ?::bigint)',
      ...parseCursor(cursor, PLACE),
    );
  }
  if (sinceUs !== undefined) within.add('occurred_us >= ?', sinceUs);
  if (untilUs !== undefined) within.add('occurred_us < ?', untilUs);
  return within;
}

function placeOf(place: Place): [number, number, number] {
  return [place.occurred_us, place.stream, place.event];
}
