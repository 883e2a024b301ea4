/**
 * How each Bird stands, kept in its row: its last Flight, how the last one ended that failed or succeeded, and how many
 * alerts about it fire. A list of ten thousand Birds, those in trouble first, is then read from one index.
 */
import type { FlightRecord } from '../../flight-store.ts';
import type { Connection } from '../connection.ts';

/** Statuses that say how a Bird stands: a Flight that was cancelled or is active says nothing. */
const OUTCOMES = new Set(['failed', 'succeeded']);

export interface BirdStanding {
  /** These Flights were seen. */
  seen(flights: readonly FlightRecord[]): void;
  /** Alerts of these scopes have changed; scopes that are no Bird's are passed over. */
  alerted(scopes: Iterable<string>): void;
}

/** How many alerts of a scope fire; `scope` is an expression. */
export function firingAlerts(scope: string): string {
  return `(SELECT count(*) FROM alert WHERE alert.scope = ${scope} AND alert.state = 'firing')`;
}

export function createBirdStanding(connection: Connection): BirdStanding {
  const ofStream = '(region, bird_id) = (SELECT region, bird_id FROM stream WHERE stream = ?1)';
  const last = connection.prepare(
    `UPDATE bird SET last_us = ?2, last_flight = ?3, last_status = ?4 WHERE ${ofStream} AND last_us <= ?2`,
  );
  const outcome = connection.prepare(
    `UPDATE bird SET outcome_us = ?2, outcome = ?3 WHERE ${ofStream} AND outcome_us <= ?2`,
  );
  const firing = connection.prepare(
    `UPDATE bird SET firing = ${firingAlerts('?3')}
     WHERE region = ?1 AND bird_id = ?2 AND firing <> ${firingAlerts('?3')}`,
  );
  return {
    seen(flights) {
      for (const [stream, all] of Map.groupBy(flights, (one) => one.stream)) {
        const { startedAtUs, flightId, status } = latest(all)!;
        last.run(stream, startedAtUs, flightId, status);
        const ended = latest(all.filter((one) => !one.open && OUTCOMES.has(one.status)));
        if (ended) outcome.run(stream, ended.startedAtUs, ended.status);
      }
    },
    alerted(scopes) {
      for (const scope of new Set(scopes)) {
        const [, region, birdId] = /^([^/]+)\/bird\/(.+)$/s.exec(scope) ?? [];
        if (region !== undefined && birdId !== undefined) firing.run(region, birdId, scope);
      }
    },
  };
}

function latest(flights: readonly FlightRecord[]): FlightRecord | undefined {
  return flights.reduce<FlightRecord | undefined>(
    (found, one) => (found && found.startedAtUs > one.startedAtUs ? found : one),
    undefined,
  );
}
