/**
 * Stores faults: what was set aside because it failed, and when it is tried again. Faults survive a restart. Also
 * reads troubles: everything known to the store that is wrong, for judging the watch.
 */
import type { Fault, FaultSort } from '../../../domain/alert/fault.ts';
import type { FailingIntegration } from '../../outbox-store.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import type { Sql } from '../sql.ts';
import type { QuarantinedFeed } from '../watched/feed-streams.ts';

export interface FaultRecord extends Fault {
  /** When it was first set aside. */
  readonly sinceUs: number;
}

interface Troubles {
  /** Integrations that accept nothing now. */
  readonly failing: readonly FailingIntegration[];
  /** Receivers that accepted a delivery that is still kept. */
  readonly delivered: readonly string[];
  /** Deliveries given up after `deadAfterUs`, for each receiver that has any. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Malformed entries first met at or after `quarantinedFromUs`, as far as they are still known. */
  readonly quarantined: readonly QuarantinedFeed[];
  /** The number of faults, and the latest one. */
  readonly faults: { readonly count: number; readonly latest: FaultRecord | undefined };
}

/** Faults that are not rows last this long after they were last recorded or are to be tried again. */
const FAULT_LASTS_US = 3_600_000_000;
/** A lasting fault is not written each time it recurs. */
const NOTED_EVERY_US = 300_000_000;
/** More faults are not recorded, but still set aside. */
const MAX_FAULTS = 10_000;

/**
 * The condition of faults that last. What should have been tried again before `$1`, and was not, is settled otherwise:
 * its receiver accepted it, or its group is gone.
 */
const LASTING_FAULT = `(again_us > $1 OR sort = 'row' OR seen_us > $1)`;

export function createFaults(sql: Sql) {
  async function noteOne({ sort, name, reason }: Fault, nowUs: number, againUs: number) {
    const before = await sql.first<{ seen_us: number }>(
      'SELECT seen_us FROM fault WHERE sort = $1 AND name = $2',
      sort,
      name,
    );
    if (before && againUs === 0 && before.seen_us > nowUs - NOTED_EVERY_US) return false;
    if (!before) await makeRoom();
    await sql.run(
      `INSERT INTO fault (sort, name, reason, since_us, seen_us, again_us, raw) VALUES ($1, $2, $3, $4, $4, $5, '')
       ON CONFLICT (sort, name)
         DO UPDATE SET reason = excluded.reason, seen_us = excluded.seen_us, again_us = excluded.again_us`,
      ...[sort, name, reason, nowUs, againUs],
    );
    return before === undefined;
  }

  async function makeRoom(): Promise<void> {
    const total = await sql.first<{ count: number }>('SELECT count(*) AS count FROM fault');
    if (total!.count < MAX_FAULTS) return;
    await sql.run(
      'DELETE FROM fault WHERE (sort, name) IN (SELECT sort, name FROM fault ORDER BY seen_us LIMIT 100)',
    );
  }

  return {
    /**
     * Records faults and returns those that are new. They last until `mend`, but no longer than an hour after `againUs`, or
     * else after they were last recorded; rows as long as the retention.
     */
    async note(faults: readonly Fault[], nowUs: number, againUs = 0): Promise<Fault[]> {
      const fresh: Fault[] = [];
      for (const fault of faults) if (await noteOne(fault, nowUs, againUs)) fresh.push(fault);
      return fresh;
    },
    /** Ends these faults: what failed works again. */
    async mend(sort: FaultSort, names: readonly string[]): Promise<void> {
      if (names.length === 0) return;
      await sql.run('DELETE FROM fault WHERE sort = $1 AND name = ANY($2::text[])', sort, names);
    },
    /** The names set aside now; with `againByUs`, without those that are tried again only later. */
    async names(sort: FaultSort, againByUs = Number.MAX_SAFE_INTEGER): Promise<string[]> {
      const rows = await sql.rows<{ name: string }>(
        'SELECT name FROM fault WHERE sort = $1 AND again_us <= $2 ORDER BY name',
        sort,
        againByUs,
      );
      return rows.map(({ name }) => name);
    },
    /**
     * Called at each start: what waits to be tried again is due at once, and faults that are evaluated anyway are
     * forgotten.
     */
    async begin(nowUs: number): Promise<void> {
      await sql.run(`DELETE FROM fault WHERE again_us = 0 AND sort <> 'row'`);
      await sql.run('UPDATE fault SET again_us = $1 WHERE again_us > $2', nowUs, nowUs - FAULT_LASTS_US);
      await sql.run(
        `UPDATE alert_group SET next_flush_us = $1
         WHERE key IN (SELECT name FROM fault WHERE sort = 'group') AND next_flush_us > $1`,
        nowUs,
      );
    },
    /** Latest first. */
    async list(nowUs: number, limit: number): Promise<FaultRecord[]> {
      const rows = await sql.rows<Fault & { since_us: number }>(
        `SELECT sort, name, reason, since_us FROM fault WHERE ${LASTING_FAULT} ORDER BY since_us DESC, sort, name LIMIT $2`,
        nowUs - FAULT_LASTS_US,
        limit,
      );
      return rows.map(({ since_us: sinceUs, ...fault }) => ({ ...fault, sinceUs }));
    },
    async count(nowUs: number): Promise<{ sort: FaultSort; count: number }[]> {
      return sql.rows<{ sort: FaultSort; count: number }>(
        `SELECT sort, count(*) AS count FROM fault WHERE ${LASTING_FAULT} GROUP BY sort ORDER BY sort`,
        nowUs - FAULT_LASTS_US,
      );
    },
  };
}

/** Each row is one of several things; `what` says which, and so what the other columns mean. */
interface Row {
  readonly what: 'failing' | 'delivered' | 'dead' | 'quarantined' | 'fault';
  readonly name: string;
  readonly part: string;
  readonly reason: string;
  readonly position: number;
  readonly count: number;
  readonly since_us: number;
}

/** Deliveries that were given up are looked up only if some are counted: otherwise everything settled might be read. */
const READ = `
  SELECT 'failing' AS what, receiver AS name, integration AS part, last_error AS reason, position::bigint AS position,
    failures::bigint AS count, since_us FROM failing_integration
  UNION ALL
  SELECT 'delivered', receiver, '', '', 0, sum(count)::bigint, 0 FROM delivery_count
    WHERE state = 'delivered' GROUP BY receiver HAVING sum(count) > 0
  UNION ALL
  SELECT 'dead', receiver, '', '', 0, count(*), 0 FROM delivery /* INDEXED BY delivery_undelivered */
    WHERE state <> 'delivered' AND state = 'dead' AND settled_us > $2 AND settled_us <= $3
      AND EXISTS (SELECT 1 FROM delivery_count WHERE state = 'dead' GROUP BY state HAVING sum(count) > 0) GROUP BY receiver
  UNION ALL
  SELECT 'quarantined', region, feed, '', 0, count(*), min(kept_us)
    FROM quarantine /* INDEXED BY quarantine_by_age */ JOIN stream USING (stream)
    WHERE kept_us >= $4 GROUP BY region, feed
  UNION ALL
  SELECT * FROM (SELECT 'fault', name, sort, reason, 0, count(*) OVER (), since_us FROM fault
    WHERE ${LASTING_FAULT} ORDER BY since_us DESC, sort, name LIMIT 1) AS latest
  ORDER BY what, name, position, part`;

export function createTroubles(sql: Sql, counts: DeliveryCounts) {
  return {
    /** Reads everything as of `nowUs`; on a server with a single statement. */
    async read({
      deadAfterUs,
      quarantinedFromUs,
      nowUs,
    }: {
      readonly deadAfterUs: number;
      readonly quarantinedFromUs: number;
      readonly nowUs: number;
    }): Promise<Troubles> {
      await counts.write();
      const asked = [nowUs - FAULT_LASTS_US, deadAfterUs, nowUs, quarantinedFromUs];
      return troublesOf(await sql.rows<Row>(READ, ...asked));
    },
  };
}

function troublesOf(rows: readonly Row[]): Troubles {
  const of = (what: Row['what']) => rows.filter((row) => row.what === what);
  const [fault] = of('fault');
  return {
    failing: of('failing').map((row) => ({
      receiver: row.name,
      position: row.position,
      integration: row.part,
      failures: row.count,
      sinceUs: row.since_us,
      lastError: row.reason,
    })),
    delivered: of('delivered').map(({ name }) => name),
    dead: of('dead').map(({ name: receiver, count }) => ({ receiver, count })),
    quarantined: of('quarantined').map((row) => ({
      region: row.name,
      feed: row.part as QuarantinedFeed['feed'],
      count: row.count,
      sinceUs: row.since_us,
    })),
    faults: {
      count: fault?.count ?? 0,
      latest: fault && {
        sort: fault.part as Fault['sort'],
        name: fault.name,
        reason: fault.reason,
        sinceUs: fault.since_us,
      },
    },
  };
}
