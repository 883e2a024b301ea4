/**
 * Stores Flights: the last seen status of each, so that an end is noticed once, and what is learned from those that
 * ended.
 */
import type { FlightEnded } from '../domain/alert/fact.ts';
import type { FlightOutcome } from '../domain/grouping/notification.ts';
import type { Landed } from '../domain/kinds/judge.ts';

/** A Flight as last seen. */
export interface FlightRecord {
  readonly stream: number;
  /** In lower case. */
  readonly flightId: string;
  /** 0 if the service gave no `startDate`. */
  readonly startedAtUs: number;
  readonly status: string;
  /** True while the Flight is watched, which means that no end was seen yet. */
  readonly open: boolean;
  /** How many ends were seen; the event of the second end has `#2`. */
  readonly ends: number;
  /**
   * When it ended; absent while it is open, or if unknown. For an open Flight that has failed and waits for its
   * reason: when the failure was first seen.
   */
  readonly endedAtUs?: number;
}

export interface FlightStore {
  /** The stream's open Flights, in order of their starts. */
  open(stream: number): Promise<FlightRecord[]>;
  /** Flights of the stream that started at or after `sinceUs`. */
  since(stream: number, sinceUs: number): Promise<FlightRecord[]>;
  /**
   * Those of these Flights that are stored, found by id alone: the service may give the start only later, or change
   * it.
   */
  find(stream: number, flightIds: readonly string[]): Promise<FlightRecord[]>;
  put(flights: readonly FlightRecord[]): Promise<void>;
  /** The latest Flights of the stream that failed or succeeded, in no particular order. */
  latestEnds(stream: number, limit: number): Promise<FlightEnded[]>;
  /** When the last failed Flight of each Bird of the region ended, by the Bird's id, as far as it is kept. */
  lastFailures(region: string): Promise<ReadonlyMap<string, number>>;
  /** How the Bird's latest Flights ended, oldest first. */
  lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]>;
  /**
   * The Bird's latest Flights that failed or succeeded, the one that started last first; after them one without a start,
   * with 0, if there is any. `again`: it has ended before, perhaps otherwise.
   */
  ends(
    region: string,
    birdId: string,
    limit: number,
  ): Promise<{ readonly startedAtUs: number; readonly failed: boolean; readonly again: boolean }[]>;
  /** Those among the stream's last `most` Flights that succeeded, in order of their starts. */
  landed(stream: number, most: number): Promise<Landed[]>;
  /** How many of the stream's Flights started in [fromUs, untilUs); counts to 100,000. */
  countStarts(stream: number, fromUs: number, untilUs: number): Promise<number>;
  /** When the stream's first kept Flight started; undefined for none. */
  firstStart(stream: number): Promise<number | undefined>;
  /**
   * The times between the starts of the stream's last 3000 Flights: how many there are, the longest, and the span
   * from the first start to the last.
   */
  gaps(stream: number): Promise<{ count: number; longestUs: number; spanUs: number }>;
}
