/** How a big notification is split for those who take it in parts: each alert, or event, is in exactly one of them. */
import type { Listed } from './flush.ts';
import { MAX_EVENTS } from './notification.ts';

/** Alerts in one part at the most. */
export const PART_ALERTS = 500;
/**
 * Events listed in one message at the most; a single alert has no more than `MAX_EVENTS`. With messages as long as they
 * may be these are 16 MB, which are written, read and sent as one text.
 */
export const PART_EVENTS = 500;

/** Events listed of each alert, where all of these alerts stand in one message. */
export function eventsOfEach(listed: readonly Listed[]): number {
  const all = listed.reduce((sum, { newEvents }) => sum + Math.min(newEvents, MAX_EVENTS), 0);
  return all <= PART_EVENTS ? MAX_EVENTS : Math.max(1, Math.floor(PART_EVENTS / listed.length));
}

/** Events in one message for those who take events and no alerts: what a batch of CloudEvents may hold. */
export const BATCH_EVENTS = 100;

/** The parts, in the order of the alerts. */
export function partsOf(listed: readonly Listed[]): Listed[][] {
  const parts: Listed[][] = [];
  let events = 0;
  for (const one of listed) {
    const own = Math.min(one.newEvents, MAX_EVENTS);
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

/** All newEvents events in parts, in the order of the alerts; one with many goes on in the next. */
export function batchesOf(listed: readonly Listed[]): Listed[][] {
  const batches: Listed[][] = [];
  let room = 0;
  for (const one of listed) {
    for (let done = 0; done < one.newEvents; ) {
      if (room === 0) {
        batches.push([]);
        room = BATCH_EVENTS;
      }
      const newEvents = Math.min(room, one.newEvents - done);
      batches.at(-1)!.push({ ...one, newEvents, afterSeq: one.afterSeq + done });
      done += newEvents;
      room -= newEvents;
    }
  }
  return batches;
}
