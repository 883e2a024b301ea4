import type { Event } from '../domain/alert/event.ts';
import type { ForwardedEvent } from './record.ts';

export interface ForwardStore {
  queue(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with events that wait to be forwarded. */
  receivers(): Promise<string[]>;
  /** Takes the oldest `limit` events that wait for a receiver: they are gone when the transaction commits. */
  take(receiver: string, limit: number): Promise<Event[]>;
}
