/**
 * Stores Flights: the last seen status of each, so that an end is noticed once, and what is learned from those that
 * ended: durations, and which errors were seen.
 */
import type { FlightEnded } from '../../../domain/alert/fact.ts';
import { MOST_ERRORS, type Remembered, type SeenError } from '../../../domain/context/findings.ts';
import type { FlightOutcome } from '../../../domain/grouping/notification.ts';
import type { Landed } from '../../../domain/kinds/judge.ts';
import { type FlightRecord, type FlightRow, flightOf, outcomeOf } from '../../event-store.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';
import type { BirdStanding } from './nests-and-birds.ts';

const PUT: RowStatement = {
  columns:
    'stream bigint, started_us bigint, id text, status text, open integer, ends integer, ended_us bigint',
  text: (given) => `INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us)
    SELECT * FROM ${given} WHERE true
    ON CONFLICT (stream, started_us, id) DO UPDATE SET status = excluded.status, open = excluded.open,
      ends = excluded.ends, ended_us = excluded.ended_us,
      judge_us = CASE WHEN excluded.open = 1 THEN flight.judge_us ELSE 0 END`,
};

const SINCE = `SELECT * FROM flight WHERE stream = $1 AND started_us >= $2
  UNION ALL SELECT * FROM flight WHERE stream = $1 AND started_us = 0 AND (open = 1 OR ended_us >= $2)
  ORDER BY started_us, id`;

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

const endsWhere = (
  started: string,
) => `SELECT started_us AS "startedAtUs", ended_us AS "endedAtUs", status, ends FROM flight
  WHERE stream = (SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)
    AND started_us ${started} AND (status IN ('failed', 'succeeded') OR open = 1 AND ends > 0)`;
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

type EndedRow = Pick<FlightRecord, 'startedAtUs' | 'status' | 'ends'> & { readonly endedAtUs: number };

export function createFlights(sql: Sql, standing: BirdStanding) {
  const flights = async (text: string, ...values: (string | number | readonly string[])[]) =>
    (await sql.rows<FlightRow>(text, ...values)).map(flightOf);

  return {
    /** The stream's open Flights, in order of their starts. */
    open: (stream: number): Promise<FlightRecord[]> =>
      flights(
        'SELECT * FROM flight /* INDEXED BY flight_open */ WHERE stream = $1 AND open = 1 ORDER BY started_us, id',
        stream,
      ),
    /**
     * Flights of the stream that started at or after `sinceUs`, in order of their starts. Before them those without a
     * start, with 0, that are open or ended at or after it.
     */
    since: (stream: number, sinceUs: number): Promise<FlightRecord[]> =>
      flights(SINCE, stream, Math.max(sinceUs, 1)),
    /**
     * Those of these Flights that are stored, found by id alone: the service may give the start only later, or change
     * it.
     */
    async find(stream: number, flightIds: readonly string[]): Promise<FlightRecord[]> {
      if (flightIds.length === 0) return [];
      return flights(
        'SELECT * FROM flight /* INDEXED BY flight_by_id */ WHERE stream = $1 AND id = ANY($2::text[])',
        stream,
        flightIds,
      );
    },
    /** When the last failed Flight of each Bird of the region ended, by the Bird's id, as far as it is kept. */
    async lastFailures(region: string): Promise<ReadonlyMap<string, number>> {
      const rows = await sql.rows<{ bird_id: string; us: number }>(LAST_FAILURES, region);
      return new Map(rows.map(({ bird_id, us }) => [bird_id, us]));
    },
    async put(seen: readonly FlightRecord[]): Promise<void> {
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
    /** The latest Flights of the stream that failed or succeeded, in no particular order. */
    async latestEnds(stream: number, limit: number): Promise<FlightEnded[]> {
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
    /** How the Bird's latest Flights ended, oldest first. */
    async lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]> {
      const rows = await sql.rows<{ type: string }>(LAST_OUTCOMES, region, birdId, limit);
      return rows.map(({ type }) => outcomeOf(type)).toReversed();
    },
    /**
     * The Bird's latest Flights that failed or succeeded, the one that started last first; after them one without a start,
     * with 0, if there is any. `again`: it has ended before, perhaps otherwise, and may be in the air again.
     */
    async ends(
      region: string,
      birdId: string,
      limit: number,
    ): Promise<
      {
        readonly startedAtUs: number;
        readonly endedAtUs: number;
        readonly failed: boolean;
        readonly again: boolean;
      }[]
    > {
      const rows = await sql.rows<EndedRow>(ENDS, region, birdId, limit);
      return rows.map(({ startedAtUs, endedAtUs, status, ends }) => {
        const failed = status === 'failed';
        return { startedAtUs, endedAtUs, failed, again: ends > 1 || !(failed || status === 'succeeded') };
      });
    },
    /** Those among the stream's last `most` Flights that succeeded, in order of their starts. */
    landed: (stream: number, most: number): Promise<Landed[]> => sql.rows<Landed>(LANDED, stream, most),
    /** How many of the stream's Flights started in [fromUs, untilUs); counts to 100,000. */
    async countStarts(stream: number, fromUs: number, untilUs: number): Promise<number> {
      return (await sql.first<{ count: number }>(COUNT_STARTS, stream, fromUs, untilUs))!.count;
    },
    /** When the stream's first kept Flight started; undefined for none. */
    async firstStart(stream: number): Promise<number | undefined> {
      return (await sql.first<{ us: number | null }>(FIRST_START, stream))?.us ?? undefined;
    },
    /**
     * The times between the starts of the stream's last 3000 Flights: how many there are, the longest, and the span
     * from the first start to the last.
     */
    async gaps(stream: number): Promise<{ count: number; longestUs: number; spanUs: number }> {
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

// Stores which errors the failed Flights of each region had, to say whether one is new.

/** A failed Flight whose error has a signature. */
interface Failure {
  /** A hash of the signature. */
  readonly hash: string;
  readonly atUs: number;
  readonly flightId: string;
  readonly birdId: string;
}

const FIND = `SELECT hash, error_seen.last_us AS "lastUs", flight_id AS "flightId",
    coalesce(nullif(bird.name, ''), 'Bird ' || error_seen.bird_id) AS bird
  FROM error_seen LEFT JOIN bird ON bird.region = error_seen.region AND bird.bird_id = error_seen.bird_id
  WHERE error_seen.region = $1 AND hash = ANY($2::text[])`;

/** Failures may be read in any order: the last one is the one that ended last. */
const NOTE: RowStatement = {
  columns:
    'region text, hash text, first_us bigint, last_us bigint, flights bigint, flight_id text, bird_id text',
  text: (given) => `INSERT INTO error_seen (region, hash, first_us, last_us, flights, flight_id, bird_id)
    SELECT * FROM ${given} WHERE true
    ON CONFLICT (region, hash) DO UPDATE SET first_us = least(error_seen.first_us, excluded.first_us),
      flights = error_seen.flights + excluded.flights,
      flight_id = CASE WHEN excluded.last_us >= error_seen.last_us THEN excluded.flight_id ELSE error_seen.flight_id END,
      bird_id = CASE WHEN excluded.last_us >= error_seen.last_us THEN excluded.bird_id ELSE error_seen.bird_id END,
      last_us = greatest(error_seen.last_us, excluded.last_us)`,
};

interface KeptErrors {
  readonly count: number;
  readonly last_us: number | null;
}

const KEPT = 'SELECT count(*) AS count, min(last_us) AS last_us FROM error_seen';

export function createErrors(sql: Sql) {
  return {
    /** Notes failures of a region, in any order. Returns what was known of the errors before, by hash. */
    async note(region: string, failures: readonly Failure[]): Promise<ReadonlyMap<string, SeenError>> {
      const ofEach = Map.groupBy(failures, ({ hash }) => hash);
      const rows = await sql.rows<SeenError & { hash: string }>(FIND, region, [...ofEach.keys()]);
      await sql.write(
        NOTE,
        [...ofEach].map(([hash, some]) => noted(region, hash, some)),
      );
      return new Map(rows.map(({ hash, ...seen }) => [hash, seen]));
    },
    /**
     * Undefined for a region that was never watched. `isAnyNew`: what was forgotten matters. Reading that conflicts with
     * all that others note meanwhile, of whichever region.
     */
    async remembered(region: string, isAnyNew = true): Promise<Remembered | undefined> {
      const row = await sql.first<{ since_us: number; errors_since_us: number }>(
        'SELECT since_us, errors_since_us FROM region WHERE region = $1',
        region,
      );
      if (!row) return undefined;
      const kept = isAnyNew ? await sql.first<KeptErrors>(KEPT) : undefined;
      const isFull = kept !== undefined && kept.count >= MOST_ERRORS;
      return {
        sinceUs: Math.max(row.since_us, row.errors_since_us),
        forgottenBeforeUs: isFull ? (kept.last_us ?? undefined) : undefined,
      };
    },
  };
}

function noted(region: string, hash: string, failures: readonly Failure[]) {
  const last = failures.reduce((latest, one) => (one.atUs > latest.atUs ? one : latest));
  const firstUs = failures.reduce((least, { atUs }) => Math.min(least, atUs), last.atUs);
  return [region, hash, firstUs, last.atUs, failures.length, last.flightId, last.birdId];
}
