/**
 * Deletes what is older than the retention, in order of time and in small batches. What is open, firing or unsent
 * stays, however old it is.
 */

import type { DeliveryRow } from '../../rows/delivery-row.ts';
import { HOUR_US } from '../../rows/nest-hours.ts';
import type { DeliveryCounts } from '../../sql/delivery-counts.ts';
import type { Connection } from '../connection.ts';
import { type Pruned, PruneEvents } from './prune-events.ts';
import { createPruneGone } from './prune-gone.ts';

export class Prune {
  readonly #counts: Pick<DeliveryCounts, 'add'>;
  readonly #events: PruneEvents;
  readonly #gone: ReturnType<typeof createPruneGone>;
  readonly #flights: ReturnType<typeof prepareFlights>;
  readonly #deliveries: ReturnType<typeof prepareDeliveries>;
  readonly #suppressions: ReturnType<typeof prepareSuppressions>;
  readonly #others: ReturnType<typeof prepareOthers>;

  constructor(connection: Connection, counts: Pick<DeliveryCounts, 'add'>) {
    this.#counts = counts;
    this.#events = new PruneEvents(connection);
    this.#gone = createPruneGone(connection, (flights) => this.#remember(flights, true));
    this.#flights = prepareFlights(connection);
    this.#deliveries = prepareDeliveries(connection);
    this.#suppressions = prepareSuppressions(connection);
    this.#others = prepareOthers(connection);
  }

  /** Deletes up to `limit` rows older than that instant; returns how many were deleted. */
  step(beforeUs: number, limit: number): number {
    const steps = [
      (left: number) => this.#pruneEvents(beforeUs, left),
      (left: number) => this.#pruneFlights(beforeUs, left),
      (left: number) => this.#flights.undated.run(beforeUs, left),
      (left: number) => this.#pruneDeliveries(beforeUs, left),
      (left: number) => this.#others.quarantined.run(beforeUs, left),
      (left: number) => this.#others.silences.run(beforeUs, left),
      (left: number) => this.#pruneSuppressions(beforeUs, left),
      (left: number) => this.#others.episodes.run(beforeUs, left),
      (left: number) => this.#others.writes.run(beforeUs, left),
      (left: number) => this.#others.hours.run(Math.floor(beforeUs / HOUR_US), left),
      (left: number) => this.#gone(beforeUs, left),
    ];
    return steps.reduce((done, step) => done + step(limit - done), 0);
  }

  #pruneEvents(beforeUs: number, limit: number): number {
    const old = this.#events.step(beforeUs, limit);
    this.#remember(old, false);
    return old.length;
  }

  #pruneFlights(beforeUs: number, limit: number): number {
    const landed = this.#flights.landed.all(beforeUs, limit);
    this.#remember(landed, true);
    return landed.length;
  }

  #pruneDeliveries(beforeUs: number, limit: number): number {
    const settled = this.#deliveries.settled.all(beforeUs, limit);
    for (const { receiver, state } of settled) this.#counts.add(receiver, state, -1);
    for (const seq of new Set(settled.map((row) => row.notification))) {
      if (this.#deliveries.notification.run(seq) === 0) continue;
      const listed = this.#deliveries.theirAlerts.all(seq).map((row) => row.alert);
      if (listed.length > 0) this.#deliveries.formerAlerts.run(JSON.stringify(listed));
    }
    return settled.length;
  }

  #pruneSuppressions(beforeUs: number, limit: number): number {
    const old = this.#suppressions.old.all(beforeUs, limit).map((row) => row.suppression);
    if (old.length > 0) this.#suppressions.theirEvents.run(JSON.stringify(old));
    return old.length;
  }

  /** Records for each stream up to which instant it was deleted. */
  #remember(pruned: readonly Pruned[], areFlights: boolean): void {
    const newestUs = new Map<number, number>();
    for (const { stream, us } of pruned) newestUs.set(stream, Math.max(us, newestUs.get(stream) ?? 0));
    for (const [stream, us] of newestUs) this.#flights.prunedUpTo.run(stream, us, areFlights ? 1 : 0);
  }
}

function prepareFlights(connection: Connection) {
  return {
    landed: connection.prepare<Pruned>(
      `DELETE FROM flight WHERE (stream, started_us, id) IN (
         SELECT stream, started_us, id FROM flight INDEXED BY flight_ended
         WHERE started_us < ? AND started_us <> 0 AND open = 0 ORDER BY started_us LIMIT ?)
       RETURNING stream, started_us AS us`,
    ),
    // A Flight without a start is not covered by `pruned_us`. The service may list it as long as its Bird exists, and
    // only its record shows that it is not new.
    undated: connection.prepare(
      `DELETE FROM flight WHERE (stream, started_us, id) IN (
         SELECT stream, started_us, id FROM flight INDEXED BY flight_ended
         WHERE started_us = 0 AND open = 0 AND ended_us < ? AND NOT EXISTS (
           SELECT 1 FROM stream JOIN bird USING (region, bird_id)
           WHERE stream.stream = flight.stream AND bird.present = 1)
         LIMIT ?)`,
    ),
    // Polls of Flights go by their start, which is not in their events. Rows beyond the cursor had an instant in the
    // future, which says nothing about other rows.
    prunedUpTo: connection.prepare(
      `UPDATE stream SET pruned_us = min(?2, cursor_us)
       WHERE stream = ?1 AND (feed = 'flight') = ?3 AND pruned_us < min(?2, cursor_us)`,
    ),
  };
}

function prepareDeliveries(connection: Connection) {
  return {
    settled: connection.prepare<Pick<DeliveryRow, 'receiver' | 'state'> & { notification: number }>(
      `DELETE FROM delivery WHERE seq IN (
         SELECT seq FROM delivery INDEXED BY delivery_settled
         WHERE settled_us > 0 AND settled_us < ? ORDER BY settled_us LIMIT ?)
       RETURNING notification, receiver, state`,
    ),
    theirAlerts: connection.prepare<{ alert: number }>(
      'DELETE FROM notified_alert WHERE notification = ? RETURNING alert',
    ),
    formerAlerts: connection.prepare(
      `DELETE FROM former_alert WHERE alert IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
         SELECT 1 FROM notified_alert WHERE notified_alert.alert = former_alert.alert)`,
    ),
    notification: connection.prepare(
      `DELETE FROM notification
       WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.notification = ?1)`,
    ),
  };
}

function prepareSuppressions(connection: Connection) {
  return {
    old: connection.prepare<{ suppression: number }>(
      `DELETE FROM suppression WHERE suppression IN (
         SELECT suppression FROM suppression INDEXED BY suppression_by_age
         WHERE at_us < ? ORDER BY at_us LIMIT ?)
       RETURNING suppression`,
    ),
    theirEvents: connection.prepare(
      'DELETE FROM suppressed_event WHERE suppression IN (SELECT value FROM json_each(?))',
    ),
  };
}

function prepareOthers(connection: Connection) {
  return {
    quarantined: connection.prepare(
      `DELETE FROM quarantine WHERE entry IN (
         SELECT entry FROM quarantine WHERE kept_us < ? ORDER BY kept_us LIMIT ?)`,
    ),
    silences: connection.prepare(
      `DELETE FROM silence WHERE id IN (
         SELECT id FROM silence INDEXED BY silence_by_end WHERE ends_us < ? ORDER BY ends_us, id LIMIT ?)`,
    ),
    writes: connection.prepare(
      `DELETE FROM write_request WHERE seq IN (
         SELECT seq FROM write_request INDEXED BY write_request_by_age WHERE at_us < ? ORDER BY at_us LIMIT ?)`,
    ),
    hours: connection.prepare(
      `DELETE FROM nest_hour WHERE (region, nest_id, hour) IN (
         SELECT region, nest_id, hour FROM nest_hour INDEXED BY nest_hour_by_age WHERE hour < ? ORDER BY hour LIMIT ?)`,
    ),
    episodes: connection.prepare(
      `DELETE FROM episode WHERE (alert_id, starts_us) IN (
         SELECT alert_id, starts_us FROM episode INDEXED BY episode_by_age
         WHERE resolved_us < ? ORDER BY resolved_us LIMIT ?)`,
    ),
  };
}
