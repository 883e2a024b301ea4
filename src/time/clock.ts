/**
 * Time as an argument. Only the process's edge creates `systemClock`; tests and the simulation pass a virtual clock,
 * so that days pass in milliseconds and events always happen in the same order.
 */
export interface Clock {
  /** The wall clock, in whole microseconds since 1970-01-01T00:00:00Z. It may jump forward or back. */
  nowUs(): number;
  /** A clock that never jumps, in milliseconds; for durations only. */
  monotonicMs(): number;
  /** Calls `wake` once, no sooner than `ms` milliseconds from now. The returned function cancels it. */
  setTimer(ms: number, wake: () => void): () => void;
}

/** Chance as an argument: a number in [0, 1). */
export type Random = () => number;

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.setTimer(ms, finish);
    signal?.addEventListener('abort', finish);
  });
}

/** Wakes a waiting loop. A ring while nobody waits is kept for the next wait, so none is missed. */
export interface Bell {
  ring(): void;
  /**
   * Resolves at the next ring, after `ms` milliseconds (Infinity: never by time), or when `signal` aborts. The result
   * says whether it rang.
   */
  wait(ms: number, signal?: AbortSignal): Promise<boolean>;
}

export function createBell(clock: Clock): Bell {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    wait(ms, signal) {
      if (rung || signal?.aborted) {
        const isRung = rung;
        rung = false;
        return Promise.resolve(isRung);
      }
      return new Promise((resolve) => {
        const finish = () => {
          const isRung = rung;
          rung = false;
          wake = undefined;
          cancel();
          signal?.removeEventListener('abort', finish);
          resolve(isRung);
        };
        const cancel = ms === Number.POSITIVE_INFINITY ? () => {} : clock.setTimer(ms, finish);
        signal?.addEventListener('abort', finish);
        wake = finish;
      });
    },
  };
}

/** The longest delay that Node's timers support; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export function systemClock(): Clock {
  return {
    nowUs: () => Date.now() * 1000,
    monotonicMs: () => performance.now(),
    setTimer(ms, wake) {
      const timer = setTimeout(wake, Math.min(Math.max(0, ms), MAX_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

// Notices that the wall clock was set, by comparing it with the clock that never jumps.

export interface ClockReading {
  readonly wallUs: number;
  readonly monotonicMs: number;
}

/** Smaller steps are ordinary clock synchronization. */
export const LEAST_STEP_US = 5_000_000;

export function readClock(clock: Clock): ClockReading {
  return { wallUs: clock.nowUs(), monotonicMs: clock.monotonicMs() };
}

/**
 * How far the wall clock was set ahead between two readings, in microseconds; negative if it was set back. A machine
 * that was suspended counts as a clock that was set ahead.
 */
export function aheadOf(last: ClockReading, present: ClockReading): number {
  return Math.round(present.wallUs - last.wallUs - (present.monotonicMs - last.monotonicMs) * 1000);
}

/**
 * Follows the clock of a store that several replicas share. Between two answers of the store it runs on the local monotonic
 * clock. All replicas date what they write by it, so that something written by one of them comes due at the same instant
 * for all, even if the clocks of their machines are wrong.
 */
export interface StoreClock extends Clock {
  /** The store's clock read `storeUs` at some time after `askedMs` (monotonic) and before now. */
  heard(storeUs: number, askedMs: number): void;
  /** By how many microseconds the machine's own clock is ahead of the store's; negative when it is behind. */
  ownAheadUs(): number;
}

/** Shows the machine's own clock until it has heard from the store. */
export function createStoreClock(own: Clock): StoreClock {
  let base: { readonly us: number; readonly ms: number } | undefined;
  const nowUs = () => (base ? base.us + Math.round((own.monotonicMs() - base.ms) * 1000) : own.nowUs());
  return {
    nowUs,
    monotonicMs: own.monotonicMs,
    setTimer: own.setTimer,
    heard(storeUs, askedMs) {
      const ms = own.monotonicMs();
      // The store's clock is now at least `storeUs`, and later by no more than the request took.
      const mostUs = storeUs + Math.round((ms - askedMs) * 1000);
      const us = Math.min(Math.max(nowUs(), storeUs), mostUs);
      if (!base || us !== nowUs()) base = { us, ms };
    },
    ownAheadUs: () => own.nowUs() - nowUs(),
  };
}

/** Something that can let other work run, such as a transaction of the store. */
interface Pausing {
  pause(): Promise<unknown>;
}

/**
 * How much work is done between two turns of the event loop. The unit is a comparison of a text with one instruction
 * of a regular expression, or a step as simple. It takes some milliseconds. With the longest texts of alerts and the
 * slowest expressions it takes 20 ms, and as much again while those are compiled.
 */
const MOST_AT_ONCE = 5_000;

/** Call this after each piece of work with its amount. If it returns a promise, await it. */
export type PauseAfter = (work: number) => Promise<unknown> | undefined;

/** Makes long work pause now and then, so that the process can do other things. */
export function pausing(at: Pausing): PauseAfter {
  let done = 0;
  return (work) => {
    done += work;
    if (done < MOST_AT_ONCE) return undefined;
    done = 0;
    return at.pause();
  };
}

/** Runs work in the background until it is ended: one task alone, or all of them. */

export interface Task {
  /** Asks the work to end, and resolves when it has ended. */
  end(): Promise<void>;
}

export interface Tasks {
  /** Starts work that runs until the given signal aborts; `ending` aborts only when all tasks are asked to end. */
  begin(work: (signal: AbortSignal, ending: AbortSignal) => Promise<void>): Task;
  /** Resolves when all tasks were asked to end and have ended; rejects as soon as one task's work rejects. */
  readonly done: Promise<void>;
}

/** Asks all tasks to end when `signal` aborts. The first task must be begun in the same turn of the event loop. */
export function createTasks(signal: AbortSignal): Tasks {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let underWay = 0;

  function look(): void {
    if (signal.aborted && underWay === 0) resolve();
  }

  if (signal.aborted) queueMicrotask(look);
  else signal.addEventListener('abort', look, { once: true });
  return {
    begin(work) {
      const own = new AbortController();
      underWay += 1;
      const ended = work(AbortSignal.any([signal, own.signal]), signal).then(() => {
        underWay -= 1;
        look();
      }, reject);
      return {
        end() {
          own.abort();
          return ended;
        },
      };
    },
    done,
  };
}

/** How what cannot be opened yet is waited for. */
export interface Patience {
  readonly clock: Clock;
  readonly patienceMs: number;
  /** Called once, with the first failure, if another attempt follows. */
  readonly away?: ((error: unknown) => void) | undefined;
}

/** Calls `open` every `everyMs` while it fails with what time mends, or throws what it threw last. */
export async function waitToOpen<T>(
  open: () => T | Promise<T>,
  isMendedByTime: (error: unknown) => boolean,
  everyMs: number,
  { clock, patienceMs, away }: Patience,
): Promise<T> {
  const beganMs = clock.monotonicMs();
  for (let tries = 0; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isMendedByTime(error) || clock.monotonicMs() - beganMs >= patienceMs) throw error;
      if (tries === 0) away?.(error);
      await sleep(clock, everyMs);
    }
  }
}
