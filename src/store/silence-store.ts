/** The room of silences, also of expired ones, until the retention has passed since their end. */
import type { Silence } from '../domain/muting/silence.ts';

export interface SilenceStore {
  /** Silences that end after this instant, or else all that are kept, expired ones too; the first to end first. */
  list(endsAfterUs?: number): Promise<Silence[]>;
  put(silences: readonly Silence[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
}
