/**
 * Which causes of failures have a series of their own: in each region the most frequent ones. The texts come from
 * outside, so that without a bound each failure could make a series. Another cause counts under `_other` until it
 * was seen more often than the rarest one that is shown, whose place it then takes: that one's series goes, and what
 * comes of it later is `_other` too. So a counter never falls, and their sum is all failures from then on.
 */

import { LIMITS } from '../limits.ts';

const OTHER = '_other';
const NONE = '_none';

/** How many causes of a region are counted at the most to find the frequent ones; the oldest is forgotten first. */
const REMEMBERED = 1_000;

interface FailureCauses {
  /** The value of the label `error`; calls `gone` for one whose series has to go. */
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
