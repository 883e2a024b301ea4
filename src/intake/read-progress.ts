/**
 * Tracks how recently the streams of a region were read: for each feed, when the stream was read that has waited
 * longest. A stream that was not read since the start counts with the value that an earlier run stored for its feed.
 */

import type { FeedReads, FirstPass } from '../region-progress.ts';
import type { ServiceClient } from '../service/client.ts';
import { feedOf, type IntakeParts } from './parts.ts';
import type { Schedule } from './schedule/schedule.ts';

interface ReadProgressOptions extends Pick<IntakeParts, 'region' | 'store' | 'clock'> {
  readonly schedule: Pick<Schedule, 'eachAge'>;
}

/** The counts of one feed. */
interface Tally {
  streams: number;
  overdue: number;
  unread: number;
  unreadOverdue: number;
  /** The longest time since a read stream was read; negative if none was read. */
  readMs: number;
  /** The longest wait of a stream that is unread but not overdue; negative if there is none. */
  waitingMs: number;
}

const FEEDS_AND_INVENTORY: readonly FeedReads['feed'][] = ['inventory', 'notification', 'bird_log', 'flight'];

export class ReadProgress {
  readonly #options: ReadProgressOptions;
  readonly #beganMs: number;
  /** By feed, as stored by an earlier run. */
  readonly #before = new Map<string, number>();
  #isFirstPassOver = false;

  constructor(options: ReadProgressOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
  }

  /** Loads what an earlier run stored. */
  async load(): Promise<void> {
    const { region, store } = this.#options;
    for (const { feed, readUs } of await store.transaction((tx) => tx.streams.reads(region))) {
      this.#before.set(feed, readUs);
    }
  }

  /**
   * Stores what is known now for the next run. To be called every 30 s or so, and at the end of a single reading.
   * Throws what the store threw.
   */
  async keep(): Promise<void> {
    const { region, store } = this.#options;
    const known = this.feeds().flatMap(({ feed, oldestReadUs: readUs }) =>
      readUs > 0 ? [{ feed, readUs }] : [],
    );
    if (known.length > 0) await store.transaction((tx) => tx.streams.putReads(region, known));
  }

  feeds(): readonly FeedReads[] {
    const tallies = this.#look();
    return FEEDS_AND_INVENTORY.map((feed) => {
      const tally = tallies.get(feed)!;
      return {
        feed,
        streams: tally.streams,
        overdue: tally.overdue,
        oldestReadUs: this.#oldestReadUs(this.#before.get(feed) ?? 0, tally),
      };
    });
  }

  /** When this run began. */
  beganUs(): number {
    return this.#atUs(this.#beganMs);
  }

  /** Undefined once every stream was read, or tried without success for as long as a stream may wait. */
  firstPass(): FirstPass | undefined {
    if (this.#isFirstPassOver) return undefined;
    const tallies = [...this.#look().values()];
    if (this.#isFirstPassOver) return undefined;
    const streams = tallies.reduce((sum, tally) => sum + tally.streams, 0);
    return { streams, read: tallies.reduce((rest, { unread }) => rest - unread, streams) };
  }

  /** Visits each stream once. Birds that are added later do not start a second first pass. */
  #look(): ReadonlyMap<FeedReads['feed'], Tally> {
    const { schedule, clock } = this.#options;
    const tallies = new Map(FEEDS_AND_INVENTORY.map((feed) => [feed, emptyTally()]));
    let streams = 0;
    let isUnderWay = false;
    schedule.eachAge(clock.monotonicMs(), ({ name, ageMs, isUnread, isUntried, isLate }) => {
      const tally = tallies.get(feedOf(name))!;
      streams += 1;
      tally.streams += 1;
      if (isLate) tally.overdue += 1;
      if (isUnread) tally.unread += 1;
      if (isUnread && isLate) tally.unreadOverdue += 1;
      else if (isUnread) tally.waitingMs = Math.max(tally.waitingMs, ageMs);
      else tally.readMs = Math.max(tally.readMs, ageMs);
      isUnderWay ||= isUntried || (isUnread && !isLate);
    });
    if (streams > 0) this.#isFirstPassOver ||= !isUnderWay;
    return tallies;
  }

  /** `beforeUs` is the value from an earlier run. */
  #oldestReadUs(beforeUs: number, { streams, unread, unreadOverdue, readMs, waitingMs }: Tally): number {
    // A stream may be added to the schedule only after others were read.
    if (streams === 0) return this.#isFirstPassOver ? 0 : beforeUs;
    // A stream that is added later counts from then on, until it is overdue.
    const isOfBefore = this.#isFirstPassOver ? unreadOverdue > 0 : unread > 0;
    const ageMs = this.#isFirstPassOver ? Math.max(readMs, waitingMs) : readMs;
    const ofThisLifeUs = ageMs < 0 ? Infinity : this.#atUs(this.#options.clock.monotonicMs() - ageMs);
    return isOfBefore ? Math.min(beforeUs, ofThisLifeUs) : ofThisLifeUs;
  }

  /** On our wall clock, which may have been set since. */
  #atUs(ms: number): number {
    const { clock } = this.#options;
    return clock.nowUs() - Math.round((clock.monotonicMs() - ms) * 1000);
  }
}

function emptyTally(): Tally {
  return { streams: 0, overdue: 0, unread: 0, unreadOverdue: 0, readMs: -1, waitingMs: -1 };
}

// Stores the request rate that a region bears. After a restart the polls begin near that rate, instead of spending
// seconds at a very low rate or exceeding what was refused before.

interface KeptRateOptions extends Pick<IntakeParts, 'region' | 'store' | 'clock'> {
  readonly client: Pick<ServiceClient, 'bearableRate' | 'rememberRate'>;
}

/** The rate is stored again when it has changed by this part, or after `KEPT_FOR_MS`. */
const CHANGED = 0.05;
const KEPT_FOR_MS = 600_000;

export class KeptRate {
  readonly #options: KeptRateOptions;
  #kept = { perSecond: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(options: KeptRateOptions) {
    this.#options = options;
  }

  /** Restores the rate of an earlier run. To be called before the first request. */
  async load(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const kept = await store.transaction((tx) => tx.inventory.rate(region));
    if (kept) client.rememberRate(kept.perSecond, Math.max(0, (clock.nowUs() - kept.keptUs) / 1000));
  }

  /** Stores the rate. To be called every 30 s or so. Throws what the store threw. */
  async keep(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const perSecond = client.bearableRate();
    const nowMs = clock.monotonicMs();
    const isChanged = Math.abs(perSecond - this.#kept.perSecond) > CHANGED * this.#kept.perSecond;
    if (!isChanged && nowMs - this.#kept.atMs < KEPT_FOR_MS) return;
    await store.transaction((tx) => tx.inventory.putRate(region, { perSecond, keptUs: clock.nowUs() }));
    this.#kept = { perSecond, atMs: nowMs };
  }
}
