/**
 * The works that this replica wants to do, each of them begun when the lease of its duty is handed over, and ended when the
 * duty is lost, given to another, or no longer wanted. What is to be given back is kept until the store has heard of it.
 *
 *   wanted ──hand──► handed over ──► working ──► returned ──forget──► wanted
 */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Lease, OwnershipView, Showing } from '../store/ownership-store.ts';
import type { Store } from '../store/store.ts';
import { type Bell, type Clock, createBell } from '../time/clock.ts';
import { fencedStore } from './fenced-store.ts';
import type { WantedDuty } from './plan-duties.ts';

/** What is done by one replica at a time. */
export interface OwnedWork extends WantedDuty {
  /** The region that is read, where that is the work. */
  readonly region?: string;
  /** Works until `signal` aborts; all that it writes goes through `store`. */
  run(signal: AbortSignal, store: Store): Promise<void>;
  /** How it stands, for all replicas, and what it takes; asked while it runs. */
  show(): { readonly weight: number; readonly shown: string };
}

interface OwnedWorksOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly report: Report;
  /** Called when a duty is wanted, no longer wanted, or to be given back. */
  readonly changed: () => void;
}

/** A duty that is wanted here. */
interface Post {
  readonly work: OwnedWork;
  readonly bell: Bell;
  /** Handed over, and not begun. */
  handed: Lease | undefined;
}

/** Work under way. */
interface Working {
  readonly work: OwnedWork;
  readonly lease: Lease;
  readonly ending: AbortController;
}

export class OwnedWorks {
  readonly #options: OwnedWorksOptions;
  readonly #posts = new Map<string, Post>();
  /** By duty. One that is wanted anew has to wait until the work before it has ended. */
  readonly #working = new Map<string, Working>();
  /** Leases of work that has ended. */
  readonly #returned = new Set<Lease>();

  constructor(options: OwnedWorksOptions) {
    this.#options = options;
  }

  /** Does the work whenever its duty is handed over, until `signal` aborts and the work has ended. */
  async whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void> {
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

  wanted(): WantedDuty[] {
    return [...this.#posts.values()].map(({ work }) => work);
  }

  isWanted(duty: string): boolean {
    return this.#posts.has(duty);
  }

  isWorking(duty: string): boolean {
    return this.#working.has(duty);
  }

  /** Whether it is worked on, and goes on. */
  isLasting(duty: string): boolean {
    return this.#working.get(duty)?.ending.signal.aborted === false;
  }

  /** Whether nothing is worked on. */
  areNone(): boolean {
    return this.#working.size === 0;
  }

  /** How what is worked on stands. */
  showings(): Showing[] {
    return [...this.#working.values()].map(({ work, lease }) => ({ lease, ...work.show() }));
  }

  /** A duty that is this replica's from now on. */
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

  /** Ends what another replica has taken. */
  endTaken({ duties }: Pick<OwnershipView, 'duties'>): void {
    for (const { duty, epoch } of duties) {
      const working = this.#working.get(duty);
      if (working && epoch > working.lease.epoch) working.ending.abort();
    }
  }

  endAll(): void {
    for (const { ending } of this.#working.values()) ending.abort();
  }

  /** What is to be given back. */
  returned(): Lease[] {
    return [...this.#returned];
  }

  /** These were given back. */
  forget(leases: readonly Lease[]): void {
    for (const lease of leases) this.#returned.delete(lease);
  }

  async #work(work: OwnedWork, lease: Lease, signal: AbortSignal): Promise<void> {
    const { store, clock, report, changed } = this.#options;
    const { duty } = lease;
    const { region } = work;
    const ending = new AbortController();
    this.#working.set(duty, { work, lease, ending });
    report({ what: 'duty', duty, region, isOwned: true });
    try {
      const fenced = fencedStore(store, lease, () => ending.abort());
      const owned = AbortSignal.any([signal, ending.signal]);
      await work.run(owned, fenced);
      // It may have nothing to do; the duty is this replica's all the same.
      await createBell(clock).wait(Number.POSITIVE_INFINITY, owned);
    } catch (error) {
      // What could not begin or go on for the sake of the store is begun again, here or elsewhere.
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
