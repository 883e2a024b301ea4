import type { Fault, FaultSort } from '../../../domain/alert/fault.ts';
import type { FaultRecord, FaultStore } from '../../fault-store.ts';
import type { Sql } from '../sql.ts';

/** Faults that are neither rows nor tried again last this long after they were last recorded. */
export const FAULT_LASTS_US = 3_600_000_000;
/** A lasting fault is not written each time it recurs. */
const NOTED_EVERY_US = 300_000_000;
/** More faults are not recorded, but still set aside. */
const MAX_FAULTS = 10_000;

/** The condition of faults that last. Faults that are not tried again must have been recorded after `$1`. */
export const LASTING_FAULT = `(again_us > 0 OR sort = 'row' OR seen_us > $1)`;

export function createFaults(sql: Sql): FaultStore {
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
    async note(faults, nowUs, againUs = 0) {
      const fresh: Fault[] = [];
      for (const fault of faults) if (await noteOne(fault, nowUs, againUs)) fresh.push(fault);
      return fresh;
    },
    async mend(sort, names) {
      if (names.length === 0) return;
      await sql.run('DELETE FROM fault WHERE sort = $1 AND name = ANY($2::text[])', sort, names);
    },
    async names(sort, againByUs = Number.MAX_SAFE_INTEGER) {
      const rows = await sql.rows<{ name: string }>(
        'SELECT name FROM fault WHERE sort = $1 AND again_us <= $2 ORDER BY name',
        sort,
        againByUs,
      );
      return rows.map(({ name }) => name);
    },
    async begin(nowUs) {
      await sql.run(`DELETE FROM fault WHERE again_us = 0 AND sort <> 'row'`);
      await sql.run('UPDATE fault SET again_us = $1 WHERE again_us > 0', nowUs);
      await sql.run(
        `UPDATE alert_group SET next_flush_us = $1
         WHERE key IN (SELECT name FROM fault WHERE sort = 'group') AND next_flush_us > $1`,
        nowUs,
      );
    },
    async list(nowUs, limit): Promise<FaultRecord[]> {
      const rows = await sql.rows<Fault & { since_us: number }>(
        `SELECT sort, name, reason, since_us FROM fault WHERE ${LASTING_FAULT} ORDER BY since_us DESC, sort, name LIMIT $2`,
        nowUs - FAULT_LASTS_US,
        limit,
      );
      return rows.map(({ since_us: sinceUs, ...fault }) => ({ ...fault, sinceUs }));
    },
    async count(nowUs) {
      return sql.rows<{ sort: FaultSort; count: number }>(
        `SELECT sort, count(*) AS count FROM fault WHERE ${LASTING_FAULT} GROUP BY sort ORDER BY sort`,
        nowUs - FAULT_LASTS_US,
      );
    },
  };
}
