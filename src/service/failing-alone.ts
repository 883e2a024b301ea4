/**
 * Finds what fails or is refused while everything else is answered: an operation, or all requests about one Nest, Bird,
 * Flight or User. Such outcomes say nothing about the region. If they counted, the region would seem down or
 * unauthorized, or be asked slowly, and everything that it does answer would come late.
 *
 * - Failures: from the fourth in a row on, if anything was answered since the first of them, and lately.
 * - Refused tokens (401): if something else was answered between two of them, with the same token.
 * - Refusals (429, 503): if something else was answered between five of them. For both, as long as it is answered
 *   lately.
 *
 * Whether one operation or the whole region refuses shows only once other operations were called. So from its fourth
 * refusal in a row on an operation is skipped for a few seconds, so that others have their turn. One that is refused or
 * fails alone is skipped for up to a minute, since thousands of streams may want it. But a request that has not failed
 * itself is still sent once: it may be one of a few that are answered. Requests about a Nest or a Bird need not be
 * skipped, since its own streams wait longer after each failure.
 */
import { type ErrorFacts, NestwatchError } from '../errors.ts';
import type { OperationId } from './operations.ts';

/** Up to this many failures in a row may be the beginning of an outage, and count for the region. */
const COUNTED_FAILURES = 3;
/** For this long after its last answer the region certainly answers. */
const ANSWERED_LATELY_MS = 30_000;

/** How often something else must have been answered between refusals. */
const ANSWERED_BETWEEN = { refusal: 4, unauthorized: 1 } as const;

/** Up to this many refusals in a row of an operation only concern the pace. */
const COUNTED_REFUSALS = 3;
const FIRST_SKIP_MS = 5_000;
/**
 * The longest that an operation is skipped, while the region as a whole may be refusing, and once it is refused alone.
 */
const LONGEST_SKIP_MS = { unsure: 10_000, alone: 60_000 } as const;

/** The most subjects remembered. Beyond this, the one that has been failing for longest is forgotten. */
const MOST_REMEMBERED = 20_000;

/**
 * What a request is about: its operation, the path of each resource that its own path leads through, or its operation
 * and whole path.
 */
type Subject = string;

interface Failing {
  /** Failures in a row. */
  failures: number;
  /** Refusals in a row. Requests that were in flight at the time of another refusal are not counted. */
  refusals: number;
  /** How many of those came after something else was answered since the refusal before. */
  answeredBetween: number;
  isRefusedAlone: boolean;
  /** When it was last refused. */
  refusedAtMs: number;
  /**
   * The last failure or refusal, kept for operations only: it may contain a page of the service, and there are
   * thousands of Birds.
   */
  last: NestwatchError | undefined;
  skippedUntilMs: number;
  /** The number of all answers when it began to fail, and when it was last refused. */
  readonly answersAtFirst: number;
  answersAtRefusal: number;
}

/** A request that was sent: its operation, and its path below `base_url`. */
export interface Sent {
  readonly operation: OperationId;
  readonly target: string;
  readonly sentAtMs: number;
}

/** Times are monotonic milliseconds. */
export class FailingAlone {
  /** Everything that has failed since it was last answered. */
  readonly #failing = new Map<Subject, Failing>();
  #answers = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;

  answered(sent: Sent, nowMs: number): void {
    this.#answers += 1;
    this.#answeredAtMs = nowMs;
    if (this.#failing.size === 0) return;
    for (const subject of subjectsOf(sent)) this.#failing.delete(subject);
  }

  /** Returns whether one of its subjects fails alone. */
  failed(sent: Sent, failure: NestwatchError, nowMs: number): boolean {
    const isThere = nowMs - this.#answeredAtMs < ANSWERED_LATELY_MS;
    let isAlone = false;
    for (const subject of subjectsOf(sent)) {
      const one = this.#of(subject);
      one.failures += 1;
      if (subject === sent.operation) one.last = failure;
      if (!isThere || one.failures <= COUNTED_FAILURES || this.#answers === one.answersAtFirst) continue;
      isAlone = true;
      const ownMs = skipMs(one.failures - COUNTED_FAILURES);
      if (subject === sent.operation) one.skippedUntilMs = nowMs + Math.min(ownMs, LONGEST_SKIP_MS.alone);
    }
    return isAlone;
  }

  /** Returns whether one of its subjects is refused alone. */
  refused(sent: Sent, how: keyof typeof ANSWERED_BETWEEN, refusal: NestwatchError, nowMs: number): boolean {
    const isThere = nowMs - this.#answeredAtMs < ANSWERED_LATELY_MS;
    let isAlone = false;
    for (const subject of subjectsOf(sent)) {
      const one = this.#of(subject);
      // Requests that were in flight together are refused together.
      if (sent.sentAtMs >= one.refusedAtMs) {
        const isAnswered = one.refusals > 0 && this.#answers > one.answersAtRefusal;
        one.refusals += 1;
        one.answeredBetween += isAnswered ? 1 : 0;
        const isSure = one.answeredBetween >= ANSWERED_BETWEEN[how];
        one.isRefusedAlone = isSure && (isAnswered || (one.isRefusedAlone && isThere));
        one.refusedAtMs = nowMs;
        one.answersAtRefusal = this.#answers;
        if (subject === sent.operation) {
          one.last = refusal;
          one.skippedUntilMs = nowMs + skipOfRefusedMs(one, refusal);
        }
      }
      if (one.isRefusedAlone) isAlone = true;
    }
    return isAlone;
  }

  /** The error for which the operation is skipped now; undefined if this request may be sent. */
  skippedFor(
    { operation, target }: Pick<Sent, 'operation' | 'target'>,
    nowMs: number,
  ): NestwatchError | undefined {
    const one = this.#failing.get(operation);
    if (one?.last === undefined || nowMs >= one.skippedUntilMs) return undefined;
    const isAlone = one.isRefusedAlone || one.refusals === 0;
    if (isAlone && !this.#failing.has(requestOf(operation, target))) return undefined;
    const { code, message, facts } = one.last;
    const waitMs = one.skippedUntilMs - nowMs;
    const times = one.failures + one.refusals;
    const text = `${message}, ${times} times in a row; it is asked again in ${Math.ceil(waitMs / 1000)} s`;
    const ownFacts: ErrorFacts = { ...facts, retryAfterMs: waitMs, isAlone };
    return new NestwatchError(code, text, { facts: ownFacts });
  }

  #of(subject: Subject): Failing {
    let one = this.#failing.get(subject);
    if (!one) {
      const [oldest] = this.#failing.size >= MOST_REMEMBERED ? this.#failing.keys() : [];
      if (oldest !== undefined) this.#failing.delete(oldest);
      one = {
        failures: 0,
        refusals: 0,
        answeredBetween: 0,
        isRefusedAlone: false,
        refusedAtMs: Number.NEGATIVE_INFINITY,
        last: undefined,
        skippedUntilMs: Number.NEGATIVE_INFINITY,
        answersAtFirst: this.#answers,
        answersAtRefusal: this.#answers,
      };
      this.#failing.set(subject, one);
    }
    return one;
  }
}

function skipOfRefusedMs({ refusals, isRefusedAlone }: Failing, { facts }: NestwatchError): number {
  if (refusals <= COUNTED_REFUSALS) return 0;
  const ownMs = skipMs(refusals - COUNTED_REFUSALS);
  if (isRefusedAlone) return Math.max(Math.min(ownMs, LONGEST_SKIP_MS.alone), facts.retryAfterMs ?? 0);
  // The pace of the region keeps to what the service asked for, while the region as a whole may be refusing.
  return Math.min(ownMs, LONGEST_SKIP_MS.unsure);
}

/** Longer each time that it is skipped. */
function skipMs(times: number): number {
  return FIRST_SKIP_MS * 2 ** Math.min(times - 1, 10);
}

function subjectsOf({ operation, target }: Sent): Subject[] {
  const subjects: Subject[] = [operation, requestOf(operation, target)];
  for (const { 0: step, index } of target.matchAll(/\/(?:nests|birds|flights|users)\/[^/?]+/g)) {
    subjects.push(target.slice(0, index + step.length));
  }
  return subjects;
}

/** The request without its query. */
function requestOf(operation: OperationId, target: string): Subject {
  const queryAt = target.indexOf('?');
  return `${operation} ${queryAt < 0 ? target : target.slice(0, queryAt)}`;
}
