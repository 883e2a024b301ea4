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
  /** Whether open Flights that the lists lack were not requested. */
  lacksOpen: boolean;
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
    lacksOpen: false,
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

export interface Core {
  readonly fromUs: number;
  readonly toUs: number;
  /**
   * The end of the window's earlier part, which overlaps the core's beginning; undefined if the core begins with the
   * window.
   */
  readonly beforeUs: number | undefined;
  /**
   * The beginning of the window's later part, which overlaps the core's end; undefined if the core ends with the
   * window.
   */
  readonly afterUs: number | undefined;
  /** The Flights that the answer lists. */
  readonly listed: Listed;
}

/**
 * Undefined if the core is not smaller than half of the window, or if the service listed Flights outside the window.
 * The core and the parts beside it overlap by the margin, so that a service that compares with less precision leaves
 * no hole.
 */
export function coreOf(
  answer: Listed | undefined,
  { fromUs, toUs }: UnreadWindow,
  marginUs: number,
): Core | undefined {
  const dated = [...(answer ?? [])].filter(([, startUs]) => startUs > 0);
  if (dated.length === 0) return undefined;
  const firstUs = dated.reduce((least, [, us]) => Math.min(least, us), Number.POSITIVE_INFINITY);
  const lastUs = dated.reduce((most, [, us]) => Math.max(most, us), 0);
  if (firstUs < fromUs - marginUs || lastUs > toUs + marginUs) return undefined;
  const hasBefore = firstUs - 2 * marginUs > fromUs;
  const hasAfter = lastUs + 2 * marginUs < toUs;
  const core = {
    fromUs: hasBefore ? firstUs - 2 * marginUs : fromUs,
    toUs: hasAfter ? lastUs + 2 * marginUs : toUs,
    beforeUs: hasBefore ? firstUs - marginUs : undefined,
    afterUs: hasAfter ? lastUs + marginUs : undefined,
    listed: new Map(dated),
  };
  return core.toUs - core.fromUs < (toUs - fromUs) / 2 ? core : undefined;
}
