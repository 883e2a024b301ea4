/** What the last Flights of a Bird say of it: how long they take, why they fail, and when the next one is due. */
import { signature } from '../alert/error-signature.ts';

/** The value that so large a part of the values does not exceed; undefined for none. `part` is above 0 and up to 1. */
export function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1];
}

/** The part of the Flights that succeeded, of those that failed or succeeded; undefined for none. */
export function successRatio({
  succeeded,
  failed,
}: {
  readonly succeeded: number;
  readonly failed: number;
}): number | undefined {
  const ended = succeeded + failed;
  return ended === 0 ? undefined : succeeded / ended;
}

export interface Cause<Failure> {
  /** The signature of the messages; empty where the service gave none. */
  readonly error: string;
  readonly count: number;
  /** The first of them in the order in which they were given. */
  readonly example: Failure;
}

/** Failures by the signature of their message, the most frequent first. */
export function causesOf<Failure extends { readonly message: string }>(
  failures: readonly Failure[],
): Cause<Failure>[] {
  const bySignature = Map.groupBy(failures, ({ message }) => signature(message));
  return [...bySignature]
    .map(([error, all]) => ({ error, count: all.length, example: all[0]! }))
    .sort((a, b) => b.count - a.count);
}

export interface Rhythm {
  /** The usual time from one start to the next. */
  readonly everyUs: number;
  /** When the next Flight should start. */
  readonly nextUs: number;
}

/** Times between Flights that must be known before one speaks of a rhythm. */
const LEAST_GAPS = 4;
/** A time is as usual when it differs from the usual one by no more than this part of it. */
const TOLERANCE = 0.25;
/** So many of the times must be as usual: a Bird that rests at weekends keeps four of five. */
const LEAST_PART = 0.8;

/** How regularly Flights start, whose starts are given in any order; undefined where they keep no rhythm. */
export function rhythmOf(startsUs: readonly number[]): Rhythm | undefined {
  const starts = startsUs.filter((us) => us > 0).sort((a, b) => a - b);
  const gaps = starts.slice(1).map((us, index) => us - starts[index]!);
  const everyUs = percentile(gaps, 0.5);
  if (gaps.length < LEAST_GAPS || everyUs === undefined || everyUs === 0) return undefined;
  const usual = gaps.filter((gap) => Math.abs(gap - everyUs) <= TOLERANCE * everyUs);
  if (usual.length < LEAST_PART * gaps.length) return undefined;
  return { everyUs, nextUs: starts.at(-1)! + everyUs };
}
