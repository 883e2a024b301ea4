/** Computes what a Bird's last Flights tell: how long they take, why they fail, and when the next one is due. */
import { signature } from '../alert/error-signature.ts';

/**
 * The value that this share of the values does not exceed; undefined if there are none. `part` is above 0 and up to
 * 1.
 */
export function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1];
}

/** The share of succeeded Flights among those that failed or succeeded; undefined for none. */
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
  /** The signature of the messages; empty if the service gave none. */
  readonly error: string;
  readonly count: number;
  /** The first of them in the given order. */
  readonly example: Failure;
}

/** Failures grouped by the signature of their message, most frequent first. */
export function causesOf<Failure extends { readonly message: string }>(
  failures: readonly Failure[],
): Cause<Failure>[] {
  const bySignature = Map.groupBy(failures, ({ message }) => signature(message));
  return [...bySignature]
    .map(([error, all]) => ({ error, count: all.length, example: all[0]! }))
    .sort((a, b) => b.count - a.count);
}

interface Rhythm {
  /** The usual time from one start to the next. */
  readonly everyUs: number;
  /** When the next Flight should start. */
  readonly nextUs: number;
}

/** How many times between Flights must be known before a rhythm is assumed. */
const LEAST_GAPS = 4;
/** A time counts as usual if it differs from the usual one by no more than this share of it. */
const TOLERANCE = 0.25;
/** The share of times that must be usual: a Bird that pauses at weekends has four of five. */
const LEAST_PART = 0.8;

/** The rhythm of Flights with these starts, given in any order; undefined if there is none. */
export function rhythmOf(startsUs: readonly number[]): Rhythm | undefined {
  const starts = startsUs.filter((us) => us > 0).sort((a, b) => a - b);
  const gaps = starts.slice(1).map((us, index) => us - starts[index]!);
  const everyUs = percentile(gaps, 0.5);
  if (gaps.length < LEAST_GAPS || everyUs === undefined || everyUs === 0) return undefined;
  const usual = gaps.filter((gap) => Math.abs(gap - everyUs) <= TOLERANCE * everyUs);
  if (usual.length < LEAST_PART * gaps.length) return undefined;
  return { everyUs, nextUs: starts.at(-1)! + everyUs };
}
