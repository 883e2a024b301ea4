/**
 * Keeps how many deliveries each receiver has in each state, because counting a million rows would block everything
 * else. Whoever writes deliveries reports the changes here; they are written once, at the end of the transaction.
 * Triggers would work row by row, and make SQLite copy each page that the statement touches.
 */
import type { DeliveryState } from '../../outbox-store.ts';
import type { Connection } from '../connection.ts';

export interface DeliveryCounts {
  /** Changes the count of this state by `by`, which may be negative. */
  add(receiver: string, state: DeliveryState, by: number): void;
  /** Moves one delivery from one state to another. */
  move(receiver: string, from: DeliveryState, to: DeliveryState): void;
  /** Writes the changes of the transaction; call this before it ends. */
  write(): void;
  /** Discards unwritten changes, because the transaction was rolled back. */
  forget(): void;
  all(): { receiver: string; state: DeliveryState; count: number }[];
  /** Every receiver that ever had a delivery. */
  receivers(): string[];
}

export function createDeliveryCounts(connection: Connection): DeliveryCounts {
  const put = connection.prepare(
    `INSERT INTO delivery_count (receiver, state, count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  );
  const all = connection.prepare<{ receiver: string; state: DeliveryState; count: number }>(
    `SELECT receiver, state, sum(count) AS count FROM delivery_count
     GROUP BY receiver, state HAVING sum(count) > 0 ORDER BY receiver, state`,
  );
  const receivers = connection.prepare<{ receiver: string }>(
    'SELECT DISTINCT receiver FROM delivery_count ORDER BY receiver',
  );
  const changes = new Map<string, Map<DeliveryState, number>>();

  function add(receiver: string, state: DeliveryState, by: number): void {
    const states = changes.get(receiver) ?? new Map<DeliveryState, number>();
    changes.set(receiver, states);
    states.set(state, (states.get(state) ?? 0) + by);
  }

  function write(): void {
    for (const [receiver, states] of changes) {
      for (const [state, by] of states) put.run(receiver, state, by);
    }
    changes.clear();
  }

  return {
    add,
    move(receiver, from, to) {
      add(receiver, from, -1);
      add(receiver, to, 1);
    },
    write,
    forget: () => changes.clear(),
    all() {
      write();
      return all.all().map((row) => ({ ...row }));
    },
    receivers() {
      write();
      return receivers.all().map(({ receiver }) => receiver);
    },
  };
}
