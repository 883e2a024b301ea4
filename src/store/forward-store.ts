/**
 * The room of events that wait to be forwarded, one queue a receiver. They wait whole: retention never takes one that
 * is unsent.
 */
import type { Event } from '../domain/alert/event.ts';

/** An event that waits to be forwarded to a receiver, in the order of commits. */
interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}

export interface ForwardStore {
  queue(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with events that wait to be forwarded. */
  receivers(): Promise<string[]>;
  /** Takes the oldest `limit` events that wait for a receiver: they are gone when the transaction commits. */
  take(receiver: string, limit: number): Promise<Event[]>;
}
