/**
 * Stores events, which nestwatch makes of the service's entries. An event is written once and never changed. No two
 * events of a stream have the same instant and id, so reading a page twice inserts nothing twice.
 */
import type { Event, EventFeed } from '../domain/alert/event.ts';
import type { Filter } from './filter.ts';

/**
 * Selects events for `page`; conditions left out match all. `name` and `severity` are those of an alert that contains
 * the event. `text` is looked for in the message, names, attributes and ids; only ASCII letters match in either case.
 */
export interface EventQuery extends Filter {
  readonly feed?: EventFeed | undefined;
  readonly type?: string | undefined;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export interface EventStore {
  /**
   * Inserts the events that are not there yet (same stream, instant and id) and returns those, in their given order.
   */
  insert(stream: number, events: readonly Event[]): Promise<Event[]>;
  /** The same for events of a region that nestwatch itself makes, each in the stream of its Bird, or else of its Nest or the region. */
  insertNoticed(region: string, events: readonly Event[]): Promise<Event[]>;
  /** Ids (the last part of the key) of the stream's events that occurred in [sinceUs, untilUs), oldest first. */
  ids(stream: number, sinceUs: number, untilUs?: number): Promise<{ id: string; occurredAtUs: number }[]>;
  /** Which of these ids the stream has events of, at any time. */
  knownIds(stream: number, ids: readonly string[]): Promise<Set<string>>;
  /** How many events of the stream occurred in [fromUs, toUs). */
  count(stream: number, fromUs: number, toUs: number): Promise<number>;
  /**
   * Events, newest first. `next` is absent at the end. A page may hold fewer than `limit` events, or none, and still
   * have a `next`. Throws `usage` for a cursor that no earlier answer gave.
   */
  page(query: EventQuery): Promise<{ events: Event[]; next?: string }>;
  /** One event by its key. */
  find(key: string): Promise<Event | undefined>;
  /** The events with this short id, usually one; none if the text is not a short id. */
  withShortId(text: string): Promise<Event[]>;
}
