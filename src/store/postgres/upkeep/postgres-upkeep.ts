import type { UpkeepStore } from '../../upkeep-store.ts';
import type { PostgresCounts } from '../queued/postgres-counts.ts';
import type { Statements } from '../statements.ts';
import { PostgresPrune } from './postgres-prune.ts';

/** Moves what waits for an instant after `$2` so much earlier. */
const ROLL_BACK = [
  'UPDATE alert_group SET next_flush_us = next_flush_us - $1 WHERE next_flush_us > $2',
  `UPDATE delivery SET next_attempt_us = next_attempt_us - $1
   WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND next_attempt_us > $2`,
  'UPDATE delivery SET fallback_us = fallback_us - $1 WHERE fallback_us > $2',
];

export class PostgresUpkeep implements UpkeepStore {
  readonly #statements: Statements;
  readonly #prune: PostgresPrune;

  constructor(statements: Statements, counts: PostgresCounts) {
    this.#statements = statements;
    this.#prune = new PostgresPrune(statements, counts);
  }

  async signingKey(name: string, fresh: string): Promise<string> {
    await this.#statements.run(
      'INSERT INTO signing_key (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      name,
      fresh,
    );
    const row = await this.#statements.first<{ value: string }>(
      'SELECT value FROM signing_key WHERE name = $1',
      name,
    );
    return row!.value;
  }

  async newestInstantUs(): Promise<number> {
    const row = await this.#statements.first<{ at_us: number }>(
      `SELECT greatest(0, (SELECT observed_us FROM event ORDER BY event DESC LIMIT 1),
         (SELECT created_us FROM delivery ORDER BY seq DESC LIMIT 1)) AS at_us`,
    );
    return row!.at_us;
  }

  async rollBackClock(byUs: number, nowUs: number): Promise<void> {
    for (const sql of ROLL_BACK) await this.#statements.run(sql, byUs, nowUs);
  }

  prune(beforeUs: number, limit: number): Promise<number> {
    return this.#prune.step(beforeUs, limit);
  }
}
