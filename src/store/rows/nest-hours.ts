import type { Event } from '../../domain/alert/event.ts';

/** Microseconds in an hour, the unit by which the Flights of a Nest are counted. */
export const HOUR_US = 3_600_000_000;

/** How long hours are kept, even if events are kept shorter. */
export const HOURS_KEPT = 90 * 24;

/** A row of `nest_hour`, or what is added to it. */
interface NestHour {
  readonly region: string;
  readonly nestId: string;
  readonly hour: number;
  succeeded: number;
  failed: number;
  /** Those of them that ended in the second half of the hour. */
  lateSucceeded: number;
  lateFailed: number;
}

/** Counts the ends of Flights by Nest and hour, so that a Nest's figures are known without reading its events. */
export function nestHours(events: readonly Event[]): NestHour[] {
  const hours = new Map<string, NestHour>();
  for (const { type, region, nestId, occurredAtUs } of events) {
    if (type !== 'flight.succeeded' && type !== 'flight.failed') continue;
    const hour = Math.floor(occurredAtUs / HOUR_US);
    const key = `${hour}/${region}/${nestId}`;
    const one = hours.get(key) ?? {
      region,
      nestId,
      hour,
      succeeded: 0,
      failed: 0,
      lateSucceeded: 0,
      lateFailed: 0,
    };
    hours.set(key, one);
    const late = occurredAtUs % HOUR_US >= HOUR_US / 2 ? 1 : 0;
    if (type === 'flight.failed') {
      one.failed += 1;
      one.lateFailed += late;
    } else {
      one.succeeded += 1;
      one.lateSucceeded += late;
    }
  }
  return [...hours.values()];
}
