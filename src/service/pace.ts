/**
 * Decides when a request to one region may be sent. It must pass, in this order: the breaker (does the region answer at
 * all), a free slot (bounded concurrency), and a token (the adaptive rate). The queue is served first come, first
 * served.
 *
 * Two kinds of callers wait in it: those with a request, and callers of `ready`, who choose what to ask for only when
 * it is their turn. A turn that is offered to a caller of `ready` is held for a moment: the next request that arrives
 * takes it, ahead of the queue. If none does, the next in the queue gets it.
 *
 * While the breaker is open only its probe is sent: waiting requests fail at once, and callers of `ready` wait for the
 * probe. After a first 401, while the region still counts as up, all wait for the probe.
 */

import { NestwatchError } from '../errors.ts';
import type { RegionHealth } from '../region-progress.ts';
import type { Clock, Random } from '../time/clock.ts';
import { Breaker } from './breaker.ts';
import { Rate } from './rate.ts';

/** The right to send one request. It must be settled exactly once. */
export interface Permit {
  settle(outcome: Outcome): void;
}

export type Outcome =
  /** The service did its work, even if it said that the resource does not exist. */
  | { readonly met: 'answer' }
  | { readonly met: 'failure'; readonly reason: string }
  /** The service asked to slow down. `reason` is given if it may as well be an outage (503). */
  | { readonly met: 'refusal'; readonly retryAfterMs?: number | undefined; readonly reason?: string }
  | { readonly met: 'unauthorized'; readonly reason: string }
  | { readonly met: 'forbidden'; readonly reason: string }
  /** Never sent, or the answer says nothing about the region. */
  | { readonly met: 'nothing' };

interface PaceOptions {
  /** The ceiling of the rate. */
  readonly requestsPerSecond: number;
  readonly concurrency: number;
  /** The initial rate; by default it starts low. */
  readonly startPerSecond?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with the first rate, and whenever it has changed by a percent. */
  readonly onRate: (requestsPerSecond: number) => void;
}

/** The initial requests a second if nothing is known. */
const FIRST_RATE = 2;

/** The retry budget: a tenth of what is sent, plus a few at the start. */
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

  /** Waits until one request may be sent. Rejects with `circuit_open`, `unauthorized` or `cancelled`. */
  admit(): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(this.#cancelled());
      const waiting: Waiting = { sort: 'request', go: () => resolve(this.#leave()), fail: reject };
      // A turn that was offered to whoever waits to be `ready` is that of the first request after it.
      if (this.#isOffered) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      this.#isOffered = false;
      this.#serve();
    });
  }

  /** Resolves when a request would be admitted, and also when `signal` aborts or the pace closes. */
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

  /** Takes one retry from the budget; false if it is used up. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries -= 1;
    return true;
  }

  /** A request that was sent then was refused because of the rate, which showed only later. */
  wasLimited(sentAtMs: number): void {
    this.#rate.refused(sentAtMs, undefined, this.#clock.monotonicMs());
    this.#reportRate();
  }

  /** The requests a second that are allowed now. */
  rate(): number {
    return this.#rate.level();
  }

  /** The rate that the region is known to accept. */
  bearableRate(): number {
    return this.#rate.bearable(this.#clock.monotonicMs());
  }

  /** Starts from a rate that an earlier process learned `ageMs` ago. To be called before the first request. */
  rememberRate(perSecond: number, ageMs: number): void {
    this.#rate.remember(perSecond, ageMs);
    this.#reportRate();
  }

  /** How long nothing is sent because the service asked for a pause; 0 if it did not. */
  pausedMs(): number {
    return this.#rate.pausedMs(this.#clock.monotonicMs());
  }

  /** Whether there is room for optional requests. */
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

  /** Lets a request probe the region now, for example after the token was replaced or when a person asks for it. */
  probeNow(): void {
    this.#breaker.probeNow();
    this.#serve();
  }

  /** Rejects everything that waits. Resolves when every permit is settled. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake();
    for (const waiting of this.#queue.splice(0)) waiting.fail(this.#cancelled());
    if (this.#underWay === 0) this.#settledAll.resolve();
    return this.#settledAll.promise;
  }

  /** Reports the rate if it has changed by a percent. */
  #reportRate(): void {
    const level = this.#rate.level();
    if (Math.abs(level - this.#reportedRate) < this.#reportedRate / 100) return;
    this.#reportedRate = level;
    this.#onRate(level);
  }

  /** How long until a request may be sent; Infinity: until one in flight ends. */
  #waitMs(): number {
    const breakerMs = this.#breaker.waitMs();
    if (breakerMs > 0) return breakerMs;
    if (this.#underWay >= this.#concurrency) return Number.POSITIVE_INFINITY;
    return this.#rate.waitMs(this.#clock.monotonicMs());
  }

  /** Serves the queue as far as possible now, and sets a timer if it is only time that must pass. */
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

  /** The offered turn was not taken, so the next in the queue may have it. */
  #offerOn(): void {
    this.#isOffered = false;
    this.#serve();
  }

  /** Rejects all waiting requests, but not the callers of `ready`. */
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

  /** Lets one request be sent now. */
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

  /** Tells the rate and the breaker the outcome of a request. */
  #learn(outcome: Outcome, isProbe: boolean, sentAtMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    switch (outcome.met) {
      case 'answer':
        this.#rate.answered(sentAtMs, nowMs);
        this.#breaker.answered(isProbe);
        break;
      case 'refusal': {
        // A burst of refusals counts once: what was sent before the cut would have been refused anyway.
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
