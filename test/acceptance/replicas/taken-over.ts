/** How long nobody asked for a region after the replica that did so was struck, from the log of the service. */
import type { WatchedService } from './watched-service.ts';

/** What happened to replicas; `restart` befalls the server of the database. */
export type Fault = 'kill' | 'pause' | 'stop' | 'restart';

export interface Takeover {
  readonly fault: Fault;
  readonly region: string;
  readonly tookMs: number;
}

/** A region that a life was reading when it was struck: its last turn there. */
export interface Struck {
  readonly region: string;
  readonly turn: number;
}

export function readBy(service: WatchedService, life: string): Struck[] {
  return service.regions
    .map((region) => ({ region, turn: service.turnsOf(region).length - 1 }))
    .filter(({ region, turn }) => service.turnsOf(region)[turn]?.life === life);
}

/** What each region waited for, where another life has asked for it since. */
export function takenOver(service: WatchedService, struck: readonly Struck[], fault: Fault): Takeover[] {
  return struck.flatMap(({ region, turn }) => {
    const [last, next] = service.turnsOf(region).slice(turn);
    return next ? [{ fault, region, tookMs: next.fromMs - last!.untilMs }] : [];
  });
}

/** A value that so large a part of all does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0;
}
