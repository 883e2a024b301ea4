/**
 * Stores when to judge what time alone makes wrong: each open Flight and each Bird has the instant of its next judgement,
 * which is 0 before the first; so only those that are due are read.
 */
import type { Alert } from '../../../domain/alert/alert.ts';
import type { FlightTail, Place } from '../../../domain/alert/fact.ts';
import type { BirdToJudge, FlightToJudge } from '../../../domain/kinds/judge.ts';
import { type AlertRow, alertOf } from '../../alert-store.ts';
import { readable } from '../readable.ts';
import type { RowStatement, Sql } from '../sql.ts';
import { NO_NEWS_US } from './nests-and-birds.ts';

/** A Flight and its next judgement. */
interface JudgedFlight {
  readonly stream: number;
  readonly startedAtUs: number;
  readonly flightId: string;
  readonly nextUs: number;
  /** When its log is to be read next; 0 for never. */
  readonly logDueUs: number;
}

/** A Flight whose log is to be read. */
export interface FlightToRead extends Omit<JudgedFlight, 'nextUs' | 'logDueUs'> {
  readonly birdId: string;
  /** The end of the log at the reading before; null for none. */
  readonly tail: FlightTail | null;
}

/** A Bird and its next judgement. */
interface JudgedBird {
  readonly region: string;
  readonly birdId: string;
  readonly nextUs: number;
  /** The last deadline that was judged; 0 for none. */
  readonly deadlineUs: number;
  /** Up to when the Flights of periods that were over are counted, for all rules; 0 for never. */
  readonly countedUs: number;
}

/** A deadline, by the Nest whose Bird missed it. */
export interface MissedDeadline {
  readonly region: string;
  readonly nestId: string;
  readonly atUs: number;
}

/** The deadlines that a Nest's Birds missed in the half hour that begins at `sinceUs`. */
export interface MissedOfNest {
  readonly nestId: string;
  readonly sinceUs: number;
  readonly missed: number;
}

const HALF_HOUR_US = 1_800_000_000;

const COUNT_MISSED: RowStatement = {
  columns: 'region text, nest_id text, half_hour bigint, missed bigint',
  text: (
    given,
  ) => `INSERT INTO missed_deadline (region, nest_id, half_hour, missed) SELECT * FROM ${given} WHERE true
    ON CONFLICT (region, nest_id, half_hour) DO UPDATE SET missed = missed_deadline.missed + excluded.missed`,
};

/** The columns of a `Place`. */
const placeOf = (table: 'stream' | 'bird') => `${table}.region, ${table}.bird_id AS "birdId",
    coalesce(bird.nest_id, '') AS "nestId", coalesce(bird.name, '') AS bird, coalesce(nest.name, '') AS nest`;

const FLIGHTS = `SELECT flight.stream, flight.id AS "flightId", flight.started_us AS "startedAtUs", flight.tail,
    flight.log_due_us AS "logDueUs", ${placeOf('stream')}
  FROM flight /* INDEXED BY flight_in_air */
    JOIN stream USING (stream)
    LEFT JOIN bird ON bird.region = stream.region AND bird.bird_id = stream.bird_id
    LEFT JOIN nest ON nest.region = stream.region AND nest.nest_id = bird.nest_id
  WHERE flight.open = 1 AND flight.started_us > 0 AND flight.started_us <= $1 AND flight.judge_us <= $2
  ORDER BY flight.started_us LIMIT $3`;

/** A Flight has been silent since it wrote last, or else since it started. */
const LOGS = `SELECT stream, id AS "flightId", started_us AS "startedAtUs", tail, bird_id AS "birdId" FROM (
    SELECT flight.stream, flight.id, flight.started_us, flight.log_due_us, flight.tail, stream.bird_id,
      greatest(flight.started_us, flight.wrote_us) AS silent_us
    FROM stream JOIN flight /* INDEXED BY flight_log */ USING (stream)
    WHERE stream.region = $1 AND stream.feed = 'flight' AND flight.open = 1 AND flight.log_due_us > 0
    ORDER BY silent_us, flight.id LIMIT $4) AS silent
  WHERE log_due_us <= $2 ORDER BY silent_us, id LIMIT $3`;

const PUT_TAILS: RowStatement = {
  columns: 'stream bigint, started_us bigint, id text, log_due_us bigint, wrote_us bigint, tail text',
  text: (given) => `UPDATE flight SET wrote_us = given.wrote_us, tail = given.tail, judge_us = 0,
      log_due_us = CASE WHEN flight.log_due_us = 0 THEN 0 ELSE given.log_due_us END FROM ${given}
    WHERE flight.stream = given.stream AND flight.started_us = given.started_us AND flight.id = given.id`,
};

/** News begins an hour before the reading that lacked it (`Newcomers`); its first status, with the one that showed it. */
const JOINED_US = `CASE WHEN bird.news_since_us = 0 THEN 0 WHEN bird.first_status = 1 THEN bird.status_since_us
      ELSE least(bird.news_since_us + 3600000000, bird.status_since_us) END`;

/** While a Bird's Nest is excluded nothing of it is news, but what was known of it before still is. */
const NEWS_SINCE_US = `CASE WHEN bird.news_since_us = ${NO_NEWS_US} THEN 0 ELSE bird.news_since_us END`;

const birdsOf = (
  rows: string,
) => `SELECT ${placeOf('bird')}, bird.trigger_type AS "triggerType", bird.status, stream.stream,
    bird.deadline_us AS "deadlineUs", bird.counted_us AS "countedUs", bird.status_since_us AS "statusSinceUs",
    bird.first_status, ${JOINED_US} AS "joinedUs", ${NEWS_SINCE_US} AS "newsSinceUs",
    coalesce(stream.cursor_us, 0) AS "lastStartUs"
  FROM ${rows}`;

const JOINED = `LEFT JOIN stream ON stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
    LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id`;

const BIRDS = birdsOf(`bird /* INDEXED BY bird_judged */ ${JOINED}
  WHERE bird.present = 1 AND bird.judge_us <= $1
  ORDER BY bird.judge_us LIMIT $2`);

const BIRD = birdsOf(`bird ${JOINED} WHERE bird.region = $1 AND bird.bird_id = $2`);

const WITH_DEADLINES = birdsOf(`bird ${JOINED}
  WHERE bird.deadline_us > $1
  ORDER BY bird.deadline_us DESC, bird.region, bird.bird_id LIMIT $2`);

const NEXT = `SELECT min(at) AS at FROM (
  SELECT min(judge_us) AS at FROM bird WHERE present = 1
  UNION ALL SELECT min(greatest(started_us + $1, judge_us)) FROM flight WHERE open = 1 AND started_us > 0) AS each`;

const JUDGE_FLIGHTS: RowStatement = {
  columns: 'stream bigint, started_us bigint, id text, next_us bigint, log_due_us bigint',
  text: (given) => `UPDATE flight SET judge_us = given.next_us, log_due_us = given.log_due_us FROM ${given}
    WHERE flight.stream = given.stream AND flight.started_us = given.started_us AND flight.id = given.id`,
};

const JUDGE_BIRDS: RowStatement = {
  columns: 'region text, bird_id text, next_us bigint, deadline_us bigint, counted_us bigint',
  text: (given) => `UPDATE bird SET judge_us = given.next_us, deadline_us = given.deadline_us,
      counted_us = given.counted_us FROM ${given}
    WHERE bird.region = given.region AND bird.bird_id = given.bird_id`,
};

/** The Flight that an alert is about; a server cannot read it in the body. */
const FLIGHT_OF_ALERT = {
  sqlite: `flight.started_us = alert.body ->> '$.memory.startedAtUs'
    AND flight.id = alert.body ->> '$.labels.flight_id'`,
  postgres: 'flight.started_us = alert.flight_started_us AND flight.id = alert.flight_id',
};

/**
 * The next judgement of each open Flight and each Bird is in its own row, with an index. So a check costs only what
 * is due, however many others there are.
 */
export function createOverdue(sql: Sql) {
  return {
    /** Open Flights that started at `startedUs` or earlier and are to be judged by `nowUs`, oldest first. */
    async flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]> {
      return (await sql.rows<FlightToJudgeRow>(FLIGHTS, startedUs, nowUs, limit)).map(flightToJudge);
    },
    async judgeFlights(flights: readonly JudgedFlight[]): Promise<void> {
      await sql.write(
        JUDGE_FLIGHTS,
        flights.map((one) => [one.stream, one.startedAtUs, one.flightId, one.nextUs, one.logDueUs]),
      );
    },
    /**
     * Open Flights of a region whose logs are to be read by `nowUs`, the longest silent first, among the `most` that have
     * been silent longest.
     */
    async logsDue(region: string, nowUs: number, limit: number, most: number): Promise<FlightToRead[]> {
      return (await sql.rows<FlightToReadRow>(LOGS, region, nowUs, limit, most)).map(flightToRead);
    },
    /** Keeps the ends of logs, and when to read each again if that is still wanted. Their Flights are to be judged now. */
    async putTails(read: readonly (FlightToRead & { readonly logDueUs: number })[]): Promise<void> {
      await sql.write(
        PUT_TAILS,
        read.map(({ tail, ...one }) => [
          ...[one.stream, one.startedAtUs, one.flightId, one.logDueUs],
          ...[tail?.wroteAtUs ?? 0, tail ? JSON.stringify(tail) : ''],
        ]),
      );
    },
    /** Present Birds that are to be judged by `nowUs`. */
    async birds(nowUs: number, limit: number): Promise<BirdToJudge[]> {
      return (await sql.rows<BirdToJudgeRow>(BIRDS, nowUs, limit)).map(birdToJudge);
    },
    /** One Bird, present or not; undefined for an unknown one. */
    async bird(region: string, birdId: string): Promise<BirdToJudge | undefined> {
      const row = await sql.first<BirdToJudgeRow>(BIRD, region, birdId);
      return row && birdToJudge(row);
    },
    /** Birds, present or not, of which a deadline was judged that is later than this, the last judged first. */
    async birdsWithDeadlines(afterUs: number, limit: number): Promise<BirdToJudge[]> {
      return (await sql.rows<BirdToJudgeRow>(WITH_DEADLINES, afterUs, limit)).map(birdToJudge);
    },
    async judgeBirds(birds: readonly JudgedBird[]): Promise<void> {
      await sql.write(
        JUDGE_BIRDS,
        birds.map((one) => [one.region, one.birdId, one.nextUs, one.deadlineUs, one.countedUs]),
      );
    },
    /** Counts deadlines that were missed, each with the Nest of its Bird. */
    async countMissed(missed: readonly MissedDeadline[]): Promise<void> {
      const halves = Map.groupBy(missed, ({ region, nestId, atUs }) =>
        JSON.stringify([region, nestId, Math.floor(atUs / HALF_HOUR_US)]),
      );
      await sql.write(
        COUNT_MISSED,
        [...halves].map(([key, { length }]) => [...(JSON.parse(key) as [string, string, number]), length]),
      );
    },
    /** How many were missed in each half hour that ends after `sinceUs`, by Nest, oldest first. */
    async missedSince(region: string, sinceUs: number): Promise<MissedOfNest[]> {
      return sql.rows<MissedOfNest>(
        `SELECT nest_id AS "nestId", half_hour * ${HALF_HOUR_US} AS "sinceUs", missed FROM missed_deadline
         WHERE region = $1 AND half_hour >= $2 ORDER BY half_hour, nest_id`,
        region,
        Math.floor(sinceUs / HALF_HOUR_US),
      );
    },
    /** Makes these Birds due to be judged. */
    async wake(region: string, birdIds: readonly string[]): Promise<void> {
      await sql.run(
        'UPDATE bird SET judge_us = 0 WHERE region = $1 AND bird_id = ANY($2::text[]) AND judge_us > 0',
        region,
        birdIds,
      );
    },
    /** When the next one is to be judged, if Flights are once they are this old; null if there is none. */
    async nextUs(leastMs: number): Promise<number | null> {
      return (await sql.first<{ at: number | null }>(NEXT, leastMs * 1000))?.at ?? null;
    },
    /** Makes all Flights and Birds due to be judged again, because the rules may have changed. */
    async forget(): Promise<void> {
      await sql.run('UPDATE flight SET judge_us = 0 WHERE open = 1 AND judge_us > 0');
      await sql.run('UPDATE bird SET judge_us = 0 WHERE judge_us > 0');
    },
    /** Firing alerts with this name about a Flight that is no longer open. */
    async alertsOfGoneFlights(alertname: string): Promise<Alert[]> {
      const rows = await sql.rows<AlertRow>(
        `SELECT body FROM alert /* INDEXED BY alert_firing */
         WHERE state = 'firing' AND alertname = $1 AND NOT EXISTS (
           SELECT 1 FROM flight JOIN stream USING (stream)
           WHERE stream.region = alert.region AND stream.feed = 'flight' AND stream.bird_id = alert.bird_id
             AND ${FLIGHT_OF_ALERT[sql.engine]} AND flight.open = 1)
         ORDER BY id`,
        alertname,
      );
      return readable(sql, 'alert', rows, alertOf);
    },
  };
}

type FlightToReadRow = Omit<FlightToRead, 'tail'> & { readonly tail: string };
type FlightToJudgeRow = Omit<FlightToJudge, 'place' | 'tail'> & Place & { readonly tail: string };
type BirdToJudgeRow = Omit<BirdToJudge, 'place' | 'hasFirstStatus' | 'stream'> &
  Place & { readonly first_status: number; readonly stream: number | null };

function flightToRead({ tail, ...row }: FlightToReadRow): FlightToRead {
  return { ...row, tail: tailOf(tail) };
}

function flightToJudge({ tail, ...row }: FlightToJudgeRow): FlightToJudge {
  return { ...withPlace(row), tail: tailOf(tail) };
}

function birdToJudge({ stream, first_status, ...row }: BirdToJudgeRow): BirdToJudge {
  return { ...withPlace(row), stream: stream ?? undefined, hasFirstStatus: first_status === 1 };
}

function withPlace<Row extends Place>({ region, nestId, nest, birdId, bird, ...rest }: Row) {
  return { ...rest, place: { region, nestId, nest, birdId, bird } };
}

function tailOf(text: string): FlightTail | null {
  return text === '' ? null : (JSON.parse(text) as FlightTail);
}
