/**
 * Operations that fail while others are answered. What they meet says nothing about the region, which would else count
 * as down, and with it all that it answers would be asked for by single probes only.
 */
import type { OperationId } from './operations.ts';

/** So many failures of an operation may be the beginning of an outage. */
const COUNTED_FAILURES = 3;
/** For so long after the last answer to another operation the region is surely there. */
const ANSWERED_LATELY_MS = 30_000;

interface Failing {
  /** Failures in a row. */
  count: number;
  /** When another operation was last answered meanwhile. */
  otherAnsweredMs: number;
}

/** Time is monotonic milliseconds. */
export class FailingOperations {
  readonly #failing = new Map<OperationId, Failing>();

  answered(operation: OperationId, nowMs: number): void {
    this.#failing.delete(operation);
    for (const one of this.#failing.values()) one.otherAnsweredMs = nowMs;
  }

  /** Returns whether the operation fails by itself. */
  failed(operation: OperationId, nowMs: number): boolean {
    const one = this.#failing.get(operation) ?? { count: 0, otherAnsweredMs: Number.NEGATIVE_INFINITY };
    one.count += 1;
    this.#failing.set(operation, one);
    return one.count > COUNTED_FAILURES && nowMs - one.otherAnsweredMs < ANSWERED_LATELY_MS;
  }
}
