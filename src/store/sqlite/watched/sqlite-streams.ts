import type { Feed } from '../../../domain/alert/event.ts';
import type { StreamKind } from '../../rows/event-row.ts';
import { type StreamRow, streamOf } from '../../rows/stream-row.ts';
import type { Sql } from '../../sql/sql.ts';
import { createQuarantine } from '../../sql/watched/quarantine.ts';
import type {
  BackfilledSpan,
  FeedRead,
  QuarantinedEntry,
  StreamRecord,
  StreamStore,
} from '../../stream-store.ts';
import type { Connection } from '../connection.ts';

/** Stores streams, and remembers the kind of each, which is needed to read any event. */
export class SqliteStreams implements StreamStore {
  readonly #sql: ReturnType<typeof prepareStreams>;
  readonly #quarantine: StreamStore['quarantine'];
  /** By the stream's number. There may be tens of thousands; streams of the same kind share one object. */
  #remembered: StreamKind[] | undefined;
  readonly #kinds = new Map<string, StreamKind>();

  constructor(connection: Connection, sql: Sql) {
    this.#sql = prepareStreams(connection);
    this.#quarantine = createQuarantine(sql);
  }

  kindOf(stream: number): StreamKind {
    const kind = this.#byNumber()[stream];
    if (!kind) throw new Error(`There is no stream ${stream}.`);
    return kind;
  }

  /** The kinds that have streams, each once. */
  kinds(): readonly StreamKind[] {
    this.#byNumber();
    return [...this.#kinds.values()];
  }

  /** The streams of a region and feed; undefined matches any. */
  ofKind(region: string | undefined, feed: Feed | undefined): number[] {
    const found: number[] = [];
    this.#byNumber().forEach((kind, stream) => {
      const fits = kind.region === (region ?? kind.region) && kind.feed === (feed ?? kind.feed);
      if (fits) found.push(stream);
    });
    return found;
  }

  find(region: string, feed: Feed, birdId: string): number | undefined {
    return this.#sql.one.get(region, feed, birdId)?.stream;
  }

  /** Discards what is remembered: a stream of a transaction that was rolled back does not exist. */
  forget(): void {
    this.#remembered = undefined;
  }

  async list(region: string): Promise<StreamRecord[]> {
    return this.#sql.ofRegion.all(region).map(streamOf);
  }

  async countEvents(region: string, sinceUs: number) {
    return this.#sql.counts.all(region, sinceUs).map((row) => ({ ...streamOf(row), events: row.events }));
  }

  async open(region: string, feed: Feed | 'inventory', birdId: string): Promise<StreamRecord> {
    const known = this.#sql.one.get(region, feed, birdId);
    if (known) return streamOf(known);
    const created = this.#sql.create.get(region, feed, birdId)!;
    if (this.#remembered) this.#remembered[created.stream] = this.#kindOfRow(created);
    return streamOf(created);
  }

  async advanceCursor(stream: number, cursorUs: number): Promise<void> {
    this.#sql.advance.run(stream, cursorUs);
  }

  async retreatCursor(stream: number, latestUs: number): Promise<void> {
    this.#sql.retreat.run(stream, latestUs);
  }

  async putReads(region: string, reads: readonly FeedRead[]): Promise<void> {
    for (const { feed, readUs } of reads) this.#sql.putRead.run(region, feed, readUs);
  }

  async reads(region: string): Promise<FeedRead[]> {
    return this.#sql.reads.all(region).map(({ feed, read_us: readUs }) => ({ feed, readUs }));
  }

  async putBackfilled(stream: number, { fromUs, untilUs }: BackfilledSpan): Promise<void> {
    this.#sql.putBackfilled.run(stream, fromUs, untilUs);
  }

  async backfilled(stream: number): Promise<BackfilledSpan | undefined> {
    const row = this.#sql.backfilled.get(stream);
    return row && { fromUs: row.from_us, untilUs: row.until_us };
  }

  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number> {
    return this.#quarantine(stream, entries, nowUs);
  }

  #byNumber(): StreamKind[] {
    if (!this.#remembered) {
      this.#remembered = [];
      this.#kinds.clear();
      for (const row of this.#sql.all.all()) this.#remembered[row.stream] = this.#kindOfRow(row);
    }
    return this.#remembered;
  }

  #kindOfRow({ region, feed }: StreamRow): StreamKind {
    const name = `${region}/${feed}`;
    const kind = this.#kinds.get(name) ?? { region, feed };
    this.#kinds.set(name, kind);
    return kind;
  }
}

function prepareStreams(connection: Connection) {
  return {
    all: connection.prepare<StreamRow>('SELECT * FROM stream'),
    ofRegion: connection.prepare<StreamRow>('SELECT * FROM stream WHERE region = ? ORDER BY stream'),
    counts: connection.prepare<StreamRow & { readonly events: number }>(
      `SELECT *, (SELECT count(*) FROM event WHERE event.stream = stream.stream AND occurred_us >= ?2) AS events
       FROM stream WHERE region = ?1 ORDER BY stream`,
    ),
    one: connection.prepare<StreamRow>('SELECT * FROM stream WHERE region = ? AND feed = ? AND bird_id = ?'),
    create: connection.prepare<StreamRow>(
      'INSERT INTO stream (region, feed, bird_id, cursor_us) VALUES (?, ?, ?, 0) RETURNING *',
    ),
    putBackfilled: connection.prepare(`
      INSERT INTO backfill (stream, from_us, until_us) VALUES (?, ?, ?)
      ON CONFLICT (stream) DO UPDATE SET from_us = excluded.from_us, until_us = excluded.until_us`),
    backfilled: connection.prepare<{ from_us: number; until_us: number }>(
      'SELECT from_us, until_us FROM backfill WHERE stream = ?',
    ),
    retreat: connection.prepare(`
      UPDATE stream SET
        cursor_us = max(
          pruned_us,
          coalesce((SELECT max(started_us) FROM flight WHERE stream = ?1 AND started_us <= ?2), 0),
          CASE feed WHEN 'flight' THEN 0
          ELSE coalesce((SELECT max(occurred_us) FROM event WHERE stream = ?1 AND occurred_us <= ?2), 0) END
        )
      WHERE stream = ?1 AND cursor_us > ?2`),
    putRead: connection.prepare(
      `INSERT INTO feed_read (region, feed, read_us) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET read_us = excluded.read_us`,
    ),
    reads: connection.prepare<{ feed: FeedRead['feed']; read_us: number }>(
      'SELECT feed, read_us FROM feed_read WHERE region = ? ORDER BY feed',
    ),
    advance: connection.prepare('UPDATE stream SET cursor_us = ?2 WHERE stream = ?1 AND cursor_us < ?2'),
  };
}
