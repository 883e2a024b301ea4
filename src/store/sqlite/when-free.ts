import { type Patience, waitToOpen } from '../../time/wait-to-open.ts';
import { isBusy } from './failure.ts';
import { LOCK_RETRY_MS } from './transaction-queue.ts';

/** How a program that has locked the store is waited for: ten seconds by default. */
export type LockPatience = Omit<Patience, 'patienceMs'> & { readonly patienceMs?: number | undefined };

const PATIENCE_MS = 10_000;

/** Calls `open` again until no other program has locked the store, or throws what it threw last. */
export function whenFree<T>(
  open: () => T | Promise<T>,
  { patienceMs = PATIENCE_MS, ...patience }: LockPatience,
): Promise<T> {
  return waitToOpen(open, isBusy, LOCK_RETRY_MS, { ...patience, patienceMs });
}
