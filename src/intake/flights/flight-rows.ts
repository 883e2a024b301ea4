/** What the requests of one poll of a Bird's Flights have brought together. */
import type { Flight, Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
import type { UnreadWindow } from './flight-gaps.ts';

export interface FlightRows {
  /** By id; a later reading of a Flight replaces an earlier one. */
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  requests: number;
  /** Answers that were too large to be received, since the last one that was not. */
  tooLarge: number;
  /** How many logs were read though the pace left no room for them. */
  neededLogs: number;
  /** Windows in which the list could not be read, however it was asked. */
  readonly unread: UnreadWindow[];
  /** Windows that were unreadable before, in which dense Flights are not tried anew. */
  readonly givenUp: readonly UnreadWindow[];
  /** Flights that started later are left to the next poll; Infinity for a window that was read to its end. */
  readToUs: number;
}

/** When the Flights of one answer started, by id; 0 where that is not given. */
export type Listed = ReadonlyMap<string, number>;

export function noRows(givenUp: readonly UnreadWindow[] = []): FlightRows {
  return {
    flights: new Map(),
    quarantined: [],
    serverTimeUs: null,
    requests: 0,
    tooLarge: 0,
    neededLogs: 0,
    unread: [],
    givenUp,
    readToUs: Number.POSITIVE_INFINITY,
  };
}

/** Adds the items of an answer to the rows. Returns what it lists. */
export function collect(items: readonly Parsed<Flight>[], rows: FlightRows): Listed {
  const listed = new Map<string, number>();
  for (const item of items) {
    if (item.ok) {
      rows.flights.set(item.entry.id, item.entry);
      listed.set(item.entry.id, item.entry.startedAt?.us ?? 0);
    } else {
      // Where answers are cut this row counts as every other.
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      listed.set(item.raw, 0);
    }
  }
  return listed;
}
