/**
 * Birds that come to be watched later than their region: since when what happens to each is news. A whole reading of the
 * inventory lacked such a Bird: it was not there then, or not watched, as where `nests.include` was widened since or the
 * token may see more. So what happened before that reading is history, as what was before a first start. Of a Bird that
 * is new all is news, since nothing happened to it before.
 *
 * It is remembered as long as this life lasts: by then the Bird's streams were read, and their history is known.
 */
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';

interface NewcomersOptions {
  readonly region: string;
  readonly store: Store;
  readonly clock: Clock;
}

/** The reading may have lacked a Bird that was there: the service may list it late, or have cut that list short. */
const MARGIN_US = 3_600_000_000;

export class Newcomers {
  readonly #options: NewcomersOptions;
  /**
   * When the last whole reading began, on the monotonic clock, which stands still while the machine sleeps, and on ours,
   * which may be set; undefined before the first of all lives.
   */
  #whole: { readonly beganMs: number; readonly beganUs: number } | undefined;
  readonly #sinceUs = new Map<string, number>();

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /** Takes over when an earlier life read the inventory. */
  async load(): Promise<void> {
    const { region, store, clock } = this.#options;
    const reads = await store.transaction((tx) => tx.streams.reads(region));
    const readUs = reads.find(({ feed }) => feed === 'inventory')?.readUs ?? 0;
    if (readUs > 0) this.readWhole(clock.monotonicMs(), readUs);
  }

  /**
   * A reading lists a Bird that was never listed before. `nowUs` is now by the service's clock or by ours, whichever is
   * behind: one of them may be wrong, and news is not to be taken for history.
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

  /** A reading that began then has left nothing out. */
  readWhole(beganMs: number, beganUs: number): void {
    this.#whole = { beganMs, beganUs };
  }

  /** Since when what happens to the Bird is news, on the service's clock; 0 for as long as its region is watched. */
  sinceUs(birdId: string): number {
    return this.#sinceUs.get(birdId) ?? 0;
  }
}
