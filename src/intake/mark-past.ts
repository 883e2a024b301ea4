import { BEFORE_WATCH } from '../domain/alert/event.ts';
import type { EventCandidate } from './commit.ts';

/**
 * Marks history of a Bird that came to be watched later than its region: nothing else in the store would say why it has
 * raised no alert. `watchedSinceUs` says since when a Bird is watched, or for '' the region.
 */
export function markPast(
  candidate: EventCandidate,
  birdId: string,
  watchedSinceUs: (birdId: string) => number,
): EventCandidate {
  const { event, historic } = candidate;
  const isPast =
    historic && event.occurredAtUs < watchedSinceUs(birdId) && event.occurredAtUs >= watchedSinceUs('');
  if (!isPast) return candidate;
  return { ...candidate, event: { ...event, attributes: { ...event.attributes, [BEFORE_WATCH]: true } } };
}
