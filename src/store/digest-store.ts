import type { Digest, EndedSilenced, Episode } from '../domain/digest/digest.ts';
import type { EndedFlight } from '../domain/digest/flight-tally.ts';
import type { DigestRecord } from './record.ts';

export interface DigestStore {
  find(name: string): Promise<DigestRecord | undefined>;
  put(record: DigestRecord): Promise<void>;
  /**
   * Events are numbered in the order of their arrival: the number before the first of those that occurred at or after
   * `sinceUs`, and the last number of all.
   */
  arrivals(sinceUs: number): Promise<{ readonly before: number; readonly last: number }>;
  /** Flights that failed or succeeded, whose events have these numbers: `after < number <= upTo`. */
  endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]>;
  /** Episodes of alerts that were seen to be over after `afterUs` and by `upToUs`; kept for the retention. */
  episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]>;
  /** Alerts whose end a silence kept from whomever in that time, the most often first; the names of the first `limit`. */
  endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced>;
  /** What a receiver was not told in that time, by the reason. */
  countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']>;
  /** Deliveries to it that were given up in that time. */
  countDead(receiver: string, afterUs: number, upToUs: number): Promise<number>;
}
