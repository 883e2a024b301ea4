import { type Clock, sleep } from '../../time/clock.ts';
import { isBusy } from './failure.ts';
import { LOCK_RETRY_MS } from './transaction-queue.ts';

/** How a program that has locked the store is waited for. */
export interface LockPatience {
  readonly clock: Clock;
  /** Default: ten seconds. */
  readonly patienceMs?: number | undefined;
  /** Called once, with the first failure, if another attempt follows. */
  readonly away?: ((error: unknown) => void) | undefined;
}

const PATIENCE_MS = 10_000;

/** Calls `open` again until no other program has locked the store, or throws what it threw last. */
export async function whenFree<T>(
  open: () => T | Promise<T>,
  { clock, patienceMs = PATIENCE_MS, away }: LockPatience,
): Promise<T> {
  const beganMs = clock.monotonicMs();
  for (let tries = 0; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isBusy(error) || clock.monotonicMs() - beganMs >= patienceMs) throw error;
      if (tries === 0) away?.(error);
      await sleep(clock, LOCK_RETRY_MS);
    }
  }
}
