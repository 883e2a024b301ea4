import type { Event } from '../../../domain/alert/event.ts';
import type { ForwardStore } from '../../forward-store.ts';
import { columnsOf, given, type Statements } from '../statements.ts';

export function createPostgresForward(statements: Statements): ForwardStore {
  return {
    async queue(events) {
      if (events.length === 0) return;
      await statements.run(
        `INSERT INTO forward_queue (receiver, event)
         SELECT receiver, event FROM ${given('receiver text, event text', { at: true })} ORDER BY at`,
        ...columnsOf(
          2,
          events.map(({ receiver, event }) => [receiver, JSON.stringify(event)]),
        ),
      );
    },
    async receivers() {
      // Steps from one receiver to the next instead of scanning the whole queue.
      const rows = await statements.rows<{ receiver: string }>(
        `WITH RECURSIVE waiting AS (
           (SELECT receiver FROM forward_queue ORDER BY receiver LIMIT 1)
           UNION ALL
           SELECT (SELECT forward_queue.receiver FROM forward_queue
             WHERE forward_queue.receiver > waiting.receiver ORDER BY forward_queue.receiver LIMIT 1)
           FROM waiting WHERE waiting.receiver IS NOT NULL)
         SELECT receiver FROM waiting WHERE receiver IS NOT NULL`,
      );
      return rows.map(({ receiver }) => receiver);
    },
    async take(receiver, limit) {
      const rows = await statements.rows<{ event: string }>(
        `WITH taken AS (
           DELETE FROM forward_queue WHERE receiver = $1 AND seq IN (
             SELECT seq FROM forward_queue WHERE receiver = $1 ORDER BY seq LIMIT $2)
           RETURNING seq, event)
         SELECT event FROM taken ORDER BY seq`,
        receiver,
        limit,
      );
      return rows.map((row) => JSON.parse(row.event) as Event);
    },
  };
}
