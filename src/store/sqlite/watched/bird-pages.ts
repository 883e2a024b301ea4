/** Reads Birds in pages, those in trouble first, then those that flew last; and Nests, the worst first. */
import { foldedGuid } from '../../../text/guid.ts';
import {
  type BirdOverview,
  type BirdQuery,
  type NestOverview,
  type NestQuery,
  STANDINGS,
} from '../../bird-store.ts';
import { HOUR_US } from '../../rows/nest-hours.ts';
import {
  type BirdOverviewRow,
  type BirdPlace,
  birdOverviewOf,
  birdPlaceOf,
  type NestOverviewRow,
  nestOverviewOf,
  nestPlaceOf,
} from '../../rows/overview-row.ts';
import { formatCursor, parseCursor } from '../../rows/page-cursor.ts';
import { isFiringAlertOf } from '../../sql/watched/firing-alerts.ts';
import type { Connection, Statement } from '../connection.ts';
import { Conditions } from './page-conditions.ts';

/** Birds examined for one page; takes about 40 ms. */
const MAX_LOOKED_AT = 14_000;
const LATEST = 10;
const MAX_PAGE = 1000;

const BIRD_KEY = '(bird.trouble, bird.last_us, bird.region, bird.bird_id)';
const BIRD_ORDER = 'ORDER BY bird.trouble DESC, bird.last_us DESC, bird.region DESC, bird.bird_id DESC';
const BIRD_PLACE = ['number', 'number', 'string', 'string'] as const;
const NEST_PLACE = ['number', 'number', 'number', 'string', 'string', 'string'] as const;

const BIRD = `SELECT bird.region, bird.bird_id, bird.nest_id, nest.name AS nest, bird.name, bird.status,
    bird.trigger_type, bird.present, bird.status_since_us, bird.last_us, bird.last_flight, bird.last_status,
    bird.firing, bird.trouble
  FROM bird`;
const ITS_NEST = 'LEFT JOIN nest ON nest.region = bird.region AND nest.nest_id = bird.nest_id';

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
      `(bird.region, bird.bird_id) IN (SELECT stream.region, stream.bird_id
         FROM flight INDEXED BY flight_by_id JOIN stream USING (stream) WHERE flight.id = ?)`,
      foldedGuid(flight),
    );
  }
  if (severity !== undefined) {
    where.add(
      `bird.firing > 0 AND EXISTS (SELECT 1 FROM alert WHERE ${isFiringAlertOf('bird.region', 'bird.bird_id')} AND alert.severity = ?)`,
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
  readonly #connection: Connection;
  readonly #one: Statement<BirdOverviewRow>;
  readonly #latest: Statement<{ status: string }>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#one = connection.prepare(`${BIRD} ${ITS_NEST} WHERE bird.region = ? AND bird.bird_id = ?`);
    this.#latest = connection.prepare(
      `SELECT status FROM flight WHERE stream = (
         SELECT stream FROM stream WHERE region = ? AND feed = 'flight' AND bird_id = ?)
       ORDER BY started_us DESC, id DESC LIMIT ${LATEST}`,
    );
  }

  async find(region: string, birdId: string): Promise<BirdOverview | undefined> {
    const row = this.#one.get(region, birdId);
    return row && this.#overview(row);
  }

  async page(query: BirdQuery): Promise<{ birds: BirdOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const walked = new Conditions().add('bird.present = 1');
    if (query.standing !== undefined) walked.add('bird.trouble = ?', STANDINGS.indexOf(query.standing));
    if (query.cursor !== undefined) {
      walked.add(`${BIRD_KEY} < (?, ?, ?, ?)`, ...parseCursor(query.cursor, BIRD_PLACE));
    }
    const from = 'FROM bird INDEXED BY bird_by_trouble';
    const end = this.#connection
      .prepare<BirdPlace>(
        `SELECT trouble, last_us, region, bird_id ${from} ${walked.where} ${BIRD_ORDER} LIMIT 1 OFFSET ?`,
      )
      .get(...walked.values, MAX_LOOKED_AT - 1);
    const where = walked.copy().addOneOf('bird.region', query.regions);
    if (end) where.add(`${BIRD_KEY} >= (?, ?, ?, ?)`, ...birdPlaceOf(end));
    addKept(addBird(where, query), query);
    if (query.status !== undefined) where.add('bird.status = ?', query.status);
    where.addText(query.text, {
      folded: ['bird.folded', 'nest.folded'],
      ids: ['bird.bird_id', 'bird.nest_id'],
    });
    const rows = this.#connection
      .prepare<BirdOverviewRow>(
        `${BIRD} INDEXED BY bird_by_trouble ${ITS_NEST} ${where.where} ${BIRD_ORDER} LIMIT ?`,
      )
      .all(...where.values, limit + 1);
    const next = rows.length > limit ? rows[limit - 1] : end;
    const birds = rows.slice(0, limit).map((row) => this.#overview(row));
    return next ? { birds, next: formatCursor(birdPlaceOf(next)) } : { birds };
  }

  #overview(row: BirdOverviewRow): BirdOverview {
    const latest = this.#latest.all(row.region, row.bird_id).map(({ status }) => status);
    return birdOverviewOf(row, latest.reverse());
  }

  async nestPage(query: NestQuery): Promise<{ nests: NestOverview[]; next?: string }> {
    const limit = Math.min(Math.max(1, query.limit), MAX_PAGE);
    const where = new Conditions().add('nest.present = 1').addOneOf('nest.region', query.regions);
    where.addNest('nest.nest_id', 'nest.folded', query.nest);
    where.addNamed('nest.name', 'nest.folded', query.name);
    where.addText(query.text, { folded: ['nest.folded'], ids: ['nest.nest_id'] });
    const birds = addKept(addBird(new Conditions(), { bird: query.bird }), query);
    if (!birds.isEmpty) {
      birds.add('bird.present = 1 AND bird.region = nest.region AND bird.nest_id = nest.nest_id');
      where.add(`EXISTS (SELECT 1 FROM bird ${birds.where})`, ...birds.values);
    }
    const after = new Conditions();
    const order = '-alerting, -failing, -off, folded, region, nest_id';
    if (query.cursor !== undefined) {
      after.add(`(${order}) > (?, ?, ?, ?, ?, ?)`, ...parseCursor(query.cursor, NEST_PLACE));
    }
    const rows = this.#connection
      .prepare<NestOverviewRow>(
        `WITH standing AS (
           SELECT region, nest_id, count(*) AS birds, sum(trouble = 3) AS alerting,
             sum(outcome = 'failed' AND status <> 'suspended') AS failing, sum(status = 'suspended') AS off,
             sum(firing) AS firing
           FROM bird WHERE present = 1 GROUP BY region, nest_id),
         ended AS (
           SELECT region, nest_id, sum(succeeded) AS succeeded, sum(failed) AS failed
           FROM nest_hour INDEXED BY nest_hour_by_age WHERE hour >= ? GROUP BY region, nest_id),
         each AS (
           SELECT nest.region, nest.nest_id, nest.name, nest.folded, coalesce(birds, 0) AS birds,
             coalesce(alerting, 0) AS alerting, coalesce(failing, 0) AS failing, coalesce(off, 0) AS off,
             coalesce(firing, 0) AS firing, coalesce(succeeded, 0) AS succeeded, coalesce(failed, 0) AS failed
           FROM nest LEFT JOIN standing ON standing.region = nest.region AND standing.nest_id = nest.nest_id
             LEFT JOIN ended ON ended.region = nest.region AND ended.nest_id = nest.nest_id
           ${where.where})
         SELECT * FROM each ${after.where} ORDER BY ${order} LIMIT ?`,
      )
      .all(Math.floor(query.countedSinceUs / HOUR_US), ...where.values, ...after.values, limit + 1);
    const nests = rows.slice(0, limit).map(nestOverviewOf);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return last ? { nests, next: formatCursor(nestPlaceOf(last)) } : { nests };
  }
}
