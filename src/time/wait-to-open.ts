import { type Clock, sleep } from './clock.ts';

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
