import type { PollConfig } from '../config/sections/poll-section.ts';
import type { Feed } from '../domain/alert/event.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Commit } from './commit.ts';

/** What all that reads one region shares. */
export interface IntakeParts {
  readonly region: string;
  readonly poll: PollConfig;
  /** How long the store keeps events. */
  readonly retentionMs: number;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** Names by id, from the inventory; empty if unknown. */
export interface Names {
  nest(nestId: string): string;
  bird(birdId: string): string;
  /** The Nest of a Bird; empty if unknown. */
  nestOf(birdId: string): string;
}

// The names of a region's streams in its schedule: a fixed name for the whole region, or `logs/ID` and `flights/ID`
// for a Bird.

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

/** What a stream reads. `AUDIT` and `FLIGHT_LOGS` are no streams, and have no feed. */
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

const HOUR_MS = 3_600_000;

/** The part of the retention, at its old end, that may be deleted already. */
const EXPIRY_SHARE = 1 / 20;

/**
 * What occurred since this instant is certainly still in the store, as long as the retention has not changed. Older
 * events may already be deleted, even if only because a clock was wrong for an hour; reading them from the service
 * again would report them twice. Deletions by an earlier, shorter retention or a wrong clock before this run are
 * recorded in the stream's `prunedUs`.
 */
export function retentionHorizonUs(nowUs: number, retentionMs: number): number {
  const keptMs = Math.max(0, retentionMs * (1 - EXPIRY_SHARE) - 2 * HOUR_MS);
  return nowUs - keptMs * 1000;
}
