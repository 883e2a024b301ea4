/**
 * One life of the daemon's process, which can end at any moment. A dead process does nothing more: its timers never
 * fire, its uncommitted transactions are gone, its requests are never answered. So everything outside that the daemon
 * uses is passed to it through this file. It can also be paused, as by SIGSTOP: then what arrives waits, and its
 * timers fire late.
 */

import type { Store, Transaction } from '../../src/store/store.ts';
import type { Clock } from '../../src/time/clock.ts';
import { changed } from '../store/changed-transaction.ts';

/** Where a process is killed. */
export type CrashPoint = 'rolled_back' | 'committed' | 'sending' | 'accepted';

export interface Mortal {
  readonly clock: Clock;
  isDead(): boolean;
  /** Infinity while it runs. */
  diedAtUs(): number;
  die(): void;
  /** From now on nothing of it runs until it is continued. */
  pause(): void;
  goOn(): void;
  isPaused(): boolean;
  /**
   * The first instant, at or after the given one, at which it could not do its work: dead, paused, or cut off;
   * Infinity if there is none.
   */
  unwellAfterUs(us: number): number;
  /** From now on something keeps it from its work, until this is repaired. */
  falter(): void;
  mend(): void;
  /** Dies at a point of this kind, after this many others. */
  doom(point: CrashPoint, passing: number): void;
  /** Cancels `doom`. */
  pardon(): void;
  /** Called at every point; true if the life ends here. */
  endsAt(point: CrashPoint, savesNews?: boolean): boolean;
  store(inner: Store): Store;
  /** The answer; never resolves once the process is dead. */
  answer<T>(promise: Promise<T>): Promise<T>;
}

/** By then it has done what it had to postpone. */
const MENDED_US = 10e6;

/** What had not begun when the process was paused begins when it is continued. */
const PAUSED = new Error('a paused process begins no transaction');

export function createMortal(base: Clock, aheadUs: () => number, died: () => void): Mortal {
  const timers = new Set<() => void>();
  let dead = false;
  let diedAtUs = Number.POSITIVE_INFINITY;
  let fate: { readonly point: CrashPoint; readonly isOfNews: boolean; left: number } | undefined;
  /** What waits until it is continued; undefined while it runs. */
  let held: (() => void)[] | undefined;
  const unwell: { readonly fromUs: number; toUs: number }[] = [];
  /** Now, or when it is continued. */
  const live = (what: () => void) => {
    if (held) held.push(what);
    else if (!dead) what();
  };
  const isAtTransaction = (point: CrashPoint) => point === 'rolled_back' || point === 'committed';

  const mortal: Mortal = {
    clock: {
      nowUs: () => base.nowUs() + aheadUs(),
      monotonicMs: base.monotonicMs,
      setTimer(ms, wake) {
        if (dead) return () => {};
        const cancel = base.setTimer(ms, () => {
          timers.delete(cancel);
          live(wake);
        });
        timers.add(cancel);
        return () => {
          timers.delete(cancel);
          cancel();
          // The timer may already have fired while it is paused.
          held = held?.filter((one) => one !== wake);
        };
      },
    },
    isDead: () => dead,
    diedAtUs: () => diedAtUs,
    die() {
      if (dead) return;
      dead = true;
      diedAtUs = base.nowUs();
      mortal.falter();
      for (const cancel of timers) cancel();
      timers.clear();
      held = undefined;
      died();
    },
    pause() {
      if (dead || held) return;
      held = [];
      mortal.falter();
    },
    goOn() {
      const waiting = held ?? [];
      held = undefined;
      mortal.mend();
      for (const what of waiting) live(what);
    },
    isPaused: () => held !== undefined,
    unwellAfterUs(us) {
      const next = unwell.find(({ toUs }) => toUs >= us);
      return next ? Math.max(us, next.fromUs) : Number.POSITIVE_INFINITY;
    },
    falter: () => void unwell.push({ fromUs: base.nowUs(), toUs: Number.POSITIVE_INFINITY }),
    mend() {
      const last = unwell.at(-1);
      if (last && !dead) last.toUs = base.nowUs() + MENDED_US;
    },
    doom(point, passing) {
      // Most transactions only read, so half of these crashes wait for one that stores events.
      const isOfNews = isAtTransaction(point) && passing % 2 === 0;
      fate = { point, isOfNews, left: isOfNews ? passing >> 2 : passing };
    },
    pardon() {
      fate = undefined;
    },
    endsAt(point, savesNews = false) {
      if (dead) return true;
      if (fate?.point !== point || (fate.isOfNews && !savesNews)) return false;
      fate.left -= 1;
      if (fate.left >= 0) return false;
      mortal.die();
      return true;
    },
    answer: (promise) =>
      new Promise((resolve, reject) => {
        promise.then(
          (value) => {
            live(() => resolve(value));
          },
          (error) => {
            live(() => reject(error));
          },
        );
      }),
    store: (inner) => ({
      space: inner.space,
      transaction<T>(work: (tx: Transaction) => Promise<T>) {
        let savesNews = false;
        const watched = (tx: Transaction): Transaction =>
          changed(tx, {
            events: {
              async insert(stream, events) {
                const fresh = await tx.events.insert(stream, events);
                savesNews ||= fresh.length > 0;
                return fresh;
              },
              async insertNoticed(region, events) {
                const fresh = await tx.events.insertNoticed(region, events);
                savesNews ||= fresh.length > 0;
                return fresh;
              },
            },
          });
        const begun = (): Promise<T> =>
          inner
            .transaction(async (tx) => {
              if (dead) throw new Error('a dead process begins no transaction');
              if (held) throw PAUSED;
              const value = await work(fate?.isOfNews ? watched(tx) : tx);
              if (mortal.endsAt('rolled_back', savesNews)) {
                throw new Error('the process died before the commit');
              }
              return value;
            })
            .catch(async (error) => {
              if (error !== PAUSED) throw error;
              await new Promise<void>((resolve) => live(resolve));
              return begun();
            });
        return mortal.answer(
          begun().then((value) => {
            mortal.endsAt('committed', savesNews);
            return value;
          }),
        );
      },
      close: inner.close,
    }),
  };
  return mortal;
}
