import type { Feed } from '../domain/alert/event.ts';
import type { QuarantinedEntry, StreamRecord } from './record.ts';

export interface StreamStore {
  list(region: string): Promise<StreamRecord[]>;
  /** Finds or creates the stream. */
  open(region: string, feed: Feed | 'inventory', birdId: string): Promise<StreamRecord>;
  /** Moves the cursor forward; a smaller value changes nothing. */
  advanceCursor(stream: number, cursorUs: number): Promise<void>;
  /**
   * Keeps malformed entries; returns how many were not known before (the same raw text of the same stream). Of each
   * stream the newest are known again, and of fewer the text is kept.
   */
  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number>;
}
