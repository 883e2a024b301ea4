/**
 * Retention. What is old goes in the order of time and in small batches; what is open, firing or unsent stays,
 * however old it is.
 */
import type { Transaction } from '../store.ts';
import type { Connection } from './connection.ts';

export function createPrune(connection: Connection): Pick<Transaction, 'prune'> {
  // A firing alert keeps its events: what is told of it must be complete.
  const links = connection.prepare(
    `DELETE FROM link WHERE (alert, seq) IN (
       SELECT alert, seq FROM link
       WHERE occurred_us < ?
         AND NOT EXISTS (SELECT 1 FROM alert WHERE alert.alert = link.alert AND state = 'firing')
       ORDER BY occurred_us LIMIT ?)`,
  );
  const events = connection.prepare(
    `DELETE FROM event WHERE (occurred_us, stream, id) IN (
       SELECT occurred_us, stream, id FROM event
       WHERE occurred_us < ?
         AND NOT EXISTS (SELECT 1 FROM link WHERE link.occurred_us = event.occurred_us
           AND link.stream = event.stream AND link.event_id = event.id)
       ORDER BY occurred_us LIMIT ?)`,
  );
  const flights = connection.prepare(
    `DELETE FROM flight WHERE (stream, started_us, id) IN (
       SELECT stream, started_us, id FROM flight WHERE started_us < ? AND open = 0
       ORDER BY started_us LIMIT ?)`,
  );
  const deliveries = connection.prepare<{ notification: number }>(
    `DELETE FROM delivery WHERE seq IN (
       SELECT seq FROM delivery WHERE settled_us > 0 AND settled_us < ? ORDER BY settled_us LIMIT ?)
     RETURNING notification`,
  );
  const notification = connection.prepare(
    `DELETE FROM notification
     WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.notification = ?1)`,
  );
  const quarantined = connection.prepare(
    `DELETE FROM quarantine WHERE rowid IN (
       SELECT rowid FROM quarantine WHERE kept_us < ? ORDER BY kept_us LIMIT ?)`,
  );

  return {
    async prune(beforeUs, limit) {
      let left = limit;
      left -= links.run(beforeUs, left);
      left -= events.run(beforeUs, left);
      left -= flights.run(beforeUs, left);
      const gone = deliveries.all(beforeUs, left);
      left -= gone.length;
      for (const seq of new Set(gone.map((row) => row.notification))) notification.run(seq);
      left -= quarantined.run(beforeUs, left);
      return limit - left;
    },
  };
}
