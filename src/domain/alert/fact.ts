import type { Period } from '../../time/zone-format.ts';
import type { Ending } from './alert.ts';
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
 * What intake passes to alerting: events, and other observations that can change an alert. `historic` marks what
 * happened before nestwatch first watched the region or the Bird: it raises an alert only if it describes a state
 * that is still true.
 *
 * The scope of a fact follows from its fields (`scopeOf`): a fact with a `place` concerns a Bird, one with a `region`
 * that region. So a new fact only needs its own fields here.
 */
export type Fact =
  | {
      readonly fact: 'event';
      readonly event: Event;
      readonly historic: boolean;
      readonly birdStatus?: string | undefined;
      /** For a failed Flight: how the Bird's latest Flights ended, as far as a rule asks. */
      readonly latestEnds?: readonly FlightEnded[] | undefined;
      /** For a failed Flight: how new its error is; absent if that cannot be said. */
      readonly novelty?: Novelty | undefined;
      /** For a failed trigger: when the Bird's last Flight before it started; undefined if unknown. */
      readonly flightBeforeUs?: number | undefined;
    }
  | {
      /** An event that fits a rule on events. */
      readonly fact: 'event_matched';
      readonly event: Event;
      /** What has an alert of its own. */
      readonly forEach: 'bird' | 'nest' | 'region' | 'initiator';
      /** Events of the same reading that share its alert because they are too many. */
      readonly others?: number;
      readonly scope: string;
    }
  | {
      /** Alerts of failed Flights with one error changed: how many Birds fail with it now. */
      readonly fact: 'shared_error';
      readonly scope: string;
      /** `all` for all regions together. */
      readonly region: string;
      readonly error: string;
      readonly birds: number;
      readonly nests: number;
      /** False if there are more. */
      readonly isAll: boolean;
      /** What the newest failure says. */
      readonly said: string;
      /** The Birds that began to fail last, the latest first. */
      readonly parts: readonly { readonly place: Place; readonly startsAtUs: number }[];
      /** Failures that are told with the cause, the oldest first. */
      readonly events: readonly Event[];
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
      /** The previous status, if this reading changed it. */
      readonly previous?: string | undefined;
      /** The severity of its last BirdDeactivated, if that ended only because the Bird was not watched for a while. */
      readonly endedUnwatched?: string | undefined;
      /** When the reading began, by our clock. It supersedes only what was observed before that. */
      readonly readAtUs: number;
    }
  | {
      /** The service no longer has the Bird, or it is no longer watched. */
      readonly fact: 'bird_vanished';
      readonly place: Place;
      readonly readAtUs: number;
      /** True if the configuration excludes its Nest. */
      readonly isLeftOut?: boolean;
    }
  | {
      /** A Flight is active, and was active when the Bird's Flights were last read. */
      readonly fact: 'flight_in_air';
      readonly place: Place;
      readonly flightId: string;
      readonly startedAtUs: number;
      /** The 99th percentile of the Bird's Flight durations; null if too few are known. */
      readonly usualMs: number | null;
      /** The end of its log; null if that was not read. */
      readonly tail: FlightTail | null;
      /** When that reading began. */
      readonly readAtUs: number;
    }
  | {
      /** What a Flight in the air wrote last. */
      readonly fact: 'flight_wrote';
      readonly place: Place;
      readonly flightId: string;
      readonly startedAtUs: number;
      readonly tail: FlightTail;
      /** Whether it then waits for a person, by the rule's `steps`. */
      readonly isWait: boolean;
    }
  /** A Flight is no longer watched, and its end is unknown. */
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
      /** When its last Flight started, or else since when one could have been seen. */
      readonly sinceUs: number;
      readonly hasFlown: boolean;
      /** The longest pause between two of its Flights; null if unknown or meaningless. */
      readonly usualMs: number | null;
      /** When its Flights were last read. */
      readonly readAtUs: number;
    }
  | {
      /** No Flight of a Bird had succeeded by a deadline, or probably none will. */
      readonly fact: 'deadline_missed';
      /** `near`: it is ahead. `late`: a Flight has landed by the time at which it is judged. */
      readonly outcome: 'near' | 'missed' | 'late';
      readonly place: Place;
      readonly deadlineUs: number;
      /** A Flight that started before does not count. */
      readonly fromUs: number;
      /** How many deadlines in a row, this one included, were missed since the last judgement; 0 if none was. */
      readonly missed: number;
      /** It is judged late because its region could not be read. */
      readonly wasUnread: boolean;
      /** How it stood at the deadline, or now. */
      readonly how:
        | { readonly what: 'failed'; readonly atUs: number; readonly message: string }
        | { readonly what: 'ended'; readonly status: string; readonly atUs: number }
        /** `isOlder`: it was first seen so at that instant, and may have been so long before. */
        | (SwitchedOff & { readonly what: 'inactive'; readonly isOlder: boolean })
        /** `atUs`: since when; 0 if unknown. `isStill`: it is still in the air when that is judged. */
        | {
            readonly what: 'in_air';
            readonly atUs: number;
            readonly usualMs: number | null;
            readonly isStill: boolean;
          }
        /** When it usually starts for such a deadline; null if that is not known. */
        /** Its Flight started before those that count; without an end it was still in the air. */
        | {
            readonly what: 'too_early';
            readonly atUs: number;
            readonly end?: { readonly status: string; readonly atUs: number };
          }
        | { readonly what: 'not_started'; readonly usuallyAtUs: number | null }
        | { readonly what: 'landed'; readonly atUs: number; readonly event: Event };
      /** When its Flights were last read. */
      readonly readAtUs: number;
    }
  /** The last Flights of a Bird took longer than usual. */
  | (Slow & { readonly fact: 'flights_slow'; readonly place: Place })
  | {
      /** How many Flights a Bird started in a period that is over, or too many in one that is not. */
      readonly fact: 'flights_counted';
      readonly place: Place;
      readonly counted: Counted;
    }
  | {
      /** A Bird is not as a rule declares it, missing, or not declared. */
      readonly fact: 'bird_drift';
      /** The id is empty for a missing Bird of which only the name is declared. */
      readonly place: Place;
      /** Clauses, for people and to tell whether that is new; the same with since when, and by whom. */
      readonly differs: string;
      readonly told: string;
    }
  | {
      /** A Nest has fewer active members than a rule asks for. */
      readonly fact: 'nest_unowned';
      readonly place: Place;
      /** Those that count. */
      readonly active: readonly string[];
      readonly told: string;
    }
  | {
      /** What a rule found in the inventory is right again. */
      readonly fact: 'put_right';
      readonly scope: string;
      readonly subject: string;
      /** A clause for people. */
      readonly by: string;
      readonly ending: Ending;
    }
  | {
      readonly fact: 'schema_drift';
      readonly region: string;
      readonly feed: Feed | 'inventory';
      /**
       * How many entries could not be parsed since the last such fact; for the inventory, all of its last reading,
       * which may be 0.
       */
      readonly count: number;
      /** What is wrong with one of them. */
      readonly reason: string;
      readonly atUs: number;
    }
  | {
      readonly fact: 'region_health';
      readonly region: string;
      readonly health: 'up' | 'down' | 'unauthorized';
      /** The last answer, as one sentence for people. */
      readonly reason: string;
      readonly sinceUs: number;
    }
  | {
      readonly fact: 'feed_gap';
      readonly region: string;
      readonly feed: Feed;
      /** How many entries the service counts but does not show; 0 once it shows them all. */
      readonly missing: number;
      /** Approximately when the oldest of them occurred. */
      readonly sinceUs: number;
    }
  | {
      /** How a Nest or a region meets an objective. */
      readonly fact: 'objective_measured';
      readonly region: string;
      /** Empty for the region as a whole. */
      readonly nestId: string;
      readonly nest: string;
      readonly objective: string;
      readonly countsDeadlines: boolean;
      readonly overMs: number;
      /** Absent if it does not fail too fast. */
      readonly burning?: Burning | undefined;
      /** Failures that the objective allows in its time, and those that there were. */
      readonly allowed: number;
      readonly used: number;
      /** When all are used at this pace. */
      readonly usedUpAtUs: number;
      readonly atUs: number;
    }
  | {
      readonly fact: 'polling_pace';
      readonly region: string;
      /** False while streams wait longer for a poll than allowed. */
      readonly kept: boolean;
      /** One sentence for people: how late they are, and what would help. */
      readonly reason: string;
      readonly sinceUs: number;
    }
  | {
      readonly fact: 'delivery_health';
      readonly receiver: string;
      /** `email`, `webhook`, … */
      readonly integration: string;
      /**
       * For people: `integration` itself if all of that kind fail, otherwise the names of those that do; empty when it
       * accepts.
       */
      readonly through: string;
      /** False from the first failed attempt until one is accepted. */
      readonly accepts: boolean;
      /** The error of the last attempt, for people; empty when it accepts. */
      readonly reason: string;
      readonly sinceUs: number;
    }
  | {
      /** Something impairs the watch that no other fact covers, or it was observed that it does not. */
      readonly fact: 'watch_health';
      /** One of the closed list of the health answer. */
      readonly reason: string;
      /** Absent for nestwatch as a whole. */
      readonly region?: string;
      readonly isImpaired: boolean;
      readonly severity: 'critical' | 'warning';
      /** True if it usually ends by itself, so that people are notified only if it does not. */
      readonly endsByItself: boolean;
      /** For people: a few words, and sentences of which the last says what to do; empty if nothing is wrong. */
      readonly title: string;
      readonly sentences: readonly string[];
      /** Since when it has been seen in this process. */
      readonly sinceUs: number;
    };

/** How a Bird was switched off. */
export interface SwitchedOff {
  /** Such as `suspended` or `deactivated`. */
  readonly status: string;
  readonly atUs: number;
  /** A person's mail address; empty if nobody is named. */
  readonly by: string;
}

/** How new the error of a failed Flight was in its region. */
export interface Novelty {
  readonly label: 'new' | 'back' | 'known';
  /** A clause for people; empty if it is known. */
  readonly words: string;
}

/** How a Flight ended that failed or succeeded; cancelled ones do not count. */
export interface FlightEnded {
  /** The key of its event. */
  readonly key: string;
  readonly atUs: number;
  readonly failed: boolean;
}

/** A fact that only one rule was asked about, with its id. */
export type RuledFact = Fact & { readonly rule?: string };

export type FactName = Fact['fact'];
export type FactOf<Name extends FactName> = Extract<Fact, { readonly fact: Name }>;

/** The scope of alerts about deliveries: it belongs to no region, and no region can have this name. */
export const DELIVERY_SCOPE = 'all/delivery';

/** The scope of alerts about what impairs the watch of all regions. */
const WATCH_SCOPE = 'all/watch';

/** Whether alerts of a scope belong to no region. */
export function isOfNoRegion(scope: string): boolean {
  return scope.startsWith('all/');
}

/** The scope whose alerts a fact can change: `region/bird/<id>`, `region/entity/<type>/<id>` or `region`. */
export function scopeOf(fact: Fact): string {
  if ('scope' in fact) return fact.scope;
  if ('event' in fact) return scopeOfEvent(fact.event);
  if (fact.fact === 'objective_measured' && fact.nestId) {
    return `${fact.region}/nest/${encodeURIComponent(fact.nestId.toWellFormed())}`;
  }
  if ('place' in fact) {
    const { region, birdId } = fact.place;
    return birdId === '' ? region : birdScope(region, birdId);
  }
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

/** The id of the Bird that an event is about, whether or not the inventory knows it; empty for none. */
export function birdOf({ birdId, type, attributes }: Event): string {
  return birdId || (ABOUT_BIRDS.includes(type) ? String(attributes.entity_id ?? '') : '');
}

export function birdScope(region: string, birdId: string): string {
  return `${region}/bird/${birdId}`;
}

/** The Bird of a scope; undefined if it is not the scope of a Bird. */
export function birdOfScope(scope: string): Pick<Place, 'region' | 'birdId'> | undefined {
  const [, region, birdId] = /^([^/]+)\/bird\/(.+)$/s.exec(scope) ?? [];
  return region === undefined || birdId === undefined ? undefined : { region, birdId };
}

/** The region with which a scope begins; `all` for those of no region. */
export function regionOfScope(scope: string): string {
  return scope.split('/', 1)[0]!;
}

/** Flights in a row, up to the last one, that took longer than what was usual before them. */
export interface Slow {
  readonly flights: number;
  /** The median. */
  readonly tookMs: number;
  readonly shortestMs: number;
  readonly longestMs: number;
  /** What 95 of 100 did not take longer than before. */
  readonly usualMs: number;
  readonly limitMs: number;
  /** When the last one before them started, which was not slow. */
  readonly usualUs: number;
  /** When the first slow one started, when the last one did, and when that landed. */
  readonly sinceUs: number;
  readonly startedAtUs: number;
  readonly landedAtUs: number;
}

/** How many Flights a Bird started in a period, and what is usual then. */
export interface Counted {
  readonly period: Period;
  /** Otherwise it is counted up to now. */
  readonly isOver: boolean;
  readonly count: number;
  /**
   * `unknown`: too little shows what is usual. The others are not judged: the region could not be read (`blind`), a rule
   * excepts it, or the Bird was not active all the time.
   */
  readonly verdict: 'fewer' | 'more' | 'usual' | 'unknown' | 'blind' | 'excepted' | 'inactive';
  readonly isRunaway: boolean;
  /** The least and the most of what was learned, or fixed bounds. */
  readonly usual: {
    readonly isFixed: boolean;
    readonly least: number | undefined;
    readonly most: number | undefined;
  } | null;
  /** When the region could not be read, for `blind`. */
  readonly blind?: Period;
}

/** Flights of a Nest or region fail faster than an objective allows. */
export interface Burning {
  readonly level: 'critical' | 'warning';
  /** Failed Flights of the window. */
  readonly failed: number;
  readonly flights: number;
  /** Deadlines that were missed in it, if they count. */
  readonly missed: number;
  readonly windowUs: number;
}

/** Defines the log of one Flight, which is read from the service when a person asks for it, or a kind of alert. */

/** One entry of the log. Its texts come from outside and are hostile until a format encodes them. */
export interface FlightStep {
  readonly atUs: number;
  /** `other` is a sort not known today. */
  readonly sort: 'start' | 'end' | 'stopped' | 'log' | 'error' | 'other';
  /** The severity of a `log` entry in the service's words, such as `Information` or `Warning`; empty for none. */
  readonly level: string;
  /** This and the next two are empty if the entry has none. */
  readonly step: string;
  readonly scope: string;
  readonly message: string;
  /** Set if the step failed but the Flight continued, by skipping or retrying it. */
  readonly wentOn: 'skipped' | 'retried' | null;
}

export type FlightLog =
  | {
      /** The newest entries, oldest first. */
      readonly steps: readonly FlightStep[];
      /** How many older entries were not read. */
      readonly more: number;
    }
  /** Why the service was not asked, or what it answered: a sentence for people. */
  | { readonly refused: string };

/** The end of the log of a Flight in the air, as it was last read. Instants are the service's. */
export interface FlightTail {
  readonly readAtUs: number;
  /** When the newest entry was written; 0 if there was none. The rest is that entry's. */
  readonly wroteAtUs: number;
  readonly sort: FlightStep['sort'];
  /** The step's name and its id; empty if the entry has none. */
  readonly scope: string;
  readonly step: string;
  /** When the first entry was written that the reading before had not seen; 0 for none. */
  readonly resumedAtUs: number;
}

/** The step of the newest entry for people: its name, or else its id. */
export function stepName({ scope, step }: Pick<FlightTail, 'scope' | 'step'>): string {
  return scope || step;
}

/** The Flight whose log is requested. */
export interface FlightPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
  readonly flightId: string;
}
