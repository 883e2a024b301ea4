/**
 * Stores streams: how far each has been read, and its entries that could not be parsed. A stream is one feed of one
 * entity: of the region (notifications, `birdId` empty) or of one Bird. It is never deleted.
 *
 * The events of `inventory` and `action` have no entries, and no cursor. Those of a Nest have a stream too, with `nest/ID` in place
 * of a Bird's id.
 */

import { createHash } from 'node:crypto';
import type { EventFeed, Feed, OwnFeed } from '../../../domain/alert/event.ts';
import type { StreamKind } from '../../event-store.ts';
import { lastOfEach, type RowStatement, type Sql, upsertRows } from '../sql.ts';

interface StreamRecord<Of extends EventFeed = EventFeed> {
  /** A small number, never reused. */
  readonly stream: number;
  readonly region: string;
  /** Our own feeds have no entries, but events; `inventory` also malformed Nests and Birds that were set aside. */
  readonly feed: Of;
  readonly birdId: string;
  /** Newest committed `createdAt` (Flights: `startDate`); 0 before the first. */
  readonly cursorUs: number;
  /** Newest `createdAt` (Flights: `startDate`) that retention has deleted, at most the cursor; 0 for none. */
  readonly prunedUs: number;
}

/** A feed of a region, or its inventory, and an instant by which all of its streams had been read. */
interface FeedRead {
  readonly feed: Feed | 'inventory';
  readonly readUs: number;
}

/** A time span of which a stream was read back, from its beginning. */
interface BackfilledSpan {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** Entries of a feed that were set aside as malformed. */
export interface QuarantinedFeed {
  readonly region: string;
  readonly feed: Feed | 'inventory';
  readonly count: number;
  /** When the first of them was set aside. */
  readonly sinceUs: number;
}

/** An entry that does not have the shape the service promises. */
export interface QuarantinedEntry {
  /** The entry as received, as JSON, cut to a limit. */
  readonly raw: string;
  /** What is wrong with it. */
  readonly reason: string;
}

const PUT_READS = upsertRows('feed_read', 'region text, feed text, read_us bigint', 'region, feed');

const OPEN: RowStatement = {
  columns: 'region text, feed text, bird_id text',
  text: (
    given,
  ) => `INSERT INTO stream (region, feed, bird_id, cursor_us) SELECT given.*, 0 FROM ${given} WHERE true
    RETURNING stream, bird_id`,
};

const RETREAT = `UPDATE stream SET cursor_us = greatest(
    pruned_us,
    coalesce((SELECT max(started_us) FROM flight WHERE stream = $1 AND started_us <= $2), 0),
    CASE feed WHEN 'flight' THEN 0
    ELSE coalesce((SELECT max(occurred_us) FROM event WHERE stream = $1 AND occurred_us <= $2), 0) END)
  WHERE stream = $1 AND cursor_us > $2`;

/** Stores streams, and remembers the kind of each, which is needed to read any event. */
export class SqlStreams {
  readonly quarantine: ReturnType<typeof createQuarantine>;
  readonly #sql: Sql;
  /** There may be tens of thousands; streams of the same kind share one object. */
  readonly #kinds = new Map<number, StreamKind>();
  readonly #named = new Map<string, StreamKind>();

  constructor(sql: Sql) {
    this.#sql = sql;
    this.quarantine = createQuarantine(sql);
  }

  /** Loads the kinds of these streams; call this before `kindOf`. */
  async know(streams: Iterable<number>): Promise<void> {
    const unknown = [...new Set(streams)].filter((stream) => !this.#kinds.has(stream));
    if (unknown.length === 0) return;
    const rows = await this.#sql.rows<StreamRow>(
      'SELECT stream, region, feed FROM stream WHERE stream = ANY($1::bigint[])',
      unknown,
    );
    for (const { stream, region, feed } of rows) {
      const name = `${region}/${feed}`;
      const kind = this.#named.get(name) ?? { region, feed };
      this.#named.set(name, kind);
      this.#kinds.set(stream, kind);
    }
  }

  kindOf(stream: number): StreamKind {
    const kind = this.#kinds.get(stream);
    if (!kind) throw new Error(`There is no stream ${stream}.`);
    return kind;
  }

  /** Discards what is remembered: a stream of a transaction that was rolled back does not exist. */
  forget(): void {
    this.#kinds.clear();
  }

  async list(region: string): Promise<StreamRecord[]> {
    const rows = await this.#sql.rows<StreamRow>(
      'SELECT * FROM stream WHERE region = $1 ORDER BY stream',
      region,
    );
    return rows.map(streamOf);
  }

  /** How many events each stream of the region has that occurred at this instant or later. */
  async countEvents(
    region: string,
    sinceUs: number,
  ): Promise<(StreamRecord & { readonly events: number })[]> {
    const rows = await this.#sql.rows<StreamRow & { readonly events: number }>(
      `SELECT *, (SELECT count(*) FROM event WHERE event.stream = stream.stream AND occurred_us >= $2) AS events
       FROM stream WHERE region = $1 ORDER BY stream`,
      region,
      sinceUs,
    );
    return rows.map((row) => ({ ...streamOf(row), events: row.events }));
  }

  /** Finds or creates the stream. */
  async open<Of extends EventFeed>(region: string, feed: Of, birdId: string): Promise<StreamRecord<Of>> {
    const place = [region, feed, birdId];
    const known = await this.#sql.first<StreamRow>(
      'SELECT * FROM stream WHERE region = $1 AND feed = $2 AND bird_id = $3',
      ...place,
    );
    const opened =
      known ??
      (await this.#sql.first<StreamRow>(
        'INSERT INTO stream (region, feed, bird_id, cursor_us) VALUES ($1, $2, $3, 0) RETURNING *',
        ...place,
      ));
    return { ...streamOf(opened!), feed };
  }

  /** Finds or creates these streams of a feed of our own. */
  async openNoticed(
    region: string,
    feed: OwnFeed,
    subjects: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const wanted = [...new Set(subjects)];
    const known = await this.#sql.rows<Pick<StreamRow, 'stream' | 'bird_id'>>(
      `SELECT stream, bird_id FROM stream WHERE region = $1 AND feed = $2 AND bird_id = ANY($3::text[])`,
      ...[region, feed, wanted],
    );
    const there = new Set(known.map((row) => row.bird_id));
    const opened = await this.#sql.returning<Pick<StreamRow, 'stream' | 'bird_id'>>(
      OPEN,
      wanted.filter((one) => !there.has(one)).map((one) => [region, feed, one]),
    );
    return new Map([...known, ...opened].map((row) => [row.bird_id, row.stream]));
  }

  /** Moves the cursor forward; a smaller value changes nothing. */
  async advanceCursor(stream: number, cursorUs: number): Promise<void> {
    await this.#sql.run(
      'UPDATE stream SET cursor_us = $2 WHERE stream = $1 AND cursor_us < $2',
      stream,
      cursorUs,
    );
  }

  /**
   * Moves back a cursor later than `latestUs`, which followed a clock that was ahead: to the newest kept entry that
   * is not later, or to where retention has deleted; 0 for neither. Any other cursor stays.
   */
  async retreatCursor(stream: number, latestUs: number): Promise<void> {
    await this.#sql.run(RETREAT, stream, latestUs);
  }

  /** Keeps for the next start when the streams of these feeds were last read. */
  async putReads(region: string, reads: readonly FeedRead[]): Promise<void> {
    const last = lastOfEach(reads, ({ feed }) => feed);
    await this.#sql.write(
      PUT_READS,
      last.map(({ feed, readUs }) => [region, feed, readUs]),
    );
  }

  /** What `putReads` kept; feeds that were never kept are absent. */
  async reads(region: string): Promise<FeedRead[]> {
    const rows = await this.#sql.rows<{ feed: FeedRead['feed']; read_us: number }>(
      'SELECT feed, read_us FROM feed_read WHERE region = $1 ORDER BY feed',
      region,
    );
    return rows.map(({ feed, read_us: readUs }) => ({ feed, readUs }));
  }

  /** Keeps how far a backfill of the stream has come. */
  async putBackfilled(stream: number, { fromUs, untilUs }: BackfilledSpan): Promise<void> {
    await this.#sql.run(
      `INSERT INTO backfill (stream, from_us, until_us) VALUES ($1, $2, $3)
       ON CONFLICT (stream) DO UPDATE SET from_us = excluded.from_us, until_us = excluded.until_us`,
      stream,
      fromUs,
      untilUs,
    );
  }

  /** What `putBackfilled` kept last. */
  async backfilled(stream: number): Promise<BackfilledSpan | undefined> {
    const row = await this.#sql.first<{ from_us: number; until_us: number }>(
      'SELECT from_us, until_us FROM backfill WHERE stream = $1',
      stream,
    );
    return row && { fromUs: row.from_us, untilUs: row.until_us };
  }
}

/** A row of `stream`. */
interface StreamRow {
  readonly stream: number;
  readonly region: string;
  readonly feed: EventFeed;
  readonly bird_id: string;
  readonly cursor_us: number;
  readonly pruned_us: number;
}

function streamOf(row: StreamRow): StreamRecord {
  return {
    stream: row.stream,
    region: row.region,
    feed: row.feed,
    birdId: row.bird_id,
    cursorUs: row.cursor_us,
    prunedUs: row.pruned_us,
  };
}

/**
 * How many texts of one stream are kept, each as long as an answer may be. The newest are kept: the service still
 * lists most of them, so that people can find the entry there, and a new fault is among them.
 */
const MAX_TEXTS = 200;

/**
 * How many entries of one stream are remembered, by digests of a few hundred bytes. An open Flight that differs in
 * each answer adds 2880 a day; entries that an audit or a reading of the inventory meets again are still counted
 * once.
 */
const MAX_KNOWN = 10_000;

const KEEP: RowStatement = {
  columns: 'stream bigint, kept_us bigint, hash bytea, reason text, raw text',
  text: (
    given,
  ) => `INSERT INTO quarantine (stream, kept_us, hash, reason, raw) SELECT * FROM ${given} WHERE true
    ON CONFLICT (stream, hash) DO NOTHING`,
};

/**
 * As many rows as were added now exceed the limit. An array is evaluated once; on a server a subquery may be evaluated
 * for each row if the table is taken for small.
 */
const OLDEST = `SELECT entry FROM quarantine /* INDEXED BY quarantine_of_stream */ WHERE stream = $1
  ORDER BY kept_us DESC, entry DESC LIMIT $2 OFFSET $3`;
const BEYOND = { sqlite: `IN (${OLDEST})`, postgres: `= ANY(ARRAY(${OLDEST}))` };

/**
 * Keeps malformed entries; returns how many were new (by raw text within a stream). For each stream only the newest
 * are remembered, and the text is kept of even fewer.
 */
function createQuarantine(sql: Sql) {
  return async (stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number> => {
    // A digest instead of the text keeps the index small. As UTF-16, different texts have different bytes.
    const rows = entries.map(({ raw, reason }) => [
      ...[stream, nowUs],
      createHash('sha256').update(raw, 'utf16le').digest(),
      ...[reason, raw],
    ]);
    const kept = await sql.write(KEEP, rows);
    if (kept > 0) {
      const beyond = BEYOND[sql.engine];
      await sql.run(`UPDATE quarantine SET raw = '' WHERE entry ${beyond}`, stream, kept, MAX_TEXTS);
      await sql.run(`DELETE FROM quarantine WHERE entry ${beyond}`, stream, kept, MAX_KNOWN);
    }
    return kept;
  };
}
