import type { DeliveryCounts } from '../../sql/delivery-counts.ts';
import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Connection } from '../connection.ts';
import { Prune } from './prune.ts';
import { RollBack } from './roll-back.ts';

export class SqliteUpkeep implements UpkeepStore {
  readonly #prune: Prune;
  readonly #keys: ReturnType<typeof prepareKeys>;
  readonly #newest: ReturnType<typeof prepareNewest>;
  readonly #rollBack: RollBack;

  constructor(connection: Connection, counts: Pick<DeliveryCounts, 'add'>) {
    this.#prune = new Prune(connection, counts);
    this.#keys = prepareKeys(connection);
    this.#newest = prepareNewest(connection);
    this.#rollBack = new RollBack(connection);
  }

  async signingKey(name: string, fresh: string): Promise<string> {
    this.#keys.put.run(name, fresh);
    return this.#keys.get.get(name)!.value;
  }

  async newestInstantUs(): Promise<number> {
    const { event, delivery } = this.#newest;
    return Math.max(event.get()?.at_us ?? 0, delivery.get()?.at_us ?? 0);
  }

  rollBackClock(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void> {
    return this.#rollBack.run(byUs, nowUs, pause);
  }

  setClockAhead(byUs: number, pause: () => Promise<void>): Promise<void> {
    return this.#rollBack.ahead(byUs, pause);
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
