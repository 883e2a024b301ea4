import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Connection } from '../connection.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import { Prune } from './prune.ts';

export class SqliteUpkeep implements UpkeepStore {
  readonly #prune: Prune;
  readonly #keys: ReturnType<typeof prepareKeys>;
  readonly #newest: ReturnType<typeof prepareNewest>;
  readonly #rollBack: ReturnType<typeof prepareRollBack>;

  constructor(connection: Connection, counts: Pick<DeliveryCounts, 'add'>) {
    this.#prune = new Prune(connection, counts);
    this.#keys = prepareKeys(connection);
    this.#newest = prepareNewest(connection);
    this.#rollBack = prepareRollBack(connection);
  }

  async signingKey(name: string, fresh: string): Promise<string> {
    this.#keys.put.run(name, fresh);
    return this.#keys.get.get(name)!.value;
  }

  async newestInstantUs(): Promise<number> {
    const { event, delivery } = this.#newest;
    return Math.max(event.get()?.at_us ?? 0, delivery.get()?.at_us ?? 0);
  }

  async rollBackClock(byUs: number, nowUs: number): Promise<void> {
    for (const update of this.#rollBack) update.run(byUs, nowUs);
  }

  async prune(beforeUs: number, limit: number): Promise<number> {
    return this.#prune.step(beforeUs, limit);
  }
}

function prepareKeys(connection: Connection) {
  return {
    put: connection.prepare('INSERT OR IGNORE INTO signing_key (name, value) VALUES (?, ?)'),
    get: connection.prepare<{ value: string }>('SELECT value FROM signing_key WHERE name = ?'),
  };
}

function prepareNewest(connection: Connection) {
  return {
    event: connection.prepare<{ at_us: number }>(
      'SELECT observed_us AS at_us FROM event ORDER BY event DESC LIMIT 1',
    ),
    delivery: connection.prepare<{ at_us: number }>(
      'SELECT created_us AS at_us FROM delivery ORDER BY seq DESC LIMIT 1',
    ),
  };
}

function prepareRollBack(connection: Connection) {
  return [
    'UPDATE alert_group SET next_flush_us = next_flush_us - ?1 WHERE next_flush_us > ?2',
    `UPDATE delivery SET next_attempt_us = next_attempt_us - ?1
     WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND next_attempt_us > ?2`,
    'UPDATE delivery SET fallback_us = fallback_us - ?1 WHERE fallback_us > ?2',
  ].map((sql) => connection.prepare(sql));
}
