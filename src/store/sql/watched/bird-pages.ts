/** Reads Birds in pages, those in trouble first, then those that flew last; and Nests, the worst first. */
import { foldedGuid } from '../../../text/plain-text.ts';
import type { Period } from '../../../time/zone-format.ts';
import {
  type BirdOverview,
  type BirdQuery,
  type EndCounts,
  type FlightEnds,
  type FlightEndsQuery,
  type NestKey,
  type NestOverview,
  type NestQuery,
  STANDINGS,
} from '../../bird-store.ts';
import { HOUR_US } from '../../event-store.ts';
import type { Sql } from '../sql.ts';
import { Conditions, formatCursor, parseCursor } from './conditions.ts';
import { isFiringAlertOf } from './nests-and-birds.ts';

/** Birds examined for one page; SQLite takes about 40 ms, in which nothing else runs. */
const MAX_LOOKED_AT = { sqlite: 14_000, postgres: 20_000 };
const LATEST = 10;
const MAX_PAGE = 1000;

const BIRD_KEY = '(bird.trouble, bird.last_us, bird.region, bird.bird_id)';
const BIRD_ORDER = 'ORDER BY bird.trouble DESC, bird.last_us DESC, bird.region DESC, bird.bird_id DESC';
const BIRD_GIVEN = '(?::bigint, ?::bigint, ?::text, ?::text)';
const BIRD_PLACE = ['number', 'number', 'string', 'string'] as const;
const NEST_PLACE = ['number', 'number', 'number', 'string', 'string', 'string'] as const;

const BIRD = `SELECT bird.region, bird.bird_id, bird.nest_id, nest.name AS nest, bird.name, bird.status,
    bird.trigger_type, bird.present, bird.status_since_us, bird.last_us, bird.last_flight, bird.last_status,
    bird.firing, bird.trouble
  FROM bird`;
const ITS_NEST = 'LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id';
const BY_TROUBLE = '/* INDEXED BY bird_by_trouble */';
const BY_AGE = '/* INDEXED BY nest_hour_by_age */';
const FEW_HOURS = 48;

const LATEST_OF_ONE = `SELECT status FROM flight WHERE stream = (
    SELECT stream FROM stream WHERE region = $1 AND feed = 'flight' AND bird_id = $2)
  ORDER BY started_us DESC, id DESC LIMIT ${LATEST}`;
const LATEST_OF_MANY = `SELECT at, latest.status
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (region, bird_id, at)
    JOIN stream ON stream.region = given.region AND stream.feed = 'flight' AND stream.bird_id = given.bird_id
    CROSS JOIN LATERAL (SELECT status, started_us, id FROM flight WHERE flight.stream = stream.stream
      ORDER BY started_us DESC, id DESC LIMIT ${LATEST}) AS latest
  ORDER BY at, latest.started_us, latest.id`;

/** Conditions on a Bird and its Nest, shared by lists of Birds and of Flights. */
export function addBird(
  where: Conditions,
  { nest, bird, name }: Pick<BirdQuery, 'nest' | 'bird' | 'name'>,
): Conditions {
  return where
    .addNest('bird.nest_id', 'nest.folded', nest)
    .addBird('bird.bird_id', 'bird.folded', bird)
    .addNamed('bird.name', 'bird.folded', name);
}

/** Conditions on what is kept about a Bird (its Flights and firing alerts), shared by lists of Birds and of Nests. */
function addKept(
  where: Conditions,
  { flight, severity, sinceUs = 0, untilUs }: Pick<BirdQuery, 'flight' | 'severity' | 'sinceUs' | 'untilUs'>,
): Conditions {
  if (flight !== undefined) {
    where.add(
      `(bird.region, bird.bird_id) IN (
         SELECT stream.region, stream.bird_id FROM flight /* INDEXED BY flight_by_id */ JOIN stream USING (stream) WHERE flight.id = ?)`,
      foldedGuid(flight),
    );
  }
  if (severity !== undefined) {
    where.add(
      `bird.firing > 0 AND EXISTS (
         SELECT 1 FROM alert WHERE ${isFiringAlertOf('bird.region', 'bird.bird_id')} AND alert.severity = ?)`,
      severity,
    );
  }
  if (sinceUs > 0) where.add('bird.last_us >= ?', sinceUs);
  if (untilUs !== undefined) {
    where.add(
      `EXISTS (SELECT 1 FROM stream JOIN flight USING (stream)
         WHERE stream.region = bird.region AND stream.feed = 'flight' AND stream.bird_id = bird.bird_id
           AND flight.started_us >= ? AND flight.started_us < ?)`,
      sinceUs,
      untilUs,
    );
  }
  return where;
}

export class BirdPages {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(region: string, birdId: string): Promise<BirdOverview | undefined> {
    const rows = await this.#sql.rows<BirdOverviewRow>(
      `${BIRD} ${ITS_NEST} WHERE bird.region = $1 AND bird.bird_id = $2`,
      region,
      birdId,
    );
    return (await this.#overviews(rows))[0];
  }

  async page(query: BirdQuery): Promise<{ birds: BirdOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const walked = new Conditions(this.#sql).add('bird.present = 1');
    if (query.standing !== undefined) walked.add('bird.trouble = ?', STANDINGS.indexOf(query.standing));
    if (query.cursor !== undefined) {
      walked.add(`${BIRD_KEY} < ${BIRD_GIVEN}`, ...parseCursor(query.cursor, BIRD_PLACE));
    }
    const [end] = await this.#sql.composed<BirdPlace>(
      `SELECT trouble, last_us, region, bird_id FROM bird ${BY_TROUBLE} ${walked.where} ${BIRD_ORDER}
       LIMIT 1 OFFSET ${MAX_LOOKED_AT[this.#sql.engine] - 1}`,
      ...walked.parameters,
    );
    const where = walked.copy().addOneOf('bird.region', query.regions);
    if (end) where.add(`${BIRD_KEY} >= ${BIRD_GIVEN}`, ...birdPlaceOf(end));
    addKept(addBird(where, query), query);
    if (query.status !== undefined) where.add('bird.status = ?', query.status);
    where.addText(query.text, {
      folded: ['bird.folded', 'nest.folded'],
      ids: ['bird.bird_id', 'bird.nest_id'],
    });
    const rows = await this.#sql.composed<BirdOverviewRow>(
      `${BIRD} ${BY_TROUBLE} ${ITS_NEST} ${where.where} ${BIRD_ORDER} LIMIT ${limit + 1}`,
      ...where.parameters,
    );
    const next = rows.length > limit ? rows[limit - 1] : end;
    const birds = await this.#overviews(rows.slice(0, limit));
    return next ? { birds, next: formatCursor(birdPlaceOf(next)) } : { birds };
  }

  async #overviews(rows: readonly BirdOverviewRow[]): Promise<BirdOverview[]> {
    if (rows.length === 0) return [];
    const latest = this.#sql.engine === 'sqlite' ? await this.#latestOfEach(rows) : await this.#latest(rows);
    return rows.map((row, index) => birdOverviewOf(row, latest[index]!));
  }

  /** The statuses of each Bird's last Flights, oldest first. */
  async #latestOfEach(rows: readonly BirdOverviewRow[]): Promise<string[][]> {
    const latest: string[][] = [];
    for (const { region, bird_id } of rows) {
      const flights = await this.#sql.rows<{ status: string }>(LATEST_OF_ONE, region, bird_id);
      latest.push(flights.map(({ status }) => status).reverse());
    }
    return latest;
  }

  /** The same in one round trip. */
  async #latest(rows: readonly BirdOverviewRow[]): Promise<string[][]> {
    const latest = await this.#sql.rows<{ at: number; status: string }>(
      LATEST_OF_MANY,
      rows.map(({ region }) => region),
      rows.map(({ bird_id }) => bird_id),
    );
    const statuses = Map.groupBy(latest, ({ at }) => at);
    return rows.map((_, index) => (statuses.get(index + 1) ?? []).map(({ status }) => status));
  }

  async nestPage(query: NestQuery): Promise<{ nests: NestOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const half = halfOf(query.countedSinceUs);
    const where = new Conditions(this.#sql, [Math.floor(half / 2)])
      .add('nest.present = 1')
      .addOneOf('nest.region', query.regions);
    where.addNest('nest.nest_id', 'nest.folded', query.nest);
    where.addNamed('nest.name', 'nest.folded', query.name);
    where.addText(query.text, { folded: ['nest.folded'], ids: ['nest.nest_id'] });
    const birds = addKept(addBird(where.others(), { bird: query.bird }), query);
    if (!birds.isEmpty) {
      birds.add('bird.present = 1 AND bird.region = nest.region AND bird.nest_id = nest.nest_id');
      where.add(`EXISTS (SELECT 1 FROM bird ${birds.where})`);
    }
    const order = '-worst, -failing, -off, folded, region, nest_id';
    const after = where.others();
    if (query.cursor !== undefined) {
      after.add(
        `(${order}) > (?::bigint, ?::bigint, ?::bigint, ?::text, ?::text, ?::text)`,
        ...parseCursor(query.cursor, NEST_PLACE),
      );
    }
    const rows = await this.#sql.composed<NestOverviewRow>(
      // The Birds without trouble, which are most, are counted for the Nests of the page alone.
      `WITH standing AS (
         SELECT region, nest_id, count(*) FILTER (WHERE trouble = 3) AS alerting,
           count(*) FILTER (WHERE outcome = 'failed' AND status <> 'suspended') AS failing,
           count(*) FILTER (WHERE status = 'suspended') AS off, sum(firing)::bigint AS firing
         FROM bird ${BY_TROUBLE} WHERE present = 1 AND trouble > 0 GROUP BY region, nest_id),
       -- Of the Nests themselves, such as a lost connection. Most others are known by their name, without their row.
       own AS (
         SELECT region, nest_id, count(*) AS firing FROM alert /* INDEXED BY alert_firing */
         WHERE state = 'firing' AND alertname <> 'FlightFailed' AND nest_id <> '' AND bird_id = ''
         GROUP BY region, nest_id),
       each_nest AS (
         SELECT nest.region, nest.nest_id, nest.name, nest.folded, coalesce(alerting, 0) AS alerting,
           coalesce(failing, 0) AS failing, coalesce(off, 0) AS off,
           coalesce(standing.firing, 0) + coalesce(own.firing, 0) AS firing,
           coalesce(alerting, 0) + coalesce(own.firing, 0) AS worst
         FROM nest LEFT JOIN standing ON standing.region = nest.region AND standing.nest_id = nest.nest_id
           LEFT JOIN own ON own.region = nest.region AND own.nest_id = nest.nest_id
         ${where.where}),
       page AS MATERIALIZED (SELECT * FROM each_nest ${after.where} ORDER BY ${order} LIMIT ${limit + 1})
       SELECT page.*, (SELECT count(*) FROM bird /* INDEXED BY bird_of_nest */
           WHERE bird.region = page.region AND bird.nest_id = page.nest_id AND present = 1) AS birds,
         ${endedSql('succeeded', half)}, ${endedSql('failed', half)}
       FROM page ORDER BY ${order}`,
      ...where.parameters,
    );
    const nests = rows.slice(0, limit).map(nestOverviewOf);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return last ? { nests, next: formatCursor(nestPlaceOf(last)) } : { nests };
  }

  async flightEnds({ regions, nestId, sinceUs }: FlightEndsQuery): Promise<FlightEnds[]> {
    const where = new Conditions(this.#sql)
      .add('hour >= ?', Math.floor(sinceUs / HOUR_US))
      .addOneOf('region', regions);
    if (nestId !== undefined) where.add('nest_id = ?', nestId);
    // Of few hours, few of a region's rows are read by their age; of many, all of them are sooner read in order.
    const last = await this.#sql.first<{ hour: number | null }>('SELECT max(hour) AS hour FROM nest_hour');
    const isShort = nestId === undefined && (last?.hour ?? 0) < sinceUs / HOUR_US + FEW_HOURS;
    const rows = await this.#sql.composed<HourRow>(
      `SELECT hour, sum(succeeded)::bigint AS succeeded, sum(failed)::bigint AS failed,
         sum(late_succeeded)::bigint AS late, sum(late_failed)::bigint AS late_bad
       FROM nest_hour ${isShort ? BY_AGE : ''} ${where.where} GROUP BY hour ORDER BY hour`,
      ...where.parameters,
    );
    return endsOf(rows, sinceUs);
  }

  async nestEnds(nests: readonly NestKey[], sinceUs: number): Promise<FlightEnds[][]> {
    const named = (of: keyof NestKey) => [...new Set(nests.map((nest) => nest[of]))];
    const where = new Conditions(this.#sql)
      .add('hour >= ?', Math.floor(sinceUs / HOUR_US))
      .addOneOf('region', named('region'))
      .addOneOf('nest_id', named('nestId'));
    const rows = await this.#sql.composed<HourRow & { region: string; nest_id: string }>(
      `SELECT region, nest_id, hour, succeeded, failed, late_succeeded AS late, late_failed AS late_bad
       FROM nest_hour ${where.where} ORDER BY region, nest_id, hour`,
      ...where.parameters,
    );
    const byNest = Map.groupBy(rows, (row) => JSON.stringify([row.region, row.nest_id]));
    return nests.map(({ region, nestId }) =>
      endsOf(byNest.get(JSON.stringify([region, nestId])) ?? [], sinceUs),
    );
  }

  async nestDays({ region, nestId }: NestKey, days: readonly Period[]): Promise<EndCounts[]> {
    const counts = days.map(() => ({ succeeded: 0, failed: 0 }));
    for (let from = 0, to = 0; from < days.length; from = to) {
      const { fromUs } = days[from]!;
      // Days of 24 hours are counted together, with one at their end that may be longer or shorter.
      do to += 1;
      while (to < days.length && lengthUs(days[to - 1]!) === 24 * HOUR_US);
      const rows = await this.#sql.rows<EndCounts & { readonly day: number }>(
        `SELECT (half - CAST($3 AS BIGINT)) / 48 AS day, sum(succeeded)::bigint AS succeeded, sum(failed)::bigint AS failed FROM (
           SELECT region, nest_id, hour, 2 * hour AS half, succeeded - late_succeeded AS succeeded,
             failed - late_failed AS failed FROM nest_hour
           UNION ALL SELECT region, nest_id, hour, 2 * hour + 1, late_succeeded, late_failed FROM nest_hour) AS halves
         WHERE region = $1 AND nest_id = $2 AND hour >= $5 AND half >= $3 AND half < $4 GROUP BY 1`,
        ...[region, nestId, halfOf(fromUs), halfOf(days[to - 1]!.untilUs), Math.floor(fromUs / HOUR_US)],
      );
      for (const { day, succeeded, failed } of rows) {
        const one = counts[Math.min(from + day, to - 1)]!;
        one.succeeded += succeeded;
        one.failed += failed;
      }
    }
    return counts;
  }
}

const lengthUs = ({ fromUs, untilUs }: Period) => untilUs - fromUs;
/** The number of the first half hour, counted from 1970, that begins then or later. */
const halfOf = (us: number) => Math.ceil(us / (HOUR_US / 2));

/** A row of `nest_hour`; `late` and `late_bad` ended in its second half. */
type HourRow = Readonly<Record<'hour' | 'succeeded' | 'failed' | 'late' | 'late_bad', number>>;

function endsOf(rows: readonly HourRow[], sinceUs: number): FlightEnds[] {
  return rows
    .flatMap(({ hour, succeeded, failed, late, late_bad }) => [
      { sinceUs: hour * HOUR_US, succeeded: succeeded - late, failed: failed - late_bad },
      { sinceUs: (hour + 0.5) * HOUR_US, succeeded: late, failed: late_bad },
    ])
    .filter((one) => one.sinceUs + HOUR_US / 2 > sinceUs && one.succeeded + one.failed > 0);
}

/** Of a Nest of the page, since the hour `$1`, or since its second half if the number of half hours is odd. */
function endedSql(what: 'succeeded' | 'failed', half: number): string {
  const counted = half % 2 === 0 ? what : `CASE WHEN hour = $1 THEN late_${what} ELSE ${what} END`;
  return `coalesce((SELECT sum(${counted}) FROM nest_hour WHERE nest_hour.region = page.region
    AND nest_hour.nest_id = page.nest_id AND hour >= $1), 0)::bigint AS ${what}`;
}

interface BirdOverviewRow {
  readonly region: string;
  readonly bird_id: string;
  readonly nest_id: string;
  readonly nest: string | null;
  readonly name: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly present: number;
  readonly status_since_us: number;
  readonly last_us: number;
  readonly last_flight: string;
  readonly last_status: string;
  readonly firing: number;
  readonly trouble: number;
}

/** `latest`: the statuses of its last Flights, oldest first. */
function birdOverviewOf(row: BirdOverviewRow, latest: readonly string[]): BirdOverview {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    nest: row.nest ?? '',
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    present: row.present === 1,
    statusSinceUs: row.status_since_us,
    standing: STANDINGS[row.trouble]!,
    firing: row.firing,
    ...(row.last_flight !== '' && {
      last: { flightId: row.last_flight, startedAtUs: row.last_us, status: row.last_status },
    }),
    latest,
  };
}

/** Those in trouble first, then those that flew last. */
type BirdPlace = Pick<BirdOverviewRow, 'trouble' | 'last_us' | 'region' | 'bird_id'>;

function birdPlaceOf(row: BirdPlace): (string | number)[] {
  return [row.trouble, row.last_us, row.region, row.bird_id];
}

interface NestOverviewRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly folded: string;
  readonly birds: number;
  readonly alerting: number;
  readonly failing: number;
  readonly off: number;
  readonly firing: number;
  /** Birds and other things of the Nest about which an alert fires. */
  readonly worst: number;
  readonly succeeded: number;
  readonly failed: number;
}

function nestOverviewOf(row: NestOverviewRow): NestOverview {
  const { nest_id: nestId, name: nest, folded: _folded, worst: _worst, ...counts } = row;
  return { ...counts, nestId, nest };
}

/** The worst first. */
function nestPlaceOf(row: NestOverviewRow): (string | number)[] {
  return [-row.worst, -row.failing, -row.off, row.folded, row.region, row.nest_id];
}
