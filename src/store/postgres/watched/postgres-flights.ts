import type { FlightEnded } from '../../../domain/alert/fact.ts';
import type { FlightOutcome } from '../../../domain/grouping/notification.ts';
import type { FlightRecord, FlightStore } from '../../flight-store.ts';
import { type FlightRow, flightOf, outcomeOf } from '../../rows/flight-row.ts';
import { lastOfEach } from '../../sql/sql.ts';
import { columnsOf, given, type Statements } from '../statements.ts';
import type { PostgresStanding } from './postgres-standing.ts';

const PUT = `INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us)
  SELECT * FROM ${given('stream bigint, started_us bigint, id text, status text, open integer, ends integer, ended_us bigint')}
  ON CONFLICT (stream, started_us, id) DO UPDATE SET status = excluded.status, open = excluded.open,
    ends = excluded.ends, ended_us = excluded.ended_us,
    judge_us = CASE WHEN excluded.open = 1 THEN flight.judge_us ELSE 0 END`;

export class PostgresFlights implements FlightStore {
  readonly #statements: Statements;
  readonly #standing: PostgresStanding;

  constructor(statements: Statements, standing: PostgresStanding) {
    this.#statements = statements;
    this.#standing = standing;
  }

  async open(stream: number): Promise<FlightRecord[]> {
    const rows = await this.#statements.rows<FlightRow>(
      'SELECT * FROM flight WHERE stream = $1 AND open = 1 ORDER BY started_us, id',
      stream,
    );
    return rows.map(flightOf);
  }

  async since(stream: number, sinceUs: number): Promise<FlightRecord[]> {
    const rows = await this.#statements.rows<FlightRow>(
      'SELECT * FROM flight WHERE stream = $1 AND started_us >= $2 ORDER BY started_us, id',
      stream,
      sinceUs,
    );
    return rows.map(flightOf);
  }

  async find(stream: number, flightIds: readonly string[]): Promise<FlightRecord[]> {
    if (flightIds.length === 0) return [];
    const rows = await this.#statements.rows<FlightRow>(
      'SELECT * FROM flight WHERE stream = $1 AND id = ANY($2::text[])',
      stream,
      flightIds,
    );
    return rows.map(flightOf);
  }

  async lastFailures(region: string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#statements.rows<{ bird_id: string; us: number }>(
      `SELECT stream.bird_id, max(greatest(flight.ended_us, flight.started_us)) AS us
       FROM stream JOIN flight USING (stream)
       WHERE stream.region = $1 AND stream.feed = 'flight' AND flight.status = 'failed' AND flight.open = 0
       GROUP BY stream.stream, stream.bird_id`,
      region,
    );
    return new Map(rows.map(({ bird_id, us }) => [bird_id, us]));
  }

  async put(flights: readonly FlightRecord[]): Promise<void> {
    if (flights.length === 0) return;
    const last = lastOfEach(flights, (one) => `${one.stream} ${one.startedAtUs} ${one.flightId}`);
    const rows = last.map((one) => [
      one.stream,
      one.startedAtUs,
      one.flightId,
      one.status,
      Number(one.open),
      one.ends,
      one.endedAtUs ?? 0,
    ]);
    await this.#statements.run(PUT, ...columnsOf(7, rows));
    await this.#standing.seen(flights);
  }

  async latestEnds(stream: number, limit: number): Promise<FlightEnded[]> {
    const rows = await this.#statements.rows<{
      region: string;
      feed: string;
      id: string;
      at_us: number;
      type: string;
    }>(
      `SELECT stream.region, stream.feed, event.id, occurred_us AS at_us, type FROM event JOIN stream USING (stream)
       WHERE stream = $1 AND type IN ('flight.failed', 'flight.succeeded') ORDER BY occurred_us DESC LIMIT $2`,
      stream,
      limit,
    );
    return rows.map(({ region, feed, id, at_us: atUs, type }) => ({
      key: `${region}/${feed}/${id}`,
      atUs,
      failed: type === 'flight.failed',
    }));
  }

  async lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]> {
    const rows = await this.#statements.rows<{ type: string }>(
      `SELECT type FROM event
       WHERE stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)
         AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
       ORDER BY occurred_us DESC, id DESC LIMIT $3`,
      region,
      birdId,
      limit,
    );
    return rows.map(({ type }) => outcomeOf(type)).toReversed();
  }

  async durations(stream: number): Promise<number[]> {
    const rows = await this.#statements.rows<{ us: number }>(
      `SELECT ended_us - started_us AS us
       FROM (SELECT * FROM flight WHERE stream = $1 AND started_us > 0 ORDER BY started_us DESC LIMIT 500) AS latest
       WHERE open = 0 AND status = 'succeeded' AND ended_us >= started_us`,
      stream,
    );
    return rows.map(({ us }) => us);
  }

  async gaps(stream: number) {
    const row = await this.#statements.first<{ count: number; longest: number | null; span: number | null }>(
      `SELECT count(gap) AS count, max(gap) AS longest, sum(gap)::bigint AS span
       FROM (SELECT started_us - lag(started_us) OVER (ORDER BY started_us) AS gap
         FROM (SELECT started_us FROM flight WHERE stream = $1 AND started_us > 0
           ORDER BY started_us DESC LIMIT 3000) AS latest) AS gaps`,
      stream,
    );
    return { count: row!.count, longestUs: row!.longest ?? 0, spanUs: row!.span ?? 0 };
  }
}
