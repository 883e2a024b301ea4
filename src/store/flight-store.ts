/**
 * The room of Flights: the status of each as it was last seen, so that an end is seen once; and what is learned from
 * those that ended.
 */
import type { FlightEnded } from '../domain/alert/fact.ts';
import type { FlightOutcome } from '../domain/grouping/notification.ts';

/** A Flight as it was last seen. */
export interface FlightRecord {
  readonly stream: number;
  /** Lower case. */
  readonly flightId: string;
  /** 0 when the service gave no `startDate`. */
  readonly startedAtUs: number;
  readonly status: string;
  /** True while the Flight is watched: not seen to have ended. */
  readonly open: boolean;
  /** How often it was seen to end; the second end's event has `#2`. */
  readonly ends: number;
  /**
   * When it ended; absent while it is open, and where that is not known. Of an open one that has failed and waits for
   * its reason: when that was first seen.
   */
  readonly endedAtUs?: number;
}

export interface FlightStore {
  /** The stream's open Flights, in the order of their starts. */
  open(stream: number): Promise<FlightRecord[]>;
  /** Flights of the stream that started at or after `sinceUs`. */
  since(stream: number, sinceUs: number): Promise<FlightRecord[]>;
  /**
   * The stored ones of these Flights, by their ids alone: the service may say only later when one started, or say it
   * otherwise than before.
   */
  find(stream: number, flightIds: readonly string[]): Promise<FlightRecord[]>;
  put(flights: readonly FlightRecord[]): Promise<void>;
  /** How the latest Flights of the stream ended that failed or succeeded, in no order. */
  latestEnds(stream: number, limit: number): Promise<FlightEnded[]>;
  /** When the last failed Flight of each Bird of the region ended, by the Bird's id; of those that are kept. */
  lastFailures(region: string): Promise<ReadonlyMap<string, number>>;
  /** How the Bird's latest Flights ended, the oldest first. */
  lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]>;
  /** How long the latest Flights of the stream took that succeeded, microseconds, in no order: of the last 500. */
  durations(stream: number): Promise<number[]>;
  /**
   * The times between the starts of the stream's last 3000 Flights: how many, the longest, and from the first start
   * to the last.
   */
  gaps(stream: number): Promise<{ count: number; longestUs: number; spanUs: number }>;
}
