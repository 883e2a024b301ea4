/**
 * Keeps each Bird's standing in its row: its last Flight, how its last finished Flight (failed or succeeded) ended,
 * and how many alerts about it fire. So a list of ten thousand Birds, those in trouble first, is read from one index.
 */
import { birdOfScope } from '../../../domain/alert/fact.ts';
import type { FlightRecord } from '../../flight-store.ts';
import { decidesStanding, latestFlight } from '../../rows/flight-row.ts';
import { firingAlerts } from '../../sql/firing-alerts.ts';
import { type Connection, encodeText } from '../connection.ts';

export interface BirdStanding {
  /** Records that these Flights were seen. */
  seen(flights: readonly FlightRecord[]): void;
  /** Records that alerts of these scopes changed; scopes that are not of a Bird are ignored. */
  alerted(scopes: Iterable<string>): void;
  /** Counts the firing alerts of the Birds whose alerts the transaction has changed; call this before it ends. */
  write(): void;
  /** Discards what was not counted, because the transaction was rolled back. */
  forget(): void;
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
    `UPDATE bird SET firing = ${firingAlerts('bird.region', 'bird.bird_id')}
     WHERE (region, bird_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
       AND firing <> ${firingAlerts('bird.region', 'bird.bird_id')}`,
  );
  const changed = new Set<string>();
  return {
    seen(flights) {
      for (const [stream, all] of Map.groupBy(flights, (one) => one.stream)) {
        const { startedAtUs, flightId, status } = latestFlight(all)!;
        last.run(stream, startedAtUs, flightId, status);
        const ended = latestFlight(all.filter(decidesStanding));
        if (ended) outcome.run(stream, ended.startedAtUs, ended.status);
      }
    },
    alerted(scopes) {
      for (const scope of scopes) changed.add(scope);
    },
    write() {
      if (changed.size === 0) return;
      const birds = [...changed].flatMap((scope) => {
        const bird = birdOfScope(scope);
        return bird ? [[bird.region, bird.birdId].map(encodeText)] : [];
      });
      changed.clear();
      if (birds.length > 0) firing.run(JSON.stringify(birds));
    },
    forget: () => changed.clear(),
  };
}
