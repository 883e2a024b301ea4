/** The names of a region's streams on its schedule: one for the whole region, or `logs/ID` and `flights/ID` of a Bird. */
import type { Feed } from '../domain/alert/event.ts';

export const INVENTORY = 'inventory';
export const NOTIFICATIONS = 'notifications';
/** The audits of all paged streams, which take turns as a stream does. */
export const AUDIT = 'audit';

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

/** The Bird whose stream it is, whose id may hold a slash; empty for a stream of the whole region. */
export function birdIdOf(name: string): string {
  const slashAt = name.indexOf('/');
  return slashAt < 0 ? '' : name.slice(slashAt + 1);
}
