import { BEFORE_WATCH } from '../domain/alert/event.ts';
import type { EventCandidate } from './commit.ts';

/**
 * Records in an event that is history why it is: its Bird came to be watched later than its region. Nothing else in the
 * store would explain why the event raised no alert. `watchedSinceUs` says since when a Bird (or, for '', the region)
 * is watched.
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
