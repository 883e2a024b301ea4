/** Follows how far the demo's daemon got, from its reports, to tell an event that is under way from one that is lost. */
import type { Happening } from '../../report.ts';
import type { TrueEvent } from '../../simulator/world/truth.ts';

export interface DemoProgress {
  /** Receives every report of the daemon. */
  hear(happening: Happening): void;
  /**
   * `read`: the event is stored. `unread`: its stream was not read since it was there. `shown`: the stream was read and
   * the event is not stored.
   */
  of(event: TrueEvent): 'read' | 'unread' | 'shown';
}

/** A failed Flight that shows no reason is held back for this long. */
const HELD_BACK_US = 15_000_000;

export function createDemoProgress(): DemoProgress {
  const stored = new Set<string>();
  /** When the last successful poll of each stream began. */
  const readUs = new Map<string, number>();
  const streamOf = (region: string, feed: string, birdId = '') =>
    `${region}/${feed}/${feed === 'notification' ? '' : birdId}`;
  return {
    hear(happening) {
      if (happening.what === 'event') stored.add(happening.key);
      if (happening.what !== 'poll' || happening.failure !== undefined) return;
      const { region, feed, birdId, atUs, durationMs } = happening;
      readUs.set(streamOf(region, feed, birdId), atUs - durationMs * 1000);
    },
    of({ key, feed, birdId, visibleAtUs }) {
      if (stored.has(key)) return 'read';
      const lastReadUs = readUs.get(streamOf(key.split('/', 1)[0]!, feed, birdId)) ?? 0;
      return lastReadUs > visibleAtUs + HELD_BACK_US ? 'shown' : 'unread';
    },
  };
}
