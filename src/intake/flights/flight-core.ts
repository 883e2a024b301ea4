/** The part of a window in which all Flights of an answer started. */
import type { UnreadWindow } from './flight-gaps.ts';
import type { Listed } from './flight-rows.ts';

export interface Core {
  readonly fromUs: number;
  readonly toUs: number;
  /** Up to where what is before it is to be read, beyond its beginning; undefined where it begins with the window. */
  readonly beforeUs: number | undefined;
  /** From where on what is after it is to be read, before its end; undefined where it ends with the window. */
  readonly afterUs: number | undefined;
  /** What the answer lists in it. */
  readonly listed: Listed;
}

/**
 * Undefined where it is not less than half of the window, or where the service has listed what started outside. The core
 * and what is beside it overlap by the margin, so that a service which compares less exactly leaves no hole.
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
