/**
 * Stores the inventory: since when each region is watched, and its Nests and Birds as last listed. Those no longer
 * listed are kept as not `present` until retention deletes them. A Bird's row also says how it stands (below).
 */

import { birdOfScope, type Place } from '../../../domain/alert/fact.ts';
import { foldedText } from '../../../text/plain-text.ts';
import type { Clock } from '../../../time/clock.ts';
import { decidesStanding, type FlightRecord, latestFlight } from '../../event-store.ts';
import { lastOfEach, namesOf, type RowStatement, type Sql, upsertRows } from '../sql.ts';

/** A Nest as the inventory last saw it. */
export interface NestRecord {
  readonly region: string;
  readonly nestId: string;
  readonly name: string;
  /** False once a reading no longer listed it. */
  readonly present: boolean;
}

/** A Bird as the inventory last saw it. */
export interface BirdRecord {
  readonly region: string;
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** `active`, `unpublished`, `suspended`, or a value not known today. */
  readonly status: string;
  /** `manual`, `event`, `scheduled`, or a value not known today. */
  readonly triggerType: string;
  /** Undefined if the service never said so. */
  readonly isPublished?: boolean | undefined;
  /** False once a reading no longer listed it. */
  readonly present: boolean;
  /** When the status was last seen to change, by our clock; the first reading counts as a change. */
  readonly statusSinceUs: number;
  /** True while the status is still that of the first reading: the Bird may have had it long before. */
  readonly hasFirstStatus?: boolean;
  /**
   * Since when its events are news, on the service's clock, if it came to be watched later than its region; absent if
   * they have been news for as long as the region is watched. `NO_NEWS_US` while the configuration excludes its Nest.
   */
  readonly newsSinceUs?: number | undefined;
}

export function placeOf({ region, nestId, birdId, name }: BirdRecord, nest: string): Place {
  return { region, nestId, nest, birdId, bird: name };
}

/** Later than any event. */
export const NO_NEWS_US = Number.MAX_SAFE_INTEGER;

/** The active members of a Nest: their mail addresses as the service gives them, which need not be valid. */
export interface NestMembers {
  readonly region: string;
  readonly nestId: string;
  readonly addresses: readonly string[];
}

/** What the service listed last, as far as only the events of the inventory need it. */
export interface ListedRecord {
  readonly region: string;
  /** `nest`: of all Nests, also excluded ones; `member`: of the members of a Nest; `user`: of the Users. */
  readonly sort: 'nest' | 'member' | 'user';
  readonly id: string;
  /** In words of `intake/inventory`; undefined if it is not listed any more. */
  readonly said: string | undefined;
}

/** The request rate that a region was seen to bear, and when that was recorded. */
interface RateRecord {
  readonly perSecond: number;
  readonly keptUs: number;
}

const PUT_MEMBERS = upsertRows(
  'nest_members',
  'region text, nest_id text, addresses text',
  'region, nest_id',
);

const PUT_LISTED = upsertRows('listed', 'region text, sort text, id text, said text', 'region, sort, id');
const UNLIST: RowStatement = {
  columns: 'region text, sort text, id text',
  text: (given) => `DELETE FROM listed WHERE (region, sort, id) IN (SELECT region, sort, id FROM ${given})`,
};

const NEST = 'region text, nest_id text, name text, folded text, present integer, gone_us bigint';
const PUT_NESTS: RowStatement = {
  columns: NEST,
  text: (given) => `INSERT INTO nest (${namesOf(NEST).join(', ')}) SELECT * FROM ${given} WHERE true
    ON CONFLICT (region, nest_id) DO UPDATE SET name = excluded.name, folded = excluded.folded,
      present = excluded.present,
      gone_us = CASE WHEN 1 IN (excluded.present, nest.present) THEN excluded.gone_us ELSE nest.gone_us END`,
};

const BIRD = `region text, bird_id text, nest_id text, name text, folded text, status text, trigger_type text,
  present integer, status_since_us bigint, first_status integer, news_since_us bigint, gone_us bigint,
  published bigint`;
const PUT_BIRDS: RowStatement = {
  columns: BIRD,
  text: (given) => `INSERT INTO bird (${namesOf(BIRD).join(', ')}, firing)
    SELECT given.*, ${firingAlerts('given.region', 'given.bird_id')} FROM ${given} WHERE true
    ON CONFLICT (region, bird_id) DO UPDATE SET nest_id = excluded.nest_id, name = excluded.name,
      folded = excluded.folded, status = excluded.status, trigger_type = excluded.trigger_type,
      published = excluded.published, present = excluded.present, status_since_us = excluded.status_since_us,
      first_status = excluded.first_status, news_since_us = excluded.news_since_us,
      gone_us = CASE WHEN 1 IN (excluded.present, bird.present) THEN excluded.gone_us ELSE bird.gone_us END,
      judge_us = CASE WHEN bird.status = excluded.status THEN bird.judge_us ELSE 0 END`,
};

export function createInventory(sql: Sql, clock: Clock) {
  const goneUs = (isPresent: boolean) => (isPresent ? 0 : clock.nowUs());

  async function knownSince(region: string): Promise<number | undefined> {
    const row = await sql.first<{ since_us: number }>(
      'SELECT since_us FROM region WHERE region = $1',
      region,
    );
    return row?.since_us;
  }

  return {
    /** Whether a Nest of any region has this id, even one that is no longer listed. */
    isNest: async (id: string) =>
      (await sql.first('SELECT nest_id FROM nest WHERE nest_id = $1 LIMIT 1', id)) !== undefined,
    isBird: async (id: string) =>
      (await sql.first('SELECT bird_id FROM bird WHERE bird_id = $1 LIMIT 1', id)) !== undefined,
    /** When this store first watched the region: `nowUs` at the first call, the same instant ever after. */
    async regionSince(region: string, nowUs: number): Promise<number> {
      const known = await knownSince(region);
      if (known === undefined) {
        await sql.run('INSERT INTO region (region, since_us) VALUES ($1, $2)', region, nowUs);
      }
      return known ?? nowUs;
    },
    /**
     * When anybody first tried to read this region, by our own clock: `nowUs` at the first call, the same instant ever
     * after.
     */
    async firstStart(region: string, nowUs: number): Promise<number> {
      await sql.run(
        'INSERT INTO region_start (region, first_us) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        region,
        nowUs,
      );
      const row = await sql.first<{ first_us: number }>(
        'SELECT first_us FROM region_start WHERE region = $1',
        region,
      );
      return row!.first_us;
    },
    /** When this region was first watched; undefined if `regionSince` was never called for it. */
    knownSince,
    /** Corrects when the watch of this region began, if the service's clock was wrong at that time. */
    async began(region: string, sinceUs: number): Promise<void> {
      await sql.run('UPDATE region SET since_us = $2 WHERE region = $1', region, sinceUs);
    },
    /** Keeps the rate that the region bears for the next start. */
    async putRate(region: string, { perSecond, keptUs }: RateRecord): Promise<void> {
      await sql.run(
        `INSERT INTO region_rate (region, per_second, kept_us) VALUES ($1, $2, $3)
         ON CONFLICT (region) DO UPDATE SET per_second = excluded.per_second, kept_us = excluded.kept_us`,
        region,
        perSecond,
        keptUs,
      );
    },
    /** The rate kept last; undefined if none was kept. */
    async rate(region: string): Promise<RateRecord | undefined> {
      const row = await sql.first<{ per_second: number; kept_us: number }>(
        'SELECT per_second, kept_us FROM region_rate WHERE region = $1',
        region,
      );
      return row && { perSecond: row.per_second, keptUs: row.kept_us };
    },
    async nests(region: string): Promise<NestRecord[]> {
      const rows = await sql.rows<NestRow>(
        'SELECT region, nest_id, name, present FROM nest WHERE region = $1 ORDER BY nest_id',
        region,
      );
      return rows.map(nestOf);
    },
    async putNests(nests: readonly NestRecord[]): Promise<void> {
      const last = lastOfEach(nests, ({ region, nestId }) => JSON.stringify([region, nestId]));
      await sql.write(
        PUT_NESTS,
        last.map(({ region, nestId, name, present }) => [
          ...[region, nestId, name, foldedText(name)],
          ...[Number(present), goneUs(present)],
        ]),
      );
    },
    /** Whom to notify as a member of a Nest; kept only if a receiver wants it. */
    async nestMembers(region: string): Promise<NestMembers[]> {
      const rows = await sql.rows<{ nest_id: string; addresses: string }>(
        'SELECT nest_id, addresses FROM nest_members WHERE region = $1 ORDER BY nest_id',
        region,
      );
      return rows.map((row) => ({
        region,
        nestId: row.nest_id,
        addresses: JSON.parse(row.addresses) as string[],
      }));
    },
    async putNestMembers(members: readonly NestMembers[]): Promise<void> {
      const last = lastOfEach(members, ({ region, nestId }) => JSON.stringify([region, nestId]));
      await sql.write(
        PUT_MEMBERS,
        last.map(({ region, nestId, addresses }) => [region, nestId, JSON.stringify(addresses)]),
      );
    },
    listed: (region: string): Promise<ListedRecord[]> =>
      sql.rows<ListedRecord>(
        'SELECT region, sort, id, said FROM listed WHERE region = $1 ORDER BY sort, id',
        region,
      ),
    /** Deletes those of which nothing is said. */
    async putListed(records: readonly ListedRecord[]): Promise<void> {
      const last = lastOfEach(records, ({ region, sort, id }) => JSON.stringify([region, sort, id]));
      const there = last.flatMap(({ region, sort, id, said }) =>
        said === undefined ? [] : [[region, sort, id, said]],
      );
      const gone = last.filter(({ said }) => said === undefined);
      await sql.write(
        UNLIST,
        gone.map(({ region, sort, id }) => [region, sort, id]),
      );
      await sql.write(PUT_LISTED, there);
    },
    async birds(region: string): Promise<BirdRecord[]> {
      const rows = await sql.rows<BirdRow>(
        `SELECT region, bird_id, nest_id, name, status, trigger_type, present, status_since_us, first_status,
           news_since_us, published
         FROM bird WHERE region = $1 ORDER BY bird_id`,
        region,
      );
      return rows.map(birdOf);
    },
    /** A Bird whose status changes is judged anew (`OverdueStore`). */
    async putBirds(birds: readonly BirdRecord[]): Promise<void> {
      const last = lastOfEach(birds, ({ region, birdId }) => JSON.stringify([region, birdId]));
      await sql.write(
        PUT_BIRDS,
        last.map((bird) => [
          ...[bird.region, bird.birdId, bird.nestId, bird.name, foldedText(bird.name)],
          ...[bird.status, bird.triggerType, Number(bird.present), bird.statusSinceUs],
          ...[bird.hasFirstStatus ? 1 : 0, bird.newsSinceUs ?? 0, goneUs(bird.present)],
          bird.isPublished === undefined ? -1 : Number(bird.isPublished),
        ]),
      );
    },
  };
}

/** A row of `nest`. */
interface NestRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly present: number;
}

/** A row of `bird`. */
interface BirdRow extends NestRow {
  readonly bird_id: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly status_since_us: number;
  readonly first_status: number;
  readonly news_since_us: number;
  readonly published: number;
}

function nestOf(row: NestRow): NestRecord {
  return { region: row.region, nestId: row.nest_id, name: row.name, present: row.present === 1 };
}

function birdOf(row: BirdRow): BirdRecord {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    ...(row.published >= 0 && { isPublished: row.published === 1 }),
    present: row.present === 1,
    statusSinceUs: row.status_since_us,
    ...(row.first_status === 1 && { hasFirstStatus: true }),
    ...(row.news_since_us !== 0 && { newsSinceUs: row.news_since_us }),
  };
}

// Keeps each Bird's standing in its row: its last Flight, how its last finished Flight (failed or succeeded) ended,
// and how many alerts about it fire. So a list of ten thousand Birds, those in trouble first, is read from one index.

/** An SQL expression for how many alerts of a Bird fire; both arguments are expressions. */
export function firingAlerts(region: string, birdId: string): string {
  return `(SELECT count(*) FROM alert WHERE ${isFiringAlertOf(region, birdId)})`;
}

/** An SQL condition that an alert is about a Bird and fires. */
export function isFiringAlertOf(region: string, birdId: string): string {
  return `alert.region = ${region} AND alert.scope = ${region} || '/bird/' || ${birdId} AND alert.state = 'firing'`;
}

const OF_STREAM =
  'stream.stream = given.stream AND bird.region = stream.region AND bird.bird_id = stream.bird_id';
const LAST: RowStatement = {
  columns: 'stream bigint, us bigint, id text, status text',
  text: (given) => `UPDATE bird SET last_us = given.us, last_flight = given.id, last_status = given.status
    FROM ${given}, stream WHERE ${OF_STREAM} AND bird.last_us <= given.us`,
};
const OUTCOME: RowStatement = {
  columns: 'stream bigint, us bigint, status text',
  text: (given) => `UPDATE bird SET outcome_us = given.us, outcome = given.status
    FROM ${given}, stream WHERE ${OF_STREAM} AND bird.outcome_us <= given.us`,
};
const FIRING: RowStatement = {
  columns: 'region text, bird_id text',
  text: (given) => `UPDATE bird SET firing = counted.firing
    FROM (SELECT region, bird_id, ${firingAlerts('given.region', 'given.bird_id')} AS firing FROM ${given}) AS counted
    WHERE bird.region = counted.region AND bird.bird_id = counted.bird_id AND bird.firing <> counted.firing`,
};

export class BirdStanding {
  readonly #sql: Sql;
  readonly #changed = new Set<string>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Records that these Flights were seen. */
  async seen(flights: readonly FlightRecord[]): Promise<void> {
    const streams = [...Map.groupBy(flights, (one) => one.stream)];
    const last = streams.map(([stream, all]) => {
      const { startedAtUs, flightId, status } = latestFlight(all)!;
      return [stream, startedAtUs, flightId, status];
    });
    await this.#sql.write(LAST, last);
    const ended = streams.flatMap(([stream, all]) => {
      const one = latestFlight(all.filter(decidesStanding));
      return one ? [[stream, one.startedAtUs, one.status]] : [];
    });
    await this.#sql.write(OUTCOME, ended);
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
    await this.#sql.write(FIRING, birds);
  }

  /** Discards what was not counted, because the transaction was rolled back. */
  forget(): void {
    this.#changed.clear();
  }
}
