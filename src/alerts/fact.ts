import type { Event, Feed } from './event.ts';

/** Where a fact happened. Ids are empty for a fact about the whole region. */
export interface Place {
  readonly region: string;
  readonly nestId: string;
  readonly nest: string;
  readonly birdId: string;
  readonly bird: string;
}

/**
 * What intake tells alerting: the events, and what it saw beside them that changes an alert without being one.
 * `historic` marks what happened before nestwatch first watched the region: it raises an alert only where it
 * describes a state that is still true.
 */
export type Fact =
  | {
      readonly fact: 'event';
      readonly event: Event;
      readonly historic: boolean;
      readonly birdStatus?: string | undefined;
    }
  | {
      readonly fact: 'flight_started';
      readonly place: Place;
      readonly flightId: string;
      readonly startedAtUs: number;
      readonly historic: boolean;
    }
  | {
      readonly fact: 'bird_status';
      readonly place: Place;
      readonly status: string;
      /** The status before, where this reading changed it. */
      readonly previous?: string | undefined;
      /** When the reading began, on our clock: only what was observed before it can be outdated by it. */
      readonly readAtUs: number;
    }
  | { readonly fact: 'bird_vanished'; readonly place: Place; readonly readAtUs: number }
  | {
      readonly fact: 'region_health';
      readonly region: string;
      readonly health: 'up' | 'down' | 'unauthorized';
      /** One sentence for people: what was answered last. */
      readonly reason: string;
      readonly sinceUs: number;
    }
  | {
      readonly fact: 'feed_gap';
      readonly region: string;
      readonly feed: Feed;
      /** Entries that the service counts and does not show; 0 when it does again. */
      readonly missing: number;
      /** When the oldest of them occurred, about. */
      readonly sinceUs: number;
    }
  | {
      readonly fact: 'polling_pace';
      readonly region: string;
      /** False while streams wait longer for a poll than they should at most. */
      readonly kept: boolean;
      /** One sentence for people: how late they are, and what would be needed. */
      readonly reason: string;
      readonly sinceUs: number;
    };

/** The scope whose alerts a fact can change: `region/bird/<id>`, `region/entity/<type>/<id>` or `region`. */
export function scopeOf(fact: Fact): string {
  switch (fact.fact) {
    case 'event': {
      const { region, attributes } = fact.event;
      const birdId = birdOf(fact.event);
      if (birdId) return birdScope(region, birdId);
      if (attributes.entity_id !== undefined) {
        return `${region}/entity/${attributes.entity_type ?? ''}/${attributes.entity_id}`;
      }
      return region;
    }
    case 'region_health':
    case 'feed_gap':
    case 'polling_pace':
      return fact.region;
    default:
      return birdScope(fact.place.region, fact.place.birdId);
  }
}

/** Types of notifications whose entity is a Bird, whatever the service calls the entity's type. */
const ABOUT_BIRDS: readonly string[] = ['notification.FlowDeactivated', 'notification.FlowSuspended'];

/** The id of the Bird that an event is about, known to the inventory or not; empty for none. */
export function birdOf({ birdId, type, attributes }: Event): string {
  return birdId || (ABOUT_BIRDS.includes(type) ? String(attributes.entity_id ?? '') : '');
}

export function birdScope(region: string, birdId: string): string {
  return `${region}/bird/${birdId}`;
}
