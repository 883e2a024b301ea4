import type { ReceiverPace } from '../../record.ts';
import type { Transaction } from '../../store.ts';
import type { Connection } from '../connection.ts';

type Pace = Pick<Transaction, 'receiverPace' | 'putReceiverPace'>;

export function createReceiverPace(connection: Connection): Pace {
  const one = connection.prepare<{ body: string }>('SELECT body FROM receiver_pace WHERE receiver = ?');
  const put = connection.prepare(
    `INSERT INTO receiver_pace (receiver, body) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body`,
  );
  return {
    async receiverPace(receiver) {
      const row = one.get(receiver);
      return row ? (JSON.parse(row.body) as ReceiverPace) : { receiver, toldAtUs: [], heldBack: 0 };
    },
    async putReceiverPace(pace) {
      put.run(pace.receiver, JSON.stringify(pace));
    },
  };
}
