/** Deletes old events in order of time, a limited number per step, except those that a firing alert keeps. */
import { HAS_LEFT } from '../../../domain/grouping/group.ts';
import { MAX_EVENTS } from '../../../domain/grouping/notification.ts';
import type { Connection } from '../connection.ts';

/** A row of a stream, and the instant by which it counted as old. */
export interface Pruned {
  readonly stream: number;
  readonly us: number;
}

/** An event's place in the order of time. */
interface EventPlace extends Pruned {
  readonly event: number;
}

/** Events examined per step: if all of them are kept, this takes about 25 ms. */
const MAX_LOOKED_AT = 20_000;

/** Before all events. */
const FIRST: EventPlace = { us: Number.MIN_SAFE_INTEGER, stream: 0, event: 0 };

/**
 * Whether a firing alert keeps an event: it is one of the alert's newest, for people to look at, or a group has not
 * notified of it yet. If the alert is about to be routed, or no group of the route tree contains it, all its events
 * are kept, because a new group notifies of all of them. An escalation that has notified keeps no further events,
 * and neither does what a fallback was notified of.
 */
const IS_KEPT = `EXISTS (
  SELECT 1 FROM alert_event JOIN alert USING (alert)
  WHERE alert_event.event = event.event AND alert.state = 'firing' AND (
    alert.alert IN (SELECT alert FROM changed_alert)
    OR alert_event.seq > (SELECT max(seq) FROM alert_event AS own WHERE own.alert = alert.alert) - ${MAX_EVENTS}
    OR alert_event.seq > coalesce((
      SELECT min(notified_seq) FROM group_member
      WHERE group_member.alert = alert.alert AND sort <> 'fallback'
        AND NOT (sort = 'escalation' AND notified_state <> 'none')
      HAVING min(notified_seq) FILTER (WHERE sort = 'route') < ${HAS_LEFT}), 0)))`;

/** What refers to events, then the events themselves. */
const OF_EVENTS = [
  'DELETE FROM alert_event WHERE event IN',
  'DELETE FROM suppressed_event WHERE event IN',
  'DELETE FROM notified_event WHERE event IN',
  'DELETE FROM forwarded_batch WHERE first_event IN',
  'DELETE FROM event WHERE event IN',
];

export class PruneEvents {
  readonly #sql: ReturnType<typeof prepareLooking>;
  readonly #remove: ReturnType<typeof prepareRemoving>;
  /** How far the last step looked. The next one continues there, so that kept events are not scanned again. */
  #lookedAt = FIRST;

  constructor(connection: Connection) {
    this.#sql = prepareLooking(connection);
    this.#remove = prepareRemoving(connection);
  }

  /** Deletes up to `limit` events that occurred before that instant, with what refers to them; returns them. */
  step(beforeUs: number, limit: number): readonly Pruned[] {
    const old = this.#next(beforeUs, limit);
    const numbers = JSON.stringify(old.map((row) => row.event));
    if (old.length > 0) for (const remove of this.#remove) remove.run(numbers);
    return old;
  }

  /** Old events that nothing keeps; fewer than `limit` if the step has examined its share. */
  #next(beforeUs: number, limit: number): EventPlace[] {
    const { us, stream, event } = this.#lookedAt;
    const end = this.#sql.lastLookedAt.get(beforeUs, us, stream, event, MAX_LOOKED_AT - 1);
    const to = end ?? { us: beforeUs, stream: 0, event: 0 };
    const old = this.#sql.oldEvents.all(to.us, us, stream, event, to.us, to.stream, to.event, limit);
    this.#lookedAt = old.length === limit ? old.at(-1)! : (end ?? FIRST);
    return old;
  }
}

function prepareLooking(connection: Connection) {
  return {
    oldEvents: connection.prepare<EventPlace>(
      `SELECT event, stream, occurred_us AS us FROM event INDEXED BY event_by_age
       WHERE occurred_us <= ? AND (occurred_us, stream, event) > (?, ?, ?)
         AND (occurred_us, stream, event) <= (?, ?, ?) AND NOT ${IS_KEPT}
       ORDER BY occurred_us, stream, event LIMIT ?`,
    ),
    lastLookedAt: connection.prepare<EventPlace>(
      `SELECT event, stream, occurred_us AS us FROM event INDEXED BY event_by_age
       WHERE occurred_us < ? AND (occurred_us, stream, event) > (?, ?, ?)
       ORDER BY occurred_us, stream, event LIMIT 1 OFFSET ?`,
    ),
  };
}

function prepareRemoving(connection: Connection) {
  return OF_EVENTS.map((sql) => connection.prepare(`${sql} (SELECT value FROM json_each(?))`));
}
