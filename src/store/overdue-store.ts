/**
 * Stores when to judge what time alone makes wrong: each open Flight and each Bird has the instant of its next judgement,
 * which is 0 before the first; so only those that are due are read.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { FlightTail } from '../domain/alert/flight-step.ts';
import type { BirdToJudge, FlightToJudge } from '../domain/kinds/judge.ts';

/** A Flight and its next judgement. */
export interface JudgedFlight {
  readonly stream: number;
  readonly startedAtUs: number;
  readonly flightId: string;
  readonly nextUs: number;
  /** When its log is to be read next; 0 for never. */
  readonly logDueUs: number;
}

/** A Flight whose log is to be read. */
export interface FlightToRead extends Omit<JudgedFlight, 'nextUs' | 'logDueUs'> {
  readonly birdId: string;
  /** The end of the log at the reading before; null for none. */
  readonly tail: FlightTail | null;
}

/** A Bird and its next judgement. */
export interface JudgedBird {
  readonly region: string;
  readonly birdId: string;
  readonly nextUs: number;
  /** The last deadline that was judged; 0 for none. */
  readonly deadlineUs: number;
  /** Up to when the Flights of periods that were over are counted, for all rules; 0 for never. */
  readonly countedUs: number;
}

export interface OverdueStore {
  /** Open Flights that started at `startedUs` or earlier and are to be judged by `nowUs`, oldest first. */
  flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]>;
  judgeFlights(flights: readonly JudgedFlight[]): Promise<void>;
  /**
   * Open Flights of a region whose logs are to be read by `nowUs`, the longest silent first, among the `most` that have
   * been silent longest.
   */
  logsDue(region: string, nowUs: number, limit: number, most: number): Promise<FlightToRead[]>;
  /** Keeps the ends of logs, and when to read each again if that is still wanted. Their Flights are to be judged now. */
  putTails(read: readonly (FlightToRead & { readonly logDueUs: number })[]): Promise<void>;
  /** Present Birds that are to be judged by `nowUs`. */
  birds(nowUs: number, limit: number): Promise<BirdToJudge[]>;
  /** One Bird, present or not; undefined for an unknown one. */
  bird(region: string, birdId: string): Promise<BirdToJudge | undefined>;
  /** Present Birds of which a deadline was judged that is later than this, the last judged first. */
  birdsWithDeadlines(afterUs: number, limit: number): Promise<BirdToJudge[]>;
  judgeBirds(birds: readonly JudgedBird[]): Promise<void>;
  /** Makes these Birds due to be judged. */
  wake(region: string, birdIds: readonly string[]): Promise<void>;
  /** When the next one is to be judged, if Flights are once they are this old; null if there is none. */
  nextUs(leastMs: number): Promise<number | null>;
  /** Makes all Flights and Birds due to be judged again, because the rules may have changed. */
  forget(): Promise<void>;
  /** Firing alerts with this name about a Flight that is no longer open. */
  alertsOfGoneFlights(alertname: string): Promise<Alert[]>;
}
