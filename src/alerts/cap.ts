/** How many notifications a receiver is told in an hour, when its configuration caps them. */

const WINDOW_US = 3_600_000_000;

export interface Admission {
  /** When notifications of the last hour were told; instants that the clock has not reached are not counted. */
  readonly recentUs: readonly number[];
  /** When the next one may be told; null for now. */
  readonly freeAtUs: number | null;
}

/** `toldAtUs` in the order of time; `max` is 1 or more. In no hour more than `max` are admitted. */
export function admission(toldAtUs: readonly number[], max: number, nowUs: number): Admission {
  const recentUs = toldAtUs.filter((atUs) => atUs > nowUs - WINDOW_US && atUs <= nowUs);
  const blocking = recentUs.at(-max);
  return { recentUs, freeAtUs: blocking === undefined ? null : blocking + WINDOW_US };
}
