/**
 * Restores how often entries arrived in each stream of a region, from the events in the store. So a restart begins
 * with the learned rates, and nothing has to be stored for that.
 */
import { isOwnFeed } from '../../domain/alert/event.ts';
import type { Store } from '../../store/store.ts';
import { flightsName, logName } from '../stream-name.ts';
import { MEMORY_MS, QUIET_ENTRY } from './poll-value.ts';
import type { Seen } from './schedule.ts';

/**
 * By stream name; empty for a region that was never watched. `lookbackMs` is how far back the first reading of the
 * region went.
 */
export async function recallSeen(
  store: Store,
  region: string,
  lookbackMs: number,
): Promise<Map<string, Seen>> {
  return store.transaction(async (tx) => {
    const seen = new Map<string, Seen>();
    const watchedSinceUs = await tx.inventory.knownSince(region);
    const newestUs = (await tx.streams.list(region)).reduce((us, { cursorUs }) => Math.max(us, cursorUs), 0);
    // Counted back from the newest entry, since the time that nobody watched says nothing about the rates.
    if (watchedSinceUs === undefined || newestUs === 0) return seen;
    const watchedMs = (newestUs - watchedSinceUs) / 1000 + lookbackMs;
    const coveredMs = Math.min(MEMORY_MS.hours, watchedMs);
    if (coveredMs <= 0) return seen;
    for (const { feed, birdId, events } of await tx.streams.countEvents(
      region,
      newestUs - coveredMs * 1000,
    )) {
      if (birdId === '' || isOwnFeed(feed)) continue;
      if (feed === 'flight') seen.set(flightsName(birdId), { entries: events, coveredMs });
      // What these entries may have raised is not counted: the next EventError shows again how its trigger is.
      else seen.set(logName(birdId), { entries: events * QUIET_ENTRY, coveredMs });
    }
    return seen;
  });
}
