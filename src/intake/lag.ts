/** Tells when something of a region is not read in time, and when that is over. */

import type { ServiceClient } from '../service/client.ts';
import { durationWords } from '../text/duration-words.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';
import type { Commit } from './commit.ts';
import type { Behind, Schedule } from './schedule/schedule.ts';

export interface BehindWatchOptions {
  readonly region: string;
  readonly maxIntervalMs: number;
  readonly schedule: Pick<Schedule, 'behind' | 'neededPerSecond'>;
  readonly client: Pick<ServiceClient, 'health' | 'rate' | 'pausedMs'>;
  /** What a stream is called, for people. */
  readonly describe: (name: string) => string;
  /** Whether the last poll of a stream failed. */
  readonly isFailing: (name: string) => boolean;
  readonly commit: Commit;
  readonly clock: Clock;
}

/** To be called now and then; commits a fact where something changed. Throws what the store threw. */
export type BehindWatch = () => Promise<void>;

/** Why news comes late: the service asks for a pause, what is read fails, or too few requests are allowed. */
type Cause = 'pause' | 'failure' | 'rate';

export function createBehindWatch(options: BehindWatchOptions): BehindWatch {
  const { region, maxIntervalMs, schedule, client, commit, clock } = options;
  const startedMs = clock.monotonicMs();
  /** What alerting knows, but for the figures that change all the time. */
  let told: string | undefined;
  let isTelling = false;

  function causeOf(behind: Behind | undefined): Cause | undefined {
    // A pause that is longer than streams may wait is known to make them late before they are.
    if (client.pausedMs() > (behind ? 0 : maxIntervalMs)) return 'pause';
    if (!behind) return undefined;
    return options.isFailing(behind.name) ? 'failure' : 'rate';
  }

  function reasonOf(cause: Cause, behind: Behind | undefined): string {
    const neededPerSecond = schedule.neededPerSecond();
    const needed = `it would take ${neededPerSecond.toFixed(1)} requests a second`;
    const atMost = `at most ${durationWords(maxIntervalMs, 'one unit')} are meant`;
    const parts: string[] = [];
    if (behind) {
      const { name, oldestMs, streams } = behind;
      const which = streams === 1 ? '1 stream is' : `${streams} streams are`;
      const longest = `${options.describe(name)}: last read ${durationWords(oldestMs, 'one unit')} ago`;
      parts.push(`${which} read too late, most of all ${longest}, ${atMost}`);
    }
    if (cause === 'pause') {
      const untilUs = clock.nowUs() + Math.round(client.pausedMs() * 1000);
      const until = `until ${formatInstant(untilUs).slice(0, 16).replace('T', ' ')} UTC`;
      parts.push(
        `the service asks to be left alone ${until}${behind ? '' : `, ${atMost} between two readings`}`,
      );
      parts.push(needed);
    } else {
      if (cause === 'failure') parts.push('its reading fails, the log says why');
      if (cause === 'rate' || neededPerSecond > client.rate()) {
        parts.push(`${needed}, ${client.rate().toFixed(1)} are allowed`);
      }
    }
    return parts.join('; ');
  }

  async function tell(): Promise<void> {
    const behind = schedule.behind(clock.monotonicMs());
    const cause = causeOf(behind);
    const state =
      behind && cause === 'failure'
        ? `failure of ${behind.name} and ${behind.streams - 1}`
        : (cause ?? 'kept');
    if (state === told) return;
    // Nothing is known of an earlier life's trouble before a whole round was possible.
    if (told === undefined && !cause && clock.monotonicMs() - startedMs < maxIntervalMs) return;
    const reason = cause ? reasonOf(cause, behind) : '';
    const kept = cause === undefined;
    await commit({
      region,
      facts: [{ fact: 'polling_pace', region, kept, reason, sinceUs: clock.nowUs() }],
    });
    told = state;
  }

  return async () => {
    // While the region is away nothing is polled, and that is told by another name.
    if (isTelling || client.health().health !== 'up') return;
    isTelling = true;
    try {
      await tell();
    } finally {
      isTelling = false;
    }
  };
}
