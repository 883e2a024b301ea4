/** How a big notification is split for those who take it in parts: each alert is in exactly one of them. */
import type { Listed } from './flush.ts';
import { MAX_EVENTS } from './notification.ts';

/** Alerts in one part at the most. */
export const PART_ALERTS = 500;
/** Events listed in one part at the most; a single alert has no more than `MAX_EVENTS`. */
export const PART_EVENTS = 2_000;

/** The parts, in the order of the alerts. */
export function partsOf(listed: readonly Listed[]): Listed[][] {
  const parts: Listed[][] = [];
  let events = 0;
  for (const one of listed) {
    const own = Math.min(one.untold, MAX_EVENTS);
    const last = parts.at(-1);
    if (last && last.length < PART_ALERTS && events + own <= PART_EVENTS) {
      last.push(one);
      events += own;
    } else {
      parts.push([one]);
      events = own;
    }
  }
  return parts;
}
