/**
 * The room of what time alone makes wrong: open Flights that may not end, active Birds that may start none. Each has an
 * instant at which it is judged next, 0 until the first judgement; so a look reads only those whose time has come.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Place } from '../domain/alert/fact.ts';

/** An open Flight that may be in the air for too long. */
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
  /** It was active when it was first seen, and may have been for long before. */
  readonly hasFirstStatus: boolean;
  /** The stream of its Flights; undefined before the first poll. */
  readonly stream: number | undefined;
  /** When the latest of them started; 0 for none. */
  readonly lastStartUs: number;
}

/** A Flight, and when it is to be judged next. */
export interface JudgedFlight {
  readonly stream: number;
  readonly startedAtUs: number;
  readonly flightId: string;
  readonly nextUs: number;
}

/** A Bird, and when it is to be judged next. */
export interface JudgedBird {
  readonly region: string;
  readonly birdId: string;
  readonly nextUs: number;
}

export interface OverdueStore {
  /** Open Flights that started up to `startedUs` and are to be judged by `nowUs`, the oldest first. */
  flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]>;
  judgeFlights(flights: readonly JudgedFlight[]): Promise<void>;
  /** Present, active Birds that are to be judged by `nowUs`. */
  birds(nowUs: number, limit: number): Promise<BirdToJudge[]>;
  judgeBirds(birds: readonly JudgedBird[]): Promise<void>;
  /** Has all Flights and Birds judged anew: the rules may be others. */
  forget(): Promise<void>;
  /** Alerts of this name that fire about a Flight which is no longer open. */
  alertsOfGoneFlights(alertname: string): Promise<Alert[]>;
}
