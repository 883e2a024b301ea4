/**
 * One life of the daemon's process, which can end at once. A dead process does nothing more: its timers never ring,
 * its transactions that were not committed are gone, its requests are never answered. So everything that the daemon
 * holds of the outside is given to it through here.
 */

import type { Store, Transaction } from '../../src/store/store.ts';
import type { Clock } from '../../src/time/clock.ts';
import { changed } from '../store/changed-transaction.ts';

/** Where a process is killed. */
export type CrashPoint = 'rolled_back' | 'committed' | 'sending' | 'accepted';

export interface Mortal {
  readonly clock: Clock;
  isDead(): boolean;
  /** Infinity while it lives. */
  diedAtUs(): number;
  die(): void;
  /** To die at a point of this kind, after so many more have been passed. */
  doom(point: CrashPoint, passing: number): void;
  /** Not to die after all. */
  pardon(): void;
  /** Asked at every point; true: the life ends here. */
  endsAt(point: CrashPoint, savesNews?: boolean): boolean;
  store(inner: Store): Store;
  /** The answer, or none for the dead. */
  answer<T>(promise: Promise<T>): Promise<T>;
}

export function createMortal(base: Clock, aheadUs: () => number, died: () => void): Mortal {
  const timers = new Set<() => void>();
  let dead = false;
  let diedAtUs = Number.POSITIVE_INFINITY;
  let fate: { readonly point: CrashPoint; readonly isOfNews: boolean; left: number } | undefined;
  const isAtTransaction = (point: CrashPoint) => point === 'rolled_back' || point === 'committed';

  const mortal: Mortal = {
    clock: {
      nowUs: () => base.nowUs() + aheadUs(),
      monotonicMs: base.monotonicMs,
      setTimer(ms, wake) {
        if (dead) return () => {};
        const cancel = base.setTimer(ms, () => {
          timers.delete(cancel);
          wake();
        });
        timers.add(cancel);
        return () => {
          timers.delete(cancel);
          cancel();
        };
      },
    },
    isDead: () => dead,
    diedAtUs: () => diedAtUs,
    die() {
      if (dead) return;
      dead = true;
      diedAtUs = base.nowUs();
      for (const cancel of timers) cancel();
      timers.clear();
      died();
    },
    doom(point, passing) {
      // Most transactions only read: half of these crashes wait for one that saves events.
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
            if (!dead) resolve(value);
          },
          (error) => {
            if (!dead) reject(error);
          },
        );
      }),
    store: (inner) => ({
      space: inner.space,
      transaction(work) {
        let savesNews = false;
        const watched = (tx: Transaction): Transaction =>
          changed(tx, {
            events: {
              async insert(stream, events) {
                const fresh = await tx.events.insert(stream, events);
                savesNews ||= fresh.length > 0;
                return fresh;
              },
            },
          });
        const committed = inner.transaction(async (tx) => {
          if (dead) throw new Error('a dead process begins no transaction');
          const value = await work(fate?.isOfNews ? watched(tx) : tx);
          if (mortal.endsAt('rolled_back', savesNews)) throw new Error('the process died before the commit');
          return value;
        });
        return mortal.answer(
          committed.then((value) => {
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
