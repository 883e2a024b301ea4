/** The core of a window: the part in which all Flights of an answer started. */
import type { UnreadWindow } from './flight-gaps.ts';
import type { Listed } from './flight-rows.ts';

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
