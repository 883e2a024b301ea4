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
import { columnsOf, given, type Statements } from '../statements.ts';

/** The next judgement of each open Flight and active Bird is in its own row, with an index. */
export class PostgresOverdue implements OverdueStore {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]> {
    const rows = await this.#statements.rows<FlightToJudgeRow>(
      `SELECT flight.stream, flight.id, flight.started_us, stream.region, stream.bird_id, bird.nest_id,
         bird.name AS bird, nest.name AS nest
       FROM flight JOIN stream USING (stream)
         LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
         LEFT JOIN nest ON nest.region = stream.region AND nest.nest_id = bird.nest_id
       WHERE flight.open AND flight.started_us > 0 AND flight.started_us <= $1 AND flight.judge_us <= $2
       ORDER BY flight.started_us, flight.stream, flight.id LIMIT $3`,
      startedUs,
      nowUs,
      limit,
    );
    return rows.map(flightToJudge);
  }

  async judgeFlights(flights: readonly JudgedFlight[]): Promise<void> {
    if (flights.length === 0) return;
    const rows = flights.map((one) => [one.stream, one.startedAtUs, one.flightId, one.nextUs]);
    await this.#statements.run(
      `UPDATE flight SET judge_us = given.next_us
       FROM ${given('stream bigint, started_us bigint, id text, next_us bigint')}
       WHERE flight.stream = given.stream AND flight.started_us = given.started_us AND flight.id = given.id`,
      ...columnsOf(4, rows),
    );
  }

  async birds(nowUs: number, limit: number): Promise<BirdToJudge[]> {
    const rows = await this.#statements.rows<BirdToJudgeRow>(
      `SELECT bird.region, bird.bird_id, bird.nest_id, bird.name AS bird, nest.name AS nest, bird.trigger_type,
         bird.status_since_us, bird.first_status, stream.stream, stream.cursor_us
       FROM bird
         LEFT JOIN stream
           ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
         LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id
       WHERE bird.present AND bird.status = 'active' AND bird.judge_us <= $1
       ORDER BY bird.judge_us, bird.region, bird.bird_id LIMIT $2`,
      nowUs,
      limit,
    );
    return rows.map(birdToJudge);
  }

  async judgeBirds(birds: readonly JudgedBird[]): Promise<void> {
    if (birds.length === 0) return;
    const rows = birds.map((one) => [one.region, one.birdId, one.nextUs]);
    await this.#statements.run(
      `UPDATE bird SET judge_us = given.next_us FROM ${given('region text, bird_id text, next_us bigint')}
       WHERE bird.region = given.region AND bird.bird_id = given.bird_id`,
      ...columnsOf(3, rows),
    );
  }

  async forget(): Promise<void> {
    await this.#statements.run('UPDATE flight SET judge_us = 0 WHERE open AND judge_us > 0');
    await this.#statements.run('UPDATE bird SET judge_us = 0 WHERE judge_us > 0');
  }

  async alertsOfGoneFlights(alertname: string): Promise<Alert[]> {
    const rows = await this.#statements.rows<AlertRow>(
      `SELECT body FROM alert
       WHERE state = 'firing' AND alertname = $1 AND NOT EXISTS (
         SELECT 1 FROM flight JOIN stream USING (stream)
         WHERE stream.region = alert.region AND stream.feed = 'flight' AND stream.bird_id = alert.bird_id
           AND flight.started_us = alert.flight_started_us AND flight.id = alert.flight_id AND flight.open)
       ORDER BY id`,
      alertname,
    );
    return rows.map(alertOf);
  }
}
