/** Stores which errors the failed Flights of each region had, to say whether one is new. */
import type { Remembered, SeenError } from '../domain/context/novelty.ts';

/** A failed Flight whose error has a signature. */
export interface Failure {
  /** A hash of the signature. */
  readonly hash: string;
  readonly atUs: number;
  readonly flightId: string;
  readonly birdId: string;
}

export interface ErrorStore {
  /** Notes failures of a region, in any order. Returns what was known of the errors before, by hash. */
  note(region: string, failures: readonly Failure[]): Promise<ReadonlyMap<string, SeenError>>;
  /** Undefined for a region that was never watched. */
  remembered(region: string): Promise<Remembered | undefined>;
}
