/**
 * What fails, or is refused, while everything else is answered: an operation, or all that is asked about one Nest, Bird,
 * Flight or User. What such a request meets says nothing about the region, which would else count as down or
 * unauthorized, or be asked slowly, and all that it answers would come late.
 *
 * - Failures: from the fourth in a row on, if anything was answered since the first and lately.
 * - Refused tokens (401): where something else was answered between two of them, with the same token.
 * - Refusals (429, 503): where something else was answered between five of them. Both as long as it is answered lately.
 *
 * Whether an operation or the whole region refuses shows only once others were asked. So from its fourth refusal in a
 * row on an operation is left for a few seconds, in which others have their turn. One that is refused or fails alone is
 * left for up to a minute: thousands of streams may want it. But then what was not asked for in vain is asked for all the
 * same, once: it may be one of a few that are answered. A Nest or a Bird needs no such leave, since its own streams wait
 * longer with each failure.
 */
import { type ErrorFacts, NestwatchError } from '../errors.ts';
import type { OperationId } from './operations.ts';

/** So many failures in a row may be the beginning of an outage. */
const COUNTED_FAILURES = 3;
/** For so long after the last answer the region is surely there. */
const ANSWERED_LATELY_MS = 30_000;

/** So often something else must have been answered between two refusals. */
const ANSWERED_BETWEEN = { refusal: 4, unauthorized: 1 } as const;

/** So many refusals in a row of an operation are the pace's alone. */
const COUNTED_REFUSALS = 3;
const FIRST_LEAVE_MS = 5_000;
/** The longest that an operation is left, while it may be the region that refuses, and once it is refused alone. */
const LONGEST_LEAVE_MS = { unsure: 10_000, alone: 60_000 } as const;

/** Those that were not asked for again must not fill the memory: the one that has failed for longest is forgotten first. */
const MOST_REMEMBERED = 20_000;

/** What a request is about: the operation, the path of each thing that its own path leads through, and both together. */
type Subject = string;

interface Failing {
  /** Failures in a row. */
  failures: number;
  /** Refusals in a row, without those of requests that were under way at another one. */
  refusals: number;
  /** How many of those came after an answer to something else that was later than the refusal before. */
  answeredBetween: number;
  isRefusedAlone: boolean;
  /** When it was last refused. */
  refusedAtMs: number;
  /** The last failure or refusal, of an operation only: it may hold a page of the service, and there are thousands of Birds. */
  last: NestwatchError | undefined;
  leftUntilMs: number;
  /** How many answers there were in all when it began to fail, and when it was last refused. */
  readonly answersAtFirst: number;
  answersAtRefusal: number;
}

/** A request that was sent, by its operation and its path below `base_url`. */
export interface Sent {
  readonly operation: OperationId;
  readonly target: string;
  readonly sentAtMs: number;
}

/** Time is monotonic milliseconds. */
export class FailingAlone {
  /** Each of them has failed since it was last answered. */
  readonly #failing = new Map<Subject, Failing>();
  #answers = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;

  answered(sent: Sent, nowMs: number): void {
    this.#answers += 1;
    this.#answeredAtMs = nowMs;
    if (this.#failing.size === 0) return;
    for (const subject of subjectsOf(sent)) this.#failing.delete(subject);
  }

  /** Returns whether something of what it is about fails alone. */
  failed(sent: Sent, failure: NestwatchError, nowMs: number): boolean {
    const isThere = nowMs - this.#answeredAtMs < ANSWERED_LATELY_MS;
    let isAlone = false;
    for (const subject of subjectsOf(sent)) {
      const one = this.#of(subject);
      one.failures += 1;
      if (subject === sent.operation) one.last = failure;
      if (!isThere || one.failures <= COUNTED_FAILURES || this.#answers === one.answersAtFirst) continue;
      isAlone = true;
      const ownMs = leaveMs(one.failures - COUNTED_FAILURES);
      if (subject === sent.operation) one.leftUntilMs = nowMs + Math.min(ownMs, LONGEST_LEAVE_MS.alone);
    }
    return isAlone;
  }

  /** Returns whether something of what it is about is refused alone. */
  refused(sent: Sent, how: keyof typeof ANSWERED_BETWEEN, refusal: NestwatchError, nowMs: number): boolean {
    const isThere = nowMs - this.#answeredAtMs < ANSWERED_LATELY_MS;
    let isAlone = false;
    for (const subject of subjectsOf(sent)) {
      const one = this.#of(subject);
      // Requests that were under way together are refused together.
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
          one.leftUntilMs = nowMs + leaveOfRefusedMs(one, refusal);
        }
      }
      if (one.isRefusedAlone) isAlone = true;
    }
    return isAlone;
  }

  /** What the operation is left for now; undefined where this may be asked for. */
  leftFor(
    { operation, target }: Pick<Sent, 'operation' | 'target'>,
    nowMs: number,
  ): NestwatchError | undefined {
    const one = this.#failing.get(operation);
    if (one?.last === undefined || nowMs >= one.leftUntilMs) return undefined;
    const isAlone = one.isRefusedAlone || one.refusals === 0;
    if (isAlone && !this.#failing.has(requestOf(operation, target))) return undefined;
    const { code, message, facts } = one.last;
    const waitMs = one.leftUntilMs - nowMs;
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
        leftUntilMs: Number.NEGATIVE_INFINITY,
        answersAtFirst: this.#answers,
        answersAtRefusal: this.#answers,
      };
      this.#failing.set(subject, one);
    }
    return one;
  }
}

function leaveOfRefusedMs({ refusals, isRefusedAlone }: Failing, { facts }: NestwatchError): number {
  if (refusals <= COUNTED_REFUSALS) return 0;
  const ownMs = leaveMs(refusals - COUNTED_REFUSALS);
  if (isRefusedAlone) return Math.max(Math.min(ownMs, LONGEST_LEAVE_MS.alone), facts.retryAfterMs ?? 0);
  // What the service asks for is kept by the pace of the region, as long as it may be that.
  return Math.min(ownMs, LONGEST_LEAVE_MS.unsure);
}

/** The longer the more often it was left. */
function leaveMs(times: number): number {
  return FIRST_LEAVE_MS * 2 ** Math.min(times - 1, 10);
}

function subjectsOf({ operation, target }: Sent): Subject[] {
  const subjects: Subject[] = [operation, requestOf(operation, target)];
  for (const { 0: step, index } of target.matchAll(/\/(?:nests|birds|flights|users)\/[^/?]+/g)) {
    subjects.push(target.slice(0, index + step.length));
  }
  return subjects;
}

/** The request but for its query. */
function requestOf(operation: OperationId, target: string): Subject {
  const queryAt = target.indexOf('?');
  return `${operation} ${queryAt < 0 ? target : target.slice(0, queryAt)}`;
}
