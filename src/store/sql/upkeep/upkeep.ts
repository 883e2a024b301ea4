import type { UpkeepStore } from '../../upkeep-store.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import type { Sql } from '../sql.ts';
import { Prune } from './prune.ts';
import { rollBackRows, setRowsAhead } from './roll-back.ts';

export function createUpkeep(sql: Sql, counts: DeliveryCounts): UpkeepStore {
  const prune = new Prune(sql, counts);
  return {
    async signingKey(name, fresh) {
      await sql.run(
        'INSERT INTO signing_key (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        name,
        fresh,
      );
      const row = await sql.first<{ value: string }>('SELECT value FROM signing_key WHERE name = $1', name);
      return row!.value;
    },
    async newestInstantUs() {
      const row = await sql.first<{ at_us: number }>(
        `SELECT greatest(0, coalesce((SELECT observed_us FROM event ORDER BY event DESC LIMIT 1), 0),
           coalesce((SELECT created_us FROM delivery ORDER BY seq DESC LIMIT 1), 0)) AS at_us`,
      );
      return row!.at_us;
    },
    rollBackClock: (byUs, nowUs, pause) => rollBackRows(sql, byUs, nowUs, pause),
    setClockAhead: (byUs, pause) => setRowsAhead(sql, byUs, pause),
    prune: (beforeUs, limit) => prune.step(beforeUs, limit),
  };
}
