/** Stores which errors the failed Flights of each region had, to say whether one is new. */
import { MOST_ERRORS, type Remembered, type SeenError } from '../../../domain/context/findings.ts';
import type { RowStatement, Sql } from '../sql.ts';

/** A failed Flight whose error has a signature. */
export interface Failure {
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
    /** Undefined for a region that was never watched. */
    async remembered(region: string): Promise<Remembered | undefined> {
      const row = await sql.first<{ since_us: number; errors_since_us: number }>(
        'SELECT since_us, errors_since_us FROM region WHERE region = $1',
        region,
      );
      if (!row) return undefined;
      const kept = await sql.first<{ count: number; last_us: number | null }>(
        'SELECT count(*) AS count, min(last_us) AS last_us FROM error_seen',
      );
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
