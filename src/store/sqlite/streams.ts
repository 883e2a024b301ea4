import type { Feed } from '../../alerts/event.ts';
import type { StreamRecord, Transaction } from '../store.ts';
import type { Connection } from './connection.ts';

interface StreamRow {
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly bird_id: string;
  readonly cursor_us: number;
}

/** What names a stream; it never changes, so it is remembered. */
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

  let names: Names | undefined;

  function remembered() {
    if (!names) {
      names = { byNumber: new Map(), byName: new Map() };
      for (const row of all.all()) remember(names, nameOfRow(row));
    }
    return names;
  }

  return {
    nameOf(stream) {
      const name = remembered().byNumber.get(stream);
      if (!name) throw new Error(`There is no stream ${stream}.`);
      return name;
    },
    all: () => [...remembered().byNumber.values()],
    find: (region, feed, birdId) => remembered().byName.get(nameKey(region, feed, birdId)),
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
      if (names) remember(names, nameOfRow(created));
      return record(created);
    },
    async advanceCursor(stream, cursorUs) {
      advance.run(stream, cursorUs);
    },
  };
}

interface Names {
  readonly byNumber: Map<number, StreamName>;
  readonly byName: Map<string, StreamName>;
}

function remember(names: Names, name: StreamName): void {
  names.byNumber.set(name.stream, name);
  names.byName.set(nameKey(name.region, name.feed, name.birdId), name);
}

function nameKey(region: string, feed: Feed, birdId: string): string {
  return JSON.stringify([region, feed, birdId]);
}

function nameOfRow(row: StreamRow): StreamName {
  return { stream: row.stream, region: row.region, feed: row.feed, birdId: row.bird_id };
}

function record(row: StreamRow): StreamRecord {
  return { ...nameOfRow(row), cursorUs: row.cursor_us };
}
