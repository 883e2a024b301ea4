/**
 * Circuit breaker: decides whether requests may be sent to a region, by whether it answers at all. Its states:
 *
 * - `up`: requests are sent. → `down` after 5 failures in a row, or when half of at least 10 outcomes within 30 s are
 *   failures. → `unauthorized` on the second 401 in a row, or on three 403s with only 401s and failures in between. A
 *   single 403 may concern one thing only. 403s about a Nest, for which the token may have no rights, are not counted
 *   here, and neither is what fails or is refused alone (`failing-alone.ts`). After a first 401 one probe is sent at
 *   once and everything else waits for it, since a gateway may refuse a single request.
 * - `down`: only probes are sent, one at a time: the first after 2 s, then after growing waits of up to 60 s.
 * - `unauthorized`: only probes, after 5, 15 and 60 s, then every 5 minutes; or at once when the token has changed or a
 *   person asks for it.
 *
 * A probe is an ordinary request, and its outcome decides: an answer → `up`; a failure → `down`, or while `up` counts
 * as one more failure; a second 401 → `unauthorized`. If a probe was never sent, or its answer says nothing about the
 * region, the state stays and the next request is the probe. While only probes are sent, answers to requests that were
 * sent before change nothing.
 *
 * All times are monotonic milliseconds, except `sinceUs`.
 */
import type { RegionHealth } from '../region-progress.ts';
import type { Clock, Random } from '../time/clock.ts';

const FAILURES_IN_ROW = 5;
const FORBIDDEN_IN_ROW = 3;
const WINDOW_SECONDS = 30;
const LEAST_ANSWERS = 10;

const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;
/** After each refusal of the token, from the second on; the last wait also holds for all later ones. */
const UNAUTHORIZED_WAITS_MS = [5_000, 15_000, 60_000, 300_000];

/** What the requests within one second say of whether the region answers. */
interface Second {
  readonly second: number;
  /** Failures included. */
  answers: number;
  failures: number;
}

export class Breaker {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onChange: (health: RegionHealth) => void;
  #state: RegionHealth;
  #failuresInRow = 0;
  #forbiddenInRow = 0;
  #refusedInRow = 0;
  #recent: Second[] = [];
  #waitMs = FIRST_WAIT_MS;
  #probeAtMs = 0;
  #isProbing = false;

  constructor(clock: Clock, random: Random, onChange: (health: RegionHealth) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#onChange = onChange;
    this.#state = { health: 'up', reason: 'nothing has failed yet', sinceUs: clock.nowUs() };
  }

  health(): RegionHealth {
    return this.#state;
  }

  /** How long until a request may be sent; 0 for now, Infinity while a probe is in flight. */
  waitMs(): number {
    if (this.#state.health === 'up' && !this.#isTokenSuspect()) return 0;
    return this.#isProbing
      ? Number.POSITIVE_INFINITY
      : Math.max(0, this.#probeAtMs - this.#clock.monotonicMs());
  }

  /** A request is sent. Returns whether it is a probe. */
  leave(): boolean {
    if (this.#state.health === 'up' && !this.#isTokenSuspect()) return false;
    this.#isProbing = true;
    return true;
  }

  /** The region answered. */
  answered(isProbe: boolean): void {
    if (!this.#counts(isProbe)) return;
    if (this.#state.health !== 'up') {
      this.#close();
      return;
    }
    this.#failuresInRow = 0;
    this.#forbiddenInRow = 0;
    this.#refusedInRow = 0;
    this.#note(false);
  }

  /** The region did not answer, or answered with a server error. */
  failed(isProbe: boolean, reason: string): void {
    if (!this.#counts(isProbe)) return;
    this.#refusedInRow = 0;
    this.#failuresInRow += 1;
    const isHalf = this.#note(true);
    if (this.#state.health !== 'up' || this.#failuresInRow >= FAILURES_IN_ROW || isHalf)
      this.#open('down', reason);
  }

  /** The region answered 401, or the token cannot be sent. */
  unauthorized(isProbe: boolean, reason: string): void {
    if (!this.#counts(isProbe)) return;
    this.#refusedInRow += 1;
    if (this.#refusedInRow > 1 || this.#state.health === 'unauthorized') this.#open('unauthorized', reason);
    else this.probeNow();
  }

  /** The region answered 403. */
  forbidden(isProbe: boolean, reason: string): void {
    if (!this.#counts(isProbe)) return;
    if (this.#state.health === 'down') this.#close();
    this.#failuresInRow = 0;
    this.#refusedInRow = 0;
    this.#forbiddenInRow += 1;
    this.#note(false);
    if (this.#state.health === 'unauthorized' || this.#forbiddenInRow >= FORBIDDEN_IN_ROW)
      this.#open('unauthorized', reason);
  }

  /** The request was never sent, or its answer says nothing about the region. */
  abandoned(isProbe: boolean): void {
    if (isProbe) this.#isProbing = false;
  }

  /** Lets the next request probe at once, because what the state waits for may have changed. */
  probeNow(): void {
    this.#probeAtMs = Math.min(this.#probeAtMs, this.#clock.monotonicMs());
  }

  #change(health: RegionHealth['health'], reason: string): void {
    const isNew = health !== this.#state.health;
    this.#state = { health, reason, sinceUs: isNew ? this.#clock.nowUs() : this.#state.sinceUs };
    if (isNew) this.#onChange(this.#state);
  }

  /** From now on only probes are sent. */
  #open(health: 'down' | 'unauthorized', reason: string): void {
    const isGoingOn = this.#state.health === health;
    if (health === 'unauthorized') this.#waitMs = nextUnauthorizedWaitMs(isGoingOn ? this.#waitMs : 0);
    else this.#waitMs = isGoingOn ? Math.min(LONGEST_WAIT_MS, this.#waitMs * 2) : FIRST_WAIT_MS;
    // Spread, so that several watchers do not probe at the same time; never longer than the wait itself.
    this.#probeAtMs = this.#clock.monotonicMs() + this.#waitMs * (0.8 + 0.2 * this.#random());
    this.#change(health, reason);
  }

  /** The region answers again. */
  #close(): void {
    this.#failuresInRow = 0;
    this.#forbiddenInRow = 0;
    this.#refusedInRow = 0;
    this.#recent = [];
    this.#change('up', 'the service answers');
  }

  /** Counts one outcome. Returns whether half of enough recent ones are failures. */
  #note(isFailure: boolean): boolean {
    const second = Math.floor(this.#clock.monotonicMs() / 1000);
    this.#recent = this.#recent.filter((one) => one.second > second - WINDOW_SECONDS);
    if (this.#recent.at(-1)?.second !== second) this.#recent.push({ second, answers: 0, failures: 0 });
    const last = this.#recent.at(-1)!;
    last.answers += 1;
    if (isFailure) last.failures += 1;
    if (!isFailure) return false;
    const answers = this.#recent.reduce((sum, one) => sum + one.answers, 0);
    const failures = this.#recent.reduce((sum, one) => sum + one.failures, 0);
    return answers >= LEAST_ANSWERS && failures * 2 >= answers;
  }

  /** Whether an outcome counts: every one, except that while only probes are sent, only a probe's does. */
  #counts(isProbe: boolean): boolean {
    if (isProbe) this.#isProbing = false;
    return isProbe || (this.#state.health === 'up' && !this.#isTokenSuspect());
  }

  /** Whether the token was refused once, and the probe that shows whether it really is has not been answered yet. */
  #isTokenSuspect(): boolean {
    return this.#refusedInRow > 0;
  }
}

function nextUnauthorizedWaitMs(lastMs: number): number {
  return UNAUTHORIZED_WAITS_MS.find((ms) => ms > lastMs) ?? UNAUTHORIZED_WAITS_MS.at(-1)!;
}
