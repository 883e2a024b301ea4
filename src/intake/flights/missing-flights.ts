/**
 * Keeps track of open Flights for which the service does not answer properly when they are requested separately.
 *
 * If the service says that it does not have a Flight, the Flight is given up only at a second such answer in a row,
 * at least a minute after the first: a single wrong answer must not end the watch. If the request for a Flight fails
 * while requests for others succeed, the Flight stays open and is requested ever more rarely, so that it does not
 * delay its Bird.
 */
import type { Clock } from '../../time/clock.ts';

export interface MissingFlights {
  /** Whether a request for it failed recently, so that it is not requested now. */
  isPutOff(flightId: string): boolean;
  /** The service says that it does not have it. Returns whether to believe that. */
  isGone(flightId: string): boolean;
  /** A request for it failed. */
  failed(flightId: string): void;
  /** Forgets what was noted about it: it was seen, or its Bird is no longer watched. */
  seen(flightId: string): void;
}

/** The least time between two such answers that are believed. */
const APART_MS = 60_000;

const FIRST_PUT_OFF_MS = 30_000;
const MOST_PUT_OFF_MS = 3_600_000;

export function createMissingFlights(clock: Pick<Clock, 'monotonicMs'>): MissingFlights {
  /** When it was first said to be missing. */
  const missingSinceMs = new Map<string, number>();
  const putOff = new Map<string, { readonly untilMs: number; readonly forMs: number }>();
  return {
    isPutOff: (flightId) => clock.monotonicMs() < (putOff.get(flightId)?.untilMs ?? 0),
    isGone(flightId) {
      const nowMs = clock.monotonicMs();
      const sinceMs = missingSinceMs.get(flightId) ?? nowMs;
      const isBelieved = nowMs - sinceMs >= APART_MS;
      if (isBelieved) missingSinceMs.delete(flightId);
      else missingSinceMs.set(flightId, sinceMs);
      putOff.delete(flightId);
      return isBelieved;
    },
    failed(flightId) {
      const lastMs = putOff.get(flightId)?.forMs ?? FIRST_PUT_OFF_MS / 2;
      const forMs = Math.min(MOST_PUT_OFF_MS, 2 * lastMs);
      putOff.set(flightId, { untilMs: clock.monotonicMs() + forMs, forMs });
    },
    seen(flightId) {
      missingSinceMs.delete(flightId);
      putOff.delete(flightId);
    },
  };
}
