import type { Feed } from '../../alerts/event.ts';
import type { StreamRecord } from '../record.ts';
import type { Transaction } from '../store.ts';
import type { Connection } from './connection.ts';

interface StreamRow {
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly bird_id: string;
  readonly cursor_us: number;
}

/** What names a stream; it never changes, so it is remembered. There may be tens of thousands: words are shared. */
export interface StreamName {
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly birdId: string;
}

export interface Streams extends Pick<Transaction, 'streams' | 'openStream' | 'advanceCursor'> {
  /** The name of a stream of the store. */
  nameOf(stream: number): StreamName;
  all(): StreamName[];
  find(region: string, feed: Feed, birdId: string): StreamName | undefined;
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

  let names: Map<number, StreamName> | undefined;
  /** Each region and feed once, instead of a copy of its name for each stream. */
  const words = new Map<string, string>();

  function remembered() {
    if (!names) {
      names = new Map();
      for (const row of all.all()) names.set(row.stream, nameOfRow(row));
    }
    return names;
  }

  function shared<T extends string>(word: T): T {
    const known = words.get(word);
    if (known === undefined) words.set(word, word);
    return (known as T | undefined) ?? word;
  }

  function nameOfRow(row: StreamRow): StreamName {
    return {
      stream: row.stream,
      region: shared(row.region),
      feed: shared(row.feed),
      birdId: row.bird_id,
    };
  }

  return {
    nameOf(stream) {
      const name = remembered().get(stream);
      if (!name) throw new Error(`There is no stream ${stream}.`);
      return name;
    },
    all: () => [...remembered().values()],
    find(region, feed, birdId) {
      const row = one.get(region, feed, birdId);
      return row && nameOfRow(row);
    },
    forget() {
      names = undefined;
    },
    async streams(region) {
      return ofRegion.all(region).map(record);
    },
    async openStream(region, feed, birdId) {
      const known = one.get(region, feed, birdId);
      if (known) return record(known);
      const created = create.get(region, feed, birdId)!;
      names?.set(created.stream, nameOfRow(created));
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
  };
}
