import type { Landed } from '../../../domain/kinds/judge.ts';
import type { FlightRecord, FlightStore } from '../../flight-store.ts';
import { type FlightRow, flightOf, outcomeOf } from '../../rows/flight-row.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';
import type { BirdStanding } from './bird-standing.ts';

const PUT: RowStatement = {
  columns:
    'stream bigint, started_us bigint, id text, status text, open integer, ends integer, ended_us bigint',
  text: (given) => `INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us)
    SELECT * FROM ${given} WHERE true
    ON CONFLICT (stream, started_us, id) DO UPDATE SET status = excluded.status, open = excluded.open,
      ends = excluded.ends, ended_us = excluded.ended_us,
      judge_us = CASE WHEN excluded.open = 1 THEN flight.judge_us ELSE 0 END`,
};

const LAST_FAILURES = `SELECT stream.bird_id, max(greatest(flight.ended_us, flight.started_us)) AS us
  FROM stream JOIN flight USING (stream)
  WHERE stream.region = $1 AND stream.feed = 'flight' AND flight.status = 'failed' AND flight.open = 0
  GROUP BY stream.stream, stream.bird_id`;

const LATEST_ENDS = `SELECT stream.region, stream.feed, event.id, occurred_us AS at_us, type
  FROM event JOIN stream USING (stream)
  WHERE stream = $1 AND type IN ('flight.failed', 'flight.succeeded') ORDER BY occurred_us DESC LIMIT $2`;

const LAST_OUTCOMES = `SELECT type FROM event
  WHERE stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)
    AND type IN ('flight.failed', 'flight.succeeded', 'flight.cancelled')
  ORDER BY occurred_us DESC, id DESC LIMIT $3`;

const endsWhere = (started: string) => `SELECT started_us AS "startedAtUs", status, ends FROM flight
  WHERE stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)
    AND started_us ${started} AND status IN ('failed', 'succeeded')`;
const ENDS = `SELECT * FROM (${endsWhere('> 0')} ORDER BY started_us DESC LIMIT $3) AS latest
  UNION ALL SELECT * FROM (${endsWhere('= 0')} LIMIT 1) AS undated`;

const LANDED = `SELECT started_us AS "startedAtUs", ended_us AS "endedAtUs"
  FROM (SELECT * FROM flight WHERE stream = $1 AND started_us > 0 ORDER BY started_us DESC LIMIT $2) AS latest
  WHERE open = 0 AND status = 'succeeded' AND ended_us >= started_us ORDER BY started_us`;

const COUNT_STARTS = `SELECT count(*) AS count FROM (
  SELECT 1 FROM flight WHERE stream = $1 AND started_us >= $2 AND started_us < $3 LIMIT 100000) AS counted`;

const FIRST_START = 'SELECT min(started_us) AS us FROM flight WHERE stream = $1 AND started_us > 0';

const LATEST_STARTS = `(SELECT started_us FROM flight WHERE stream = $1 AND started_us > 0
  ORDER BY started_us DESC LIMIT 3000) AS latest`;
/** One text: a row for each start, or on SQLite a window over them, takes several times as long. */
const STARTS = {
  sqlite: `SELECT json_group_array(started_us) AS starts FROM ${LATEST_STARTS}`,
  postgres: `SELECT json_agg(started_us)::text AS starts FROM ${LATEST_STARTS}`,
};

type EndedRow = Pick<FlightRecord, 'startedAtUs' | 'status' | 'ends'>;

export function createFlights(sql: Sql, standing: BirdStanding): FlightStore {
  const flights = async (text: string, ...values: (string | number | readonly string[])[]) =>
    (await sql.rows<FlightRow>(text, ...values)).map(flightOf);

  return {
    open: (stream) =>
      flights(
        'SELECT * FROM flight /* INDEXED BY flight_open */ WHERE stream = $1 AND open = 1 ORDER BY started_us, id',
        stream,
      ),
    since: (stream, sinceUs) =>
      flights(
        'SELECT * FROM flight WHERE stream = $1 AND started_us >= $2 ORDER BY started_us, id',
        stream,
        sinceUs,
      ),
    async find(stream, flightIds) {
      if (flightIds.length === 0) return [];
      return flights(
        'SELECT * FROM flight /* INDEXED BY flight_by_id */ WHERE stream = $1 AND id = ANY($2::text[])',
        stream,
        flightIds,
      );
    },
    async lastFailures(region) {
      const rows = await sql.rows<{ bird_id: string; us: number }>(LAST_FAILURES, region);
      return new Map(rows.map(({ bird_id, us }) => [bird_id, us]));
    },
    async put(seen: readonly FlightRecord[]) {
      if (seen.length === 0) return;
      const last = lastOfEach(seen, (one) => `${one.stream} ${one.startedAtUs} ${one.flightId}`);
      await sql.write(
        PUT,
        last.map((one) => [
          ...[one.stream, one.startedAtUs, one.flightId, one.status],
          ...[Number(one.open), one.ends, one.endedAtUs ?? 0],
        ]),
      );
      await standing.seen(seen);
    },
    async latestEnds(stream, limit) {
      const rows = await sql.rows<{ region: string; feed: string; id: string; at_us: number; type: string }>(
        LATEST_ENDS,
        stream,
        limit,
      );
      return rows.map(({ region, feed, id, at_us: atUs, type }) => ({
        key: `${region}/${feed}/${id}`,
        atUs,
        failed: type === 'flight.failed',
      }));
    },
    async lastOutcomes(region, birdId, limit) {
      const rows = await sql.rows<{ type: string }>(LAST_OUTCOMES, region, birdId, limit);
      return rows.map(({ type }) => outcomeOf(type)).toReversed();
    },
    async ends(region, birdId, limit) {
      const rows = await sql.rows<EndedRow>(ENDS, region, birdId, limit);
      return rows.map(({ startedAtUs, status, ends }) => {
        return { startedAtUs, failed: status === 'failed', again: ends > 1 };
      });
    },
    landed: (stream, most) => sql.rows<Landed>(LANDED, stream, most),
    async countStarts(stream, fromUs, untilUs) {
      return (await sql.first<{ count: number }>(COUNT_STARTS, stream, fromUs, untilUs))!.count;
    },
    async firstStart(stream) {
      return (await sql.first<{ us: number | null }>(FIRST_START, stream))?.us ?? undefined;
    },
    async gaps(stream) {
      const row = await sql.first<{ starts: string | null }>(STARTS[sql.engine], stream);
      const starts = JSON.parse(row!.starts ?? '[]') as number[];
      const gaps = starts.slice(1).map((start, at) => starts[at]! - start);
      return {
        count: gaps.length,
        longestUs: gaps.reduce((longest, gap) => Math.max(longest, gap), 0),
        spanUs: gaps.reduce((sum, gap) => sum + gap, 0),
      };
    },
  };
}
