/**
 * Stores the progress of digests, and counts what a digest contains. The counts are of what other stores wrote
 * (events, resolved episodes, suppressions, deliveries), for as long as retention keeps it.
 */
import type { Digest, EndedSilenced, Episode } from '../domain/digest/digest.ts';
import type { EndedFlight } from '../domain/digest/flight-tally.ts';

/** The progress of the digests of one name. */
export interface DigestRecord {
  readonly name: string;
  /** The instant of the last digest; before the first, when the name was first known. */
  readonly lastUs: number;
  /** The number of the last event it counted; absent before the first digest. */
  readonly lastEvent?: number;
}

export interface DigestStore {
  find(name: string): Promise<DigestRecord | undefined>;
  put(record: DigestRecord): Promise<void>;
  /**
   * Events are numbered in order of arrival. `before` is the number before the first event that occurred at or after
   * `sinceUs`; `last` is the last number of all.
   */
  arrivals(sinceUs: number): Promise<{ readonly before: number; readonly last: number }>;
  /** Flights that failed or succeeded, whose events have numbers with `after < number <= upTo`. */
  endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]>;
  /** Episodes whose end was seen after `afterUs` and by `upToUs`, in order of their ends. */
  episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]>;
  /**
   * Alerts that ended in that time without a notification because of a silence, most frequent first: the first
   * `limit` by name, and the total number.
   */
  endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced>;
  /** How many notifications of alerts to a receiver were suppressed in that time, by reason. */
  countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']>;
  /** Deliveries to a receiver that were given up in that time. */
  countDead(receiver: string, afterUs: number, upToUs: number): Promise<number>;
}
