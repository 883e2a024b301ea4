/**
 * Stores events that wait to be forwarded, in one queue for each receiver. They are stored whole, and retention never
 * deletes unsent ones.
 */
import type { Event } from '../domain/alert/event.ts';

/** An event that waits to be forwarded to a receiver, in commit order. */
interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}

export interface ForwardStore {
  queue(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with waiting events. */
  receivers(): Promise<string[]>;
  /** Takes the oldest `limit` events from a receiver's queue; they are removed when the transaction commits. */
  take(receiver: string, limit: number): Promise<Event[]>;
}
