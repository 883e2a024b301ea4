import type { FlightEnded } from '../../../domain/alert/fact.ts';
import type { FlightOutcome } from '../../../domain/grouping/notification.ts';
import type { FlightRecord, FlightStore } from '../../flight-store.ts';
import { type FlightRow, flightOf, outcomeOf } from '../../rows/flight-row.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList } from '../connection.ts';
import type { BirdStanding } from './bird-standing.ts';

export class SqliteFlights implements FlightStore {
  readonly #standing: BirdStanding;
  readonly #sql: ReturnType<typeof prepareFlights>;
  readonly #learned: ReturnType<typeof prepareLearned>;
  readonly #put: ReturnType<typeof prepareChunks>;

  constructor(connection: Connection, standing: BirdStanding) {
    this.#standing = standing;
    this.#sql = prepareFlights(connection);
    this.#learned = prepareLearned(connection);
    this.#put = prepareChunks(
      connection,
      7,
      (rows) =>
        `INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us) VALUES ${rows}
         ON CONFLICT DO UPDATE SET status = excluded.status, open = excluded.open, ends = excluded.ends,
           ended_us = excluded.ended_us, judge_us = iif(excluded.open, judge_us, 0)`,
    );
  }

  async open(stream: number): Promise<FlightRecord[]> {
    return this.#sql.open.all(stream).map(flightOf);
  }

  async since(stream: number, sinceUs: number): Promise<FlightRecord[]> {
    return this.#sql.since.all(stream, sinceUs).map(flightOf);
  }

  async find(stream: number, flightIds: readonly string[]): Promise<FlightRecord[]> {
    return this.#sql.known.all(stream, textList(flightIds)).map(flightOf);
  }

  async lastFailures(region: string): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#learned.failures.all(region).map(({ bird_id, us }) => [bird_id, us]));
  }

  async put(flights: readonly FlightRecord[]): Promise<void> {
    this.#put(flights.length, (index, values) => {
      const flight = flights[index]!;
      values.push(flight.stream, flight.startedAtUs, flight.flightId, flight.status);
      values.push(flight.open ? 1 : 0, flight.ends, flight.endedAtUs ?? 0);
    });
    this.#standing.seen(flights);
  }

  async latestEnds(stream: number, limit: number): Promise<FlightEnded[]> {
    return this.#learned.ends
      .all(stream, limit)
      .map((row) => ({ key: row.key, atUs: row.at_us, failed: row.type === 'flight.failed' }));
  }

  async lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]> {
    return this.#learned.outcomes
      .all(region, birdId, limit)
      .map(({ type }) => outcomeOf(type))
      .toReversed();
  }

  async durations(stream: number): Promise<number[]> {
    return this.#learned.durations.all(stream).map((row) => row.us);
  }

  async gaps(stream: number) {
    // One text per stream: a row for each start, or a window over them, takes several times as long.
    const starts = JSON.parse(this.#learned.starts.get(stream)!.starts) as number[];
    const gaps = starts.slice(1).map((start, at) => starts[at]! - start);
    return {
      count: gaps.length,
      longestUs: gaps.reduce((longest, gap) => Math.max(longest, gap), 0),
      spanUs: gaps.reduce((sum, gap) => sum + gap, 0),
    };
  }
}

function prepareFlights(connection: Connection) {
  return {
    open: connection.prepare<FlightRow>(
      'SELECT * FROM flight INDEXED BY flight_open WHERE stream = ? AND open = 1 ORDER BY started_us, id',
    ),
    since: connection.prepare<FlightRow>(
      'SELECT * FROM flight WHERE stream = ? AND started_us >= ? ORDER BY started_us, id',
    ),
    known: connection.prepare<FlightRow>(
      `SELECT * FROM flight INDEXED BY flight_by_id
       WHERE stream = ? AND id IN (SELECT value FROM json_each(?))`,
    ),
  };
}

/** What is learned from Flights that ended. */
function prepareLearned(connection: Connection) {
  return {
    ends: connection.prepare<{ key: string; at_us: number; type: string }>(
      `SELECT stream.region || '/' || stream.feed || '/' || event.id AS key, occurred_us AS at_us, type
       FROM event JOIN stream USING (stream)
       WHERE stream = ? AND type IN ('flight.failed', 'flight.succeeded') ORDER BY occurred_us DESC LIMIT ?`,
    ),
    outcomes: connection.prepare<{ type: string }>(
      `SELECT type FROM event
       WHERE stream = (SELECT stream FROM stream WHERE region = ? AND feed = 'flight' AND bird_id = ?)
         AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
       ORDER BY occurred_us DESC, id DESC LIMIT ?`,
    ),
    failures: connection.prepare<{ bird_id: string; us: number }>(
      `SELECT stream.bird_id, max(max(flight.ended_us, flight.started_us)) AS us
       FROM stream JOIN flight USING (stream)
       WHERE stream.region = ? AND stream.feed = 'flight' AND flight.status = 'failed' AND flight.open = 0
       GROUP BY stream.stream`,
    ),
    durations: connection.prepare<{ us: number }>(
      `SELECT ended_us - started_us AS us
       FROM (SELECT * FROM flight WHERE stream = ? AND started_us > 0 ORDER BY started_us DESC LIMIT 500)
       WHERE open = 0 AND status = 'succeeded' AND ended_us >= started_us`,
    ),
    starts: connection.prepare<{ starts: string }>(
      `SELECT json_group_array(started_us) AS starts
       FROM (SELECT started_us FROM flight WHERE stream = ? AND started_us > 0
         ORDER BY started_us DESC LIMIT 3000)`,
    ),
  };
}
