/**
 * Stores when to judge what time alone makes wrong: open Flights that may be stuck, and active Birds that may have
 * stopped flying. Each has the instant of its next judgement, which is 0 before the first; so only those that are due
 * are read.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Place } from '../domain/alert/fact.ts';

/** An open Flight that may be taking too long. */
export interface FlightToJudge {
  readonly stream: number;
  readonly flightId: string;
  readonly startedAtUs: number;
  readonly place: Place;
}

/** An active Bird that may have stopped flying. */
export interface BirdToJudge {
  readonly place: Place;
  readonly triggerType: string;
  readonly statusSinceUs: number;
  /** It was active when first seen, and may have been active long before. */
  readonly hasFirstStatus: boolean;
  /** The stream of its Flights; undefined before the first poll. */
  readonly stream: number | undefined;
  /** When its latest Flight started; 0 for none. */
  readonly lastStartUs: number;
}

/** A Flight and its next judgement. */
export interface JudgedFlight {
  readonly stream: number;
  readonly startedAtUs: number;
  readonly flightId: string;
  readonly nextUs: number;
}

/** A Bird and its next judgement. */
export interface JudgedBird {
  readonly region: string;
  readonly birdId: string;
  readonly nextUs: number;
}

export interface OverdueStore {
  /** Open Flights that started at `startedUs` or earlier and are to be judged by `nowUs`, oldest first. */
  flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]>;
  judgeFlights(flights: readonly JudgedFlight[]): Promise<void>;
  /** Present, active Birds that are to be judged by `nowUs`. */
  birds(nowUs: number, limit: number): Promise<BirdToJudge[]>;
  judgeBirds(birds: readonly JudgedBird[]): Promise<void>;
  /** Makes all Flights and Birds due to be judged again, because the rules may have changed. */
  forget(): Promise<void>;
  /** Firing alerts with this name about a Flight that is no longer open. */
  alertsOfGoneFlights(alertname: string): Promise<Alert[]>;
}
