import type { ReceiverPace } from '../../../domain/grouping/throttle.ts';
import type { Sql } from '../sql.ts';

/** Stores how much each throttled receiver was sent recently. */
export function createReceiverPace(sql: Sql) {
  return {
    /** An empty pace if nothing is known of the receiver. */
    async pace(receiver: string): Promise<ReceiverPace> {
      const row = await sql.first<{ body: string }>(
        'SELECT body FROM receiver_pace WHERE receiver = $1',
        receiver,
      );
      return row ? (JSON.parse(row.body) as ReceiverPace) : { receiver, queuedAtUs: [], heldBack: 0 };
    },
    async putPace(pace: ReceiverPace): Promise<void> {
      await sql.run(
        `INSERT INTO receiver_pace (receiver, body) VALUES ($1, $2)
         ON CONFLICT (receiver) DO UPDATE SET body = excluded.body`,
        pace.receiver,
        JSON.stringify(pace),
      );
    },
  };
}
