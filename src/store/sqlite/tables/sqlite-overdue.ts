/**
 * What is looked at for Flights that do not end and Birds that do not fly. Each open Flight and each active Bird has
 * an instant at which it is judged next, so that one look reads only those whose time has come, however many there
 * are: a Flight that has been waiting for days costs a row now and then.
 */
import type { Place } from '../../../domain/alert/fact.ts';
import type { FlightOutcome } from '../../../domain/grouping/notification.ts';
import type { FlightStore } from '../../flight-store.ts';
import type { OverdueStore } from '../../overdue-store.ts';
import type { Connection } from '../connection.ts';
import { type AlertRow, alertOf } from './sqlite-alerts.ts';

type Judged = OverdueStore & Pick<FlightStore, 'latestEnds' | 'lastOutcomes' | 'durations' | 'gaps'>;

interface PlaceRow {
  readonly region: string;
  readonly nest_id: string | null;
  readonly nest: string | null;
  readonly bird_id: string;
  readonly bird: string | null;
}

export function createOverdue(connection: Connection): Judged {
  const ends = connection.prepare<{ key: string; at_us: number; type: string }>(
    `SELECT stream.region || '/' || stream.feed || '/' || event.id AS key, occurred_us AS at_us, type
     FROM event JOIN stream USING (stream)
     WHERE stream = ? AND type IN ('flight.failed', 'flight.succeeded') ORDER BY occurred_us DESC LIMIT ?`,
  );
  const outcomes = connection.prepare<{ type: string }>(
    `SELECT type FROM event
     WHERE stream = (SELECT stream FROM stream WHERE region = ? AND feed = 'flight' AND bird_id = ?)
       AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
     ORDER BY occurred_us DESC, id DESC LIMIT ?`,
  );
  const flights = connection.prepare<PlaceRow & { stream: number; id: string; started_us: number }>(
    `SELECT flight.stream, flight.id, flight.started_us, stream.region, stream.bird_id, bird.nest_id,
       bird.name AS bird, nest.name AS nest
     FROM flight INDEXED BY flight_in_air
       JOIN stream USING (stream)
       LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
       LEFT JOIN nest ON nest.region = stream.region AND nest.nest_id = bird.nest_id
     WHERE flight.open = 1 AND flight.started_us > 0 AND flight.started_us <= ? AND flight.judge_us <= ?
     ORDER BY flight.started_us LIMIT ?`,
  );
  const judgeFlight = connection.prepare(
    'UPDATE flight SET judge_us = ?4 WHERE stream = ?1 AND started_us = ?2 AND id = ?3',
  );
  const birds = connection.prepare<
    PlaceRow & {
      trigger_type: string;
      status_since_us: number;
      stream: number | null;
      cursor_us: number | null;
    }
  >(
    `SELECT bird.region, bird.bird_id, bird.nest_id, bird.name AS bird, nest.name AS nest, bird.trigger_type,
       bird.status_since_us, stream.stream, stream.cursor_us
     FROM bird INDEXED BY bird_judged
       LEFT JOIN stream
         ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
       LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
     WHERE bird.present = 1 AND bird.status = 'active' AND bird.judge_us <= ?
     ORDER BY bird.judge_us LIMIT ?`,
  );
  const judgeBird = connection.prepare('UPDATE bird SET judge_us = ?3 WHERE region = ?1 AND bird_id = ?2');
  const forgetFlights = connection.prepare(
    'UPDATE flight INDEXED BY flight_in_air SET judge_us = 0 WHERE open = 1 AND judge_us > 0',
  );
  const forgetBirds = connection.prepare('UPDATE bird SET judge_us = 0 WHERE judge_us > 0');
  const durations = connection.prepare<{ us: number }>(
    `SELECT ended_us - started_us AS us
     FROM (SELECT * FROM flight WHERE stream = ? AND started_us > 0 ORDER BY started_us DESC LIMIT 500)
     WHERE open = 0 AND status = 'succeeded' AND ended_us >= started_us`,
  );
  const gaps = connection.prepare<{ count: number; longest_us: number; span_us: number }>(
    `SELECT count(gap) AS count, coalesce(max(gap), 0) AS longest_us,
       coalesce(max(started_us) - min(started_us), 0) AS span_us
     FROM (SELECT started_us, started_us - lag(started_us) OVER (ORDER BY started_us) AS gap
       FROM (SELECT started_us FROM flight WHERE stream = ? AND started_us > 0
         ORDER BY started_us DESC LIMIT 3000))`,
  );
  const gone = connection.prepare<AlertRow>(
    `SELECT body FROM alert INDEXED BY alert_firing
     WHERE state = 'firing' AND alertname = ? AND NOT EXISTS (
       SELECT 1 FROM flight JOIN stream USING (stream)
       WHERE stream.region = alert.region AND stream.feed = 'flight'
         AND stream.bird_id = alert.body ->> '$.labels.bird_id'
         AND flight.started_us = alert.body ->> '$.memory.startedAtUs'
         AND flight.id = alert.body ->> '$.labels.flight_id' AND flight.open = 1)
     ORDER BY id`,
  );

  return {
    async latestEnds(stream, limit) {
      return ends
        .all(stream, limit)
        .map((row) => ({ key: row.key, atUs: row.at_us, failed: row.type === 'flight.failed' }));
    },
    async lastOutcomes(region, birdId, limit) {
      return outcomes
        .all(region, birdId, limit)
        .map(({ type }) => type.slice('flight.'.length) as FlightOutcome)
        .toReversed();
    },
    async flights(startedUs, nowUs, limit) {
      return flights.all(startedUs, nowUs, limit).map((row) => ({
        stream: row.stream,
        flightId: row.id,
        startedAtUs: row.started_us,
        place: placeOf(row),
      }));
    },
    async judgeFlights(judged) {
      for (const { stream, startedAtUs, flightId, nextUs } of judged) {
        judgeFlight.run(stream, startedAtUs, flightId, nextUs);
      }
    },
    async birds(nowUs, limit) {
      return birds.all(nowUs, limit).map((row) => ({
        place: placeOf(row),
        triggerType: row.trigger_type,
        statusSinceUs: row.status_since_us,
        stream: row.stream ?? undefined,
        lastStartUs: row.cursor_us ?? 0,
      }));
    },
    async judgeBirds(judged) {
      for (const { region, birdId, nextUs } of judged) judgeBird.run(region, birdId, nextUs);
    },
    async forget() {
      forgetFlights.run();
      forgetBirds.run();
    },
    async durations(stream) {
      return durations.all(stream).map((row) => row.us);
    },
    async gaps(stream) {
      const { count, longest_us: longestUs, span_us: spanUs } = gaps.get(stream)!;
      return { count, longestUs, spanUs };
    },
    async alertsOfGoneFlights(alertname) {
      return gone.all(alertname).map(alertOf);
    },
  };
}

function placeOf(row: PlaceRow): Place {
  const { region, bird_id: birdId, nest_id: nestId, nest, bird } = row;
  return { region, nestId: nestId ?? '', nest: nest ?? '', birdId, bird: bird ?? '' };
}
