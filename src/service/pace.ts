/**
 * When a request to one region may leave. In order of what is asked: the breaker (does the region answer at all),
 * a free slot (bounded concurrency), a token (the adaptive rate). What waits is served in the order of arrival.
 *
 * Two sorts wait in the one queue: requests, and callers of `ready` who will choose what to ask only when their
 * turn has come. A turn that is offered to a caller of `ready` is held for a moment: the next request that arrives
 * takes it, ahead of the queue. If none does, the next in the queue has it.
 *
 * While the breaker is open nothing but its probe leaves: waiting requests fail at once, callers of `ready` wait for
 * the probe. After a first 401, with the region still called up, all wait for the probe.
 */

import { NestwatchError } from '../errors.ts';
import type { Clock, Random } from '../time/clock.ts';
import { Breaker, type RegionHealth } from './breaker.ts';
import { Rate } from './rate.ts';

/** The right to send one request; to be settled exactly once. */
export interface Permit {
  settle(outcome: Outcome): void;
}

export type Outcome =
  /** The service did its work, also where it said that there is no such thing. */
  | { readonly met: 'answer' }
  | { readonly met: 'failure'; readonly reason: string }
  /** Asked to slow down. `reason` is given where it may as well be an outage (503). */
  | { readonly met: 'refusal'; readonly retryAfterMs?: number | undefined; readonly reason?: string }
  | { readonly met: 'unauthorized'; readonly reason: string }
  | { readonly met: 'forbidden'; readonly reason: string }
  /** Never sent, or an answer that says nothing about the region. */
  | { readonly met: 'nothing' };

interface PaceOptions {
  /** Ceiling of the rate. */
  readonly requestsPerSecond: number;
  readonly concurrency: number;
  /** The rate to begin with; without it the rate begins slowly. */
  readonly startPerSecond?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with the first level, and when it has changed by a percent. */
  readonly onRate: (requestsPerSecond: number) => void;
}

/** Requests a second to begin with, where nothing is known. */
const FIRST_RATE = 2;

/** Retries are a tenth of what is sent, and a few at first. */
const RETRY_SHARE = 0.1;
const MOST_RETRIES_SAVED = 10;

interface Waiting {
  readonly sort: 'request' | 'ready';
  readonly go: () => void;
  readonly fail: (error: NestwatchError) => void;
}

export class Pace {
  readonly #concurrency: number;
  readonly #clock: Clock;
  readonly #onRate: (requestsPerSecond: number) => void;
  readonly #listeners: ((health: RegionHealth) => void)[] = [];
  readonly #breaker: Breaker;
  readonly #rate: Rate;
  readonly #queue: Waiting[] = [];
  #underWay = 0;
  #isOffered = false;
  #cancelWake = () => {};
  #retries = MOST_RETRIES_SAVED;
  #reportedRate = 0;
  #isClosed = false;
  readonly #settledAll = Promise.withResolvers<void>();

  constructor(options: PaceOptions) {
    this.#concurrency = options.concurrency;
    this.#clock = options.clock;
    this.#onRate = options.onRate;
    this.#breaker = new Breaker(options.clock, options.random, (health) => {
      if (health.health === 'up') this.#rate.restart(this.#clock.monotonicMs());
      for (const listener of this.#listeners) listener(health);
    });
    this.#rate = new Rate({
      ceiling: options.requestsPerSecond,
      startPerSecond: options.startPerSecond ?? FIRST_RATE,
      random: options.random,
      nowMs: options.clock.monotonicMs(),
    });
    this.#reportRate();
  }

  /** Waits for the turn of one request. Rejects with `circuit_open`, `unauthorized` or `cancelled`. */
  admit(): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(this.#cancelled());
      const waiting: Waiting = { sort: 'request', go: () => resolve(this.#leave()), fail: reject };
      if (this.#isOffered) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      this.#isOffered = false;
      this.#serve();
    });
  }

  /** Resolves when a request would be admitted; also when `signal` aborts or the pace closes. */
  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed || signal?.aborted) return resolve();
      const end = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        end();
        this.#serve();
      };
      const offer = () => {
        this.#isOffered = true;
        end();
      };
      const waiting: Waiting = { sort: 'ready', go: offer, fail: end };
      signal?.addEventListener('abort', giveUp);
      this.#queue.push(waiting);
      this.#serve();
    });
  }

  /** Takes one retry from the budget, if there is one. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries -= 1;
    return true;
  }

  /** Requests a second now allowed. */
  rate(): number {
    return this.#rate.level();
  }

  /** What the region bears as far as is known. */
  bearableRate(): number {
    return this.#rate.bearable();
  }

  /** An earlier life has learned a rate, so long ago. To be called before the first request. */
  rememberRate(perSecond: number, ageMs: number): void {
    this.#rate.remember(perSecond, ageMs);
    this.#reportRate();
  }

  /** How long nothing leaves because the service asked for a pause; 0 for none. */
  pausedMs(): number {
    return this.#rate.pausedMs(this.#clock.monotonicMs());
  }

  /** Whether there is room for requests that can also be left out. */
  slack(): boolean {
    return (
      this.#breaker.health().health === 'up' &&
      this.#breaker.waitMs() === 0 &&
      this.#queue.length === 0 &&
      this.#underWay * 2 < this.#concurrency &&
      this.#rate.hasRoom(this.#clock.monotonicMs())
    );
  }

  health(): RegionHealth {
    return this.#breaker.health();
  }

  onHealthChange(listener: (health: RegionHealth) => void): void {
    this.#listeners.push(listener);
  }

  /** Lets a request probe the region now, as after a new token or when a person says that it is mended. */
  probeNow(): void {
    this.#breaker.probeNow();
    this.#serve();
  }

  /** Ends all waiting; resolves when every permit is settled. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake();
    for (const waiting of this.#queue.splice(0)) waiting.fail(this.#cancelled());
    if (this.#underWay === 0) this.#settledAll.resolve();
    return this.#settledAll.promise;
  }

  /** Reports the rate where it has changed by a percent. */
  #reportRate(): void {
    const level = this.#rate.level();
    if (Math.abs(level - this.#reportedRate) < this.#reportedRate / 100) return;
    this.#reportedRate = level;
    this.#onRate(level);
  }

  /** How long until a request may leave; Infinity: until one that is under way ends. */
  #waitMs(): number {
    const breakerMs = this.#breaker.waitMs();
    if (breakerMs > 0) return breakerMs;
    if (this.#underWay >= this.#concurrency) return Number.POSITIVE_INFINITY;
    return this.#rate.waitMs(this.#clock.monotonicMs());
  }

  /** Serves the queue as far as is possible now, and arranges to be called again where time alone must pass. */
  #serve(): void {
    this.#cancelWake();
    for (;;) {
      if (this.#breaker.health().health !== 'up' && this.#breaker.waitMs() > 0) this.#failRequests();
      const next = this.#queue[0];
      if (!next) return;
      const ms = this.#waitMs();
      if (ms > 0 || this.#isOffered) {
        if (ms < Number.POSITIVE_INFINITY) this.#wakeIn(ms);
        return;
      }
      this.#queue.shift();
      next.go();
    }
  }

  #wakeIn(ms: number): void {
    const wake = () => (ms > 0 ? this.#serve() : this.#offerOn());
    this.#cancelWake = this.#clock.setTimer(ms, wake);
  }

  /** The offered turn was not taken: the next in the queue may have it. */
  #offerOn(): void {
    this.#isOffered = false;
    this.#serve();
  }

  /** Ends all waiting requests, but not the callers of `ready`. */
  #failRequests(): void {
    const { health, reason } = this.#breaker.health();
    const code = health === 'unauthorized' ? 'unauthorized' : 'circuit_open';
    for (let at = this.#queue.length - 1; at >= 0; at -= 1) {
      if (this.#queue[at]!.sort === 'request') {
        const [waiting] = this.#queue.splice(at, 1);
        waiting!.fail(new NestwatchError(code, `the region is not asked for now: ${reason}`));
      }
    }
  }

  /** Lets one request leave now. */
  #leave(): Permit {
    const sentAtMs = this.#clock.monotonicMs();
    this.#rate.take(sentAtMs);
    const isProbe = this.#breaker.leave();
    this.#underWay += 1;
    this.#retries = Math.min(MOST_RETRIES_SAVED, this.#retries + RETRY_SHARE);
    this.#reportRate();
    let isSettled = false;
    return {
      settle: (outcome) => {
        if (isSettled) return;
        isSettled = true;
        this.#underWay -= 1;
        this.#learn(outcome, isProbe, sentAtMs);
        this.#reportRate();
        if (this.#isClosed && this.#underWay === 0) this.#settledAll.resolve();
        this.#serve();
      },
    };
  }

  /** Passes on to the rate and to the breaker what a request has met. */
  #learn(outcome: Outcome, isProbe: boolean, sentAtMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    switch (outcome.met) {
      case 'answer':
        this.#rate.answered(nowMs - sentAtMs, nowMs);
        this.#breaker.answered(isProbe);
        break;
      case 'refusal': {
        // A burst of refusals is one: what left before the cut would have been refused anyway.
        const isNewRefusal = this.#rate.refused(sentAtMs, outcome.retryAfterMs, nowMs);
        if (outcome.reason !== undefined && isNewRefusal) this.#breaker.failed(isProbe, outcome.reason);
        else if (outcome.reason === undefined && this.#breaker.health().health === 'down')
          this.#breaker.answered(isProbe);
        else this.#breaker.abandoned(isProbe);
        break;
      }
      case 'failure':
        this.#breaker.failed(isProbe, outcome.reason);
        break;
      case 'unauthorized':
        this.#breaker.unauthorized(isProbe, outcome.reason);
        break;
      case 'forbidden':
        this.#breaker.forbidden(isProbe, outcome.reason);
        break;
      case 'nothing':
        this.#breaker.abandoned(isProbe);
        break;
    }
  }

  #cancelled(): NestwatchError {
    return new NestwatchError('cancelled', 'the region is no longer asked: nestwatch is stopping');
  }
}
