/** Collects what the requests of one poll of a Bird's Flights have returned. */
import type { Flight, Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
import type { UnreadWindow } from './flight-gaps.ts';

export interface FlightRows {
  /** By id. A later reading of a Flight replaces an earlier one. */
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  requests: number;
  /** How many answers in a row were too large to receive. */
  tooLarge: number;
  /** How many logs were read although the pace had no room. */
  logsWithoutRoom: number;
  /** Windows that could not be read, whatever was asked. */
  readonly unread: UnreadWindow[];
  /** Windows that were unreadable before. If their Flights are dense, they are not tried again. */
  readonly givenUp: readonly UnreadWindow[];
  /** Flights that started later are left to the next poll; Infinity if the window was read to its end. */
  readToUs: number;
  /** When the last Flight of a Bird at rest started; 0 if that was not looked for, or is not certain. */
  lastStartUs: number;
}

/** The starts of the Flights in one answer, by id; 0 if unknown. */
export type Listed = ReadonlyMap<string, number>;

export function noRows(givenUp: readonly UnreadWindow[] = []): FlightRows {
  return {
    flights: new Map(),
    quarantined: [],
    serverTimeUs: null,
    requests: 0,
    tooLarge: 0,
    logsWithoutRoom: 0,
    unread: [],
    givenUp,
    readToUs: Number.POSITIVE_INFINITY,
    lastStartUs: 0,
  };
}

/** Adds the items of an answer to the rows. Returns what the answer lists. */
export function collect(items: readonly Parsed<Flight>[], rows: FlightRows): Listed {
  const listed = new Map<string, number>();
  for (const item of items) {
    if (item.ok) {
      rows.flights.set(item.entry.id, item.entry);
      listed.set(item.entry.id, item.entry.startedAt?.us ?? 0);
    } else {
      // A malformed row counts as well when it is judged whether the answer was cut off.
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      listed.set(item.raw, 0);
    }
  }
  return listed;
}
