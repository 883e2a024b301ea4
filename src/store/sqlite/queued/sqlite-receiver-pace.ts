import type { ReceiverPace } from '../../../domain/grouping/throttle.ts';
import type { ReceiverStore } from '../../receiver-store.ts';
import type { Connection } from '../connection.ts';

export function createReceiverPace(connection: Connection): ReceiverStore {
  const one = connection.prepare<{ body: string }>('SELECT body FROM receiver_pace WHERE receiver = ?');
  const put = connection.prepare(
    `INSERT INTO receiver_pace (receiver, body) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body`,
  );
  return {
    async pace(receiver) {
      const row = one.get(receiver);
      return row ? (JSON.parse(row.body) as ReceiverPace) : { receiver, queuedAtUs: [], heldBack: 0 };
    },
    async putPace(pace) {
      put.run(pace.receiver, JSON.stringify(pace));
    },
  };
}
