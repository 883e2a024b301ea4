/**
 * How long ago the streams of a region were read: of each feed the one that was read longest ago, never the latest.
 * A stream that was not read in this life counts with what an earlier one has kept of its feed.
 */
import type { Feed } from '../domain/alert/event.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Schedule } from './schedule/schedule.ts';
import { feedOf } from './stream-name.ts';

export interface FeedReads {
  readonly feed: Feed | 'inventory';
  /** Streams that are polled now. */
  readonly streams: number;
  /** Those of them that are not read often enough. */
  readonly overdue: number;
  /** When the one was read that was read longest ago; 0 for never, and where there are no streams. */
  readonly oldestReadUs: number;
}

export interface FirstPass {
  readonly streams: number;
  /** Those that were read. */
  readonly read: number;
}

interface ReadProgressOptions {
  readonly region: string;
  readonly store: Store;
  readonly schedule: Pick<Schedule, 'eachAge'>;
  readonly clock: Clock;
}

/** Of the streams of one feed. */
interface Tally {
  streams: number;
  overdue: number;
  unread: number;
  unreadOverdue: number;
  /** How long ago the one was read that was read longest ago; below 0 for none. */
  readMs: number;
  /** How long the one waits, of those that are unread and not overdue, that waits longest; below 0 for none. */
  waitingMs: number;
}

const FEEDS_AND_INVENTORY: readonly FeedReads['feed'][] = ['inventory', 'notification', 'bird_log', 'flight'];

export class ReadProgress {
  readonly #options: ReadProgressOptions;
  readonly #beganMs: number;
  /** By feed, as an earlier life has kept it. */
  readonly #before = new Map<string, number>();
  #isFirstPassOver = false;

  constructor(options: ReadProgressOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
  }

  /** Loads what an earlier life has kept. */
  async load(): Promise<void> {
    const { region, store } = this.#options;
    for (const { feed, readUs } of await store.transaction((tx) => tx.streams.reads(region))) {
      this.#before.set(feed, readUs);
    }
  }

  /** Keeps for a later life what is known now; to be called every half minute or so. Throws what the store threw. */
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

  /** When this life began. */
  beganUs(): number {
    return this.#atUs(this.#beganMs);
  }

  /** Undefined once each stream was read, or tried in vain for as long as a stream may wait. */
  firstPass(): FirstPass | undefined {
    if (this.#isFirstPassOver) return undefined;
    const tallies = [...this.#look().values()];
    if (this.#isFirstPassOver) return undefined;
    const streams = tallies.reduce((sum, tally) => sum + tally.streams, 0);
    return { streams, read: tallies.reduce((rest, { unread }) => rest - unread, streams) };
  }

  /** Looks at each stream once. Birds that come later begin no second first pass. */
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

  /** `beforeUs` is what an earlier life has kept. */
  #oldestReadUs(beforeUs: number, { streams, unread, unreadOverdue, readMs, waitingMs }: Tally): number {
    // A stream may come onto the schedule only when others were read.
    if (streams === 0) return this.#isFirstPassOver ? 0 : beforeUs;
    // One that has come later counts from then on, until it is overdue.
    const isOfBefore = this.#isFirstPassOver ? unreadOverdue > 0 : unread > 0;
    const ageMs = this.#isFirstPassOver ? Math.max(readMs, waitingMs) : readMs;
    const ofThisLifeUs = ageMs < 0 ? Infinity : this.#atUs(this.#options.clock.monotonicMs() - ageMs);
    return isOfBefore ? Math.min(beforeUs, ofThisLifeUs) : ofThisLifeUs;
  }

  /** On our clock, where it may have been set since. */
  #atUs(ms: number): number {
    const { clock } = this.#options;
    return clock.nowUs() - Math.round((clock.monotonicMs() - ms) * 1000);
  }
}

function emptyTally(): Tally {
  return { streams: 0, overdue: 0, unread: 0, unreadOverdue: 0, readMs: -1, waitingMs: -1 };
}
