import type { ReceiverPace } from '../../../domain/grouping/throttle.ts';
import type { ReceiverStore } from '../../store.ts';
import type { Sql } from '../sql.ts';

export function createReceiverPace(sql: Sql): ReceiverStore {
  return {
    async pace(receiver) {
      const row = await sql.first<{ body: string }>(
        'SELECT body FROM receiver_pace WHERE receiver = $1',
        receiver,
      );
      return row ? (JSON.parse(row.body) as ReceiverPace) : { receiver, queuedAtUs: [], heldBack: 0 };
    },
    async putPace(pace) {
      await sql.run(
        `INSERT INTO receiver_pace (receiver, body) VALUES ($1, $2)
         ON CONFLICT (receiver) DO UPDATE SET body = excluded.body`,
        pace.receiver,
        JSON.stringify(pace),
      );
    },
  };
}
