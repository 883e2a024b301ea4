/**
 * Keeps each Bird's standing in its row: its last Flight, how its last finished Flight (failed or succeeded) ended,
 * and how many alerts about it fire. So a list of ten thousand Birds, those in trouble first, is read from one index.
 */
import { birdOfScope } from '../../../domain/alert/fact.ts';
import { decidesStanding, type FlightRecord, latestFlight } from '../../event-store.ts';
import type { RowStatement, Sql } from '../sql.ts';

/** An SQL expression for how many alerts of a Bird fire; both arguments are expressions. */
export function firingAlerts(region: string, birdId: string): string {
  return `(SELECT count(*) FROM alert WHERE ${isFiringAlertOf(region, birdId)})`;
}

/** An SQL condition that an alert is about a Bird and fires. */
export function isFiringAlertOf(region: string, birdId: string): string {
  return `alert.region = ${region} AND alert.scope = ${region} || '/bird/' || ${birdId} AND alert.state = 'firing'`;
}

const OF_STREAM =
  'stream.stream = given.stream AND bird.region = stream.region AND bird.bird_id = stream.bird_id';
const LAST: RowStatement = {
  columns: 'stream bigint, us bigint, id text, status text',
  text: (given) => `UPDATE bird SET last_us = given.us, last_flight = given.id, last_status = given.status
    FROM ${given}, stream WHERE ${OF_STREAM} AND bird.last_us <= given.us`,
};
const OUTCOME: RowStatement = {
  columns: 'stream bigint, us bigint, status text',
  text: (given) => `UPDATE bird SET outcome_us = given.us, outcome = given.status
    FROM ${given}, stream WHERE ${OF_STREAM} AND bird.outcome_us <= given.us`,
};
const FIRING: RowStatement = {
  columns: 'region text, bird_id text',
  text: (given) => `UPDATE bird SET firing = counted.firing
    FROM (SELECT region, bird_id, ${firingAlerts('given.region', 'given.bird_id')} AS firing FROM ${given}) AS counted
    WHERE bird.region = counted.region AND bird.bird_id = counted.bird_id AND bird.firing <> counted.firing`,
};

export class BirdStanding {
  readonly #sql: Sql;
  readonly #changed = new Set<string>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Records that these Flights were seen. */
  async seen(flights: readonly FlightRecord[]): Promise<void> {
    const streams = [...Map.groupBy(flights, (one) => one.stream)];
    const last = streams.map(([stream, all]) => {
      const { startedAtUs, flightId, status } = latestFlight(all)!;
      return [stream, startedAtUs, flightId, status];
    });
    await this.#sql.write(LAST, last);
    const ended = streams.flatMap(([stream, all]) => {
      const one = latestFlight(all.filter(decidesStanding));
      return one ? [[stream, one.startedAtUs, one.status]] : [];
    });
    await this.#sql.write(OUTCOME, ended);
  }

  /** Records that alerts of these scopes changed; scopes that are not of a Bird are ignored. */
  alerted(scopes: Iterable<string>): void {
    for (const scope of scopes) this.#changed.add(scope);
  }

  /** Counts the firing alerts of the Birds whose alerts the transaction has changed; call this before it ends. */
  async write(): Promise<void> {
    if (this.#changed.size === 0) return;
    const birds = [...this.#changed].flatMap((scope) => {
      const bird = birdOfScope(scope);
      return bird ? [[bird.region, bird.birdId]] : [];
    });
    this.#changed.clear();
    await this.#sql.write(FIRING, birds);
  }

  /** Discards what was not counted, because the transaction was rolled back. */
  forget(): void {
    this.#changed.clear();
  }
}
