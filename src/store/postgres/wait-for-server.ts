import { type Clock, sleep } from '../../time/clock.ts';
import { isMendedByTime } from './postgres-failure.ts';

/** How often a server that is away is tried. */
const RETRY_MS = 1_000;

interface Patience {
  readonly clock: Clock;
  readonly patienceMs: number;
  /** Called once, with the first failure, if another attempt follows. */
  readonly away: (error: unknown) => void;
}

/**
 * Opens something on a server, which may be restarting or failing over: what time mends is tried until `patienceMs` have
 * passed. A refused password or a missing database fails at once.
 */
export async function waitForServer<T>(
  open: () => Promise<T>,
  { clock, patienceMs, away }: Patience,
): Promise<T> {
  const beganMs = clock.monotonicMs();
  for (let tries = 0; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isMendedByTime(error) || clock.monotonicMs() - beganMs >= patienceMs) throw error;
      if (tries === 0) away(error);
      await sleep(clock, RETRY_MS);
    }
  }
}
