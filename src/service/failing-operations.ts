/**
 * Operations that fail, or are refused, while others are answered. What they meet says nothing about the region, which
 * would else count as down or be asked slowly, and all that it answers would come late.
 *
 * - Failures: from the fourth in a row on, as long as another operation was answered lately.
 * - Refusals (429, 503, 401): whether it is one operation or the whole region shows only once others were asked. So from
 *   the fourth in a row on the operation is left for a few seconds, in which others have their turn; when they were
 *   answered between five refusals, it is refused alone, and is asked for about once a minute.
 */
import { type ErrorFacts, NestwatchError } from '../errors.ts';
import type { OperationId } from './operations.ts';

/** So many failures of an operation may be the beginning of an outage. */
const COUNTED_FAILURES = 3;
/** For so long after the last answer to another operation the region is surely there. */
const ANSWERED_LATELY_MS = 30_000;

/** So many refusals in a row are the pace's alone. */
const COUNTED_REFUSALS = 3;
/** Between so many refusals of an operation others were answered: it is refused alone. */
const ANSWERED_BETWEEN = 4;
const FIRST_LEAVE_MS = 5_000;
/** The longest that an operation is left, while it may be the region that refuses, and once it is refused alone. */
const LONGEST_LEAVE_MS = { unsure: 10_000, alone: 60_000 } as const;

interface Failing {
  /** Failures in a row. */
  failures: number;
  /** Refusals in a row, without those of requests that were under way at another one. */
  refusals: number;
  /** How many of those came after an answer to another operation that was later than the refusal before. */
  answeredBetween: number;
  isRefusedAlone: boolean;
  /** When it was last refused. */
  refusedAtMs: number;
  /** What that said. */
  refusal: NestwatchError | undefined;
  leftUntilMs: number;
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
    const one = this.#of(operation);
    one.failures += 1;
    return one.failures > COUNTED_FAILURES && nowMs - one.otherAnsweredMs < ANSWERED_LATELY_MS;
  }

  /** Returns whether the operation is refused alone. */
  refused(operation: OperationId, sentAtMs: number, refusal: NestwatchError, nowMs: number): boolean {
    const one = this.#of(operation);
    // Requests that were under way together are refused together.
    if (sentAtMs < one.refusedAtMs) return one.isRefusedAlone;
    const wereOthersAnswered = one.otherAnsweredMs > one.refusedAtMs;
    one.refusals += 1;
    if (wereOthersAnswered) one.answeredBetween += 1;
    one.isRefusedAlone = wereOthersAnswered && one.answeredBetween >= ANSWERED_BETWEEN;
    one.refusedAtMs = nowMs;
    one.refusal = refusal;
    const further = one.refusals - COUNTED_REFUSALS - 1;
    if (further >= 0) {
      const ownMs = FIRST_LEAVE_MS * 2 ** Math.min(further, 10);
      const longestMs = LONGEST_LEAVE_MS[one.isRefusedAlone ? 'alone' : 'unsure'];
      // While it may be the region, the pace keeps what the service asks for.
      const askedMs = one.isRefusedAlone ? (refusal.facts.retryAfterMs ?? 0) : 0;
      one.leftUntilMs = nowMs + Math.max(Math.min(ownMs, longestMs), askedMs);
    }
    return one.isRefusedAlone;
  }

  /** What the operation is left for now; undefined where it may be asked for. */
  leftFor(operation: OperationId, nowMs: number): NestwatchError | undefined {
    const one = this.#failing.get(operation);
    if (one?.refusal === undefined || nowMs >= one.leftUntilMs) return undefined;
    const { code, message, facts } = one.refusal;
    const waitMs = one.leftUntilMs - nowMs;
    const text = `${message}, ${one.refusals} times in a row; it is asked again in ${Math.ceil(waitMs / 1000)} s`;
    const ownFacts: ErrorFacts = { ...facts, retryAfterMs: waitMs, isOfOperation: one.isRefusedAlone };
    return new NestwatchError(code, text, { facts: ownFacts });
  }

  #of(operation: OperationId): Failing {
    let one = this.#failing.get(operation);
    if (!one) {
      one = {
        failures: 0,
        refusals: 0,
        answeredBetween: 0,
        isRefusedAlone: false,
        refusedAtMs: Number.NEGATIVE_INFINITY,
        refusal: undefined,
        leftUntilMs: Number.NEGATIVE_INFINITY,
        otherAnsweredMs: Number.NEGATIVE_INFINITY,
      };
      this.#failing.set(operation, one);
    }
    return one;
  }
}
