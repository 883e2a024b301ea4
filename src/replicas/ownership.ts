/**
 * WHO DOES WHAT, where several replicas of this process share one store. The store is the only thing that they agree
 * by; nobody leads, and none knows the address of another.
 *
 *                       ┌──────────────────── turn, every 2.5 s ──────────────────────┐
 *   replica (one life)  │ I live · look · remove who does not live · give back · take │
 *                       └──────────────────────────────┬──────────────────────────────┘
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
 *   A region is without a reader for a lease and the start of another reader: so the lease is as short as may be. It bears
 *   three turns that are not answered, that is a process or a server that stands still for 7.5 s; for longer, duties move
 *   that need not have, which costs the service one more reading of what was under way, and nothing else.
 * - *A turn* is one request where there is nothing to decide, which is nearly always: it says that the replica lives and
 *   brings how all stand. Only where that shows something to do follows a transaction, which looks once more itself.
 *   Its turns have a way of their own to the store (`Sharing.turns`): were they to wait behind its own work, a replica that
 *   is busy would lose all its duties, and what that costs the others would make them lose theirs. Only one whose work gets
 *   nothing through for `STUCK_MS` says no more that it lives.
 * - *Who takes what* is decided by each replica for itself, in a transaction of its turn (`plan-duties.ts`).
 * - *Deliveries* belong to no duty: whoever is free claims them, in the order of their lanes, under its number as a
 *   replica. What a removed one was sending becomes ambiguous `SENDING_MS` later and comes again under the same id: a try
 *   takes longer than a lease bears. None is begun that may not have ended by then (`SENDS_MS`), and one that ended late
 *   settles nothing if another was begun.
 * - *Ending.* What a replica does ends in good order, and each duty is given back when its work has ended; its deliveries
 *   are settled; then it removes itself. Others are woken at each step, so nothing waits for a lease to run out.
 * - *Wakes* between replicas may be lost (`Wakes`): every turn looks by itself, and who misses a replica that was there
 *   looks after all that it may have left without a word.
 *
 * A process that has its store to itself has none of this: it owns everything, always (`daemon.ts`).
 */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type {
  Lease,
  OwnershipView,
  RefusedFile,
  ReplicaRecord,
  ShownDuty,
} from '../store/ownership-store.ts';
import type { Sharing, Store, Transaction } from '../store/store.ts';
import { type Bell, type Clock, createBell, type Random } from '../time/clock.ts';
import { fencedStore } from './fenced-store.ts';
import { type DutyPlan, isExpired, planDuties, type WantedDuty } from './plan-duties.ts';

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
  /** Begins to take part; `end` gives everything back. `leftOver` is called when another one may have left work to do. */
  begin(leftOver?: () => void): { leave(): void; end(): Promise<void> };
  /** Does the work whenever its duty is this replica's, until `signal` aborts and the work has ended. */
  whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void>;
  /** Whether its work is done here now. */
  owns(duty: string): boolean;
  /** How a duty stands, as its last owner has shown; undefined where it never did. */
  shown(duty: string): ShownDuty | undefined;
  /** Of the last turn; undefined before the first. */
  view(): OwnershipView | undefined;
  /** The replicas of the last turn, this one as it is now; none where it is not one of them. */
  replicas(): readonly (ReplicaRecord & { readonly isOwn: boolean })[];
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
  /** Why the configuration in the file of this replica is not in force, for all to see; undefined where it is. */
  readonly refused: () => RefusedFile | undefined;
}

/** How long a replica lives without a word. */
export const LEASE_MS = 10_000;
const TURN_MS = 2_500;
/** How long most tries of a delivery may take. */
const SENDS_MS = 10_000;
/** What a replica was sending when it was removed is left to it for so long. */
export const SENDING_MS = 6_000;
/** How often is shown, and read, how the duties stand. */
const SHOW_MS = 15_000;
/** One whose own work commits nothing for so long leaves its duties to others: alive alone it is of no use. */
export const STUCK_MS = 60_000;
/** In the place of all that were gone before it joined: a number that no replica has. */
const ANY_BEFORE = 0;
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
  /** Those that were there at the last turn. */
  #present = new Set<number>();
  /** Since when others are missed, until it was looked after what they have left. */
  readonly #missing = new Map<number, number>();
  #leftOver = () => {};
  /** Since when it waits to have shown how its duties stand; undefined while it does not. */
  #showingSinceMs: number | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #shownMs = Number.NEGATIVE_INFINITY;
  #isLeaving = false;
  #isOver = false;
  /** By how much the clock of this replica is at least ahead of the store's, as its last turn has shown. */
  #clockAheadUs = 0;
  #cancelExpiry = () => {};
  readonly senders: Senders = {
    holder: () => (this.#replica === 0 || this.#remainingMs() <= 0 ? undefined : this.#replica),
    mayBegin: () => this.#remainingMs() + SENDING_MS >= SENDS_MS,
  };

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
  }

  begin(leftOver = () => {}) {
    this.#leftOver = leftOver;
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

  replicas() {
    const all = this.#view?.replicas ?? [];
    const isOwn = ({ replica }: ReplicaRecord) => replica === this.#replica;
    if (!all.some(isOwn)) return [];
    const own = { clockAheadUs: this.#clockAheadUs, refused: this.#options.refused(), isOwn: true };
    return all.map((one) => (isOwn(one) ? { ...one, ...own } : { ...one, isOwn: false }));
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

  /** Says that it lives; decides where there is something to decide, and acts upon it once that is committed. */
  async #turn(beganMs: number): Promise<void> {
    const renewed = await this.#renew(beganMs);
    if (renewed) this.#missOthers(renewed);
    if (!renewed || this.#hasToDecide(renewed)) await this.#decideAll();
    else this.#view = renewed;
    if (beganMs - this.#shownMs >= SHOW_MS) await this.#exchangeShown(beganMs);
  }

  /** By itself, so that it waits for nothing but the store. Resolves to how all stand, unless it had to join anew. */
  async #renew(beganMs: number): Promise<OwnershipView | undefined> {
    const { name, version, turns } = this.#options;
    const view = this.#replica > 0 ? await this.#sayThatItLives() : undefined;
    if (!view) {
      const replica = await turns.transaction(({ ownership }) => ownership.join(name, version, LEASE_MS));
      // What this process did as another replica is over: others may do it already.
      this.#stepDown();
      this.#replica = replica;
      this.#missing.set(ANY_BEFORE, this.#options.clock.monotonicMs());
    }
    this.#renewed(beganMs);
    return view;
  }

  async #sayThatItLives(): Promise<OwnershipView | undefined> {
    const { turns, clock, refused } = this.#options;
    const beforeUs = clock.nowUs();
    const view = await turns.renew(this.#replica, {
      forMs: LEASE_MS,
      isLeaving: this.#isLeaving,
      clockAheadUs: this.#clockAheadUs,
      refused: refused(),
    });
    if (view) this.#clockAheadUs = aheadUs(view.nowUs, beforeUs, clock.nowUs());
    return view;
  }

  /** Whether a transaction would do something. */
  #hasToDecide(view: OwnershipView): boolean {
    if (this.#returned.size > 0 || this.#lateMissing().length > 0) return true;
    if (view.replicas.some((one) => one.replica !== this.#replica && isExpired(one, view))) return true;
    const isHeldIdly = view.duties.some(
      ({ duty, owner }) => owner === this.#replica && !this.#working.has(duty),
    );
    const { take, give } = this.#plan(view);
    return isHeldIdly || take.length > 0 || give.length > 0;
  }

  async #decideAll(): Promise<void> {
    const { turns, wakes } = this.#options;
    const returned = [...this.#returned];
    const missing = this.#lateMissing();
    const { view, taken, give, removed } = await turns.transaction((tx) =>
      this.#decide(tx, this.#replica, returned, missing),
    );
    for (const lease of returned) this.#returned.delete(lease);
    for (const replica of missing) this.#missing.delete(replica);
    this.#missOthers(view);
    this.#view = view;
    for (const lease of taken) this.#hand(lease);
    for (const duty of give) this.#working.get(duty)?.ending.abort();
    if (returned.length > 0 || removed > 0) wakes.ring('ownership');
    if (missing.length > 0) this.#leftOver();
  }

  async #decide(tx: Transaction, replica: number, returned: readonly Lease[], missing: readonly number[]) {
    const { ownership } = tx;
    const removed = await ownership.removeExpired();
    for (const lease of returned) await ownership.release(lease);
    const view = await ownership.view();
    if (missing.length > 0) {
      const stillSending = [...this.#missing.keys()].filter((one) => !missing.includes(one));
      const living = view.replicas.map((one) => one.replica);
      await tx.outbox.recoverLeases(this.#options.clock.nowUs(), [...living, ...stillSending]);
    }
    // Of a turn whose answer was lost.
    const held = view.duties.filter(({ owner }) => owner === replica);
    const { unknown = [], waiting = [] } = Object.groupBy(
      held.filter(({ duty }) => !this.#working.has(duty)),
      ({ duty }) => (this.#posts.has(duty) ? 'waiting' : 'unknown'),
    );
    for (const lease of unknown) await ownership.release(lease);
    const { take, give } = this.#plan(view);
    const taken: Lease[] = waiting.map(({ duty, epoch }) => ({ duty, epoch }));
    for (const duty of take) {
      const lease = await ownership.take(duty, replica);
      if (lease) taken.push(lease);
    }
    return { view, taken, give, removed };
  }

  /** What it is to take and to give. */
  #plan(view: OwnershipView): DutyPlan {
    const wanted = [...this.#posts.values()].map(({ work }) => work);
    const { take, give } = planDuties(this.#replica, wanted, view);
    return {
      take: take.filter((duty) => !this.#working.has(duty)),
      give: give.filter((duty) => this.#working.get(duty)?.ending.signal.aborted === false),
    };
  }

  /** Notes who is there no more. */
  #missOthers({ replicas }: OwnershipView): void {
    const nowMs = this.#options.clock.monotonicMs();
    const present = new Set(replicas.map(({ replica }) => replica));
    const gone = [...this.#present].filter((replica) => !present.has(replica));
    this.#present = present;
    for (const replica of gone) this.#missing.set(replica, nowMs);
    if (gone.length > 0) this.#leftOver();
  }

  /** Those whose last tries to send have ended by now. */
  #lateMissing(): number[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#missing]
      .filter(([, sinceMs]) => nowMs - sinceMs >= SENDING_MS)
      .map(([replica]) => replica);
  }

  async #exchangeShown(beganMs: number): Promise<void> {
    const shown = await this.#options.turns.shown();
    this.#shown = new Map(shown.map((one) => [one.duty, one]));
    this.#shownMs = beganMs;
    if (this.#showingSinceMs === undefined) void this.#show(beganMs);
  }

  /** Its time runs out then, and its work ends. */
  #isStuck(): boolean {
    const sinceMs = this.#showingSinceMs ?? Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }

  /** Says how its duties stand, behind the work that it does: of all this it is what can best wait. */
  async #show(beganMs: number): Promise<void> {
    const { store, report } = this.#options;
    // Whoever has nothing to show is not asked whether its work gets through, as it has none.
    if (this.#working.size === 0) return;
    this.#showingSinceMs = beganMs;
    try {
      await store.transaction(({ ownership }) =>
        ownership.show([...this.#working.values()].map(({ work, lease }) => ({ lease, ...work.show() }))),
      );
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

/** By how much a clock that showed these two instants is at least ahead of the one that showed `nowUs` in between. */
function aheadUs(nowUs: number, beforeUs: number, afterUs: number): number {
  if (nowUs < beforeUs) return beforeUs - nowUs;
  return nowUs > afterUs ? afterUs - nowUs : 0;
}
