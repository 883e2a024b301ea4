import type { EventFeed, OwnFeed } from '../../../domain/alert/event.ts';
import type { StreamKind } from '../../rows/event-row.ts';
import type { BackfilledSpan, FeedRead, StreamRecord, StreamStore } from '../../stream-store.ts';
import { lastOfEach, type RowStatement, type Sql, upsertRows } from '../sql.ts';
import { createQuarantine } from './quarantine.ts';

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
export class SqlStreams implements StreamStore {
  readonly quarantine: StreamStore['quarantine'];
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

  async countEvents(region: string, sinceUs: number) {
    const rows = await this.#sql.rows<StreamRow & { readonly events: number }>(
      `SELECT *, (SELECT count(*) FROM event WHERE event.stream = stream.stream AND occurred_us >= $2) AS events
       FROM stream WHERE region = $1 ORDER BY stream`,
      region,
      sinceUs,
    );
    return rows.map((row) => ({ ...streamOf(row), events: row.events }));
  }

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

  async advanceCursor(stream: number, cursorUs: number): Promise<void> {
    await this.#sql.run(
      'UPDATE stream SET cursor_us = $2 WHERE stream = $1 AND cursor_us < $2',
      stream,
      cursorUs,
    );
  }

  async retreatCursor(stream: number, latestUs: number): Promise<void> {
    await this.#sql.run(RETREAT, stream, latestUs);
  }

  async putReads(region: string, reads: readonly FeedRead[]): Promise<void> {
    const last = lastOfEach(reads, ({ feed }) => feed);
    await this.#sql.write(
      PUT_READS,
      last.map(({ feed, readUs }) => [region, feed, readUs]),
    );
  }

  async reads(region: string): Promise<FeedRead[]> {
    const rows = await this.#sql.rows<{ feed: FeedRead['feed']; read_us: number }>(
      'SELECT feed, read_us FROM feed_read WHERE region = $1 ORDER BY feed',
      region,
    );
    return rows.map(({ feed, read_us: readUs }) => ({ feed, readUs }));
  }

  async putBackfilled(stream: number, { fromUs, untilUs }: BackfilledSpan): Promise<void> {
    await this.#sql.run(
      `INSERT INTO backfill (stream, from_us, until_us) VALUES ($1, $2, $3)
       ON CONFLICT (stream) DO UPDATE SET from_us = excluded.from_us, until_us = excluded.until_us`,
      stream,
      fromUs,
      untilUs,
    );
  }

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
