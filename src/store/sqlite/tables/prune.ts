/**
 * Retention. What is old goes in the order of time and in small batches; what is open, firing or unsent stays,
 * however old it is.
 */
import { HAS_LEFT } from '../../../domain/grouping/group.ts';
import { MAX_EVENTS } from '../../../domain/grouping/notification.ts';
import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Connection } from '../connection.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import type { DeliveryRow } from './delivery-row.ts';
import { createPruneGone } from './prune-gone.ts';

interface Pruned {
  readonly stream: number;
  readonly us: number;
}

/** Where an event stands in the order of time. */
interface EventPlace extends Pruned {
  readonly event: number;
}

/** Events that one step looks at: to find that all of them are kept takes some 25 ms. */
const MAX_LOOKED_AT = 20_000;

/** Before all events. */
const FIRST: EventPlace = { us: Number.MIN_SAFE_INTEGER, stream: 0, event: 0 };

export function createPrune(
  connection: Connection,
  counts: Pick<DeliveryCounts, 'add'>,
): Pick<UpkeepStore, 'prune'> {
  // A firing alert keeps what any of its groups has still to tell, and its newest events for whoever looks at it. All of
  // them where it is about to be routed, or no group of the route tree knows it: one that comes tells all. What was
  // escalated tells no further events.
  const oldEvents = connection.prepare<EventPlace>(
    `SELECT event, stream, occurred_us AS us FROM event INDEXED BY event_by_age
     WHERE occurred_us <= ? AND (occurred_us, stream, event) > (?, ?, ?)
       AND (occurred_us, stream, event) <= (?, ?, ?) AND NOT EXISTS (
         SELECT 1 FROM alert_event JOIN alert USING (alert)
         WHERE alert_event.event = event.event AND alert.state = 'firing' AND (
           alert.changed IS NOT NULL
           OR alert_event.seq > (SELECT max(seq) FROM alert_event AS own WHERE own.alert = alert.alert) - ${MAX_EVENTS}
           OR alert_event.seq > coalesce((
             SELECT min(notified_seq) FROM group_member
             WHERE alert_id = alert.id AND NOT (sort = 'escalation' AND notified_state <> 'none')
             HAVING min(notified_seq) FILTER (WHERE sort = 'route') < ${HAS_LEFT}), 0)))
     ORDER BY occurred_us, stream, event LIMIT ?`,
  );
  const lastLookedAt = connection.prepare<EventPlace>(
    `SELECT event, stream, occurred_us AS us FROM event INDEXED BY event_by_age
     WHERE occurred_us < ? AND (occurred_us, stream, event) > (?, ?, ?)
     ORDER BY occurred_us, stream, event LIMIT 1 OFFSET ?`,
  );
  const links = connection.prepare('DELETE FROM alert_event WHERE event IN (SELECT value FROM json_each(?))');
  const untold = connection.prepare(
    'DELETE FROM suppressed_event WHERE event IN (SELECT value FROM json_each(?))',
  );
  const told = connection.prepare(
    'DELETE FROM notified_event WHERE event IN (SELECT value FROM json_each(?))',
  );
  const forwarded = connection.prepare(
    'DELETE FROM forwarded_batch WHERE first_event IN (SELECT value FROM json_each(?))',
  );
  const events = connection.prepare('DELETE FROM event WHERE event IN (SELECT value FROM json_each(?))');
  const flights = connection.prepare<Pruned>(
    `DELETE FROM flight WHERE (stream, started_us, id) IN (
       SELECT stream, started_us, id FROM flight INDEXED BY flight_ended
       WHERE started_us < ? AND started_us <> 0 AND open = 0 ORDER BY started_us LIMIT ?)
     RETURNING stream, started_us AS us`,
  );
  // The instant up to which a stream was deleted says nothing of one without a start: the service may list it as long
  // as there is its Bird, and only its record tells that it is no news.
  const undated = connection.prepare(
    `DELETE FROM flight WHERE (stream, started_us, id) IN (
       SELECT stream, started_us, id FROM flight INDEXED BY flight_ended
       WHERE started_us = 0 AND open = 0 AND ended_us < ? AND NOT EXISTS (
         SELECT 1 FROM stream JOIN bird USING (region, bird_id)
         WHERE stream.stream = flight.stream AND bird.present = 1)
       LIMIT ?)`,
  );
  // Polls of Flights look at when they started, which their events do not tell. Beyond the cursor lies what came with
  // an instant ahead of its time: it says nothing of what else was there.
  const prunedUpTo = connection.prepare(
    `UPDATE stream SET pruned_us = min(?2, cursor_us)
     WHERE stream = ?1 AND (feed = 'flight') = ?3 AND pruned_us < min(?2, cursor_us)`,
  );
  const deliveries = connection.prepare<Pick<DeliveryRow, 'receiver' | 'state'> & { notification: number }>(
    `DELETE FROM delivery WHERE seq IN (
       SELECT seq FROM delivery INDEXED BY delivery_settled
       WHERE settled_us > 0 AND settled_us < ? ORDER BY settled_us LIMIT ?)
     RETURNING notification, receiver, state`,
  );
  const notification = connection.prepare(
    `DELETE FROM notification
     WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.notification = ?1)`,
  );
  const quarantined = connection.prepare(
    `DELETE FROM quarantine WHERE rowid IN (
       SELECT rowid FROM quarantine WHERE kept_us < ? ORDER BY kept_us LIMIT ?)`,
  );
  const silences = connection.prepare(
    `DELETE FROM silence WHERE id IN (
       SELECT id FROM silence INDEXED BY silence_by_end WHERE ends_us < ? ORDER BY ends_us, id LIMIT ?)`,
  );
  const suppressions = connection.prepare<{ suppression: number }>(
    `DELETE FROM suppression WHERE suppression IN (
       SELECT suppression FROM suppression INDEXED BY suppression_by_age
       WHERE at_us < ? ORDER BY at_us LIMIT ?)
     RETURNING suppression`,
  );
  const unreasoned = connection.prepare(
    'DELETE FROM suppressed_event WHERE suppression IN (SELECT value FROM json_each(?))',
  );

  const episodes = connection.prepare(
    `DELETE FROM episode WHERE (alert_id, starts_us) IN (
       SELECT alert_id, starts_us FROM episode INDEXED BY episode_by_age
       WHERE resolved_us < ? ORDER BY resolved_us LIMIT ?)`,
  );

  /** Up to here a step has looked; the next one goes on there, so that none walks again over what is kept. */
  let lookedAt = FIRST;

  /** Old events that nothing keeps; less than `limit` where the step has looked at enough. */
  function nextEvents(beforeUs: number, limit: number): EventPlace[] {
    const { us, stream, event } = lookedAt;
    const end = lastLookedAt.get(beforeUs, us, stream, event, MAX_LOOKED_AT - 1);
    const to = end ?? { us: beforeUs, stream: 0, event: 0 };
    const old = oldEvents.all(to.us, us, stream, event, to.us, to.stream, to.event, limit);
    lookedAt = old.length === limit ? old.at(-1)! : (end ?? FIRST);
    return old;
  }

  /** Remembers of each stream up to where it was deleted. */
  function remember(pruned: readonly Pruned[], areFlights: boolean): void {
    const newestUs = new Map<number, number>();
    for (const { stream, us } of pruned) newestUs.set(stream, Math.max(us, newestUs.get(stream) ?? 0));
    for (const [stream, us] of newestUs) prunedUpTo.run(stream, us, areFlights ? 1 : 0);
  }

  const pruneGone = createPruneGone(connection, (flights) => remember(flights, true));

  return {
    async prune(beforeUs, limit) {
      let left = limit;
      const old = nextEvents(beforeUs, left);
      const numbers = old.map((row) => row.event);
      remember(old, false);
      if (numbers.length > 0) {
        links.run(JSON.stringify(numbers));
        untold.run(JSON.stringify(numbers));
        told.run(JSON.stringify(numbers));
        forwarded.run(JSON.stringify(numbers));
        left -= events.run(JSON.stringify(numbers));
      }
      const landed = flights.all(beforeUs, left);
      remember(landed, true);
      left -= landed.length;
      left -= undated.run(beforeUs, left);
      const settled = deliveries.all(beforeUs, left);
      left -= settled.length;
      for (const { receiver, state } of settled) counts.add(receiver, state, -1);
      for (const seq of new Set(settled.map((row) => row.notification))) notification.run(seq);
      left -= quarantined.run(beforeUs, left);
      left -= silences.run(beforeUs, left);
      const reasons = suppressions.all(beforeUs, left).map((row) => row.suppression);
      if (reasons.length > 0) unreasoned.run(JSON.stringify(reasons));
      left -= reasons.length;
      left -= episodes.run(beforeUs, left);
      left -= pruneGone(beforeUs, left);
      return limit - left;
    },
  };
}
