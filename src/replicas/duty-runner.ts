/**
 * Runs the work of the duties that this replica owns. The work on a duty begins when its lease is handed over, and ends
 * when the duty is lost, given to another replica, or no longer wanted. A lease to be given back is kept until the
 * store has released it.
 *
 *   wanted ──hand──► handed over ──► working ──► returned ──forget──► wanted
 */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import {
  type Lease,
  type OwnershipView,
  regionOf,
  type Showing,
  type ShownDuty,
} from '../store/ownership-store.ts';
import type { Store, Turns } from '../store/store.ts';
import { type Bell, type Clock, createBell } from '../time/clock.ts';

/** Work that one replica at a time does. */
export interface DutyWork {
  readonly duty: string;
  /** Works until `signal` aborts; all that it writes goes through `store`. */
  run(signal: AbortSignal, store: Store): Promise<void>;
  /** Its state for all replicas to see, if it has any. Asked while the work runs. */
  show?(): string;
}

interface DutyRunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly report: Report;
  /** Called when a duty becomes wanted, is no longer wanted, or is to be given back. */
  readonly changed: () => void;
}

/** A duty that this replica wants. */
interface Post {
  readonly work: DutyWork;
  readonly bell: Bell;
  /** Handed over, but not begun. */
  handed: Lease | undefined;
}

/** Work that is running. */
interface Working {
  readonly work: DutyWork;
  readonly lease: Lease;
  readonly ending: AbortController;
}

export class DutyRunner {
  readonly #options: DutyRunnerOptions;
  readonly #posts = new Map<string, Post>();
  /** By duty. The work on a duty does not begin again before the former has ended. */
  readonly #working = new Map<string, Working>();
  /** Leases of work that has ended, to be given back. */
  readonly #returned = new Set<Lease>();

  constructor(options: DutyRunnerOptions) {
    this.#options = options;
  }

  /** Does the work whenever its duty is handed over, until `signal` aborts and the work has ended. */
  async whileOwned(work: DutyWork, signal: AbortSignal): Promise<void> {
    const post: Post = { work, bell: createBell(this.#options.clock), handed: undefined };
    this.#posts.set(work.duty, post);
    this.#options.changed();
    while (!signal.aborted) {
      await post.bell.wait(Number.POSITIVE_INFINITY, signal);
      const lease = post.handed;
      post.handed = undefined;
      if (lease && signal.aborted) this.#returned.add(lease);
      else if (lease) await this.#work(work, lease, signal);
    }
    if (this.#posts.get(work.duty) === post) this.#posts.delete(work.duty);
    this.#options.changed();
  }

  wanted(): string[] {
    return [...this.#posts.keys()];
  }

  isWanted(duty: string): boolean {
    return this.#posts.has(duty);
  }

  isWorking(duty: string): boolean {
    return this.#working.has(duty);
  }

  /** Whether the duty is worked on, and that is not ending. */
  isLasting(duty: string): boolean {
    return this.#working.get(duty)?.ending.signal.aborted === false;
  }

  /** Whether this replica works on no duty. */
  isIdle(): boolean {
    return this.#working.size === 0;
  }

  /** The state of each duty that is worked on. */
  showings(): Showing[] {
    return [...this.#working.values()].map(({ work, lease }) => ({ lease, shown: work.show?.() ?? '' }));
  }

  /** Hands over a duty that this replica owns from now on. */
  hand(lease: Lease): void {
    const post = this.#posts.get(lease.duty);
    if (this.#working.has(lease.duty) || post?.handed) return;
    if (post) {
      post.handed = lease;
      post.bell.ring();
    } else {
      this.#returned.add(lease);
    }
  }

  end(duty: string): void {
    this.#working.get(duty)?.ending.abort();
  }

  /** Ends the work on duties that another replica has taken. */
  endTaken({ duties }: Pick<OwnershipView, 'duties'>): void {
    for (const { duty, epoch } of duties) {
      const working = this.#working.get(duty);
      if (working && epoch > working.lease.epoch) working.ending.abort();
    }
  }

  endAll(): void {
    for (const { ending } of this.#working.values()) ending.abort();
  }

  /** The leases to be given back. */
  returned(): Lease[] {
    return [...this.#returned];
  }

  /** These leases were given back. */
  forget(leases: readonly Lease[]): void {
    for (const lease of leases) this.#returned.delete(lease);
  }

  async #work(work: DutyWork, lease: Lease, signal: AbortSignal): Promise<void> {
    const { store, clock, report, changed } = this.#options;
    const { duty } = lease;
    const region = regionOf(duty);
    const ending = new AbortController();
    this.#working.set(duty, { work, lease, ending });
    report({ what: 'duty', duty, region, isOwned: true });
    try {
      const fenced = fencedStore(store, lease, () => ending.abort());
      const owned = AbortSignal.any([signal, ending.signal]);
      await work.run(owned, fenced);
      // The work may return because it has nothing to do. The replica keeps the duty all the same.
      await createBell(clock).wait(Number.POSITIVE_INFINITY, owned);
    } catch (error) {
      // Work that failed because of the store is begun again, here or elsewhere.
      if (codeOf(error) !== 'lease_lost' && !isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'store', error });
    } finally {
      this.#working.delete(duty);
      this.#returned.add(lease);
      report({ what: 'duty', duty, region, isOwned: false });
      changed();
    }
  }
}

/**
 * The store for the owner of a duty: every transaction presents the lease first. If the lease was lost, nothing of the
 * transaction is committed, `lost` is called, and the transaction rejects with `lease_lost`.
 */
function fencedStore(store: Store, lease: Lease, lost: () => void): Store {
  return {
    async transaction(work) {
      try {
        return await store.transaction(async (tx) => {
          await tx.ownership.check(lease);
          return work(tx);
        });
      } catch (error) {
        if (codeOf(error) === 'lease_lost') lost();
        throw error;
      }
    },
    space: () => store.space(),
    close: () => store.close(),
  };
}

// Exchanges the state of duties: reports that of this replica's own, and reads that of all.

/** How often the state of duties is reported and read. */
const SHOW_MS = 15_000;
/** A replica whose own work commits nothing for this long leaves its duties to others: being alive is not enough. */
export const STUCK_MS = 60_000;

interface ShownDutiesOptions {
  readonly store: Store;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly report: Report;
  /** Called when a report gets through again after the replica was stuck. */
  readonly freed: () => void;
}

export class ShownDuties {
  readonly #options: ShownDutiesOptions;
  readonly #runner: DutyRunner;
  #shown = new Map<string, ShownDuty>();
  /** Since when a report has been waiting to get through; undefined if none is. */
  #unshownSinceMs: number | undefined;
  #isShowing = false;
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShownDutiesOptions, runner: DutyRunner) {
    this.#options = options;
    this.#runner = runner;
  }

  /** What the duty's last owner reported; undefined if none did. */
  of(duty: string): ShownDuty | undefined {
    return this.#shown.get(duty);
  }

  /**
   * Whether reports do not get through, because they are slow or refused. Then the replica does not renew, and its work
   * ends.
   */
  isStuck(): boolean {
    const sinceMs = this.#unshownSinceMs ?? Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }

  /** Tries whether a report gets through by now. To be called while stuck. */
  tryAgain(): void {
    if (!this.#isShowing) void this.#show(this.#options.clock.monotonicMs());
  }

  /** Reports and reads if it is time to; `beganMs` is when the turn began. */
  async exchange(beganMs: number): Promise<void> {
    if (beganMs - this.#shownMs < SHOW_MS) return;
    const shown = await this.#options.turns.shown();
    this.#shown = new Map(shown.map((one) => [one.duty, one]));
    this.#shownMs = beganMs;
    if (!this.#isShowing) void this.#show(beganMs);
  }

  /** Reports the state of its duties, queued behind its own work: of all that a turn does, this can best wait. */
  async #show(beganMs: number): Promise<void> {
    const { store, report, freed } = this.#options;
    // A replica without duties has no work to get through, and need not report, unless it lost them because it was
    // stuck.
    if (this.#runner.isIdle() && this.#unshownSinceMs === undefined) return;
    this.#isShowing = true;
    this.#unshownSinceMs ??= beganMs;
    try {
      await store.transaction(({ ownership }) => ownership.show(this.#runner.showings()));
      const wasStuck = this.isStuck();
      this.#unshownSinceMs = undefined;
      if (wasStuck) freed();
    } catch (error) {
      // An error that is not the store's would occur to any other owner too, so it does not count.
      if (!isStoreFailure(error)) this.#unshownSinceMs = undefined;
      report({ what: 'trouble', stage: 'store', error });
    } finally {
      this.#isShowing = false;
    }
  }
}
