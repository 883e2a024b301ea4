import type { Feed } from '../../../domain/alert/event.ts';
import type { StreamKind } from '../../rows/event-row.ts';
import { type StreamRow, streamOf } from '../../rows/stream-row.ts';
import { lastOfEach, type Sql } from '../../sql/sql.ts';
import { createQuarantine } from '../../sql/watched/quarantine.ts';
import type {
  BackfilledSpan,
  FeedRead,
  QuarantinedEntry,
  StreamRecord,
  StreamStore,
} from '../../stream-store.ts';
import { columnsOf, type Statements, upsert } from '../statements.ts';

const PUT_READS = upsert('feed_read', 'region text, feed text, read_us bigint', 'region, feed');

/** Stores streams, and remembers the kind of each, which is needed to read any event. */
export class PostgresStreams implements StreamStore {
  readonly #statements: Statements;
  readonly #quarantine: StreamStore['quarantine'];
  readonly #kinds = new Map<number, StreamKind>();

  constructor(statements: Statements, sql: Sql) {
    this.#statements = statements;
    this.#quarantine = createQuarantine(sql);
  }

  /** Loads the kinds of these streams; call this before `kindOf`. */
  async know(streams: Iterable<number>): Promise<void> {
    const unknown = [...new Set(streams)].filter((stream) => !this.#kinds.has(stream));
    if (unknown.length === 0) return;
    const rows = await this.#statements.rows<StreamRow>(
      'SELECT stream, region, feed FROM stream WHERE stream = ANY($1::bigint[])',
      unknown,
    );
    for (const { stream, region, feed } of rows) this.#kinds.set(stream, { region, feed });
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
    const rows = await this.#statements.rows<StreamRow>(
      'SELECT * FROM stream WHERE region = $1 ORDER BY stream',
      region,
    );
    return rows.map(streamOf);
  }

  async countEvents(region: string, sinceUs: number) {
    const rows = await this.#statements.rows<StreamRow & { readonly events: number }>(
      `SELECT *, (SELECT count(*) FROM event WHERE event.stream = stream.stream AND occurred_us >= $2) AS events
       FROM stream WHERE region = $1 ORDER BY stream`,
      region,
      sinceUs,
    );
    return rows.map((row) => ({ ...streamOf(row), events: row.events }));
  }

  async open(region: string, feed: Feed | 'inventory', birdId: string): Promise<StreamRecord> {
    const known = await this.#statements.first<StreamRow>(
      'SELECT * FROM stream WHERE region = $1 AND feed = $2 AND bird_id = $3',
      region,
      feed,
      birdId,
    );
    const created =
      known ??
      (await this.#statements.first<StreamRow>(
        'INSERT INTO stream (region, feed, bird_id) VALUES ($1, $2, $3) RETURNING *',
        region,
        feed,
        birdId,
      ));
    return streamOf(created!);
  }

  async advanceCursor(stream: number, cursorUs: number): Promise<void> {
    await this.#statements.run(
      'UPDATE stream SET cursor_us = $2 WHERE stream = $1 AND cursor_us < $2',
      stream,
      cursorUs,
    );
  }

  async retreatCursor(stream: number, latestUs: number): Promise<void> {
    await this.#statements.run(
      `UPDATE stream SET
         cursor_us = greatest(
           pruned_us,
           coalesce((SELECT max(started_us) FROM flight WHERE stream = $1 AND started_us <= $2), 0),
           CASE feed WHEN 'flight' THEN 0
           ELSE coalesce((SELECT max(occurred_us) FROM event WHERE stream = $1 AND occurred_us <= $2), 0) END
         )
       WHERE stream = $1 AND cursor_us > $2`,
      stream,
      latestUs,
    );
  }

  async putReads(region: string, reads: readonly FeedRead[]): Promise<void> {
    const last = lastOfEach(reads, ({ feed }) => feed);
    await this.#statements.run(
      PUT_READS,
      ...columnsOf(
        3,
        last.map(({ feed, readUs }) => [region, feed, readUs]),
      ),
    );
  }

  async reads(region: string): Promise<FeedRead[]> {
    const rows = await this.#statements.rows<{ feed: FeedRead['feed']; read_us: number }>(
      'SELECT feed, read_us FROM feed_read WHERE region = $1 ORDER BY feed',
      region,
    );
    return rows.map(({ feed, read_us: readUs }) => ({ feed, readUs }));
  }

  async putBackfilled(stream: number, { fromUs, untilUs }: BackfilledSpan): Promise<void> {
    await this.#statements.run(
      `INSERT INTO backfill (stream, from_us, until_us) VALUES ($1, $2, $3)
       ON CONFLICT (stream) DO UPDATE SET from_us = excluded.from_us, until_us = excluded.until_us`,
      stream,
      fromUs,
      untilUs,
    );
  }

  async backfilled(stream: number): Promise<BackfilledSpan | undefined> {
    const row = await this.#statements.first<{ from_us: number; until_us: number }>(
      'SELECT from_us, until_us FROM backfill WHERE stream = $1',
      stream,
    );
    return row && { fromUs: row.from_us, untilUs: row.until_us };
  }

  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number> {
    return this.#quarantine(stream, entries, nowUs);
  }
}
