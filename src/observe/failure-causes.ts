/**
 * Decides which causes of failures get a series of their own: the most frequent ones of each region. The texts come
 * from outside, so without a limit each failure could create a series. Any other cause counts as `_other` until it
 * was seen more often than the rarest one shown. Then it takes that one's place: the rarest one's series is removed,
 * and its later failures count as `_other`. So no counter ever falls, and from then on their sum is the number of all
 * failures.
 */

import { LIMITS } from '../limits.ts';

const OTHER = '_other';
const NONE = '_none';

/** The most causes counted for each region to find the frequent ones; the oldest is forgotten first. */
const REMEMBERED = 1_000;

interface FailureCauses {
  /** The value of the label `error`. Calls `gone` for a cause whose series must be removed. */
  labelOf(region: string, error: string, gone: (error: string) => void): string;
}

interface Region {
  readonly shown: Map<string, number>;
  readonly waiting: Map<string, number>;
}

export function createFailureCauses(): FailureCauses {
  const regions = new Map<string, Region>();

  return {
    labelOf(name, error, gone) {
      if (error === OTHER) return OTHER;
      const cause = error || NONE;
      const region = regions.get(name) ?? { shown: new Map(), waiting: new Map() };
      regions.set(name, region);
      const { shown, waiting } = region;
      const count = (shown.get(cause) ?? waiting.get(cause) ?? 0) + 1;
      if (shown.has(cause) || shown.size < LIMITS.shown_causes.most) {
        shown.set(cause, count);
        return cause;
      }
      const [rarest, least] = [...shown].reduce((one, other) => (other[1] < one[1] ? other : one));
      if (count <= least) {
        remember(waiting, cause, count);
        return OTHER;
      }
      shown.delete(rarest);
      gone(rarest);
      remember(waiting, rarest, least);
      waiting.delete(cause);
      shown.set(cause, count);
      return cause;
    },
  };
}

function remember(waiting: Map<string, number>, cause: string, count: number): void {
  waiting.delete(cause);
  waiting.set(cause, count);
  if (waiting.size > REMEMBERED) waiting.delete(waiting.keys().next().value!);
}
