import type { FlightEnded } from '../domain/alert/fact.ts';
import type { FlightOutcome } from '../domain/grouping/notification.ts';
import type { FlightRecord } from './record.ts';

export interface FlightStore {
  open(stream: number): Promise<FlightRecord[]>;
  /** Flights of the stream that started at or after `sinceUs`. */
  since(stream: number, sinceUs: number): Promise<FlightRecord[]>;
  /** The stored ones of these Flights, each looked up by its exact start and id (0 for a start not given). */
  find(
    stream: number,
    flights: readonly { readonly flightId: string; readonly startedAtUs: number }[],
  ): Promise<FlightRecord[]>;
  put(flights: readonly FlightRecord[]): Promise<void>;
  /** How the latest Flights of the stream ended that failed or succeeded, in no order. */
  latestEnds(stream: number, limit: number): Promise<FlightEnded[]>;
  /** How the Bird's latest Flights ended, the oldest first. */
  lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]>;
  /** Microseconds that the latest Flights of the stream took which succeeded, in no order: of the last 500 at most. */
  durations(stream: number): Promise<number[]>;
  /** What lies between the starts of the stream's last 3000 Flights at most. */
  gaps(stream: number): Promise<{ count: number; longestUs: number; spanUs: number }>;
}
