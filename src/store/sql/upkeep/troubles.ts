import type { Fault } from '../../../domain/alert/fault.ts';
import type { Troubles, TroublesStore } from '../../fault-store.ts';
import type { QuarantinedFeed } from '../../stream-store.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import type { Sql } from '../sql.ts';
import { FAULT_LASTS_US, LASTING_FAULT } from './noted-faults.ts';

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

export function createTroubles(sql: Sql, counts: DeliveryCounts): TroublesStore {
  return {
    async read({ deadAfterUs, quarantinedFromUs, nowUs }) {
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
