import type { Event } from '../domain/alert/event.ts';
import type { EventQuery } from './record.ts';

export interface EventStore {
  /** Inserts the events that are not there yet (same stream, instant and id) and returns those, in their order. */
  insert(stream: number, events: readonly Event[]): Promise<Event[]>;
  /** Ids (the last part of the key) of the stream's events that occurred in [sinceUs, untilUs), oldest first. */
  ids(stream: number, sinceUs: number, untilUs?: number): Promise<{ id: string; occurredAtUs: number }[]>;
  /** Those of these ids that the stream has events of, whenever they occurred. */
  knownIds(stream: number, ids: readonly string[]): Promise<Set<string>>;
  /** Events of the stream that occurred in [fromUs, toUs). */
  count(stream: number, fromUs: number, toUs: number): Promise<number>;
  /** Newest first. `next` is absent at the end. */
  page(query: EventQuery): Promise<{ events: Event[]; next?: string }>;
  /** One event by its key. */
  find(key: string): Promise<Event | undefined>;
}
