import type { Event } from '../../../domain/alert/event.ts';
import type { RowStatement, Sql } from '../sql.ts';

/** An event that waits to be forwarded to a receiver, in commit order. */
interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}

/** SQLite has no sequence for a table without a number of its own. */
const QUEUE: { readonly [engine in Sql['engine']]: RowStatement } = {
  sqlite: {
    columns: 'receiver text, event text',
    text: (given) => `INSERT INTO forward_queue (receiver, seq, event)
      SELECT given.receiver, row_number() OVER () + (SELECT coalesce(max(seq), 0) FROM forward_queue), given.event
      FROM ${given}`,
  },
  postgres: {
    columns: 'receiver text, event text',
    text: (given) => `INSERT INTO forward_queue (receiver, event) SELECT receiver, event FROM ${given}`,
  },
};

/** Steps from one receiver to the next instead of scanning the whole queue. */
const NEXT_RECEIVER = 'SELECT receiver FROM forward_queue WHERE receiver > $1 ORDER BY receiver LIMIT 1';

export function createForward(sql: Sql) {
  return {
    async queue(events: readonly ForwardedEvent[]): Promise<void> {
      await sql.write(
        QUEUE[sql.engine],
        events.map(({ receiver, event }) => [receiver, JSON.stringify(event)]),
      );
    },
    /** Receivers with waiting events. */
    async receivers(): Promise<string[]> {
      const receivers: string[] = [];
      for (let last = ''; ; last = receivers.at(-1)!) {
        const row = await sql.first<{ receiver: string }>(NEXT_RECEIVER, last);
        if (!row) return receivers;
        receivers.push(row.receiver);
      }
    },
    /** Takes the oldest `limit` events from a receiver's queue; they are removed when the transaction commits. */
    async take(receiver: string, limit: number): Promise<Event[]> {
      const rows = await sql.rows<{ seq: number; event: string }>(
        'SELECT seq, event FROM forward_queue WHERE receiver = $1 ORDER BY seq LIMIT $2',
        receiver,
        limit,
      );
      const last = rows.at(-1);
      if (last) {
        await sql.run('DELETE FROM forward_queue WHERE receiver = $1 AND seq <= $2', receiver, last.seq);
      }
      return rows.map((row) => JSON.parse(row.event) as Event);
    },
  };
}
