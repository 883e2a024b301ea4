/**
 * How soon other replicas took over the work of a struck replica, and what the time was spent on: from the log of the
 * service, and from what the database saw.
 *
 *   struck ──► nobody's ──► another's ──► it asks the service ──► it commits
 */

import type { WatchedService } from './watched-service.ts';
import type { DutyTurn, FirstWrite } from './who-commits.ts';

/** The faults of replicas; `restart` is of the database server. */
export type Fault = 'kill' | 'pause' | 'stop' | 'restart';

/** A region that another life has made requests to since its reader was struck. */
export interface Resumed {
  readonly fault: Fault;
  readonly region: string;
  readonly struckMs: number;
  readonly askedMs: number;
  /** How long nobody made a request, for whatever reason. */
  readonly silentMs: number;
}

/** Each part in milliseconds, beginning where the previous one ended. */
export interface Takeover extends Resumed {
  /** Until nobody owned it. */
  readonly freeMs: number;
  /** Until another replica owned it. */
  readonly takenMs: number;
  /** Until that replica made a request to it. */
  readonly beginMs: number;
  /** Until that replica committed the response. */
  readonly commitMs: number;
  /** The sum. */
  readonly tookMs: number;
}

/** A region that a life was reading when it was struck, with its last turn there. */
export interface Struck {
  readonly region: string;
  readonly turn: number;
}

export function readBy(service: WatchedService, life: string): Struck[] {
  return service.regions
    .map((region) => ({ region, turn: service.turnsOf(region).length - 1 }))
    .filter(({ region, turn }) => service.turnsOf(region)[turn]?.life === life);
}

/** Of those regions, the ones that another life has made requests to since. */
export function resumed(
  service: WatchedService,
  struck: readonly Struck[],
  fault: Fault,
  struckMs: number,
): Resumed[] {
  return struck.flatMap(({ region, turn }) => {
    const [last, next] = service.turnsOf(region).slice(turn);
    if (!next) return [];
    return [{ fault, region, struckMs, askedMs: next.fromMs, silentMs: next.fromMs - last!.untilMs }];
  });
}

/**
 * What the time of a takeover was spent on. Undefined if the database saw none, such as for a region that was already
 * moving to another replica when its reader was struck.
 */
export function partsOf(
  one: Resumed,
  duties: readonly DutyTurn[],
  writes: readonly FirstWrite[],
): Takeover | undefined {
  const turns = duties.filter(({ duty, atMs }) => duty === `region ${one.region}` && atMs >= one.struckMs);
  const free = turns.find(({ owner }) => owner === 0);
  const taken = turns.find(({ owner, atMs }) => owner !== 0 && free && atMs >= free.atMs);
  const written = writes
    .filter(({ region, epoch }) => region === one.region && taken && epoch >= taken.epoch)
    .toSorted((a, b) => a.epoch - b.epoch)[0];
  if (!free || !taken || !written || one.askedMs < free.atMs) return undefined;
  const instants = [one.struckMs, free.atMs, taken.atMs, one.askedMs, written.atMs];
  const [freeMs, takenMs, beginMs, commitMs] = instants
    .slice(1)
    .map((atMs, index) => Math.round(atMs - instants[index]!)) as [number, number, number, number];
  return { ...one, freeMs, takenMs, beginMs, commitMs, tookMs: Math.round(written.atMs - one.struckMs) };
}

/** The value that this share of all values does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
