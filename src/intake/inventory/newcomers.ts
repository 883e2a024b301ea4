/**
 * Determines, for each Bird that came to be watched later than its region, since when its events are news. An earlier
 * complete reading of the inventory lacked such a Bird. It did not exist then, or it was not watched, for example
 * because `nests.include` was narrower or the token was allowed less. So what happened before that reading is history,
 * like what happened before a first start. For a Bird that is really new everything is news, since nothing happened to
 * it before.
 *
 * This is only kept in memory. By the time of a restart the Bird's streams have been read, and their history is known.
 */
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';

interface NewcomersOptions {
  readonly region: string;
  readonly store: Store;
  readonly clock: Clock;
}

/** The reading may have lacked an existing Bird, because the service listed it late or truncated the list. */
const MARGIN_US = 3_600_000_000;

export class Newcomers {
  readonly #options: NewcomersOptions;
  /**
   * When the last complete reading began; undefined before the first one ever. It is kept on both clocks: the
   * monotonic clock stops while the machine sleeps, and the wall clock may be set.
   */
  #whole: { readonly beganMs: number; readonly beganUs: number } | undefined;
  readonly #sinceUs = new Map<string, number>();

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /** Loads when an earlier run read the inventory. */
  async load(): Promise<void> {
    const { region, store, clock } = this.#options;
    const reads = await store.transaction((tx) => tx.streams.reads(region));
    const readUs = reads.find(({ feed }) => feed === 'inventory')?.readUs ?? 0;
    if (readUs > 0) this.readWhole(clock.monotonicMs(), readUs);
  }

  /**
   * A reading lists a Bird for the first time. `nowUs` is the current time by the service's clock or ours, whichever
   * is behind: one of them may be wrong, and news must not be taken for history.
   */
  came(birdId: string, nowUs: number): void {
    if (this.#whole === undefined) return;
    const { clock } = this.#options;
    const { beganMs, beganUs } = this.#whole;
    const agoUs = Math.round(Math.max((clock.monotonicMs() - beganMs) * 1000, clock.nowUs() - beganUs));
    this.#sinceUs.set(birdId, nowUs - agoUs - MARGIN_US);
  }

  gone(birdId: string): void {
    this.#sinceUs.delete(birdId);
  }

  /** A reading that began then left nothing out. */
  readWhole(beganMs: number, beganUs: number): void {
    this.#whole = { beganMs, beganUs };
  }

  /** Since when events of the Bird are news, on the service's clock; 0 if that is as long as its region is watched. */
  sinceUs(birdId: string): number {
    return this.#sinceUs.get(birdId) ?? 0;
  }
}
