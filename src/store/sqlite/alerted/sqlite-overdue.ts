import type { Alert } from '../../../domain/alert/alert.ts';
import type {
  BirdToJudge,
  FlightToJudge,
  JudgedBird,
  JudgedFlight,
  OverdueStore,
} from '../../overdue-store.ts';
import { type AlertRow, alertOf } from '../../rows/alert-row.ts';
import {
  type BirdToJudgeRow,
  birdToJudge,
  type FlightToJudgeRow,
  flightToJudge,
} from '../../rows/overdue-row.ts';
import type { Connection } from '../connection.ts';

/**
 * The next judgement of each open Flight and active Bird is in its own row, with an index. So a check costs only what
 * is due, however many others there are.
 */
export class SqliteOverdue implements OverdueStore {
  readonly #flights: ReturnType<typeof prepareFlights>;
  readonly #birds: ReturnType<typeof prepareBirds>;

  constructor(connection: Connection) {
    this.#flights = prepareFlights(connection);
    this.#birds = prepareBirds(connection);
  }

  async flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]> {
    return this.#flights.due.all(startedUs, nowUs, limit).map(flightToJudge);
  }

  async judgeFlights(flights: readonly JudgedFlight[]): Promise<void> {
    for (const { stream, startedAtUs, flightId, nextUs } of flights) {
      this.#flights.judge.run(stream, startedAtUs, flightId, nextUs);
    }
  }

  async birds(nowUs: number, limit: number): Promise<BirdToJudge[]> {
    return this.#birds.due.all(nowUs, limit).map(birdToJudge);
  }

  async judgeBirds(birds: readonly JudgedBird[]): Promise<void> {
    for (const { region, birdId, nextUs } of birds) this.#birds.judge.run(region, birdId, nextUs);
  }

  async forget(): Promise<void> {
    this.#flights.forget.run();
    this.#birds.forget.run();
  }

  async alertsOfGoneFlights(alertname: string): Promise<Alert[]> {
    return this.#flights.gone.all(alertname).map(alertOf);
  }
}

function prepareFlights(connection: Connection) {
  return {
    due: connection.prepare<FlightToJudgeRow>(
      `SELECT flight.stream, flight.id, flight.started_us, stream.region, stream.bird_id, bird.nest_id,
         bird.name AS bird, nest.name AS nest
       FROM flight INDEXED BY flight_in_air
         JOIN stream USING (stream)
         LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
         LEFT JOIN nest ON nest.region = stream.region AND nest.nest_id = bird.nest_id
       WHERE flight.open = 1 AND flight.started_us > 0 AND flight.started_us <= ? AND flight.judge_us <= ?
       ORDER BY flight.started_us LIMIT ?`,
    ),
    judge: connection.prepare(
      'UPDATE flight SET judge_us = ?4 WHERE stream = ?1 AND started_us = ?2 AND id = ?3',
    ),
    forget: connection.prepare(
      'UPDATE flight INDEXED BY flight_in_air SET judge_us = 0 WHERE open = 1 AND judge_us > 0',
    ),
    gone: connection.prepare<AlertRow>(
      `SELECT body FROM alert INDEXED BY alert_firing
       WHERE state = 'firing' AND alertname = ? AND NOT EXISTS (
         SELECT 1 FROM flight JOIN stream USING (stream)
         WHERE stream.region = alert.region AND stream.feed = 'flight'
           AND stream.bird_id = alert.body ->> '$.labels.bird_id'
           AND flight.started_us = alert.body ->> '$.memory.startedAtUs'
           AND flight.id = alert.body ->> '$.labels.flight_id' AND flight.open = 1)
       ORDER BY id`,
    ),
  };
}

function prepareBirds(connection: Connection) {
  return {
    due: connection.prepare<BirdToJudgeRow>(
      `SELECT bird.region, bird.bird_id, bird.nest_id, bird.name AS bird, nest.name AS nest, bird.trigger_type,
         bird.status_since_us, bird.first_status, stream.stream, stream.cursor_us
       FROM bird INDEXED BY bird_judged
         LEFT JOIN stream
           ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
         LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
       WHERE bird.present = 1 AND bird.status = 'active' AND bird.judge_us <= ?
       ORDER BY bird.judge_us LIMIT ?`,
    ),
    judge: connection.prepare('UPDATE bird SET judge_us = ?3 WHERE region = ?1 AND bird_id = ?2'),
    forget: connection.prepare('UPDATE bird SET judge_us = 0 WHERE judge_us > 0'),
  };
}
