/** Reads everything known about one Flight, for the page, the API and commands. */
import type { Action } from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { FlightOverview } from '../store/bird-store.ts';
import type { Delivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { actionsOf } from './explain.ts';

export interface FlightReport {
  readonly flight: FlightOverview;
  /** The Flights of the same Bird that started before and after it. */
  readonly previous: FlightOverview | undefined;
  readonly next: FlightOverview | undefined;
  /** The event of its last end, with the full error; undefined while the Flight is active, or when no longer kept. */
  readonly event: Event | undefined;
  /** The alerts that its end belongs to. An alert that ended long ago is no longer kept. */
  readonly alerts: readonly Alert[];
  /** What was sent about it, oldest first. */
  readonly deliveries: readonly Delivery[];
  /** Who was not notified of it, and why. */
  readonly suppressions: readonly Suppression[];
  /** What nestwatch did, or was to do, about it. */
  readonly actions: readonly Action[];
}

/** Undefined for an unknown Flight. */
export async function readFlightReport(
  tx: Transaction,
  region: string,
  flightId: string,
): Promise<FlightReport | undefined> {
  const flight = await tx.birds.findFlight(region, flightId);
  if (!flight) return undefined;
  const { eventKey, birdId, startedAtUs } = flight;
  const [previous] = startedAtUs > 0 ? await tx.birds.latestFlights(region, birdId, 1, startedAtUs) : [];
  const next = startedAtUs > 0 ? await tx.birds.nextFlight(region, birdId, startedAtUs) : undefined;
  const beside = { flight, previous, next };
  if (eventKey === '')
    return { ...beside, event: undefined, alerts: [], deliveries: [], suppressions: [], actions: [] };
  const linked = await tx.alerts.ofEvent(eventKey);
  const notifications = await tx.outbox.notificationsOfEvent(eventKey);
  const event = await tx.events.find(eventKey);
  return {
    ...beside,
    event,
    actions: event ? await actionsOf(tx, event) : [],
    alerts: linked.filter(({ alert, seq }) => seq <= alert.lastSeq).map(({ alert }) => alert),
    deliveries: notifications.flatMap((one) => one.deliveries),
    suppressions: await tx.suppressions.ofEvent(eventKey),
  };
}
