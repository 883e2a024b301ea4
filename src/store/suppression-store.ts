/**
 * Stores suppressions: which events of an alert a receiver is not notified of, and why. They are stored with their
 * events, so that they outlive the alert.
 */
import type { Suppression } from '../domain/muting/suppression.ts';

export interface SuppressionStore {
  /** Stores suppressions with the events that they concern. Their alerts must be in the store. */
  add(suppressions: readonly Suppression[]): Promise<void>;
  /** The suppressions of an alert, in order of time, even if the alert itself was deleted. */
  ofAlert(alertId: string): Promise<Suppression[]>;
  /** The suppressions that concern an event, by its key. */
  ofEvent(key: string): Promise<Suppression[]>;
}
