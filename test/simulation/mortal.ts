/**
 * One life of the daemon's process, which can end at once. A dead process does nothing more: its timers never ring,
 * its transactions that were not committed are gone, its requests are never answered. So everything that the daemon
 * holds of the outside is given to it through here. It can also be paused, as by SIGSTOP: then what comes for it waits,
 * and its timers ring late.
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
  /** From then on nothing of it runs, until it goes on. */
  pause(): void;
  goOn(): void;
  isPaused(): boolean;
  /** When it first was unable to do its work at or after that instant: dead, paused, or cut off; Infinity for never. */
  unwellAfterUs(us: number): number;
  /** Something keeps it from its work from now on, until it is mended. */
  falter(): void;
  mend(): void;
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

/** What it had to put off is done by then. */
const MENDED_US = 10e6;

/** What was not begun before the process was paused is begun when it goes on. */
const PAUSED = new Error('a paused process begins no transaction');

export function createMortal(base: Clock, aheadUs: () => number, died: () => void): Mortal {
  const timers = new Set<() => void>();
  let dead = false;
  let diedAtUs = Number.POSITIVE_INFINITY;
  let fate: { readonly point: CrashPoint; readonly isOfNews: boolean; left: number } | undefined;
  /** What waits for it to go on; undefined while it runs. */
  let held: (() => void)[] | undefined;
  const unwell: { readonly fromUs: number; toUs: number }[] = [];
  /** Now, or when it goes on. */
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
          // It may ring already for one that is paused.
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
