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
 * - *Who takes what* is decided by each replica for itself, in a transaction of its turn (`plan-duties.ts`). A region that
 *   its reader does not reach is taken by one that does (`relief.ts`).
 * - *Deliveries* belong to no duty: whoever is free claims them, in the order of their lanes, under its number as a
 *   replica. What a removed one was sending becomes ambiguous `SENDING_MS` later and comes again under the same id: a try
 *   takes longer than a lease bears. None is begun that may not have ended by then (`SENDS_MS`), and one that ended late
 *   settles nothing if another was begun.
 * - *Ending.* What a replica does ends in good order, and each duty is given back when its work has ended; its deliveries
 *   are settled; then it removes itself. Others are woken at each step, so nothing waits for a lease to run out.
 * - *Instants* are the store's (`time/store-clock.ts`): what one replica has written comes due for all at once.
 * - *Wakes* between replicas may be lost (`Wakes`): every turn looks by itself, and who misses a replica that was there
 *   looks after all that it may have left without a word.
 *
 *   own-life.ts         how long this replica surely still lives
 *   owned-works.ts      what it does by its duties
 *   shown-duties.ts     how the duties stand, for all to see
 *   missed-replicas.ts  whom it misses, and what they may have left
 *   relief.ts           whether another one reads a region that only this one reaches
 *
 * A process that has its store to itself has none of this: it owns everything, always (`daemon.ts`).
 */
import type { Report } from '../report.ts';
import {
  type ConfigInForce,
  type Lease,
  type OwnershipView,
  type RefusedFile,
  type ReplicaRecord,
  regionOf,
  type ShownDuty,
} from '../store/ownership-store.ts';
import type { Sharing, Store, Transaction } from '../store/store.ts';
import { type Bell, type Clock, createBell, type Random } from '../time/clock.ts';
import { MissedReplicas } from './missed-replicas.ts';
import { LEASE_MS, OwnLife, type OwnSender } from './own-life.ts';
import { type OwnedWork, OwnedWorks } from './owned-works.ts';
import { type DutyPlan, isExpired, planDuties } from './plan-duties.ts';
import { ShownDuties } from './shown-duties.ts';

/** What makes a process one of several. */
export interface ReplicaPart extends Sharing {
  /** For people: mostly the name of the host. */
  readonly name: string;
  readonly version: string;
}

/** What delivery has to know of the replica that it is part of. */
export interface Senders extends OwnSender {
  /** Whether others send as well. */
  hasOthers(): boolean;
}

export interface Ownership {
  /** Begins to take part; `end` gives everything back. `leftOver` is called when another one may have left work to do. */
  begin(leftOver?: () => void): { leave(): void; end(): Promise<void> };
  /** Does the work whenever its duty is this replica's, until `signal` aborts and the work has ended. */
  whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void>;
  /** Whether its work is done here now. */
  owns(duty: string): boolean;
  /** Takes a duty from its owner, unless it is another's meanwhile; resolves to whether that was done. */
  takeOver(from: Lease): Promise<boolean>;
  /** How a duty stands, as its last owner has shown; undefined where it never did. */
  shown(duty: string): ShownDuty | undefined;
  /** Of the last turn; undefined before the first. */
  view(): OwnershipView | undefined;
  /** The replicas of the last turn, this one as it is now; none where it is not one of them. */
  replicas(): readonly (ReplicaRecord & { readonly isOwn: boolean })[];
  readonly senders: Senders;
}

export interface OwnershipOptions extends ReplicaPart {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Why the configuration in the file of this replica is not in force, for all to see; undefined where it is. */
  readonly refused: () => RefusedFile | undefined;
  /** By which configuration this replica goes. */
  readonly configInForce: () => ConfigInForce;
}

const TURN_MS = 2_500;
/** By the best of so many turns is judged how fast the store is for this replica: a moment's load counts for nothing. */
const TURNS_KEPT = 10;
const MOST_TURN_MS = 60_000;
/** Of those that would remove the same replica, one comes first. */
const SPREAD_MS = 500;

export function createOwnership(options: OwnershipOptions): Ownership {
  return new Member(options);
}

class Member implements Ownership {
  readonly #options: OwnershipOptions;
  readonly #bell: Bell;
  readonly #life: OwnLife;
  readonly #works: OwnedWorks;
  readonly #duties: ShownDuties;
  readonly #missed: MissedReplicas;
  #view: OwnershipView | undefined;
  /** How long the last turns took. */
  readonly #turnsMs: number[] = [];
  #leftOver = () => {};
  #isLeaving = false;
  #isOver = false;
  readonly senders: Senders;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
    // Whether its duties are still its own is not known then.
    this.#life = new OwnLife(options.clock, () => this.#works.endAll());
    this.#works = new OwnedWorks({ ...options, changed: () => this.#bell.ring() });
    this.#duties = new ShownDuties({ ...options, freed: () => this.#bell.ring() }, this.#works);
    this.#missed = new MissedReplicas(options.clock);
    this.senders = { ...this.#life.sender, hasOthers: () => this.#hasOthers() };
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
        this.#life.end();
        deafen();
        await this.#leave();
      },
    };
  }

  whileOwned(work: OwnedWork, signal: AbortSignal): Promise<void> {
    return this.#works.whileOwned(work, signal);
  }

  owns(duty: string): boolean {
    return this.#works.isWorking(duty);
  }

  /** What the owner writes from then on is refused. */
  async takeOver(from: Lease): Promise<boolean> {
    const { turns, wakes } = this.#options;
    const { replica } = this.#life;
    if (replica === 0 || this.#isLeaving) return false;
    const taken = await turns.transaction(async ({ ownership }) => {
      const { duties } = await ownership.view();
      const { owner } = duties.find(({ duty, epoch }) => duty === from.duty && epoch === from.epoch) ?? {
        owner: 0,
      };
      if (owner === 0) return undefined;
      if (regionOf(from.duty) !== undefined) await ownership.relieve(owner);
      await ownership.release(from);
      return ownership.take(from.duty, replica);
    });
    if (!taken) return false;
    this.#works.hand(taken);
    wakes.ring('ownership');
    return true;
  }

  shown(duty: string): ShownDuty | undefined {
    return this.#duties.of(duty);
  }

  view(): OwnershipView | undefined {
    return this.#view;
  }

  replicas() {
    const all = this.#view?.replicas ?? [];
    const isOwn = ({ replica }: ReplicaRecord) => replica === this.#life.replica;
    if (!all.some(isOwn)) return [];
    const { storeClock, refused, configInForce } = this.#options;
    const said = { clockAheadUs: storeClock.ownAheadUs(), refused: refused(), config: configInForce() };
    const own = { ...said, isOwn: true };
    return all.map((one) => (isOwn(one) ? { ...one, ...own } : { ...one, isOwn: false }));
  }

  #hasOthers(): boolean {
    const view = this.#view;
    const isOther = (one: ReplicaRecord) => one.replica !== this.#life.replica && !one.isLeaving;
    return view?.replicas.some((one) => isOther(one) && !isExpired(one, view)) ?? false;
  }

  async #run(): Promise<void> {
    const { clock, report } = this.#options;
    while (!this.#isOver) {
      const beganMs = clock.monotonicMs();
      try {
        if (this.#duties.isStuck()) this.#duties.tryAgain();
        else await this.#turn(beganMs);
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
    if (this.#view) this.#works.endTaken(this.#view);
    await this.#duties.exchange(beganMs);
  }

  /** By itself, so that it waits for nothing but the store. Resolves to how all stand, unless it had to join anew. */
  async #renew(beganMs: number): Promise<OwnershipView | undefined> {
    const { name, version, turns, report } = this.#options;
    const { replica: former } = this.#life;
    const view = former > 0 ? await this.#sayThatItLives(former) : undefined;
    if (!view) {
      const replica = await turns.transaction(({ ownership }) => ownership.join(name, version, LEASE_MS));
      // It may have been stopped for hours, and nothing of it is to be dated so.
      await this.#sayThatItLives(replica);
      // What this process did as another replica is over: others may do it already.
      this.#works.endAll();
      this.#life.replica = replica;
      this.#missed.joins();
      report({ what: 'joined', replica });
    }
    this.#life.renewed(beganMs);
    return view;
  }

  /** By the best of the last turns; 0 before there were some. */
  #turnMs(): number {
    if (this.#turnsMs.length < TURNS_KEPT) return 0;
    return Math.min(Math.max(1, Math.min(...this.#turnsMs)), MOST_TURN_MS);
  }

  async #sayThatItLives(replica: number): Promise<OwnershipView | undefined> {
    const { turns, storeClock, refused, configInForce } = this.#options;
    const askedMs = storeClock.monotonicMs();
    const view = await turns.renew(replica, {
      forMs: LEASE_MS,
      isLeaving: this.#isLeaving,
      clockAheadUs: storeClock.ownAheadUs(),
      refused: refused(),
      config: configInForce(),
      turnMs: this.#turnMs(),
    });
    this.#turnsMs.push(storeClock.monotonicMs() - askedMs);
    if (this.#turnsMs.length > TURNS_KEPT) this.#turnsMs.shift();
    if (view) storeClock.heard(view.nowUs, askedMs);
    return view;
  }

  /** Whether a transaction would do something. */
  #hasToDecide(view: OwnershipView): boolean {
    if (this.#works.returned().length > 0 || this.#missed.late().length > 0) return true;
    if (view.replicas.some((one) => one.replica !== this.#life.replica && isExpired(one, view))) return true;
    const isHeldIdly = view.duties.some(
      ({ duty, owner }) => owner === this.#life.replica && !this.#works.isWorking(duty),
    );
    const { take, give, seize } = this.#plan(view);
    return isHeldIdly || take.length > 0 || give.length > 0 || seize.length > 0;
  }

  async #decideAll(): Promise<void> {
    const { turns, wakes } = this.#options;
    const returned = this.#works.returned();
    const missing = this.#missed.late();
    const { view, taken, give, removed, seized } = await turns.transaction((tx) =>
      this.#decide(tx, this.#life.replica, returned, missing),
    );
    this.#works.forget(returned);
    this.#missed.forget(missing);
    this.#missOthers(view);
    this.#view = view;
    for (const lease of taken) this.#works.hand(lease);
    for (const duty of give) this.#works.end(duty);
    if (returned.length > 0 || removed > 0 || seized > 0) wakes.ring('ownership');
    if (missing.length > 0) this.#leftOver();
  }

  async #decide(tx: Transaction, replica: number, returned: readonly Lease[], missing: readonly number[]) {
    const { ownership } = tx;
    const removed = await ownership.removeExpired();
    for (const lease of returned) await ownership.release(lease);
    const view = await ownership.view();
    if (missing.length > 0) {
      const living = view.replicas.map((one) => one.replica);
      await tx.outbox.recoverLeases(this.#options.clock.nowUs(), [...living, ...this.#missed.mayBeSending()]);
    }
    // Of a turn whose answer was lost.
    const held = view.duties.filter(({ owner }) => owner === replica);
    const { unknown = [], waiting = [] } = Object.groupBy(
      held.filter(({ duty }) => !this.#works.isWorking(duty)),
      ({ duty }) => (this.#works.isWanted(duty) ? 'waiting' : 'unknown'),
    );
    for (const lease of unknown) await ownership.release(lease);
    const { take, give, seize } = this.#plan(view);
    const taken: Lease[] = waiting.map(({ duty, epoch }) => ({ duty, epoch }));
    for (const duty of take) {
      const lease = await ownership.take(duty, replica);
      if (lease) taken.push(lease);
    }
    for (const from of seize) {
      await ownership.release(from);
      const lease = await ownership.take(from.duty, replica);
      if (lease) taken.push(lease);
    }
    return { view, taken, give, removed, seized: seize.length };
  }

  /** What it is to take and to give. */
  #plan(view: OwnershipView): DutyPlan {
    const { take, give, seize } = planDuties(this.#life.replica, this.#works.wanted(), view);
    return {
      take: take.filter((duty) => !this.#works.isWorking(duty)),
      give: give.filter((duty) => this.#works.isLasting(duty)),
      seize: seize.filter(({ duty }) => !this.#works.isWorking(duty)),
    };
  }

  /** Looks after what those who are there no more may have left. */
  #missOthers(view: OwnershipView): void {
    if (this.#missed.notes(view)) this.#leftOver();
  }

  /** Until the next turn, or until another replica may be removed. */
  #waitMs(): number {
    const { random } = this.#options;
    const { nowUs = 0, replicas = [] } = this.#view ?? {};
    const soonestUs = replicas
      .filter(({ replica }) => replica !== this.#life.replica)
      .reduce((least, { expiresUs }) => Math.min(least, expiresUs), Number.POSITIVE_INFINITY);
    return Math.min(TURN_MS, Math.max(0, (soonestUs - nowUs) / 1000) + (0.1 + random()) * SPREAD_MS);
  }

  async #leave(): Promise<void> {
    const { turns, wakes, report } = this.#options;
    const { replica } = this.#life;
    this.#life.replica = 0;
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
