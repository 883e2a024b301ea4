import type { Feed } from '../../../domain/alert/event.ts';
import type { StreamRecord, StreamStore } from '../../stream-store.ts';
import type { Connection } from '../connection.ts';

interface StreamRow {
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly bird_id: string;
  readonly cursor_us: number;
  readonly pruned_us: number;
}

/** What a stream is one of; that never changes. */
export interface StreamKind {
  readonly region: string;
  readonly feed: Feed;
}

export interface Streams extends Omit<StreamStore, 'quarantine'> {
  kindOf(stream: number): StreamKind;
  /** Those of which there are streams, each once. */
  kinds(): readonly StreamKind[];
  /** The streams of a region and feed, or of all where that is left open. */
  ofKind(region: string | undefined, feed: Feed | undefined): number[];
  find(region: string, feed: Feed, birdId: string): number | undefined;
  /** Forgets what is remembered: a stream of a transaction that was taken back does not exist. */
  forget(): void;
}

export function createStreams(connection: Connection): Streams {
  const all = connection.prepare<StreamRow>('SELECT * FROM stream');
  const ofRegion = connection.prepare<StreamRow>('SELECT * FROM stream WHERE region = ? ORDER BY stream');
  const one = connection.prepare<StreamRow>(
    'SELECT * FROM stream WHERE region = ? AND feed = ? AND bird_id = ?',
  );
  const create = connection.prepare<StreamRow>(
    'INSERT INTO stream (region, feed, bird_id, cursor_us) VALUES (?, ?, ?, 0) RETURNING *',
  );
  const advance = connection.prepare('UPDATE stream SET cursor_us = ?2 WHERE stream = ?1 AND cursor_us < ?2');

  /** By the stream's number. There may be tens of thousands: those that are of one kind share it. */
  let remembered: StreamKind[] | undefined;
  const kinds = new Map<string, StreamKind>();

  function kindOfRow({ region, feed }: StreamRow): StreamKind {
    const name = `${region}/${feed}`;
    const kind = kinds.get(name) ?? { region, feed };
    kinds.set(name, kind);
    return kind;
  }

  function byNumber(): StreamKind[] {
    if (!remembered) {
      remembered = [];
      kinds.clear();
      for (const row of all.all()) remembered[row.stream] = kindOfRow(row);
    }
    return remembered;
  }

  return {
    kindOf(stream) {
      const kind = byNumber()[stream];
      if (!kind) throw new Error(`There is no stream ${stream}.`);
      return kind;
    },
    kinds() {
      byNumber();
      return [...kinds.values()];
    },
    ofKind(region, feed) {
      const found: number[] = [];
      byNumber().forEach((kind, stream) => {
        const fits = kind.region === (region ?? kind.region) && kind.feed === (feed ?? kind.feed);
        if (fits) found.push(stream);
      });
      return found;
    },
    find: (region, feed, birdId) => one.get(region, feed, birdId)?.stream,
    forget() {
      remembered = undefined;
    },
    async list(region) {
      return ofRegion.all(region).map(record);
    },
    async open(region, feed, birdId) {
      const known = one.get(region, feed, birdId);
      if (known) return record(known);
      const created = create.get(region, feed, birdId)!;
      if (remembered) remembered[created.stream] = kindOfRow(created);
      return record(created);
    },
    async advanceCursor(stream, cursorUs) {
      advance.run(stream, cursorUs);
    },
  };
}

function record(row: StreamRow): StreamRecord {
  return {
    stream: row.stream,
    region: row.region,
    feed: row.feed,
    birdId: row.bird_id,
    cursorUs: row.cursor_us,
    prunedUs: row.pruned_us,
  };
}
