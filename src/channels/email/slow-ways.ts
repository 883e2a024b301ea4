/**
 * Which integrations' mails are slow, as where the server looks at one recipient for a minute. All integrations of a
 * login share a few connections: one that holds each of them for long would have all others wait, again and again. So
 * one whose mail took long goes by other connections, until a mail of it is quick again.
 */
import type { Clock } from '../../time/clock.ts';
import type { Attempt } from '../channel.ts';

/** A mail takes a fraction of a second, and some seconds where the server looks into it. */
const SLOW_MS = 10_000;

interface SlowWays {
  /** A mail that is to be sent. */
  of(attempt: Pick<Attempt, 'receiver' | 'position'>): {
    /** Whether the last of its integration was slow, or one of those under way is. */
    readonly isSlow: boolean;
    /** A connection has taken it: what it waited for that says nothing of it. */
    begin(): void;
    /** It is over, however it ended. */
    end(): void;
  };
}

export function createSlowWays(clock: Clock): SlowWays {
  const slow = new Set<string>();
  return {
    of({ receiver, position }) {
      const key = JSON.stringify([receiver, position]);
      let cancel: (() => void) | undefined;
      let beganMs: number | undefined;
      return {
        isSlow: slow.has(key),
        begin() {
          cancel?.();
          beganMs = clock.monotonicMs();
          cancel = clock.setTimer(SLOW_MS, () => slow.add(key));
        },
        end() {
          cancel?.();
          if (beganMs !== undefined && clock.monotonicMs() - beganMs < SLOW_MS) slow.delete(key);
        },
      };
    },
  };
}
