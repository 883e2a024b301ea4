/**
 * Open Flights about which the service does not answer as it should when they are asked for by themselves.
 *
 * One that it says it does not have is given up at the second such answer in a row, a minute after the first or later:
 * one stray answer must not end the watch. One about which it fails to answer, while it answers about others, stays
 * open and is asked for ever more rarely, so that it does not hold up its Bird.
 */
import type { Clock } from '../../time/clock.ts';

export interface MissingFlights {
  /** Whether asking for it failed a short while ago, so that it is not asked for now. */
  isPutOff(flightId: string): boolean;
  /** The service says that it does not have it. Returns whether that is to be believed. */
  isGone(flightId: string): boolean;
  /** Asking for it failed. */
  failed(flightId: string): void;
  /** Forgets what was noted of it: it was seen, or its Bird is watched no longer. */
  seen(flightId: string): void;
}

/** The least time between two answers that are to be believed together. */
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
