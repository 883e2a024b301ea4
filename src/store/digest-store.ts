/**
 * The room of digests: how far each has come, and what a digest counts. The counts are of what other rooms wrote
 * (events, resolved episodes, suppressions, deliveries), as long as the retention keeps it.
 */
import type { Digest, EndedSilenced, Episode } from '../domain/digest/digest.ts';
import type { EndedFlight } from '../domain/digest/flight-tally.ts';

/** How far the digests of one name have come. */
export interface DigestRecord {
  readonly name: string;
  /** The instant of the last one; when the name was first known, before there was one. */
  readonly lastUs: number;
  /** The number of the last event that it counted; absent before the first digest. */
  readonly lastEvent?: number;
}

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
  /** Episodes of alerts that were seen to be over after `afterUs` and by `upToUs`, in the order of their ends. */
  episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]>;
  /**
   * Alerts of whose end a silence kept a notification back in that time, the most often first: the first `limit` by
   * name, and how many there are.
   */
  endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced>;
  /** How many notifications of alerts to a receiver were suppressed in that time, by the reason. */
  countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']>;
  /** Deliveries to a receiver that were given up in that time. */
  countDead(receiver: string, afterUs: number, upToUs: number): Promise<number>;
}
