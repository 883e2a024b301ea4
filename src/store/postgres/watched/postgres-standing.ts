/**
 * Keeps each Bird's standing in its row: its last Flight, how its last finished Flight (failed or succeeded) ended,
 * and how many alerts about it fire. So a list of ten thousand Birds, those in trouble first, is read from one index.
 */
import { birdOfScope } from '../../../domain/alert/fact.ts';
import type { FlightRecord } from '../../flight-store.ts';
import { decidesStanding, latestFlight } from '../../rows/flight-row.ts';
import { firingAlerts } from '../../sql/firing-alerts.ts';
import { columnsOf, given, type Statements } from '../statements.ts';

const OF_STREAM =
  'stream.stream = given.stream AND bird.region = stream.region AND bird.bird_id = stream.bird_id';
const LAST = `UPDATE bird SET last_us = given.us, last_flight = given.id, last_status = given.status
  FROM ${given('stream bigint, us bigint, id text, status text')}, stream
  WHERE ${OF_STREAM} AND bird.last_us <= given.us`;
const OUTCOME = `UPDATE bird SET outcome_us = given.us, outcome = given.status
  FROM ${given('stream bigint, us bigint, status text')}, stream
  WHERE ${OF_STREAM} AND bird.outcome_us <= given.us`;
const FIRING = `UPDATE bird SET firing = counted.firing
  FROM (SELECT region, bird_id, ${firingAlerts('given.region', 'given.bird_id')} AS firing
    FROM ${given('region text, bird_id text')}) AS counted
  WHERE bird.region = counted.region AND bird.bird_id = counted.bird_id AND bird.firing <> counted.firing`;

export class PostgresStanding {
  readonly #statements: Statements;
  readonly #changed = new Set<string>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Records that these Flights were seen. */
  async seen(flights: readonly FlightRecord[]): Promise<void> {
    const streams = [...Map.groupBy(flights, (one) => one.stream)];
    const last = streams.map(([stream, all]) => {
      const { startedAtUs, flightId, status } = latestFlight(all)!;
      return [stream, startedAtUs, flightId, status];
    });
    await this.#statements.run(LAST, ...columnsOf(4, last));
    const ended = streams.flatMap(([stream, all]) => {
      const one = latestFlight(all.filter(decidesStanding));
      return one ? [[stream, one.startedAtUs, one.status]] : [];
    });
    if (ended.length > 0) await this.#statements.run(OUTCOME, ...columnsOf(3, ended));
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
    if (birds.length > 0) await this.#statements.run(FIRING, ...columnsOf(2, birds));
  }

  /** Discards what was not counted, because the transaction was rolled back. */
  forget(): void {
    this.#changed.clear();
  }
}
