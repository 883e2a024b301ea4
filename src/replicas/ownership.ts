/**
 * WHO DOES WHAT, where several replicas of this process share one store. The store is the only thing that they agree
 * by; nobody leads, and none knows the address of another.
 *
 *                       ┌────────────────────── turn, every 4 s ──────────────────────┐
 *   replica (one life)  │ I live · remove who does not · give back · look · take      │
 *                       └──────────────────────────────┬───────────────────────────────┘
 *                                                      ▼
 *   region eu ─ region us ─ … ─ alerting      one replica each: a duty, owned by a lease
 *   deliveries, page, API, commands            every replica, all the time
 *
 * - *Duties.* Reading a region is one, alerting (with digests, repetitions and the heartbeat) is another. Work on a duty
 *   runs only while its lease lasts, and is begun anew, from what the store knows, by whoever takes it.
 * - *A lease is a pair of duty and epoch* (`store/ownership-store.ts`). Every transaction of the work shows it first
 *   (`fencedStore`); one that was overtaken throws `lease_lost`, nothing of it is committed, and the work is ended. So a
 *   process that was stopped for a minute, or whose commit was under way for one, changes nothing any more.
 * - *A replica lives* for `LEASE_MS` from its last turn, on the store's clock. When that is over, the turn of any other
 *   removes it, and all that it owned is nobody's. One that hears nothing from the store for that long ends its work by
 *   itself, on its own monotonic clock: that is manners towards the watched service, not what safety rests on.
 *   Its turns have a way of their own to the store (`Sharing.turns`): were they to wait behind its own work, a replica that
 *   is busy would lose all its duties, and what that costs the others would make them lose theirs. Only one whose work gets
 *   nothing through for `STUCK_MS` says no more that it lives.
 * - *Who takes what* is decided by each replica for itself, in a transaction of its turn (`plan-duties.ts`).
 * - *Deliveries* belong to no duty: whoever is free claims them, in the order of their lanes, under its number as a
 *   replica. What a removed one was sending becomes ambiguous and comes again under the same id. No try is begun where
 *   less than `SENDS_MS` of one's own life is sure, and a try that ended late settles nothing if another was begun.
 * - *Ending.* What a replica does ends in good order, and each duty is given back when its work has ended; its deliveries
 *   are settled; then it removes itself. Others are woken at each step, so nothing waits for a lease to run out.
 * - *Wakes* between replicas may be lost (`Wakes`): every turn looks by itself.
 *
 * A process that has its store to itself has none of this: it owns everything, always (`daemon.ts`).
 */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Lease, OwnershipView, ShownDuty } from '../store/ownership-store.ts';
import type { Sharing, Store, Transaction } from '../store/store.ts';
import { type Bell, type Clock, createBell, type Random } from '../time/clock.ts';
import { fencedStore } from './fenced-store.ts';
import { planDuties, type WantedDuty } from './plan-duties.ts';

/** What makes a process one of several. */
export interface ReplicaPart extends Sharing {
  /** For people: mostly the name of the host. */
  readonly name: string;
  readonly version: string;
}

/** What is done by one replica at a time. */
export interface OwnedWork extends WantedDuty {
  /** The region that is read, where that is the work. */
  readonly region?: string;
  /** Works until `signal` aborts; all that it writes goes through `store`. */
  run(signal: AbortSignal, store: Store): Promise<void>;
  /** How it stands, for all replicas, and what it takes; asked while it runs. */
  show(): { readonly weight: number; readonly shown: string };
}

export interface Ownership {
  /** Begins to take part; `end` gives everything back. */
  begin(): { leave(): void; end(): Promise<void> };
  /** Does the work whenever its duty is this replica's, until `signal` aborts and the work has ended. */
  whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void>;
  /** Whether its work is done here now. */
  owns(duty: string): boolean;
  /** How a duty stands, as its last owner has shown; undefined where it never did. */
  shown(duty: string): ShownDuty | undefined;
  /** Of the last turn; undefined before the first. */
  view(): OwnershipView | undefined;
  readonly senders: Senders;
}

/** What delivery has to know of the replica that it is part of. */
export interface Senders {
  /** Under what number deliveries are claimed; undefined while none are. */
  holder(): number | undefined;
  /** Whether a try may be begun: this replica surely lives until it has ended. */
  mayBegin(): boolean;
}

export interface OwnershipOptions extends ReplicaPart {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** How long a replica lives without a word. */
export const LEASE_MS = 15_000;
const TURN_MS = 4_000;
/** How long most tries of a delivery may take. */
const SENDS_MS = 10_000;
/** How often is shown, and read, how the duties stand. */
const SHOW_MS = 12_000;
/** One whose own work commits nothing for so long leaves its duties to others: alive alone it is of no use. */
export const STUCK_MS = 60_000;
/** Of those that would remove the same replica, one comes first. */
const SPREAD_MS = 500;

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

export function createOwnership(options: OwnershipOptions): Ownership {
  return new Member(options);
}

class Member implements Ownership {
  readonly #options: OwnershipOptions;
  readonly #bell: Bell;
  readonly #posts = new Map<string, Post>();
  /** By duty. One that is wanted anew has to wait until the work before it has ended. */
  readonly #working = new Map<string, Working>();
  /** Leases of work that has ended. */
  readonly #returned = new Set<Lease>();
  #shown = new Map<string, ShownDuty>();
  #view: OwnershipView | undefined;
  /** 0 for none. */
  #replica = 0;
  /** It has joined, and not yet looked after what those before it have left. */
  #isNew = false;
  /** Since when it waits to have shown how its duties stand; undefined while it does not. */
  #showingSinceMs: number | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #shownMs = Number.NEGATIVE_INFINITY;
  #isLeaving = false;
  #isOver = false;
  #cancelExpiry = () => {};
  readonly senders: Senders = {
    holder: () => (this.#replica === 0 || this.#remainingMs() <= 0 ? undefined : this.#replica),
    mayBegin: () => this.#remainingMs() >= SENDS_MS,
  };

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
  }

  begin() {
    const deafen = this.#options.wakes.listen((what) => {
      if (what === 'ownership') this.#bell.ring();
    });
    const turning = this.#run();
    return {
      leave: () => {
        this.#isLeaving = true;
        this.#bell.ring();
      },
      end: async () => {
        this.#isOver = true;
        this.#bell.ring();
        await turning;
        this.#cancelExpiry();
        deafen();
        await this.#leave();
      },
    };
  }

  async whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void> {
    const post: Post = { work, bell: createBell(this.#options.clock), handed: undefined };
    this.#posts.set(work.duty, post);
    this.#bell.ring();
    while (!signal.aborted) {
      await post.bell.wait(Number.POSITIVE_INFINITY, signal);
      const lease = post.handed;
      post.handed = undefined;
      if (lease && signal.aborted) this.#returned.add(lease);
      else if (lease) await this.#work(work, lease, signal);
    }
    if (this.#posts.get(work.duty) === post) this.#posts.delete(work.duty);
    this.#bell.ring();
  }

  owns(duty: string): boolean {
    return this.#working.has(duty);
  }

  shown(duty: string): ShownDuty | undefined {
    return this.#shown.get(duty);
  }

  view(): OwnershipView | undefined {
    return this.#view;
  }

  async #work(work: OwnedWork, lease: Lease, signal: AbortSignal): Promise<void> {
    const { store, clock, report } = this.#options;
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
      this.#bell.ring();
    }
  }

  async #run(): Promise<void> {
    const { clock, report } = this.#options;
    while (!this.#isOver) {
      const beganMs = clock.monotonicMs();
      try {
        if (!this.#isStuck()) await this.#turn(beganMs);
      } catch (error) {
        report({ what: 'trouble', stage: 'store', error });
      }
      if (!this.#isOver) await this.#bell.wait(this.#waitMs());
    }
  }

  /** Says that it lives, then decides; what that found is acted upon once it is committed. */
  async #turn(beganMs: number): Promise<void> {
    const { turns, clock, wakes } = this.#options;
    await this.#renew(beganMs);
    const isShowing = clock.monotonicMs() - this.#shownMs >= SHOW_MS;
    const returned = [...this.#returned];
    const { view, taken, give, shown } = await turns.transaction((tx) =>
      this.#decide(tx, this.#replica, returned, isShowing),
    );
    for (const lease of returned) this.#returned.delete(lease);
    this.#isNew = false;
    this.#view = view;
    if (shown) {
      this.#shown = new Map(shown.map((one) => [one.duty, one]));
      this.#shownMs = beganMs;
      if (this.#showingSinceMs === undefined) void this.#show(beganMs);
    }
    for (const lease of taken) this.#hand(lease);
    for (const duty of give) this.#working.get(duty)?.ending.abort();
    if (returned.length > 0) wakes.ring('ownership');
  }

  /** Alone in its transaction, so that it waits for nothing but the store. */
  async #renew(beganMs: number): Promise<void> {
    const { name, version, turns } = this.#options;
    const replica = await turns.transaction(async ({ ownership }) => {
      const isMember = this.#replica > 0 && (await ownership.renew(this.#replica, LEASE_MS, this.#isLeaving));
      return isMember ? this.#replica : ownership.join(name, version, LEASE_MS);
    });
    if (replica !== this.#replica) {
      // What this process did as another replica is over: others may do it already.
      this.#stepDown();
      this.#isNew = true;
    }
    this.#replica = replica;
    this.#renewed(beganMs);
  }

  async #decide(tx: Transaction, replica: number, returned: readonly Lease[], isShowing: boolean) {
    const { ownership } = tx;
    const removed = await ownership.removeExpired();
    for (const lease of returned) await ownership.release(lease);
    const view = await ownership.view();
    if (removed > 0 || this.#isNew) {
      const living = view.replicas.map((one) => one.replica);
      await tx.outbox.recoverLeases(this.#options.clock.nowUs(), living);
    }
    // Of a turn whose answer was lost.
    const held = view.duties.filter(({ owner }) => owner === replica);
    const { unknown = [], waiting = [] } = Object.groupBy(
      held.filter(({ duty }) => !this.#working.has(duty)),
      ({ duty }) => (this.#posts.has(duty) ? 'waiting' : 'unknown'),
    );
    for (const lease of unknown) await ownership.release(lease);
    const plan = planDuties(
      replica,
      [...this.#posts.values()].map(({ work }) => work),
      view,
    );
    const taken: Lease[] = waiting.map(({ duty, epoch }) => ({ duty, epoch }));
    for (const duty of plan.take) {
      if (this.#working.has(duty)) continue;
      const lease = await ownership.take(duty, replica);
      if (lease) taken.push(lease);
    }
    return { view, taken, give: plan.give, shown: isShowing ? await ownership.shown() : undefined };
  }

  /** Its time runs out then, and its work ends. */
  #isStuck(): boolean {
    const sinceMs = this.#showingSinceMs ?? Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }

  /** Says how its duties stand, behind the work that it does: of all this it is what can best wait. */
  async #show(beganMs: number): Promise<void> {
    const { store, report } = this.#options;
    this.#showingSinceMs = beganMs;
    try {
      await store.transaction(async ({ ownership }) => {
        for (const { work, lease } of this.#working.values()) {
          const { weight, shown } = work.show();
          await ownership.show(lease, weight, shown);
        }
      });
    } catch (error) {
      report({ what: 'trouble', stage: 'store', error });
    } finally {
      this.#showingSinceMs = undefined;
    }
  }

  #hand(lease: Lease): void {
    const post = this.#posts.get(lease.duty);
    if (this.#working.has(lease.duty) || post?.handed) return;
    if (post) {
      post.handed = lease;
      post.bell.ring();
    } else {
      this.#returned.add(lease);
    }
  }

  #renewed(beganMs: number): void {
    const { clock } = this.#options;
    this.#renewedMs = beganMs;
    this.#cancelExpiry();
    this.#cancelExpiry = clock.setTimer(this.#remainingMs(), () => this.#stepDown());
  }

  #remainingMs(): number {
    return this.#renewedMs + LEASE_MS - this.#options.clock.monotonicMs();
  }

  /** Ends all work of duties: whether they are still this replica's is not known. */
  #stepDown(): void {
    for (const { ending } of this.#working.values()) ending.abort();
  }

  /** Until the next turn, or until another replica may be removed. */
  #waitMs(): number {
    const { random } = this.#options;
    const { nowUs = 0, replicas = [] } = this.#view ?? {};
    const soonestUs = replicas
      .filter(({ replica }) => replica !== this.#replica)
      .reduce((least, { expiresUs }) => Math.min(least, expiresUs), Number.POSITIVE_INFINITY);
    return Math.min(TURN_MS, Math.max(0, (soonestUs - nowUs) / 1000) + (0.1 + random()) * SPREAD_MS);
  }

  async #leave(): Promise<void> {
    const { turns, wakes, report } = this.#options;
    const replica = this.#replica;
    this.#replica = 0;
    if (replica === 0) return;
    try {
      await turns.transaction((tx) => tx.ownership.leave(replica));
      wakes.ring('ownership');
    } catch (error) {
      // Its time runs out by itself.
      report({ what: 'trouble', stage: 'store', error });
    }
  }
}
