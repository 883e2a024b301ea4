/** Splits a large notification for integrations that take parts: each alert or event is in exactly one part. */
import { kindOf } from '../kinds/kinds.ts';
import type { Listed } from './flush.ts';
import { MAX_EVENTS } from './notification.ts';

/** The most alerts in one part. */
export const PART_ALERTS = 500;
/**
 * The most events listed in one message; a single alert has at most `MAX_EVENTS`, unless its events are told nowhere
 * else. With messages of maximal length these are 16 MB, written, read and sent as one text.
 */
export const PART_EVENTS = 500;

/** How many events to list for each alert if all of these alerts are in one message. */
export function eventsOfEach(listed: readonly Listed[]): number {
  const most = Math.max(MAX_EVENTS, ...listed.map(mostEventsOf));
  const all = listed.reduce((sum, { newEvents }) => sum + Math.min(newEvents, most), 0);
  return all <= PART_EVENTS ? most : Math.max(1, Math.floor(PART_EVENTS / listed.length));
}

/** Whoever is told of a cause that many Birds share is told of no other alert with their failures. */
function mostEventsOf({ alert: { alertname } }: Listed): number {
  return kindOf(alertname)?.words.listsEvents ? PART_EVENTS : MAX_EVENTS;
}

/** The most events in one message for integrations that take only events: the size of a batch of CloudEvents. */
export const BATCH_EVENTS = 100;

/** The parts, in the order of the alerts. */
export function partsOf(listed: readonly Listed[]): Listed[][] {
  const parts: Listed[][] = [];
  let events = 0;
  for (const one of listed) {
    const own = Math.min(one.newEvents, mostEventsOf(one));
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

/** All new events in parts, in the order of the alerts; an alert with many continues in the next part. */
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
