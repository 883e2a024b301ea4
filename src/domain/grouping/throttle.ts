/** How many notifications a receiver is told, when its configuration caps them in an hour or folds storms. */

const WINDOW_US = 3_600_000_000;

export interface Admission {
  /** When notifications of the last hour were told; instants that the clock has not reached are not counted. */
  readonly recentUs: readonly number[];
  /** When the next one may be told; null for now. */
  readonly freeAtUs: number | null;
}

/** `queuedAtUs` in the order of time; `max` is 1 or more. In no hour more than `max` are admitted. */
export function admission(queuedAtUs: readonly number[], max: number, nowUs: number): Admission {
  const recentUs = queuedAtUs.filter((atUs) => atUs > nowUs - WINDOW_US && atUs <= nowUs);
  const blocking = recentUs.at(-max);
  return { recentUs, freeAtUs: blocking === undefined ? null : blocking + WINDOW_US };
}

/** So many notifications of a storm are told by themselves. */
const FIRST_OF_STORM = 3;

/**
 * When the next notification may be told to a receiver that folds storms; null for now. Within two intervals the first
 * three are told at once. What comes then waits until the last one is an interval old and is told as one, and so on
 * while there is more than one to put together. `foldedAtUs`: when that happened last, 0 for never.
 */
export function afterStormUs(
  queuedAtUs: readonly number[],
  foldedAtUs: number,
  intervalMs: number,
  nowUs: number,
): number | null {
  const intervalUs = intervalMs * 1000;
  const recentUs = queuedAtUs.filter((atUs) => atUs > nowUs - 2 * intervalUs && atUs <= nowUs);
  const lastUs = recentUs.at(-1);
  if (lastUs === undefined || lastUs + intervalUs <= nowUs) return null;
  const isStorm = recentUs.length >= FIRST_OF_STORM || recentUs.includes(foldedAtUs);
  return isStorm ? lastUs + intervalUs : null;
}
