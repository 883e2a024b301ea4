/**
 * Decides how many failed Flights make an alert: a number within a window, a number in a row, or a share of the last
 * ones. The first is counted in the alert's memory. The other two also depend on succeeded Flights, which change no
 * alert, so the store supplies how the latest Flights ended.
 */
import { durationWords } from '../../../text/duration-words.ts';
import type { Event } from '../../alert/event.ts';
import type { FlightEnded } from '../../alert/fact.ts';

interface Threshold {
  /** Failures within `windowMs`. */
  readonly threshold: number;
  readonly windowMs: number;
  /** Instead of `threshold`: this many of the Bird's Flights failed in a row. */
  readonly consecutive?: number | undefined;
  /** Instead of `threshold`: the share of the Bird's last `ofLast` Flights that failed, above 0. */
  readonly ratio?: number | undefined;
  readonly ofLast?: number | undefined;
}

interface Part {
  readonly least: number;
  readonly ofLast: number;
}

/** The share of the last Flights that is too much; undefined if the rule counts otherwise. */
export function partOf({ ratio, ofLast = 1 }: Threshold): Part | undefined {
  return ratio === undefined ? undefined : { least: ratio, ofLast };
}

/**
 * The failures that count, oldest first, and whether they are enough. `failures` are those that belong to no episode
 * yet, including the current one; `ends` is how the Bird's latest Flights ended, including the current one.
 */
export function weigh(
  rule: Threshold,
  failures: readonly Event[],
  ends: readonly FlightEnded[],
): { counted: readonly Event[]; isEnough: boolean } {
  const sorted = failures.toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const part = partOf(rule);
  if (part) return { counted: sorted.slice(-part.ofLast), isEnough: isReached(part, ends) };
  if (rule.consecutive !== undefined) {
    const latest = latestEnds(ends, ends.length);
    const success = latest.findLast((one) => !one.failed);
    const inRow = latest.filter((one) => one.failed && one.atUs > (success?.atUs ?? 0)).length;
    const counted = sorted.filter((event) => event.occurredAtUs > (success?.atUs ?? 0));
    const isEnough = Math.max(inRow, counted.length) >= rule.consecutive;
    return { counted: counted.slice(-rule.consecutive), isEnough };
  }
  const sinceUs = sorted.at(-1)!.occurredAtUs - rule.windowMs * 1000;
  const counted = sorted.filter((event) => event.occurredAtUs >= sinceUs).slice(-rule.threshold);
  return { counted, isEnough: counted.length >= rule.threshold };
}

/** True if this share of the last Flights failed; never before that many have ended. */
export function isReached({ least, ofLast }: Part, ends: readonly FlightEnded[]): boolean {
  const last = latestEnds(ends, ofLast);
  return last.length === ofLast && failedOf(last) / last.length >= least;
}

/** The latest ends, each once, oldest first. */
export function latestEnds(ends: readonly FlightEnded[], limit: number): readonly FlightEnded[] {
  const byKey = new Map(ends.map((one) => [one.key, one]));
  return [...byKey.values()]
    .toSorted((a, b) => a.atUs - b.atUs || (a.key < b.key ? -1 : 1))
    .slice(-Math.max(1, limit));
}

/** What exceeded the threshold, in words: `3 or more Flights of Publish failed within 10 min`. */
export function thresholdWords(rule: Threshold, bird: string, ends: readonly FlightEnded[]): string {
  const part = partOf(rule);
  if (part) {
    const last = latestEnds(ends, part.ofLast);
    return `${failedOf(last)} of the last ${last.length} Flights of ${bird} failed`;
  }
  if ((rule.consecutive ?? 1) > 1) return `${rule.consecutive} or more Flights of ${bird} failed in a row`;
  if (rule.consecutive === 1 || rule.threshold === 1) return `Flight of ${bird} failed`;
  return `${rule.threshold} or more Flights of ${bird} failed within ${durationWords(rule.windowMs, 'exact')}`;
}

function failedOf(ends: readonly FlightEnded[]): number {
  return ends.filter((one) => one.failed).length;
}
