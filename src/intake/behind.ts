/** Tells when a region is polled too rarely, and when that is over. */
import type { Clock } from '../clock.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Commit } from './commit.ts';
import type { Behind, Schedule } from './schedule.ts';

export interface BehindWatchOptions {
  readonly region: string;
  readonly maxIntervalMs: number;
  readonly schedule: Pick<Schedule, 'behind'>;
  readonly client: Pick<ServiceClient, 'health' | 'rate'>;
  readonly commit: Commit;
  readonly clock: Clock;
}

/** To be called after each poll; commits a fact where something changed. Throws what the store threw. */
export type BehindWatch = () => Promise<void>;

export function createBehindWatch(options: BehindWatchOptions): BehindWatch {
  const { region, maxIntervalMs, schedule, client, commit, clock } = options;
  const startedMs = clock.monotonicMs();
  let told: boolean | undefined;

  function reasonOf({ oldestMs, neededPerSecond }: Behind): string {
    const waited = `a stream was last read ${inWords(oldestMs)} ago, at most ${inWords(maxIntervalMs)} are meant`;
    const needed = `it would take ${neededPerSecond.toFixed(1)} requests a second`;
    return `${waited}; ${needed}, ${client.rate().toFixed(1)} are allowed`;
  }

  return async () => {
    // While the region is away nothing is polled, and that is told by another name.
    if (client.health().health !== 'up') return;
    const nowMs = clock.monotonicMs();
    const behind = schedule.behind(nowMs);
    const kept = behind === undefined;
    if (kept === told) return;
    // Nothing is known of an earlier life's trouble before a whole round was possible.
    if (told === undefined && kept && nowMs - startedMs < maxIntervalMs) return;
    told = kept;
    const reason = behind ? reasonOf(behind) : '';
    await commit({
      region,
      facts: [{ fact: 'polling_pace', region, kept, reason, sinceUs: clock.nowUs() }],
    });
  };
}

function inWords(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
