/** What time alone makes wrong: a kind may judge open Flights, or Birds, whatever their status. */
import type { Fact, Place } from '../alert/fact.ts';
import type { Rule } from '../alert/rule.ts';

/** An open Flight. */
export interface FlightToJudge {
  readonly stream: number;
  readonly flightId: string;
  readonly startedAtUs: number;
  readonly place: Place;
}

export interface BirdToJudge {
  readonly place: Place;
  readonly status: string;
  readonly triggerType: string;
  readonly statusSinceUs: number;
  /** It had this status when first seen, and may have had it long before. */
  readonly hasFirstStatus: boolean;
  /** The stream of its Flights; undefined before the first poll. */
  readonly stream: number | undefined;
  /** When its latest Flight started; 0 for none. */
  readonly lastStartUs: number;
}

/** The past of a Bird. What is a function is read only if a kind asks for it, and once for all who do. */
export interface History {
  /**
   * When the last reading of its Flights since the start of the process began; 0 if there was none. What was not read
   * since it became overdue may have ended in time.
   */
  readonly readAtUs: number;
  /** How long its last Flights took, microseconds. */
  durations(): Promise<readonly number[]>;
  /** The starts of its last Flights: how many gaps are between them, the longest one, and all of them together. */
  gaps(): Promise<{ readonly count: number; readonly longestUs: number; readonly spanUs: number }>;
}

export interface Judgement {
  /** When to judge again; null if it is not known. An instant that has passed: once its Flights are read again. */
  readonly nextUs: number | null;
  /** What raises the alert. */
  readonly fact?: Fact;
}

export interface Subjects {
  readonly flight: FlightToJudge;
  readonly bird: BirdToJudge;
}

interface JudgesOf<Of extends keyof Subjects, R extends Rule> {
  readonly of: Of;
  /** Pure but for what it reads of the history. */
  judge(subject: Subjects[Of], history: History, rule: R, nowUs: number): Promise<Judgement>;
}

export type Judges<R extends Rule> =
  | JudgesOf<'bird', R>
  | (JudgesOf<'flight', R> & {
      /** Younger Flights need not be judged. */
      leastMs(rule: R): number;
    });
