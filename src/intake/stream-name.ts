/**
 * The names of a region's streams in its schedule: a fixed name for the whole region, or `logs/ID` and `flights/ID`
 * for a Bird.
 */
import type { Feed } from '../domain/alert/event.ts';

export const INVENTORY = 'inventory';
export const NOTIFICATIONS = 'notifications';
/** The audits of all paged streams, which are scheduled like one stream. */
export const AUDIT = 'audit';
/** The logs of single Flights, which are scheduled like one stream. */
export const FLIGHT_LOGS = 'flight_logs';

export function logName(birdId: string): string {
  return `logs/${birdId}`;
}

export function flightsName(birdId: string): string {
  return `flights/${birdId}`;
}

export function feedOf(name: string): Feed | 'inventory' {
  if (name === INVENTORY) return 'inventory';
  if (name === NOTIFICATIONS) return 'notification';
  return name.startsWith('logs/') ? 'bird_log' : 'flight';
}

/** The Bird of a stream, whose id may contain a slash; empty for a stream of the whole region. */
export function birdIdOf(name: string): string {
  const slashAt = name.indexOf('/');
  return slashAt < 0 ? '' : name.slice(slashAt + 1);
}
