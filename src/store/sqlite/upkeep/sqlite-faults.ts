import type { Fault, FaultSort } from '../../../domain/alert/fault.ts';
import type { FaultRecord, FaultStore } from '../../fault-store.ts';
import { type Connection, textList } from '../connection.ts';
import { RowCheck } from './row-check.ts';

/** Faults that are neither rows nor tried again last this long after they were last recorded. */
const LASTS_US = 3_600_000_000;
/** A lasting fault is not written each time it recurs. */
const NOTED_EVERY_US = 300_000_000;
/** More faults are not recorded, but still set aside. */
const MAX_FAULTS = 10_000;
/** The most rows that one check names. */
const MAX_NEWS = 100;

export class SqliteFaults implements FaultStore {
  readonly #rows: RowCheck;
  readonly #sql: ReturnType<typeof prepareFaults>;
  readonly #news: Fault[] = [];

  /** `pause` lets other work run. */
  constructor(connection: Connection, pause: () => Promise<void>) {
    this.#rows = new RowCheck(connection, pause);
    this.#sql = prepareFaults(connection);
  }

  async note(faults: readonly Fault[], nowUs: number, againUs = 0): Promise<Fault[]> {
    return faults.filter((fault) => this.#note(fault, nowUs, againUs, ''));
  }

  #note({ sort, name, reason }: Fault, nowUs: number, againUs: number, raw: string): boolean {
    const before = this.#sql.find.get(sort, name);
    if (before && againUs === 0 && before.seen_us > nowUs - NOTED_EVERY_US) return false;
    if (!before && this.#sql.total.get()!.count >= MAX_FAULTS) this.#sql.forgetOldest.run();
    this.#sql.put.run(sort, name, reason, nowUs, againUs, raw);
    return before === undefined;
  }

  async mend(sort: FaultSort, names: readonly string[]): Promise<void> {
    if (names.length > 0) this.#sql.mend.run(sort, textList(names));
  }

  async names(sort: FaultSort, againByUs = Number.MAX_SAFE_INTEGER): Promise<string[]> {
    return this.#sql.names.all(sort, againByUs).map(({ name }) => name);
  }

  async begin(nowUs: number): Promise<void> {
    this.#sql.forget.run();
    this.#sql.again.run(nowUs);
    this.#sql.flush.run(nowUs);
  }

  async checkRows(nowUs: number, which: 'all' | 'what is in use'): Promise<Fault[]> {
    const found = await this.#rows.setAside(nowUs, which);
    const faults = found.map(({ raw, ...fault }) => {
      this.#note(fault, nowUs, 0, raw);
      return fault;
    });
    this.#news.push(...faults.slice(0, MAX_NEWS));
    return faults;
  }

  async news(): Promise<Fault[]> {
    return this.#news.splice(0);
  }

  async list(nowUs: number, limit: number): Promise<FaultRecord[]> {
    return this.#sql.list
      .all(nowUs - LASTS_US, limit)
      .map(({ sort, name, reason, since_us: sinceUs }) => ({ sort, name, reason, sinceUs }));
  }

  async count(nowUs: number): Promise<{ sort: FaultSort; count: number }[]> {
    return this.#sql.count.all(nowUs - LASTS_US).map((row) => ({ ...row }));
  }
}

function prepareFaults(connection: Connection) {
  const lasting = `(again_us > 0 OR sort = 'row' OR seen_us > ?)`;
  return {
    find: connection.prepare<{ seen_us: number }>('SELECT seen_us FROM fault WHERE sort = ? AND name = ?'),
    total: connection.prepare<{ count: number }>('SELECT count(*) AS count FROM fault'),
    forgetOldest: connection.prepare(
      `DELETE FROM fault WHERE (sort, name) IN (SELECT sort, name FROM fault ORDER BY seen_us LIMIT 100)`,
    ),
    put: connection.prepare(
      `INSERT INTO fault (sort, name, reason, since_us, seen_us, again_us, raw) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
       ON CONFLICT DO UPDATE SET reason = excluded.reason, seen_us = excluded.seen_us, again_us = excluded.again_us`,
    ),
    mend: connection.prepare('DELETE FROM fault WHERE sort = ? AND name IN (SELECT value FROM json_each(?))'),
    names: connection.prepare<{ name: string }>('SELECT name FROM fault WHERE sort = ? AND again_us <= ?'),
    forget: connection.prepare(`DELETE FROM fault WHERE again_us = 0 AND sort <> 'row'`),
    again: connection.prepare('UPDATE fault SET again_us = ? WHERE again_us > 0'),
    flush: connection.prepare(
      `UPDATE alert_group SET next_flush_us = ?1
       WHERE key IN (SELECT name FROM fault WHERE sort = 'group') AND next_flush_us > ?1`,
    ),
    list: connection.prepare<Fault & { since_us: number }>(
      `SELECT sort, name, reason, since_us FROM fault WHERE ${lasting} ORDER BY since_us DESC, sort, name LIMIT ?`,
    ),
    count: connection.prepare<{ sort: FaultSort; count: number }>(
      `SELECT sort, count(*) AS count FROM fault WHERE ${lasting} GROUP BY sort ORDER BY sort`,
    ),
  };
}
