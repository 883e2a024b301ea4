/**
 * How many deliveries every receiver has in each state: kept, since counting a million rows would hold up everything
 * else. Whoever writes deliveries says here what changes; it is written once, at the end of the transaction. Triggers
 * would do it row by row, and have SQLite copy each page that the statement touches.
 */
import type { DeliveryState } from '../../outbox-store.ts';
import type { Connection } from '../connection.ts';

export interface DeliveryCounts {
  /** Some came to be in this state, or fewer are. */
  add(receiver: string, state: DeliveryState, by: number): void;
  /** One goes over from this state to that one. */
  move(receiver: string, from: DeliveryState, to: DeliveryState): void;
  /** Writes what the transaction has changed; to be called before it ends. */
  write(): void;
  /** Forgets what was not written: its transaction was taken back. */
  forget(): void;
  all(): { receiver: string; state: DeliveryState; count: number }[];
  /** Everybody who ever had one. */
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
