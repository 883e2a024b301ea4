/**
 * The room of how Birds stand, for people: Birds, their Flights and Nests in pages, those in trouble first. Nothing is
 * written here: it is read from what the inventory, events, Flights and alerts brought.
 *
 * A page may hold fewer than `limit`, even none, and have a `next`: where few of many fit, a page looks at so many only.
 * Each method throws `usage` for a cursor that no answer gave.
 */
import type { Event } from '../domain/alert/event.ts';
import type { Filter } from './filter.ts';
import type { BirdRecord } from './inventory-store.ts';

/**
 * The worst that holds of a Bird. `alerting`: an alert about it fires. `failing`: its last Flight that failed or
 * succeeded has failed. `off`: somebody, or the service, switched it off. `well`: none of these.
 */
export const STANDINGS = ['well', 'off', 'failing', 'alerting'] as const;
export type Standing = (typeof STANDINGS)[number];

interface Paged {
  /** The regions that are asked about. */
  readonly regions: readonly string[];
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

/**
 * `flight` is a Flight of the Bird, `severity` that of an alert about it that fires. `since` and `until` are about when
 * its Flights started: one of them did so then.
 */
export interface BirdQuery extends Paged, Omit<Filter, 'region'> {
  readonly status?: string | undefined;
  readonly standing?: Standing | undefined;
}

/**
 * `since` and `until` are about when a Flight started; `text` is looked for in its error, and in the names of its place;
 * `severity` is that of an alert that has the event of its last end.
 */
export interface FlightQuery extends Paged, Omit<Filter, 'region'> {
  readonly status?: string | undefined;
}

/** `nest`, `name` and `text` are about the Nest; what remains is about its Birds: one of them meets all of that. */
export interface NestQuery extends Paged, Omit<Filter, 'region'> {
  /** Flights that ended since then are counted, from the beginning of that hour on. */
  readonly countedSinceUs: number;
}

/** A Bird, and how it stands. */
export interface BirdOverview extends BirdRecord {
  readonly nest: string;
  readonly standing: Standing;
  /** How many alerts about it fire. */
  readonly firing: number;
  /** The Flight that started last; absent where none is known. */
  readonly last?: { readonly flightId: string; readonly startedAtUs: number; readonly status: string };
  /** The statuses of its last ten Flights, the oldest first. */
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
  /** 0 where the service gave none. */
  readonly startedAtUs: number;
  /** 0 while it is active, and where that is not known. */
  readonly endedAtUs: number;
  readonly status: string;
  /** The key of the event of its last end; empty where there is none, or it is no longer kept. */
  readonly eventKey: string;
  /** The beginning of what that event says; empty where it says nothing. */
  readonly message: string;
  /** The step that failed it, where that is known. */
  readonly step: string;
}

/** A Nest, and how its Birds stand. */
export interface NestOverview {
  readonly region: string;
  readonly nestId: string;
  readonly nest: string;
  readonly birds: number;
  /** Birds about which an alert fires. */
  readonly alerting: number;
  /** Birds whose last Flight failed, whether or not an alert says so; not those that are off. */
  readonly failing: number;
  readonly off: number;
  /** Alerts about its Birds that fire. */
  readonly firing: number;
  /** Flights that ended in the time that was asked for. */
  readonly succeeded: number;
  readonly failed: number;
}

/** How many Flights of a Bird ended so since an instant. */
export interface FlightCounts {
  readonly sinceUs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface BirdStore {
  page(query: BirdQuery): Promise<{ birds: BirdOverview[]; next?: string }>;
  /** A Bird, also one that is no longer listed. */
  find(region: string, birdId: string): Promise<BirdOverview | undefined>;
  /** Nests that are listed, those with the most alerting Birds first, then the most failing ones. */
  nestPage(query: NestQuery): Promise<{ nests: NestOverview[]; next?: string }>;
  /** Flights, in the order of their starts, the latest first. */
  flightPage(query: FlightQuery): Promise<{ flights: FlightOverview[]; next?: string }>;
  findFlight(region: string, flightId: string): Promise<FlightOverview | undefined>;
  /** Since each of these instants; of the Bird's last 100,000 Flights, and none that started before the first instant. */
  countFlights(region: string, birdId: string, sincesUs: readonly number[]): Promise<FlightCounts[]>;
  /** The last `limit` Flights of the Bird, the latest first. */
  latestFlights(region: string, birdId: string, limit: number): Promise<FlightOverview[]>;
  /** The last `limit` Flights of the Bird that failed, the latest first. */
  failures(region: string, birdId: string, limit: number): Promise<FlightOverview[]>;
  /** The Bird's own log, the newest first. */
  log(region: string, birdId: string, limit: number): Promise<Event[]>;
  /** The newest event of the Bird's log that has one of these types; of its last 2,000. */
  lastOfTypes(region: string, birdId: string, types: readonly string[]): Promise<Event | undefined>;
}
