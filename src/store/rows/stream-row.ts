import type { Feed } from '../../domain/alert/event.ts';
import type { StreamRecord } from '../stream-store.ts';

/** A row of `stream`. */
export interface StreamRow {
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly bird_id: string;
  readonly cursor_us: number;
  readonly pruned_us: number;
}

export function streamOf(row: StreamRow): StreamRecord {
  return {
    stream: row.stream,
    region: row.region,
    feed: row.feed,
    birdId: row.bird_id,
    cursorUs: row.cursor_us,
    prunedUs: row.pruned_us,
  };
}
