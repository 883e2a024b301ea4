import type { Suppression } from '../domain/muting/suppression.ts';

export interface SuppressionStore {
  /** Keeps what is never told, and of which events. Their alert must be in the store. */
  add(suppressions: readonly Suppression[]): Promise<void>;
  /** What was not told of an alert, in the order of time; also once the alert itself is gone. */
  ofAlert(alertId: string): Promise<Suppression[]>;
  /** What was not told of an event, by its key. */
  ofEvent(key: string): Promise<Suppression[]>;
}
