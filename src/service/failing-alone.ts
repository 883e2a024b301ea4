/**
 * Finds what fails or is refused while everything else is answered: an operation, or all requests about one Nest, Bird,
 * Flight or User. Such outcomes say nothing about the region. If they counted, the region would seem down or
 * unauthorized, or be asked slowly, and everything that it does answer would come late.
 *
 * Whether one operation or the whole region fails shows only once other operations were called. So from its fourth
 * failure in a row on an operation is skipped, so that others have their turn:
 *
 * - while it may be the region that fails, for a few seconds (`LONGEST_SKIP_MS.unsure`)
 * - once it certainly fails alone, for up to a minute, or what the service asked for: thousands of streams may want it
 * - but a request that has not failed itself is sent once: it may be one of a few that are answered
 *
 * Requests about a Nest or a Bird need not be skipped, since its own streams wait longer after each failure.
 */
import { type ErrorFacts, NestwatchError } from '../errors.ts';
import type { OperationId } from './operations.ts';

/** Up to this many failures in a row may be the beginning of an outage. */
const COUNTED = 3;
/** In how many pauses between its failures something else must have been answered. 429 and 503 come in bursts. */
const ANSWERED_BETWEEN = { failure: 1, unauthorized: 1, refusal: 4 } as const;
/** For this long after its last answer the region certainly answers. */
const ANSWERED_LATELY_MS = 30_000;

const FIRST_SKIP_MS = 5_000;
/** The longest that an operation is skipped: while the region as a whole may be failing, and once it fails alone. */
const LONGEST_SKIP_MS = { unsure: 10_000, alone: 60_000 } as const;

/** The most subjects remembered. Beyond this, the one that has been failing for longest is forgotten. */
const MOST_REMEMBERED = 20_000;

/**
 * What a request is about: its operation, the path of each resource that its own path leads through, or its operation
 * and whole path.
 */
type Subject = string;

interface Failing {
  /** Failures in a row. Requests that were in flight at the time of another one are not counted. */
  inRow: number;
  /** How many of those came after something else was answered since the one before. */
  answeredBetween: number;
  isAlone: boolean;
  failedAtMs: number;
  /** The number of all answers when it last failed. */
  answersThen: number;
  skippedUntilMs: number;
  /** Kept for operations only: an error may contain a page of the service, and there are thousands of Birds. */
  last: NestwatchError | undefined;
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
  failed(sent: Sent, how: keyof typeof ANSWERED_BETWEEN, error: NestwatchError, nowMs: number): boolean {
    const isThere = nowMs - this.#answeredAtMs < ANSWERED_LATELY_MS;
    let isAlone = false;
    for (const subject of subjectsOf(sent)) {
      const one = this.#of(subject);
      if (sent.sentAtMs >= one.failedAtMs) {
        const isAnswered = one.inRow > 0 && this.#answers > one.answersThen;
        one.inRow += 1;
        one.answeredBetween += isAnswered ? 1 : 0;
        const isEnough = how === 'unauthorized' || one.inRow > COUNTED;
        const isSure = isEnough && one.answeredBetween >= ANSWERED_BETWEEN[how];
        one.isAlone = isSure && (isAnswered || (isThere && (one.isAlone || how === 'failure')));
        one.failedAtMs = nowMs;
        one.answersThen = this.#answers;
        if (subject === sent.operation) {
          one.last = error;
          one.skippedUntilMs = nowMs + (how === 'failure' && !one.isAlone ? 0 : skipMs(one, error));
        }
      }
      isAlone ||= one.isAlone;
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
    if (one.isAlone && !this.#failing.has(requestOf(operation, target))) return undefined;
    const { code, message, facts } = one.last;
    const waitMs = one.skippedUntilMs - nowMs;
    const text = `${message}, ${one.inRow} times in a row; it is asked again in ${Math.ceil(waitMs / 1000)} s`;
    const ownFacts: ErrorFacts = { ...facts, retryAfterMs: waitMs, isAlone: one.isAlone };
    return new NestwatchError(code, text, { facts: ownFacts });
  }

  #of(subject: Subject): Failing {
    let one = this.#failing.get(subject);
    if (!one) {
      const [oldest] = this.#failing.size >= MOST_REMEMBERED ? this.#failing.keys() : [];
      if (oldest !== undefined) this.#failing.delete(oldest);
      one = {
        inRow: 0,
        answeredBetween: 0,
        isAlone: false,
        failedAtMs: Number.NEGATIVE_INFINITY,
        answersThen: this.#answers,
        skippedUntilMs: Number.NEGATIVE_INFINITY,
        last: undefined,
      };
      this.#failing.set(subject, one);
    }
    return one;
  }
}

/** How long an operation is skipped after a failure. The pace keeps to what the service asked of the whole region. */
function skipMs({ inRow, isAlone }: Failing, { facts }: NestwatchError): number {
  if (inRow <= COUNTED) return 0;
  const ownMs = FIRST_SKIP_MS * 2 ** Math.min(inRow - COUNTED - 1, 10);
  if (isAlone) return Math.max(Math.min(ownMs, LONGEST_SKIP_MS.alone), facts.retryAfterMs ?? 0);
  return Math.min(ownMs, LONGEST_SKIP_MS.unsure);
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
  return `${operation} ${withoutQuery(target)}`;
}

// Finds out what a 403 about a Nest means: the token has no rights there, or a gateway limits the rate in this way. A
// second answer to the same request, a little later, shows which. If it is a 403 again, the token has no rights to what
// is requested. If the request is answered, it was a limit, and from then on such a 403 counts as a refusal.

/** The most requests remembered. Beyond this, the one that was refused first is forgotten. */
const MOST_FORBIDDEN = 10_000;

/** Requests are given as paths below `base_url`, whose query does not matter. */
export class ForbiddenRequests {
  /** What was answered 403 twice in a row. */
  readonly #withoutRights = new Set<string>();
  #isLimitSeen = false;

  /** Whether the 403 may be due to the rate, so that the request should be sent again. */
  mayBeLimit(target: string): boolean {
    return !this.#withoutRights.has(withoutQuery(target));
  }

  /** Whether the 403 counts as a refusal because of the rate. */
  isLimit(target: string): boolean {
    return this.#isLimitSeen && this.mayBeLimit(target);
  }

  /** The request was answered 403 again. */
  again(target: string): void {
    const [oldest] = this.#withoutRights.size >= MOST_FORBIDDEN ? this.#withoutRights : [];
    if (oldest !== undefined) this.#withoutRights.delete(oldest);
    this.#withoutRights.add(withoutQuery(target));
  }

  /** The request was answered, `afterForbidden` after a 403. Returns whether this shows a limit for the first time. */
  answered(target: string, afterForbidden: boolean): boolean {
    if (this.#withoutRights.size > 0) this.#withoutRights.delete(withoutQuery(target));
    const isFirst = afterForbidden && !this.#isLimitSeen;
    this.#isLimitSeen ||= afterForbidden;
    return isFirst;
  }
}

function withoutQuery(target: string): string {
  const queryAt = target.indexOf('?');
  return queryAt < 0 ? target : target.slice(0, queryAt);
}
