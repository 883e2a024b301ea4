/** Stores silences, including expired ones until retention deletes them. */
import type { Silence } from '../domain/muting/silence.ts';

export interface SilenceStore {
  /** Silences that end after this instant, or by default all that are kept; those that end first come first. */
  list(endsAfterUs?: number): Promise<Silence[]>;
  put(silences: readonly Silence[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
}
