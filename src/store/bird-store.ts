/**
 * Reads how Birds are doing, for people: Birds, their Flights and Nests in pages, those in trouble first. It writes
 * nothing: it reads what the inventory, events, Flights and alerts brought.
 *
 * A page may hold fewer than `limit` items, or none, and still have a `next`: if few of many match, only a limited
 * number is examined for a page. Each method throws `usage` for a cursor that no earlier answer gave.
 */
import type { Filter } from './filter.ts';
import type { BirdRecord } from './sql/watched/nests-and-birds.ts';

/**
 * The worst state that applies to a Bird. `alerting`: an alert about it fires. `failing`: of its Flights that failed
 * or succeeded, the last one failed. `off`: somebody, or the service, switched it off. `well`: none of these.
 */
export const STANDINGS = ['well', 'off', 'failing', 'alerting'] as const;
export type Standing = (typeof STANDINGS)[number];

interface Paged {
  /** The regions to include. */
  readonly regions: readonly string[];
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

/**
 * `flight` is a Flight of the Bird; `severity` is that of a firing alert about it. `since` and `until` bound when one
 * of its Flights started.
 */
export interface BirdQuery extends Paged, Omit<Filter, 'region'> {
  readonly status?: string | undefined;
  readonly standing?: Standing | undefined;
}

/**
 * `since` and `until` bound when the Flight started. `text` is looked for in its error and in the names of its Nest
 * and Bird. `severity` is that of an alert that contains the event of its last end.
 */
export interface FlightQuery extends Paged, Omit<Filter, 'region'> {
  readonly status?: string | undefined;
}

/** `nest`, `name` and `text` are about the Nest. All other conditions must be met by one and the same Bird of it. */
export interface NestQuery extends Paged, Omit<Filter, 'region'> {
  /** Counts Flights that ended since then, from the first half hour that begins no earlier. */
  readonly countedSinceUs: number;
}

/** A Bird and how it is doing. */
export interface BirdOverview extends BirdRecord {
  readonly nest: string;
  readonly standing: Standing;
  /** How many alerts about it fire. */
  readonly firing: number;
  /** The Flight that started last; absent if none is known. */
  readonly last?: { readonly flightId: string; readonly startedAtUs: number; readonly status: string };
  /** The statuses of its last ten Flights, oldest first. */
  readonly latest: readonly string[];
}

/** A Flight for people. */
export interface FlightOverview {
  readonly region: string;
  readonly nestId: string;
  readonly nest: string;
  readonly birdId: string;
  readonly bird: string;
  readonly flightId: string;
  /** 0 if the service gave none. */
  readonly startedAtUs: number;
  /** 0 while it is active, or if unknown. */
  readonly endedAtUs: number;
  readonly status: string;
  /** The key of the event of its last end; empty if there is none or it is no longer kept. */
  readonly eventKey: string;
  /** The beginning of that event's message; empty if it has none. */
  readonly message: string;
  /** The id of the step that failed, if known. */
  readonly step: string;
  /** The name of the step that failed, if known. */
  readonly scope: string;
}

/** A Nest and how its Birds are doing. */
export interface NestOverview {
  readonly region: string;
  readonly nestId: string;
  readonly nest: string;
  readonly birds: number;
  /** Birds about which an alert fires. */
  readonly alerting: number;
  /** Birds whose last Flight failed, with or without an alert; Birds that are off do not count. */
  readonly failing: number;
  readonly off: number;
  /** Firing alerts about it and its Birds. */
  readonly firing: number;
  /** Flights that ended in the requested time. */
  readonly succeeded: number;
  readonly failed: number;
}

/** `nestId` is that of a Nest in the one region. */
export interface FlightEndsQuery {
  readonly regions: readonly string[];
  readonly nestId?: string;
  readonly sinceUs: number;
}

export type NestKey = Pick<NestOverview, 'region' | 'nestId'>;

export interface EndCounts {
  readonly succeeded: number;
  readonly failed: number;
}

/** How Flights ended within half an hour. */
export interface FlightEnds extends EndCounts {
  /** When the half hour began. */
  readonly sinceUs: number;
}

/** How the Flights of a Bird ended since an instant. */
export interface FlightCounts {
  readonly sinceUs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}
