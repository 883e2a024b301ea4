import type { Event } from '../../../domain/alert/event.ts';
import type { ForwardStore } from '../../forward-store.ts';
import type { Connection } from '../connection.ts';

export function createForward(connection: Connection): ForwardStore {
  const queue = connection.prepare(
    `INSERT INTO forward_queue (receiver, seq, event)
     VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM forward_queue WHERE receiver = ?1), ?2)`,
  );
  // Steps from one receiver to the next instead of scanning the whole queue.
  const nextReceiver = connection.prepare<{ receiver: string }>(
    'SELECT receiver FROM forward_queue WHERE receiver > ? ORDER BY receiver LIMIT 1',
  );
  const oldest = connection.prepare<{ seq: number; event: string }>(
    'SELECT seq, event FROM forward_queue WHERE receiver = ? ORDER BY seq LIMIT ?',
  );
  const take = connection.prepare('DELETE FROM forward_queue WHERE receiver = ? AND seq <= ?');

  return {
    async queue(events) {
      for (const { receiver, event } of events) queue.run(receiver, JSON.stringify(event));
    },
    async receivers() {
      const receivers: string[] = [];
      for (let last = ''; ; last = receivers.at(-1)!) {
        const row = nextReceiver.get(last);
        if (!row) return receivers;
        receivers.push(row.receiver);
      }
    },
    async take(receiver, limit) {
      const rows = oldest.all(receiver, limit);
      if (rows.length > 0) take.run(receiver, rows.at(-1)!.seq);
      return rows.map((row) => JSON.parse(row.event) as Event);
    },
  };
}
