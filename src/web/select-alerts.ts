/** Applies a client's matchers to alerts without blocking other work. */
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../limits.ts';
import type { Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { refuse } from './requests/query.ts';

/** After this time other work gets a turn. */
const TURN_MS = 20;

/**
 * The items that match, in their order. Other work runs in between. Throws `usage` if the evaluation exceeds its time
 * limit.
 */
export async function select<T>(
  items: readonly T[],
  fits: (item: T) => boolean,
  { clock, report }: { readonly clock: Clock; readonly report: Report },
): Promise<T[]> {
  const found: T[] = [];
  let spentMs = 0;
  let turnMs = clock.monotonicMs();
  for (const item of items) {
    if (fits(item)) found.push(item);
    const lastedMs = clock.monotonicMs() - turnMs;
    if (spentMs + lastedMs > LIMITS.matching_ms.most) {
      report({ what: 'limit_reached', limit: 'matching_ms' });
      throw refuse('these matchers take too long with the alerts that fire: use simpler regular expressions');
    }
    if (lastedMs < TURN_MS) continue;
    await setImmediate();
    spentMs += lastedMs;
    turnMs = clock.monotonicMs();
  }
  return found;
}
