import type { ReceiverPace } from '../../../domain/grouping/throttle.ts';
import type { ReceiverStore } from '../../receiver-store.ts';
import type { Statements } from '../statements.ts';

export function createPostgresReceiverPace(statements: Statements): ReceiverStore {
  return {
    async pace(receiver) {
      const row = await statements.first<{ body: string }>(
        'SELECT body FROM receiver_pace WHERE receiver = $1',
        receiver,
      );
      return row ? (JSON.parse(row.body) as ReceiverPace) : { receiver, queuedAtUs: [], heldBack: 0 };
    },
    async putPace(pace) {
      await statements.run(
        `INSERT INTO receiver_pace (receiver, body) VALUES ($1, $2)
         ON CONFLICT (receiver) DO UPDATE SET body = excluded.body`,
        pace.receiver,
        JSON.stringify(pace),
      );
    },
  };
}
