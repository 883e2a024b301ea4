/**
 * How long ago the streams of a region were read: of each feed the one that was read longest ago, never the latest.
 * A stream that was not read in this life counts with what an earlier one has kept of its feed.
 */
import type { Feed } from '../domain/alert/event.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Schedule, StreamAge } from './schedule/schedule.ts';
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
  readonly schedule: Pick<Schedule, 'ages'>;
  readonly clock: Clock;
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
    const ages = this.#ages();
    this.#look(ages);
    const byFeed = Map.groupBy(ages, ({ name }) => feedOf(name));
    // A stream may come onto the schedule only when others were read.
    const none = (feed: FeedReads['feed']) => (this.#isFirstPassOver ? 0 : (this.#before.get(feed) ?? 0));
    return FEEDS_AND_INVENTORY.map((feed) => {
      const own = byFeed.get(feed) ?? [];
      const oldestUs = own.reduce((least, age) => Math.min(least, this.#readUs(feed, age)), Infinity);
      return {
        feed,
        streams: own.length,
        overdue: own.filter(({ isLate }) => isLate).length,
        oldestReadUs: own.length === 0 ? none(feed) : oldestUs,
      };
    });
  }

  /** When this life began. */
  beganUs(): number {
    return this.#atUs(this.#beganMs);
  }

  /** Undefined once each stream was read, or tried in vain for as long as a stream may wait. */
  firstPass(): FirstPass | undefined {
    const ages = this.#isFirstPassOver ? [] : this.#ages();
    this.#look(ages);
    if (this.#isFirstPassOver) return undefined;
    return {
      streams: ages.length,
      read: ages.filter(({ isUnread }) => !isUnread).length,
    };
  }

  #ages(): StreamAge[] {
    return [...this.#options.schedule.ages(this.#options.clock.monotonicMs())];
  }

  /** Birds that come later begin no second first pass. */
  #look(ages: readonly StreamAge[]): void {
    if (ages.length === 0) return;
    this.#isFirstPassOver ||= !ages.some(
      ({ isUnread, isUntried, isLate }) => isUntried || (isUnread && !isLate),
    );
  }

  /** One that has come later counts from then on, until it is overdue. */
  #readUs(feed: FeedReads['feed'], { ageMs, isUnread, isLate }: StreamAge): number {
    if (isUnread && (isLate || !this.#isFirstPassOver)) return this.#before.get(feed) ?? 0;
    return this.#atUs(this.#options.clock.monotonicMs() - ageMs);
  }

  /** On our clock, where it may have been set since. */
  #atUs(ms: number): number {
    const { clock } = this.#options;
    return clock.nowUs() - Math.round((clock.monotonicMs() - ms) * 1000);
  }
}
