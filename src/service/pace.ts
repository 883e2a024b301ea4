/**
 * When a request to one region may leave. In order of what is asked: the breaker (does the region answer at all),
 * a free slot (bounded concurrency), a token (the adaptive rate). Who waits is served in the order of arrival.
 *
 * Two sorts wait in the one queue: requests, and callers of `ready` who will choose what to ask only when their
 * turn has come. A turn that is offered to a caller of `ready` is held for a moment: the next request that arrives
 * takes it, ahead of the queue. If none does, the next in the queue has it.
 *
 * While the breaker is open nothing but its probe leaves: waiting requests fail at once, callers of `ready` wait for
 * the probe.
 */

import { NestwatchError } from '../errors.ts';
import type { Clock, Random } from '../time/clock.ts';
import { createBreaker, type RegionHealth } from './breaker.ts';
import { createRate } from './rate.ts';

export interface Pace {
  /** Waits for the turn of one request. Rejects with `circuit_open`, `unauthorized` or `cancelled`. */
  admit(): Promise<Permit>;
  /** Resolves when a request would be admitted; also when `signal` aborts or the pace closes. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Takes one retry from the budget, if there is one. */
  takeRetry(): boolean;
  /** Requests a second now allowed. */
  rate(): number;
  /** How long nothing leaves because the service asked for a pause; 0 for none. */
  pausedMs(): number;
  /** Whether there is room for requests that can also be left out. */
  slack(): boolean;
  health(): RegionHealth;
  onHealthChange(listener: (health: RegionHealth) => void): void;
  /** Lets a request probe the region now, as after a new token. */
  probeNow(): void;
  /** Ends all waiting; resolves when every permit is settled. */
  close(): Promise<void>;
}

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
  /** Never sent, or an answer that tells nothing about the region. */
  | { readonly met: 'nothing' };

export interface PaceOptions {
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

export function createPace(options: PaceOptions): Pace {
  const { requestsPerSecond, concurrency, clock, random, onRate } = options;
  const listeners: ((health: RegionHealth) => void)[] = [];
  const breaker = createBreaker(clock, random, (health) => {
    if (health.health === 'up') rate.restart(clock.monotonicMs());
    for (const listener of listeners) listener(health);
  });
  const rate = createRate({
    ceiling: requestsPerSecond,
    startPerSecond: options.startPerSecond ?? FIRST_RATE,
    random,
    nowMs: clock.monotonicMs(),
  });
  const queue: Waiting[] = [];
  let underWay = 0;
  let isOffered = false;
  let cancelWake = () => {};
  let retries = MOST_RETRIES_SAVED;
  let toldRate = 0;
  let isClosed = false;
  const settledAll = Promise.withResolvers<void>();

  function tellRate(): void {
    const level = rate.level();
    if (Math.abs(level - toldRate) < toldRate / 100) return;
    toldRate = level;
    onRate(level);
  }

  /** How long until a request may leave; Infinity: until one that is under way ends. */
  function waitMs(): number {
    const breakerMs = breaker.waitMs();
    if (breakerMs > 0) return breakerMs;
    if (underWay >= concurrency) return Number.POSITIVE_INFINITY;
    return rate.waitMs(clock.monotonicMs());
  }

  /** Serves the queue as far as is possible now, and arranges to be called again where time alone must pass. */
  function serve(): void {
    cancelWake();
    for (;;) {
      if (breaker.waitMs() > 0) failRequests();
      const next = queue[0];
      if (!next) return;
      const ms = waitMs();
      if (ms > 0 || isOffered) {
        if (ms < Number.POSITIVE_INFINITY) cancelWake = clock.setTimer(ms, ms > 0 ? serve : offerOn);
        return;
      }
      queue.shift();
      next.go();
    }
  }

  /** Nobody took the offered turn: the next in the queue may have it. */
  function offerOn(): void {
    isOffered = false;
    serve();
  }

  function failRequests(): void {
    const { health, reason } = breaker.health();
    const code = health === 'unauthorized' ? 'unauthorized' : 'circuit_open';
    for (let at = queue.length - 1; at >= 0; at -= 1) {
      if (queue[at]!.sort === 'request') {
        const [waiting] = queue.splice(at, 1);
        waiting!.fail(new NestwatchError(code, `the region is not asked for now: ${reason}`));
      }
    }
  }

  function leave(): Permit {
    const sentAtMs = clock.monotonicMs();
    rate.take(sentAtMs);
    const isProbe = breaker.leave();
    underWay += 1;
    retries = Math.min(MOST_RETRIES_SAVED, retries + RETRY_SHARE);
    tellRate();
    let isSettled = false;
    return {
      settle(outcome) {
        if (isSettled) return;
        isSettled = true;
        underWay -= 1;
        learn(outcome, isProbe, sentAtMs);
        tellRate();
        if (isClosed && underWay === 0) settledAll.resolve();
        serve();
      },
    };
  }

  function learn(outcome: Outcome, isProbe: boolean, sentAtMs: number): void {
    const nowMs = clock.monotonicMs();
    switch (outcome.met) {
      case 'answer':
        rate.answered(nowMs - sentAtMs, nowMs);
        breaker.answered(isProbe);
        break;
      case 'refusal': {
        // A burst of refusals is one: what left before the cut would have been refused anyway.
        const isNews = rate.refused(sentAtMs, outcome.retryAfterMs, nowMs);
        if (outcome.reason !== undefined && isNews) breaker.failed(isProbe, outcome.reason);
        else if (outcome.reason === undefined && breaker.health().health === 'down')
          breaker.answered(isProbe);
        else breaker.abandoned(isProbe);
        break;
      }
      case 'failure':
        breaker.failed(isProbe, outcome.reason);
        break;
      case 'unauthorized':
        breaker.unauthorized(isProbe, outcome.reason);
        break;
      case 'forbidden':
        breaker.forbidden(isProbe, outcome.reason);
        break;
      case 'nothing':
        breaker.abandoned(isProbe);
        break;
    }
  }

  const cancelled = () =>
    new NestwatchError('cancelled', 'the region is no longer asked: nestwatch is stopping');

  tellRate();
  return {
    admit() {
      return new Promise((resolve, reject) => {
        if (isClosed) return reject(cancelled());
        const waiting: Waiting = { sort: 'request', go: () => resolve(leave()), fail: reject };
        if (isOffered) queue.unshift(waiting);
        else queue.push(waiting);
        isOffered = false;
        serve();
      });
    },
    ready(signal) {
      return new Promise((resolve) => {
        if (isClosed || signal?.aborted) return resolve();
        const end = () => {
          signal?.removeEventListener('abort', giveUp);
          resolve();
        };
        const giveUp = () => {
          queue.splice(queue.indexOf(waiting), 1);
          end();
          serve();
        };
        const offer = () => {
          isOffered = true;
          end();
        };
        const waiting: Waiting = { sort: 'ready', go: offer, fail: end };
        signal?.addEventListener('abort', giveUp);
        queue.push(waiting);
        serve();
      });
    },
    takeRetry() {
      if (retries < 1) return false;
      retries -= 1;
      return true;
    },
    rate: () => rate.level(),
    pausedMs: () => rate.pausedMs(clock.monotonicMs()),
    slack: () =>
      breaker.health().health === 'up' &&
      queue.length === 0 &&
      underWay * 2 < concurrency &&
      rate.hasRoom(clock.monotonicMs()),
    health: () => breaker.health(),
    onHealthChange(listener) {
      listeners.push(listener);
    },
    probeNow() {
      breaker.probeNow();
      serve();
    },
    close() {
      isClosed = true;
      cancelWake();
      for (const waiting of queue.splice(0)) waiting.fail(cancelled());
      if (underWay === 0) settledAll.resolve();
      return settledAll.promise;
    },
  };
}
