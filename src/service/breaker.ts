/**
 * Whether a region answers at all. States and transitions:
 *
 * - `up`: requests leave. → `down` after 5 failures in a row, or when half of at least 10 answers of the last 30 s
 *   are failures. → `unauthorized` on one 401, or on 403s only, three in a row (one alone may concern one thing;
 *   those to requests about a Nest, for which the token may have no rights, do not come here).
 * - `down`: nothing leaves but one probe at a time, 2 s after the opening, then after growing waits up to 60 s.
 * - `unauthorized`: the same with a probe every 5 minutes, or at once when the token has changed.
 *
 * A probe is an ordinary request. What it meets decides: an answer → `up`; a failure → `down`; a refused token →
 * `unauthorized`. A probe that was never sent, or whose answer says nothing about the region, leaves the state and
 * lets the next request probe. Answers to requests that left before the opening change nothing.
 *
 * Time here is monotonic milliseconds, but for `sinceUs`.
 */
import type { Clock, Random } from '../time/clock.ts';

export interface RegionHealth {
  readonly health: 'up' | 'down' | 'unauthorized';
  /** One sentence for people: what was met last. */
  readonly reason: string;
  /** When that began, on the wall clock. */
  readonly sinceUs: number;
}

export interface Breaker {
  health(): RegionHealth;
  /** 0: a request may leave now. Infinity: a probe is under way. */
  waitMs(): number;
  /** A request leaves; answers whether it is a probe. */
  leave(): boolean;
  answered(isProbe: boolean): void;
  failed(isProbe: boolean, reason: string): void;
  /** 401, or a token that cannot be sent. */
  unauthorized(isProbe: boolean, reason: string): void;
  /** 403. */
  forbidden(isProbe: boolean, reason: string): void;
  /** Nothing was learned. */
  abandoned(isProbe: boolean): void;
  /** Whatever the state waits for has changed. */
  probeNow(): void;
}

const FAILURES_IN_ROW = 5;
const FORBIDDEN_IN_ROW = 3;
const WINDOW_SECONDS = 30;
const LEAST_ANSWERS = 10;

const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;
const UNAUTHORIZED_WAIT_MS = 300_000;

interface Second {
  readonly second: number;
  answers: number;
  failures: number;
}

export function createBreaker(
  clock: Clock,
  random: Random,
  onChange: (health: RegionHealth) => void,
): Breaker {
  let state: RegionHealth = { health: 'up', reason: 'nothing has failed yet', sinceUs: clock.nowUs() };
  let failuresInRow = 0;
  let forbiddenInRow = 0;
  let recent: Second[] = [];
  let waitMs = FIRST_WAIT_MS;
  let probeAtMs = 0;
  let isProbing = false;

  function change(health: RegionHealth['health'], reason: string): void {
    const isNew = health !== state.health;
    state = { health, reason, sinceUs: isNew ? clock.nowUs() : state.sinceUs };
    if (isNew) onChange(state);
  }

  function open(health: 'down' | 'unauthorized', reason: string): void {
    const isGoingOn = state.health === health;
    if (health === 'unauthorized') waitMs = UNAUTHORIZED_WAIT_MS;
    else waitMs = isGoingOn ? Math.min(LONGEST_WAIT_MS, waitMs * 2) : FIRST_WAIT_MS;
    // Spread, so that several watchers do not probe together; never longer than the wait itself.
    probeAtMs = clock.monotonicMs() + waitMs * (0.8 + 0.2 * random());
    change(health, reason);
  }

  function close(): void {
    failuresInRow = 0;
    forbiddenInRow = 0;
    recent = [];
    change('up', 'the service answers');
  }

  /** Counts one answer; tells whether half of enough recent ones are failures. */
  function note(isFailure: boolean): boolean {
    const second = Math.floor(clock.monotonicMs() / 1000);
    recent = recent.filter((one) => one.second > second - WINDOW_SECONDS);
    if (recent.at(-1)?.second !== second) recent.push({ second, answers: 0, failures: 0 });
    const last = recent.at(-1)!;
    last.answers += 1;
    if (isFailure) last.failures += 1;
    if (!isFailure) return false;
    const answers = recent.reduce((sum, one) => sum + one.answers, 0);
    const failures = recent.reduce((sum, one) => sum + one.failures, 0);
    return answers >= LEAST_ANSWERS && failures * 2 >= answers;
  }

  /** Whether an answer counts: in `up` every one, else the probe's alone. */
  function counts(isProbe: boolean): boolean {
    if (isProbe) isProbing = false;
    return isProbe || state.health === 'up';
  }

  return {
    health: () => state,
    waitMs() {
      if (state.health === 'up') return 0;
      return isProbing ? Number.POSITIVE_INFINITY : Math.max(0, probeAtMs - clock.monotonicMs());
    },
    leave() {
      if (state.health === 'up') return false;
      isProbing = true;
      return true;
    },
    answered(isProbe) {
      if (!counts(isProbe)) return;
      if (state.health !== 'up') return close();
      failuresInRow = 0;
      forbiddenInRow = 0;
      note(false);
    },
    failed(isProbe, reason) {
      if (!counts(isProbe)) return;
      failuresInRow += 1;
      const isHalf = note(true);
      if (state.health !== 'up' || failuresInRow >= FAILURES_IN_ROW || isHalf) open('down', reason);
    },
    unauthorized(isProbe, reason) {
      if (counts(isProbe)) open('unauthorized', reason);
    },
    forbidden(isProbe, reason) {
      if (!counts(isProbe)) return;
      if (state.health === 'down') close();
      failuresInRow = 0;
      forbiddenInRow += 1;
      note(false);
      if (state.health === 'unauthorized' || forbiddenInRow >= FORBIDDEN_IN_ROW) open('unauthorized', reason);
    },
    abandoned(isProbe) {
      if (isProbe) isProbing = false;
    },
    probeNow() {
      probeAtMs = Math.min(probeAtMs, clock.monotonicMs());
    },
  };
}
