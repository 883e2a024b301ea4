/**
 * Deletes what is older than the retention, in order of time and in small batches. What is open, firing or unsent
 * stays, however old it is.
 */
import { ERRORS_KEPT_US, MOST_ERRORS } from '../../../domain/context/findings.ts';
import { HAS_LEFT } from '../../../domain/grouping/group.ts';
import { MAX_EVENTS } from '../../../domain/grouping/notification.ts';
import { HOUR_US, HOURS_KEPT } from '../../event-store.ts';
import type { DeliveryState } from '../../outbox-store.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import type { RowStatement, Sql } from '../sql.ts';

/** A row of a stream, and the instant by which it counted as old. */
interface Pruned {
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
 * are kept, because a new group notifies of all of them: without a group of the route tree `HAVING` leaves no row, so 0,
 * so all events are kept. An escalation that has notified keeps no further events,
 * and neither does what a fallback was notified of.
 * `OFFSET 0` makes a server look up each event through its index: planned while the tables were small, it would scan
 * all events of an alert.
 */
const IS_KEPT = {
  sqlite: isKept('alert_event AS linked', 'linked.event = event.event AND'),
  postgres: isKept(
    '(SELECT alert, seq FROM alert_event WHERE alert_event.event = event.event OFFSET 0) AS linked',
    '',
    'OFFSET 0',
  ),
};

function isKept(linked: string, ofEvent: string, atLast = ''): string {
  return `EXISTS (
    SELECT 1 FROM ${linked} JOIN alert ON alert.alert = linked.alert
    WHERE ${ofEvent} alert.state = 'firing' AND (
      EXISTS (SELECT 1 FROM changed_alert WHERE changed_alert.alert = alert.alert)
      OR linked.seq > (SELECT max(seq) FROM alert_event AS own WHERE own.alert = alert.alert) - ${MAX_EVENTS}
      OR linked.seq > coalesce((
        SELECT min(notified_seq) FROM group_member
        WHERE group_member.alert = alert.alert AND sort <> 'fallback'
          AND NOT (sort = 'escalation' AND notified_state <> 'none')
        HAVING min(notified_seq) FILTER (WHERE sort = 'route') < ${HAS_LEFT}), 0))
    ${atLast})`;
}

const oldEvents = (engine: Sql['engine']) => `SELECT event, stream, occurred_us AS us
  FROM event /* INDEXED BY event_by_age */
  WHERE occurred_us <= $4 AND (occurred_us, stream, event) > ($1::bigint, $2::bigint, $3::bigint)
    AND (occurred_us, stream, event) <= ($4::bigint, $5::bigint, $6::bigint) AND NOT ${IS_KEPT[engine]}
  ORDER BY occurred_us, stream, event LIMIT $7`;
const LAST_LOOKED_AT = `SELECT event, stream, occurred_us AS us FROM event /* INDEXED BY event_by_age */
  WHERE occurred_us < $1 AND (occurred_us, stream, event) > ($2::bigint, $3::bigint, $4::bigint)
  ORDER BY occurred_us, stream, event LIMIT 1 OFFSET ${MAX_LOOKED_AT - 1}`;

const FOLLOWING_EVENT =
  '(SELECT event FROM event WHERE event > forwarded_batch.first_event ORDER BY event LIMIT 1)';
const FOLLOWING_BATCH = `(SELECT first_event FROM forwarded_batch AS later
  WHERE later.receiver = forwarded_batch.receiver AND later.first_event > forwarded_batch.first_event
  ORDER BY first_event LIMIT 1)`;

/** What refers to events, and the events themselves; of a batch that still has some, its row then names the first left. */
const OF_EVENTS = [
  'DELETE FROM alert_event WHERE event = ANY($1::bigint[])',
  'DELETE FROM suppressed_event WHERE event = ANY($1::bigint[])',
  'DELETE FROM notified_event WHERE event = ANY($1::bigint[])',
  'DELETE FROM event WHERE event = ANY($1::bigint[])',
  `UPDATE forwarded_batch SET first_event = ${FOLLOWING_EVENT} WHERE first_event = ANY($1::bigint[])
     AND ${FOLLOWING_EVENT} < coalesce(${FOLLOWING_BATCH}, ${Number.MAX_SAFE_INTEGER})`,
  'DELETE FROM forwarded_batch WHERE first_event = ANY($1::bigint[])',
];

/**
 * Polls of Flights go by their start, which is not in their events. A row later than the cursor was dated in the future:
 * up to its instant other rows may still come, so the cursor is the limit.
 */
const PRUNED_UP_TO: RowStatement = {
  columns: 'stream bigint, us bigint, is_flight integer',
  text: (given) => `UPDATE stream SET pruned_us = least(given.us, cursor_us) FROM ${given}
    WHERE stream.stream = given.stream AND (feed = 'flight') = (given.is_flight = 1)
      AND pruned_us < least(given.us, cursor_us)`,
};

/**
 * A Flight without a start is not covered by `pruned_us`. The service may list it as long as its Bird exists, and
 * only its record shows that it is not new.
 */
const UNDATED = `DELETE FROM flight WHERE (stream, started_us, id) IN (
  SELECT stream, started_us, id FROM flight /* INDEXED BY flight_ended */
  WHERE started_us = 0 AND open = 0 AND ended_us < $1 AND NOT EXISTS (
    SELECT 1 FROM stream JOIN bird USING (region, bird_id)
    WHERE stream.stream = flight.stream AND bird.present = 1)
  LIMIT $2)`;

/**
 * Deletes from tables that nothing refers to: what is older than `$1`, up to `$2` rows. An array is evaluated once; on
 * a server a subquery may be evaluated for each row if the table is taken for small.
 */
function simple(engine: Sql['engine']): string[] {
  const among = (select: string) => (engine === 'sqlite' ? `IN (${select})` : `= ANY(ARRAY(${select}))`);
  return [
    `DELETE FROM quarantine WHERE entry ${among('SELECT entry FROM quarantine WHERE kept_us < $1 ORDER BY kept_us LIMIT $2')}`,
    `DELETE FROM silence WHERE id ${among('SELECT id FROM silence /* INDEXED BY silence_by_end */ WHERE ends_us < $1 ORDER BY ends_us, id LIMIT $2')}`,
    `DELETE FROM episode WHERE (alert_id, starts_us) IN (
       SELECT alert_id, starts_us FROM episode /* INDEXED BY episode_by_age */
       WHERE resolved_us < $1 ORDER BY resolved_us LIMIT $2)`,
    // Nothing mends a row that was removed because it could not be read.
    `DELETE FROM fault WHERE (sort, name) IN (
       SELECT sort, name FROM fault WHERE sort = 'row' AND seen_us < $1 ORDER BY seen_us LIMIT $2)`,
    // As long as its episode is stored, whether that lasts or has ended.
    `DELETE FROM alert_note WHERE id ${among(`SELECT id FROM alert_note AS note WHERE at_us < $1
       AND NOT EXISTS (SELECT 1 FROM alert WHERE alert.id = note.alert_id AND alert.starts_us = note.starts_us)
       AND NOT EXISTS (SELECT 1 FROM episode WHERE episode.alert_id = note.alert_id AND episode.starts_us = note.starts_us)
       ORDER BY at_us LIMIT $2`)}`,
    `DELETE FROM write_request WHERE seq ${among('SELECT seq FROM write_request /* INDEXED BY write_request_by_age */ WHERE at_us < $1 ORDER BY at_us LIMIT $2')}`,
    `DELETE FROM bird_action WHERE id ${among('SELECT id FROM bird_action /* INDEXED BY bird_action_by_age */ WHERE wanted_us < $1 ORDER BY wanted_us LIMIT $2')}`,
    `DELETE FROM nest_hour WHERE (region, nest_id, hour) IN (
       SELECT region, nest_id, hour FROM nest_hour /* INDEXED BY nest_hour_by_age */
       WHERE hour < $1::bigint / ${HOUR_US} AND hour < (SELECT max(hour) FROM nest_hour) - ${HOURS_KEPT}
       ORDER BY hour LIMIT $2)`,
    `DELETE FROM missed_deadline WHERE (region, nest_id, half_hour) IN (
       SELECT region, nest_id, half_hour FROM missed_deadline
       WHERE half_hour < $1::bigint / ${HOUR_US / 2} ORDER BY half_hour LIMIT $2)`,
  ];
}

/** Errors are forgotten by when they were last seen, not by the retention: by their age, and beyond their number. */
const FORGOTTEN_ERRORS = [
  `last_us < (SELECT max(last_us) FROM error_seen) - ${ERRORS_KEPT_US} ORDER BY last_us LIMIT $1`,
  `true ORDER BY last_us DESC LIMIT $1 OFFSET ${MOST_ERRORS}`,
].map(
  (which) =>
    `DELETE FROM error_seen WHERE (region, hash) IN (SELECT region, hash FROM error_seen WHERE ${which})`,
);

/** A Bird with events is kept, because a firing alert may keep those. */
const GONE_BIRDS = `SELECT region, bird_id FROM bird /* INDEXED BY bird_gone */
  WHERE present = 0 AND gone_us < $1 AND NOT EXISTS (
    SELECT 1 FROM stream JOIN event USING (stream)
    WHERE stream.region = bird.region AND stream.feed IN ('bird_log', 'flight', 'inventory', 'action') AND stream.bird_id = bird.bird_id)
  ORDER BY gone_us LIMIT $2`;
const GONE_FLIGHTS = `DELETE FROM flight WHERE stream = $1 AND (started_us, id) IN (
    SELECT started_us, id FROM flight WHERE stream = $1 LIMIT $2)
  RETURNING stream, started_us AS us, open, ends`;
/** A Nest is kept as long as its Flights are counted, so that they stay in the report of their month. */
const GONE_NESTS = `DELETE FROM nest WHERE (region, nest_id) IN (
    SELECT region, nest_id FROM nest /* INDEXED BY nest_gone */
    WHERE present = 0 AND gone_us < $1 AND NOT EXISTS (
      SELECT 1 FROM bird /* INDEXED BY bird_of_nest */ WHERE bird.region = nest.region AND bird.nest_id = nest.nest_id)
      AND NOT EXISTS (
      SELECT 1 FROM nest_hour WHERE nest_hour.region = nest.region AND nest_hour.nest_id = nest.nest_id)
    ORDER BY gone_us LIMIT $2)
  RETURNING region, nest_id`;
/** The members of a Nest are deleted with it. */
const GONE_MEMBERS: RowStatement = {
  columns: 'region text, nest_id text',
  text: (given) =>
    `DELETE FROM nest_members WHERE (region, nest_id) IN (SELECT region, nest_id FROM ${given})`,
};

export class Prune {
  readonly #sql: Sql;
  readonly #counts: DeliveryCounts;
  /** How far the last step looked. The next one continues there, so that kept events are not scanned again. */
  #lookedAt = FIRST;

  constructor(sql: Sql, counts: DeliveryCounts) {
    this.#sql = sql;
    this.#counts = counts;
  }

  /** Deletes up to `limit` rows older than that instant. Returns how many, or `limit` if there may be more. */
  async step(beforeUs: number, limit: number): Promise<number> {
    const steps = [
      (left: number) => this.#pruneEvents(beforeUs, left),
      (left: number) => this.#pruneFlights(beforeUs, left),
      (left: number) => this.#sql.run(UNDATED, beforeUs, left),
      (left: number) => this.#pruneDeliveries(beforeUs, left),
      (left: number) => this.#pruneSuppressions(beforeUs, left),
      ...simple(this.#sql.engine).map((text) => (left: number) => this.#sql.run(text, beforeUs, left)),
      ...FORGOTTEN_ERRORS.map((text) => (left: number) => this.#sql.run(text, left)),
      (left: number) => this.#pruneBirds(beforeUs, left),
      (left: number) => this.#pruneNests(beforeUs, left),
    ];
    let done = 0;
    for (const step of steps) if (done < limit) done += await step(limit - done);
    return done;
  }

  async #pruneEvents(beforeUs: number, limit: number): Promise<number> {
    const { us, stream, event } = this.#lookedAt;
    const end = await this.#sql.first<EventPlace>(LAST_LOOKED_AT, beforeUs, us, stream, event);
    const to = end ?? { us: beforeUs, stream: 0, event: 0 };
    const old = await this.#sql.rows<EventPlace>(
      oldEvents(this.#sql.engine),
      us,
      stream,
      event,
      to.us,
      to.stream,
      to.event,
      limit,
    );
    this.#lookedAt = old.length === limit ? old.at(-1)! : (end ?? FIRST);
    if (old.length === 0) return 0;
    const numbers = old.map((row) => row.event);
    for (const sql of OF_EVENTS) await this.#sql.run(sql, numbers);
    await this.#remember(old, false);
    return old.length;
  }

  async #pruneFlights(beforeUs: number, limit: number): Promise<number> {
    const landed = await this.#sql.rows<Pruned>(
      `DELETE FROM flight WHERE (stream, started_us, id) IN (
         SELECT stream, started_us, id FROM flight /* INDEXED BY flight_ended */
         WHERE started_us < $1 AND started_us <> 0 AND open = 0 ORDER BY started_us LIMIT $2)
       RETURNING stream, started_us AS us`,
      beforeUs,
      limit,
    );
    await this.#remember(landed, true);
    return landed.length;
  }

  async #pruneDeliveries(beforeUs: number, limit: number): Promise<number> {
    const settled = await this.#sql.rows<{
      notification: number;
      receiver: string;
      state: DeliveryState;
    }>(
      `DELETE FROM delivery WHERE seq IN (
         SELECT seq FROM delivery /* INDEXED BY delivery_settled */
         WHERE settled_us > 0 AND settled_us < $1 ORDER BY settled_us LIMIT $2)
       RETURNING notification, receiver, state`,
      beforeUs,
      limit,
    );
    if (settled.length === 0) return 0;
    for (const { receiver, state } of settled) this.#counts.add(receiver, state, -1);
    const gone = await this.#sql.rows<{ seq: number }>(
      `DELETE FROM notification WHERE seq = ANY($1::bigint[])
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.notification = notification.seq)
       RETURNING seq`,
      [...new Set(settled.map(({ notification }) => notification))],
    );
    const listed = await this.#sql.rows<{ alert: number }>(
      'DELETE FROM notified_alert WHERE notification = ANY($1::bigint[]) RETURNING alert',
      gone.map(({ seq }) => seq),
    );
    await this.#sql.run(
      `DELETE FROM former_alert WHERE alert = ANY($1::bigint[]) AND NOT EXISTS (
         SELECT 1 FROM notified_alert WHERE notified_alert.alert = former_alert.alert)`,
      listed.map(({ alert }) => alert),
    );
    return settled.length;
  }

  async #pruneSuppressions(beforeUs: number, limit: number): Promise<number> {
    const old = await this.#sql.rows<{ suppression: number }>(
      `DELETE FROM suppression WHERE suppression IN (
         SELECT suppression FROM suppression /* INDEXED BY suppression_by_age */
         WHERE at_us < $1 ORDER BY at_us LIMIT $2)
       RETURNING suppression`,
      beforeUs,
      limit,
    );
    await this.#sql.run(
      'DELETE FROM suppressed_event WHERE suppression = ANY($1::bigint[])',
      old.map(({ suppression }) => suppression),
    );
    return old.length;
  }

  /**
   * Deletes what belongs to Birds that the service has not listed for longer than the retention. Streams stay: if a
   * Bird is listed again, nobody must be notified of known entries again.
   */
  async #pruneBirds(beforeUs: number, limit: number): Promise<number> {
    let left = limit;
    const birds = await this.#sql.rows<{ region: string; bird_id: string }>(GONE_BIRDS, beforeUs, limit);
    for (const { region, bird_id: birdId } of birds) {
      const streams = await this.#sql.rows<{ stream: number }>(
        `SELECT stream FROM stream WHERE region = $1 AND feed IN ('bird_log', 'flight') AND bird_id = $2`,
        region,
        birdId,
      );
      for (const { stream } of streams) left -= await this.#pruneStream(stream, left);
      if (left <= 0) return limit;
      left -= await this.#sql.run('DELETE FROM bird WHERE region = $1 AND bird_id = $2', region, birdId);
      if (left <= 0) return limit;
    }
    return limit - left;
  }

  /** Deletes up to `limit` Flights and, after the last of them, the audit; returns how many rows were deleted. */
  async #pruneStream(stream: number, limit: number): Promise<number> {
    if (limit <= 0) return 0;
    const gone = await this.#sql.rows<Pruned & { open: number; ends: number }>(GONE_FLIGHTS, stream, limit);
    // Nobody was notified of a Flight that never ended, so it may count as new if its Bird comes back.
    await this.#remember(
      gone.filter(({ open, ends }) => open === 0 || ends > 0),
      true,
    );
    if (gone.length === limit) return gone.length;
    return gone.length + (await this.#sql.run('DELETE FROM audit WHERE stream = $1', stream));
  }

  async #pruneNests(beforeUs: number, limit: number): Promise<number> {
    const gone = await this.#sql.rows<{ region: string; nest_id: string }>(GONE_NESTS, beforeUs, limit);
    await this.#sql.write(
      GONE_MEMBERS,
      gone.map(({ region, nest_id }) => [region, nest_id]),
    );
    return gone.length;
  }

  /** Records for each stream up to which instant it was deleted. */
  async #remember(pruned: readonly Pruned[], areFlights: boolean): Promise<void> {
    if (pruned.length === 0) return;
    const newestUs = new Map<number, number>();
    for (const { stream, us } of pruned) newestUs.set(stream, Math.max(us, newestUs.get(stream) ?? 0));
    const rows = [...newestUs].map(([stream, us]) => [stream, us, areFlights ? 1 : 0]);
    await this.#sql.write(PRUNED_UP_TO, rows);
  }
}
