/**
 * Reports a region's health: once it is first known and at each change. Alerting gets it too, with retries until it
 * is committed.
 */
import type { RegionHealth, ServiceClient } from '../service/client.ts';
import { durationWords } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { formatInstant } from '../time/instant.ts';
import type { IntakeParts } from './parts.ts';
import type { Lag, Schedule } from './schedule/schedule.ts';

interface HealthWatchOptions extends Pick<IntakeParts, 'region' | 'commit' | 'report'> {
  readonly client: Pick<ServiceClient, 'health'>;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  /** False until the region has answered or was found not to answer. */
  #isKnown = false;
  /** The health that was last committed for alerting. */
  #committed: RegionHealth['health'] | undefined;
  #isCommitting = false;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  /**
   * To be called when the region has answered. An alert that an earlier run left firing about this region is over
   * then. With `once` each call retries a failed commit, since nothing else does.
   */
  async answered(once: boolean): Promise<void> {
    if (this.#isKnown && !once) return;
    if (!this.#isKnown) this.#report();
    await this.commit();
  }

  /** Since when the region is up; undefined if it is not. */
  upSinceUs(): number | undefined {
    const { health, sinceUs } = this.#options.client.health();
    return health === 'up' ? sinceUs : undefined;
  }

  /** To be called when the health has changed. Rejects with what the store threw. */
  changed(): Promise<void> {
    this.#report();
    return this.commit();
  }

  /**
   * Commits the health if alerting does not know it yet. To be called every 30 s or so as well, since a full store
   * may have refused it. Does nothing before the health is known. Throws what the store threw.
   */
  async commit(): Promise<void> {
    // A call in progress checks again before it ends.
    if (!this.#isKnown || this.#isCommitting) return;
    this.#isCommitting = true;
    const { region, client, commit } = this.#options;
    try {
      for (let now = client.health(); now.health !== this.#committed; now = client.health()) {
        const { health, reason, sinceUs } = now;
        await commit({ region, facts: [{ fact: 'region_health', region, health, reason, sinceUs }] });
        this.#committed = health;
      }
    } finally {
      this.#isCommitting = false;
    }
  }

  #report(): void {
    this.#isKnown = true;
    const { region, client, report } = this.#options;
    const { health, reason } = client.health();
    report({ what: 'region_health', region, health, reason });
  }
}

// Reports when streams of a region are read too late, and when that is over.

interface LagWatchOptions extends Pick<IntakeParts, 'region' | 'commit' | 'clock'> {
  readonly maxIntervalMs: number;
  readonly schedule: Pick<Schedule, 'lag' | 'neededPerSecond'>;
  readonly client: Pick<ServiceClient, 'health' | 'rate' | 'pausedMs'>;
  /** The stream's name for people. */
  readonly describe: (name: string) => string;
  /** What the last poll of a stream failed with; undefined if it succeeded. */
  readonly failureOf: (name: string) => string | undefined;
}

/**
 * Why entries are read late: the service demands a pause, polls fail, more entries have accumulated than one poll
 * reads, or the allowed request rate is too low.
 */
type Cause = 'pause' | 'failure' | 'backlog' | 'rate';

const MAX_FAILURE_LENGTH = 300;

export class LagWatch {
  readonly #options: LagWatchOptions;
  readonly #startedMs: number;
  /** The state that alerting knows, without the figures that change constantly. */
  #reported: string | undefined;
  #isReporting = false;

  constructor(options: LagWatchOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  /** Commits a fact if something changed. To be called every 30 s or so. Throws what the store threw. */
  async report(): Promise<void> {
    // While the region is down nothing is polled, and `region_health` reports that.
    if (this.#isReporting || this.#options.client.health().health !== 'up') return;
    this.#isReporting = true;
    try {
      await this.#reportChange();
    } finally {
      this.#isReporting = false;
    }
  }

  async #reportChange(): Promise<void> {
    const { region, maxIntervalMs, schedule, commit, clock } = this.#options;
    const lag = schedule.lag(clock.monotonicMs());
    const cause = this.#causeOf(lag);
    const state =
      lag && cause === 'failure' ? `failure of ${lag.name} and ${lag.streams - 1}` : (cause ?? 'kept');
    if (state === this.#reported) return;
    // An alert from an earlier run must not end before every stream could have been read once.
    const isEarly = clock.monotonicMs() - this.#startedMs < maxIntervalMs;
    if (this.#reported === undefined && !cause && isEarly) return;
    const reason = cause ? this.#reasonOf(cause, lag) : '';
    const kept = cause === undefined;
    await commit({
      region,
      facts: [{ fact: 'polling_pace', region, kept, reason, sinceUs: clock.nowUs() }],
    });
    this.#reported = state;
  }

  #causeOf(lag: Lag | undefined): Cause | undefined {
    const { client, maxIntervalMs, failureOf } = this.#options;
    // A pause longer than streams may wait is reported before they are late.
    if (client.pausedMs() > (lag ? 0 : maxIntervalMs)) return 'pause';
    if (!lag) return undefined;
    if (failureOf(lag.name) !== undefined) return 'failure';
    return lag.isBehind ? 'backlog' : 'rate';
  }

  /** Describes the cause for people. */
  #reasonOf(cause: Cause, lag: Lag | undefined): string {
    const { client, maxIntervalMs, schedule, failureOf } = this.#options;
    const neededPerSecond = schedule.neededPerSecond();
    const needed = `it would take ${neededPerSecond.toFixed(1)} requests a second`;
    const parts = lag ? [this.#lateStreams(lag)] : [];
    if (cause === 'pause') {
      const atMost = lag
        ? ''
        : `, at most ${durationWords(maxIntervalMs, 'one unit')} are meant between two readings`;
      parts.push(`${this.#pauseInWords()}${atMost}`, needed);
    } else {
      if (cause === 'failure') {
        const failure = plainText(failureOf(lag?.name ?? '') ?? '', MAX_FAILURE_LENGTH);
        parts.push(`its reading fails: ${failure}`);
      }
      if (cause === 'backlog')
        parts.push('more has gathered there than one poll reads, and it is being caught up with');
      if (cause === 'rate' || neededPerSecond > client.rate()) {
        parts.push(`${needed}, ${client.rate().toFixed(1)} are allowed`);
      }
    }
    return parts.join('; ');
  }

  #lateStreams({ name, oldestMs, isBehind, streams }: Lag): string {
    const { describe, maxIntervalMs } = this.#options;
    const which = streams === 1 ? '1 stream is' : `${streams} streams are`;
    const read = isBehind ? 'last read to its end' : 'last read';
    const longest = `${describe(name)}: ${read} ${durationWords(oldestMs, 'one unit')} ago`;
    return `${which} read too late, most of all ${longest}, at most ${durationWords(maxIntervalMs, 'one unit')} are meant`;
  }

  #pauseInWords(): string {
    const { client, clock } = this.#options;
    const untilUs = clock.nowUs() + Math.round(client.pausedMs() * 1000);
    return `the service asks to be left alone until ${formatInstant(untilUs).slice(0, 16).replace('T', ' ')} UTC`;
  }
}
