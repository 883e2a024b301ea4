/**
 * THE VERSIONS OF THE TABLES: one list of steps for both engines, each from a version to the next.
 *
 * A step never changes once a store was made by it; later changes are new steps after it. The table `schema_step` of a
 * store holds which steps it has done, each with a digest of its statements, so that tables that another build made
 * under the same number are recognised. Steps run only forwards, all that are missing in one transaction together with
 * these records: a store is always of one version as a whole, whenever the process is killed.
 *
 * To change the tables: append a step here and say in `table-changes.ts` what for, change the statements and types of the repositories, and keep a store of the
 * new version (`test/store/versions/keep.ts`). On PostgreSQL texts are `TEXT COLLATE "C"`.
 */
import { createHash } from 'node:crypto';
import { NestwatchError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { type Engine, TABLES } from './tables.ts';

export interface Step {
  /** The same statements for both engines, or those of each. */
  readonly sql: string | { readonly [engine in Engine]: string };
  /**
   * The oldest version of the tables that a nestwatch may know and still work with these: older ones, such as replicas
   * that are not updated yet, go on if all their statements still mean the same, as after a new table or a new column
   * with a default.
   */
  readonly oldest: number;
}

/** What PostgreSQL could already find without reading the body. */
const SILENCED_ALERTS = `
  ALTER TABLE silence ADD COLUMN alert_id TEXT;
  ALTER TABLE silence ADD COLUMN alert_starts_us INTEGER;
  UPDATE silence SET alert_id = body ->> '$.alertId', alert_starts_us = body ->> '$.alertStartsAtUs'
    WHERE json_valid(body)`;

/** Truth values become 0 and 1, as SQLite has them, so that both engines need only one text. */
const NUMBERS_FOR_TRUTH = `
  DROP INDEX nest_gone, bird_gone, bird_judged, bird_by_trouble, flight_open, flight_ended, flight_in_air, flight_failed,
    delivery_waiting;
  ALTER TABLE nest ALTER present TYPE INTEGER USING present::int;
  ALTER TABLE bird ALTER present TYPE INTEGER USING present::int,
    ALTER first_status TYPE INTEGER USING first_status::int;
  ALTER TABLE flight ALTER open TYPE INTEGER USING open::int;
  ALTER TABLE alert ALTER flaps_on TYPE INTEGER USING flaps_on::int;
  ALTER TABLE delivery ALTER turn TYPE INTEGER USING turn::int;
  ALTER TABLE replica ALTER leaving TYPE INTEGER USING leaving::int;
  CREATE INDEX nest_gone ON nest (gone_us) WHERE present = 0;
  CREATE INDEX bird_gone ON bird (gone_us) WHERE present = 0;
  CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1 AND status = 'active';
  CREATE INDEX bird_by_trouble ON bird (trouble, last_us, region, bird_id) WHERE present = 1;
  CREATE INDEX flight_open ON flight (stream) WHERE open = 1;
  CREATE INDEX flight_ended ON flight (started_us, stream, id) WHERE open = 0;
  CREATE INDEX flight_in_air ON flight (started_us, judge_us) WHERE open = 1;
  CREATE INDEX flight_failed ON flight (stream, started_us, ended_us) WHERE open = 0 AND status = 'failed';
  CREATE INDEX delivery_waiting ON delivery (receiver, position, next_attempt_us, seq)
    WHERE turn = 1 AND state IN ('pending', 'retry', 'ambiguous')`;

/** Birds are judged whatever their status, also by deadlines and by the Flights of a period. */
const EVERY_BIRD_JUDGED = `
  ALTER TABLE bird ADD COLUMN deadline_us BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE bird ADD COLUMN counted_us BIGINT NOT NULL DEFAULT 0;
  DROP INDEX bird_judged;
  CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1`;

/**
 * The errors of each region's failed Flights, by a hash of their signature, and since when they are noted: those of the
 * Flights before are not known. Also finds when a Bird was changed, and firing alerts with the same error.
 */
const CONTEXT = `
  CREATE TABLE error_seen (
    region TEXT NOT NULL,
    hash TEXT NOT NULL,
    first_us BIGINT NOT NULL,
    last_us BIGINT NOT NULL,
    flights BIGINT NOT NULL,
    flight_id TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    PRIMARY KEY (region, hash)
  );
  CREATE INDEX error_seen_by_age ON error_seen (last_us);
  ALTER TABLE region ADD COLUMN errors_since_us BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX event_of_change ON event (stream, occurred_us) WHERE type IN ('bird_log.Published', 'bird_log.Activated');
  -- A server refuses long values in an index.
  CREATE INDEX alert_of_error ON alert (region, substr(cause, 1, 200))
    WHERE state = 'firing' AND alertname = 'FlightFailed';`;

const onSqlite = (text: string) =>
  text.replaceAll('BIGINT', 'INTEGER').replaceAll('\n  );', '\n  ) STRICT, WITHOUT ROWID;');
const onPostgres = (text: string) => text.replaceAll('TEXT', 'TEXT COLLATE "C"');

const NOT_NOTED_BEFORE = {
  sqlite: 'UPDATE region SET errors_since_us = unixepoch() * 1000000',
  postgres: 'UPDATE region SET errors_since_us = extract(epoch FROM now())::bigint * 1000000',
};

/** What a Flight in the air wrote last to its log, and when that is read next. */
const FLIGHT_LOGS = `
  ALTER TABLE flight ADD COLUMN log_due_us BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE flight ADD COLUMN wrote_us BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE flight ADD COLUMN tail TEXT NOT NULL DEFAULT '';
  CREATE INDEX flight_log ON flight (stream) WHERE open = 1 AND log_due_us > 0;`;

const ALL_OF_3 = `${EVERY_BIRD_JUDGED};${FLIGHT_LOGS}${CONTEXT}`;

/** How many of an hour's Flights ended in its second half; those of the hours before count for the first. */
const HALF_HOURS = `
  ALTER TABLE nest_hour ADD COLUMN late_succeeded BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE nest_hour ADD COLUMN late_failed BIGINT NOT NULL DEFAULT 0;`;

/** What the inventory's events are found by, besides Nests and Birds: what was listed last. */
const LISTED = `
  -- 1 or 0; -1 if unknown.
  ALTER TABLE bird ADD COLUMN published BIGINT NOT NULL DEFAULT -1;
  CREATE TABLE listed (
    region TEXT NOT NULL,
    sort TEXT NOT NULL,
    id TEXT NOT NULL,
    said TEXT NOT NULL,
    PRIMARY KEY (region, sort, id)
  );`;

/** What people wrote about alerts. */
const NOTES = `
  CREATE TABLE alert_note (
    id TEXT PRIMARY KEY,
    alert_id TEXT NOT NULL,
    starts_us BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    -- 1 or 0.
    is_public BIGINT NOT NULL
  );
  CREATE INDEX alert_note_of_alert ON alert_note (alert_id, at_us);
  CREATE INDEX alert_note_by_age ON alert_note (at_us);`;

/** What nestwatch does to the service (`domain/action/action.ts`). A Bird has at most one open action. */
const ACTIONS = `
  CREATE TABLE bird_action (
    id TEXT NOT NULL,
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    -- 1 or 0.
    open BIGINT NOT NULL,
    wanted_us BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (id)
  );
  -- One row while no rule may act.
  CREATE TABLE action_pause (
    at_us BIGINT NOT NULL PRIMARY KEY,
    who TEXT NOT NULL
  );
  CREATE UNIQUE INDEX bird_action_open ON bird_action (region, bird_id) WHERE open = 1;
  CREATE INDEX bird_action_of_bird ON bird_action (region, bird_id, wanted_us);
  CREATE INDEX bird_action_by_age ON bird_action (wanted_us);`;

/** Browsers that people subscribed to receivers (`domain/grouping/subscribed-browser.ts`). */
const BROWSERS = `
  CREATE TABLE browser (
    receiver TEXT NOT NULL,
    id TEXT NOT NULL,
    subscribed_us BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (receiver, id)
  );`;

/** How many deadlines the Birds of a Nest missed within a half hour, counted from 1970, for objectives that count them. */
const MISSED_DEADLINES = `
  CREATE TABLE missed_deadline (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    half_hour BIGINT NOT NULL,
    missed BIGINT NOT NULL,
    PRIMARY KEY (region, nest_id, half_hour)
  );`;

/** The first step makes version 1, and so on. */
export const STEPS: readonly Step[] = [
  { sql: TABLES, oldest: 1 },
  { sql: { sqlite: SILENCED_ALERTS, postgres: NUMBERS_FOR_TRUTH }, oldest: 2 },
  {
    sql: {
      sqlite: `${onSqlite(ALL_OF_3)}${NOT_NOTED_BEFORE.sqlite}`,
      postgres: `${onPostgres(ALL_OF_3)}${NOT_NOTED_BEFORE.postgres}`,
    },
    oldest: 2,
  },
  { sql: { sqlite: onSqlite(HALF_HOURS), postgres: HALF_HOURS }, oldest: 2 },
  { sql: { sqlite: onSqlite(LISTED), postgres: onPostgres(LISTED) }, oldest: 2 },
  { sql: { sqlite: onSqlite(NOTES), postgres: onPostgres(NOTES) }, oldest: 2 },
  { sql: { sqlite: onSqlite(ACTIONS), postgres: onPostgres(ACTIONS) }, oldest: 2 },
  { sql: { sqlite: onSqlite(BROWSERS), postgres: onPostgres(BROWSERS) }, oldest: 2 },
  { sql: { sqlite: onSqlite(MISSED_DEADLINES), postgres: onPostgres(MISSED_DEADLINES) }, oldest: 2 },
];

/** The table of the steps that a store has done. */
export const STEP_TABLE = 'schema_step';

/** A row of it. */
export interface DoneStep {
  readonly step: number;
  /** The version of nestwatch that did it. */
  readonly version: string;
  readonly oldest: number;
  /** Null in a store that was made before digests were stored. */
  readonly digest: string | null;
}

/** From which version of the tables to which a store is brought; 0 for a new one. */
export interface TableChange {
  readonly from: number;
  readonly to: number;
  /** The copy of the file as it was; absent if nothing was changed, and on a server. */
  readonly copy?: string;
}

interface Judged {
  readonly engine: Engine;
  /** The store, to begin a sentence about it. */
  readonly what: string;
  readonly done: readonly DoneStep[];
  /** Those that this nestwatch knows. */
  readonly steps: readonly Step[];
}

/**
 * Throws `store_newer` if a later version changed the store so that this one cannot use it, and `store_other` if another
 * build made its tables.
 */
export function refuseSteps({ engine, what, done, steps }: Judged): void {
  const last = done.at(-1);
  if (last && done.some(({ oldest }) => oldest > steps.length)) {
    throw new NestwatchError(
      'store_newer',
      `${what} was made version ${last.step} by nestwatch ${last.version}; this one, ${VERSION}, knows version ${steps.length}.`,
    );
  }
  for (const { step, version, digest } of done) {
    const own = steps[step - 1];
    if (own && digest !== null && digest !== digestOf(own, engine)) throw otherTables(what, step, version);
  }
}

/** The error for a store whose tables of this version are not the ones that this nestwatch knows. */
export function otherTables(what: string, step: number, version: string): NestwatchError {
  return new NestwatchError(
    'store_other',
    `${what} has tables that another build of nestwatch ${version} made as version ${step}: they are not those that nestwatch ${VERSION} knows by this number.`,
  );
}

/** The statements that bring a store from what it has done to the last step; empty if that is nothing. */
export function statementsOf({ engine, done, steps }: Omit<Judged, 'what'>): string {
  const recorded = new Set(done.filter(({ digest }) => digest !== null).map(({ step }) => step));
  const records = steps.flatMap((step, index) => {
    if (recorded.has(index + 1)) return [];
    const values = `${index + 1}, '${VERSION}', CURRENT_TIMESTAMP, ${step.oldest}, '${digestOf(step, engine)}'`;
    return `INSERT INTO ${STEP_TABLE} (step, version, done_at, oldest, digest) VALUES (${values})
      ON CONFLICT (step) DO UPDATE SET digest = excluded.digest;`;
  });
  if (records.length === 0) return '';
  const missing = steps.slice(versionOf(done)).map((step) => `${sqlOf(step, engine)};`);
  return [...missing, MAKE_STEP_TABLE, ...records].join('\n');
}

const MAKE_STEP_TABLE = `CREATE TABLE IF NOT EXISTS ${STEP_TABLE} (
  step INTEGER PRIMARY KEY, version TEXT NOT NULL, done_at TIMESTAMPTZ NOT NULL, oldest INTEGER NOT NULL, digest TEXT);`;

/** The version of the tables of a store that has done these steps; 0 for none. */
export function versionOf(done: readonly DoneStep[]): number {
  return done.at(-1)?.step ?? 0;
}

/** The same for statements that differ only in comments and white space. */
export function digestOf(step: Step, engine: Engine): string {
  return createHash('sha256')
    .update(bare(sqlOf(step, engine)))
    .digest('hex')
    .slice(0, 16);
}

function sqlOf({ sql }: Step, engine: Engine): string {
  return typeof sql === 'string' ? sql : sql[engine];
}

/** SQL without comments, with single spaces. */
export function bare(sql: string): string {
  return sql.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim();
}
