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
 * What intake hands to alerting: the events, and what it saw beside them that changes an alert without being one.
 * `historic` marks what happened before nestwatch first watched the region, or the Bird: it raises an alert only where it
 * describes a state that is still true.
 *
 * The scope of a fact follows from its fields (`scopeOf`): one with a `place` concerns a Bird, one with a `region`
 * that region. So a new fact needs its own fields here and nothing else.
 */
export type Fact =
  | {
      readonly fact: 'event';
      readonly event: Event;
      readonly historic: boolean;
      readonly birdStatus?: string | undefined;
      /** For a failed Flight: how the Bird's latest Flights ended, as far as a rule asks for it. */
      readonly latestEnds?: readonly FlightEnded[] | undefined;
      /** For a failed trigger: when the Bird's last Flight before it started; undefined where none is known. */
      readonly flightBeforeUs?: number | undefined;
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
      /** Never empty. */
      readonly status: string;
      /** The status before, where this reading changed it. */
      readonly previous?: string | undefined;
      /** When the reading began, on our clock: only what was observed before it can be outdated by it. */
      readonly readAtUs: number;
    }
  | {
      /** The service has the Bird no longer, or it is watched no longer. */
      readonly fact: 'bird_vanished';
      readonly place: Place;
      readonly readAtUs: number;
      /** True where the configuration leaves its Nest out. */
      readonly isLeftOut?: boolean;
    }
  | {
      /** A Flight is active, and was when the Bird's Flights were last read. */
      readonly fact: 'flight_in_air';
      readonly place: Place;
      readonly flightId: string;
      readonly startedAtUs: number;
      /** What 99 of 100 Flights of the Bird do not take longer than; null where too few are known. */
      readonly usualMs: number | null;
      /** When that reading began. */
      readonly readAtUs: number;
    }
  /** A Flight is no longer watched, without a word of how it ended. */
  | {
      readonly fact: 'flight_gone';
      readonly place: Place;
      readonly flightId: string;
      readonly atUs: number;
    }
  | {
      /** An active Bird starts no Flight. */
      readonly fact: 'bird_idle';
      readonly place: Place;
      /** When its last Flight started, or else since when one could be seen. */
      readonly sinceUs: number;
      readonly hasFlown: boolean;
      /** The longest that it was between two of its Flights; null where that is not known or means nothing. */
      readonly usualMs: number | null;
      /** When its Flights were last read. */
      readonly readAtUs: number;
    }
  | {
      readonly fact: 'schema_drift';
      readonly region: string;
      readonly feed: Feed | 'inventory';
      /** Entries that could not be read, not counted before; of the inventory all that its last reading met, be it 0. */
      readonly count: number;
      /** What is wrong with one of them. */
      readonly reason: string;
      readonly atUs: number;
    }
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
    }
  | {
      readonly fact: 'delivery_health';
      readonly receiver: string;
      /** `email`, `webhook`, … */
      readonly integration: string;
      /** False from the first try that failed until one is accepted. */
      readonly accepts: boolean;
      /** What the last try ended with, for people; empty when it accepts. */
      readonly reason: string;
      readonly sinceUs: number;
    }
  | {
      /** Something impairs the watch, of which no other fact speaks; or it was seen that it does not. */
      readonly fact: 'watch_health';
      /** One of a closed list, which is that of the health answer. */
      readonly reason: string;
      /** Absent for nestwatch as a whole. */
      readonly region?: string;
      readonly isImpaired: boolean;
      readonly severity: 'critical' | 'warning';
      /** True for what mostly ends by itself, and is news only when it does not. */
      readonly endsByItself: boolean;
      /** For people: in a few words, and in sentences of which the last says what to do; empty where nothing is wrong. */
      readonly title: string;
      readonly sentences: readonly string[];
      /** Since when it was seen to last, in this life of the process. */
      readonly sinceUs: number;
    };

/** How a Flight ended, where it failed or succeeded: one that was cancelled says nothing. */
export interface FlightEnded {
  /** The key of its event. */
  readonly key: string;
  readonly atUs: number;
  readonly failed: boolean;
}

export type FactName = Fact['fact'];
export type FactOf<Name extends FactName> = Extract<Fact, { readonly fact: Name }>;

/** The scope of alerts about deliveries: no region's, and no name that a region can have. */
export const DELIVERY_SCOPE = 'all/delivery';

/** The scope of alerts about what impairs the watch of all regions. */
const WATCH_SCOPE = 'all/watch';

/** Whether alerts of a scope belong to no region. */
export function isOfNoRegion(scope: string): boolean {
  return scope === DELIVERY_SCOPE || scope === WATCH_SCOPE;
}

/** The scope whose alerts a fact can change: `region/bird/<id>`, `region/entity/<type>/<id>` or `region`. */
export function scopeOf(fact: Fact): string {
  if ('event' in fact) return scopeOfEvent(fact.event);
  if ('place' in fact) return birdScope(fact.place.region, fact.place.birdId);
  return fact.fact === 'delivery_health' ? DELIVERY_SCOPE : (fact.region ?? WATCH_SCOPE);
}

function scopeOfEvent(event: Event): string {
  const { region, attributes } = event;
  const birdId = birdOf(event);
  if (birdId) return birdScope(region, birdId);
  if (attributes.entity_id === undefined) return region;
  return `${region}/entity/${attributes.entity_type ?? ''}/${attributes.entity_id}`;
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
