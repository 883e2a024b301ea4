import type { Event } from '../../../domain/alert/event.ts';
import type { Connection } from '../connection.ts';

/** Microseconds of an hour: what Flights of a Nest are counted by. */
export const HOUR_US = 3_600_000_000;

interface Tally {
  readonly region: string;
  readonly nestId: string;
  readonly hour: number;
  succeeded: number;
  failed: number;
}

/** Counts the ends of Flights by Nest and hour, so that how a Nest does is known without reading its events. */
export function createNestTally(connection: Connection): (events: readonly Event[]) => void {
  const add = connection.prepare(
    `INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed`,
  );
  return (events) => {
    const tallies = new Map<string, Tally>();
    for (const { type, region, nestId, occurredAtUs } of events) {
      if (type !== 'flight.succeeded' && type !== 'flight.failed') continue;
      const hour = Math.floor(occurredAtUs / HOUR_US);
      const key = `${hour}/${region}/${nestId}`;
      const tally = tallies.get(key) ?? { region, nestId, hour, succeeded: 0, failed: 0 };
      tallies.set(key, tally);
      if (type === 'flight.failed') tally.failed += 1;
      else tally.succeeded += 1;
    }
    for (const one of tallies.values()) {
      add.run(one.region, one.nestId, one.hour, one.succeeded, one.failed);
    }
  };
}
