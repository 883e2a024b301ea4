/**
 * Keeps how many deliveries each receiver has in each state, because counting a million rows would block everything
 * else. Whoever writes deliveries reports the changes here; they are written once, at the end of the transaction.
 * Triggers would work row by row, and make SQLite copy each page that the statement touches.
 */
import type { DeliveryState } from '../../outbox-store.ts';
import type { RowStatement, Sql } from '../sql.ts';

const PUT: RowStatement = {
  columns: 'receiver text, state text, count bigint, part integer',
  text: (
    given,
  ) => `INSERT INTO delivery_count (receiver, state, count, part) SELECT * FROM ${given} WHERE true
    ON CONFLICT (receiver, state, part) DO UPDATE SET count = delivery_count.count + excluded.count`,
};

export class DeliveryCounts {
  readonly #sql: Sql;
  readonly #part: () => number;
  readonly #changes = new Map<string, Map<DeliveryState, number>>();

  /** `part` is this process's own number, if several share the store. */
  constructor(sql: Sql, part: () => number) {
    this.#sql = sql;
    this.#part = part;
  }

  /** Changes the count of this state by `by`, which may be negative. */
  add(receiver: string, state: DeliveryState, by: number): void {
    const states = this.#changes.get(receiver) ?? new Map<DeliveryState, number>();
    this.#changes.set(receiver, states);
    states.set(state, (states.get(state) ?? 0) + by);
  }

  /** Moves one delivery from one state to another. */
  move(receiver: string, from: DeliveryState, to: DeliveryState): void {
    this.add(receiver, from, -1);
    this.add(receiver, to, 1);
  }

  /** Writes the changes of the transaction; call this before it ends. */
  async write(): Promise<void> {
    if (this.#changes.size === 0) return;
    const rows = [...this.#changes].flatMap(([receiver, states]) =>
      [...states].map(([state, by]) => [receiver, state, by, this.#part()]),
    );
    this.#changes.clear();
    await this.#sql.write(PUT, rows);
  }

  /** Discards unwritten changes, because the transaction was rolled back. */
  forget(): void {
    this.#changes.clear();
  }

  async all(): Promise<{ receiver: string; state: DeliveryState; count: number }[]> {
    await this.write();
    return this.#sql.rows(
      `SELECT receiver, state, sum(count)::bigint AS count FROM delivery_count
       GROUP BY receiver, state HAVING sum(count) > 0 ORDER BY receiver, state`,
    );
  }

  /** Every receiver that ever had a delivery. */
  async receivers(): Promise<string[]> {
    await this.write();
    const rows = await this.#sql.rows<{ receiver: string }>(
      'SELECT DISTINCT receiver FROM delivery_count ORDER BY receiver',
    );
    return rows.map(({ receiver }) => receiver);
  }
}
