/**
 * Runs the work of the duties that this replica owns. The work on a duty begins when its lease is handed over, and ends
 * when the duty is lost, given to another replica, or no longer wanted. A lease to be given back is kept until the
 * store has released it.
 *
 *   wanted ──hand──► handed over ──► working ──► returned ──forget──► wanted
 */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import { type Lease, type OwnershipView, regionOf, type Showing } from '../store/ownership-store.ts';
import type { Store } from '../store/store.ts';
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
