import type { Period } from '../../time/calendar-period.ts';

/** Flights in a row, up to the last one, that took longer than what was usual before them. */
export interface Slow {
  readonly flights: number;
  /** The median. */
  readonly tookMs: number;
  readonly shortestMs: number;
  readonly longestMs: number;
  /** What 95 of 100 did not take longer than before. */
  readonly usualMs: number;
  readonly limitMs: number;
  /** When the last one before them started, which was not slow. */
  readonly usualUs: number;
  /** When the first slow one started, when the last one did, and when that landed. */
  readonly sinceUs: number;
  readonly startedAtUs: number;
  readonly landedAtUs: number;
}

/** How many Flights a Bird started in a period, and what is usual then. */
export interface Counted {
  readonly period: Period;
  /** Otherwise it is counted up to now. */
  readonly isOver: boolean;
  readonly count: number;
  /**
   * `unknown`: too little shows what is usual. The others are not judged: the region could not be read (`blind`), a rule
   * excepts it, or the Bird was not active all the time.
   */
  readonly verdict: 'fewer' | 'more' | 'usual' | 'unknown' | 'blind' | 'excepted' | 'inactive';
  readonly isRunaway: boolean;
  /** The least and the most of what was learned, or fixed bounds. */
  readonly usual: {
    readonly isFixed: boolean;
    readonly least: number | undefined;
    readonly most: number | undefined;
  } | null;
  /** When the region could not be read, for `blind`. */
  readonly blind?: Period;
}

/** Flights of a Nest or region fail faster than an objective allows. */
export interface Burning {
  readonly level: 'critical' | 'warning';
  /** Failed Flights of the window. */
  readonly failed: number;
  readonly flights: number;
  readonly windowUs: number;
}
