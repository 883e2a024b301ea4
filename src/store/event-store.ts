/**
 * The room of events: what became of the service's entries. An event is written once and never changed. Of one stream
 * no two have the same instant and id, so whoever reads a page twice inserts nothing twice.
 */
import type { Event, Feed } from '../domain/alert/event.ts';
import type { Filter } from './filter.ts';

/**
 * Which events `page` gives; a condition left out is met by all. `name` and `severity` are of an alert that the event
 * is part of. `text` is looked for in what it says, its names, attributes and ids; letters beyond ASCII in their own case.
 */
export interface EventQuery extends Filter {
  readonly feed?: Feed | undefined;
  readonly type?: string | undefined;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export interface EventStore {
  /** Inserts the events that are not there yet (same stream, instant and id) and returns those, in their order. */
  insert(stream: number, events: readonly Event[]): Promise<Event[]>;
  /** Ids (the last part of the key) of the stream's events that occurred in [sinceUs, untilUs), oldest first. */
  ids(stream: number, sinceUs: number, untilUs?: number): Promise<{ id: string; occurredAtUs: number }[]>;
  /** Those of these ids that the stream has events of, whenever they occurred. */
  knownIds(stream: number, ids: readonly string[]): Promise<Set<string>>;
  /** How many events of the stream occurred in [fromUs, toUs). */
  count(stream: number, fromUs: number, toUs: number): Promise<number>;
  /**
   * Events, newest first. `next` is absent at the end; a page may hold fewer than `limit` events, even none, and have
   * a `next`. Throws `usage` for a cursor that no answer gave.
   */
  page(query: EventQuery): Promise<{ events: Event[]; next?: string }>;
  /** One event by its key. */
  find(key: string): Promise<Event | undefined>;
  /** The events with this short id, mostly one; none for a text that is no short id. */
  withShortId(text: string): Promise<Event[]>;
}
