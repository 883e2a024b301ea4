/**
 * Knows which integrations' mails are slow, for example because the server examines one recipient for a minute. All
 * integrations with the same login share a few connections. One that holds each of them for long would make the others
 * wait again and again. So an integration whose mail was slow uses other connections until one of its mails is quick.
 */
import type { Clock } from '../../time/clock.ts';
import type { Attempt } from '../channel.ts';

/** A mail takes a fraction of a second, or some seconds if the server examines it. */
const SLOW_MS = 10_000;

interface SlowIntegrations {
  /** Tracks a mail that is to be sent. */
  of(attempt: Pick<Attempt, 'receiver' | 'position'>): {
    /** Whether its integration's last mail was slow, or one that is under way is. */
    readonly isSlow: boolean;
    /** A connection has taken it. The wait for that says nothing about the integration. */
    begin(): void;
    /** The try has ended, with whatever outcome. */
    end(): void;
  };
}

export function createSlowIntegrations(clock: Clock): SlowIntegrations {
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
