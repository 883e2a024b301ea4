import type { DeliveryCounts } from '../../sql/delivery-counts.ts';
import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Statements } from '../statements.ts';
import { PostgresPrune } from './postgres-prune.ts';
import { rollBackRows, setRowsAhead } from './postgres-roll-back.ts';

export class PostgresUpkeep implements UpkeepStore {
  readonly #statements: Statements;
  readonly #prune: PostgresPrune;

  constructor(statements: Statements, counts: DeliveryCounts) {
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

  rollBackClock(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void> {
    return rollBackRows(this.#statements, byUs, nowUs, pause);
  }

  setClockAhead(byUs: number, pause: () => Promise<void>): Promise<void> {
    return setRowsAhead(this.#statements, byUs, pause);
  }

  prune(beforeUs: number, limit: number): Promise<number> {
    return this.#prune.step(beforeUs, limit);
  }
}
