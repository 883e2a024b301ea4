/**
 * How many failed Flights make an alert: so many within a window, so many in a row, or a part of the last ones. The
 * first is counted in what the alert remembers; the other two need to know of the Flights that succeeded, which leave
 * nothing behind in a healthy world, so the store tells how the latest ones ended.
 */
import { durationWords } from '../../text/duration-words.ts';
import type { Event } from './event.ts';
import type { FlightEnded } from './fact.ts';
import type { Rule } from './rule.ts';

/** How many of a Bird's latest ends the rules need to know at the most; 0 for none. */
export function endsAskedFor(rules: readonly Rule[]): number {
  return rules.reduce(
    (most, { consecutive, ratio }) => Math.max(most, consecutive ?? 0, ratio?.ofLast ?? 0),
    0,
  );
}

/**
 * The failures that count, oldest first, and whether they are enough. `failures` are those that no alert has taken
 * up, the present one among them; `ends` how the Bird's latest Flights ended, the present one's among them.
 */
export function weigh(
  rule: Rule,
  failures: readonly Event[],
  ends: readonly FlightEnded[],
): { counted: readonly Event[]; isEnough: boolean } {
  const sorted = failures.toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  if (rule.ratio) {
    const counted = sorted.slice(-rule.ratio.ofLast);
    return { counted, isEnough: isReached(rule.ratio, ends) };
  }
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

/** True when that part of the last Flights failed; never before so many have ended. */
export function isReached(ratio: NonNullable<Rule['ratio']>, ends: readonly FlightEnded[]): boolean {
  const last = latestEnds(ends, ratio.ofLast);
  return last.length === ratio.ofLast && failedOf(last) / last.length >= ratio.least;
}

/** The latest ends, each once, oldest first. */
export function latestEnds(ends: readonly FlightEnded[], limit: number): readonly FlightEnded[] {
  const byKey = new Map(ends.map((one) => [one.key, one]));
  return [...byKey.values()]
    .toSorted((a, b) => a.atUs - b.atUs || (a.key < b.key ? -1 : 1))
    .slice(-Math.max(1, limit));
}

/** What there was too much of, in words: `3 or more Flights of Publish failed within 10 min`. */
export function thresholdWords(rule: Rule, bird: string, ends: readonly FlightEnded[]): string {
  if (rule.ratio) {
    const last = latestEnds(ends, rule.ratio.ofLast);
    return `${failedOf(last)} of the last ${last.length} Flights of ${bird} failed`;
  }
  if ((rule.consecutive ?? 1) > 1) return `${rule.consecutive} or more Flights of ${bird} failed in a row`;
  if (rule.consecutive === 1 || rule.threshold === 1) return `Flight of ${bird} failed`;
  return `${rule.threshold} or more Flights of ${bird} failed within ${durationWords(rule.windowMs, 'exact')}`;
}

function failedOf(ends: readonly FlightEnded[]): number {
  return ends.filter((one) => one.failed).length;
}
