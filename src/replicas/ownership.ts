/**
 * Decides which replica does what, where several replicas share one store. They agree through the store alone: there is
 * no leader, and no replica knows the address of another.
 *
 *                        ┌────────────────── turn, every 2.5 s ──────────────────┐
 *   replica (one run)    │ renew · look · remove the expired · give back · take  │
 *                        └───────────────────────────┬───────────────────────────┘
 *                                                    ▼
 *   region eu ─ region us ─ … ─ alerting ─ repeating    one replica each: a duty, owned by a lease
 *   deliveries, page, API, commands                     every replica, all the time
 *
 * - *Duties.* Reading a region is a duty of its own. So are alerting (with digests), and repeating (with the
 *   heartbeat). The work on a duty runs only while this replica holds its lease. A new owner starts it anew from what
 *   the store knows.
 * - *Leases.* A lease is a duty with an epoch (`store/ownership-store.ts`). Every transaction of the work presents it
 *   first (`fencedStore`). If another replica has taken the duty, the transaction fails with `lease_lost`, nothing of
 *   it is committed, and the work is ended. So a process that was paused for a minute, or whose commit took that long,
 *   changes nothing any more.
 * - *Membership.* A replica is a member for `LEASE_MS` from its last renewal, on the store's clock. After that, the
 *   next turn of any other replica removes it, and its duties become unowned. A replica that the store does not answer
 *   for that long ends its work by itself, on its own monotonic clock. This only spares the watched service: safety
 *   rests on the epochs. While a dead replica's membership expires and another one starts, a region has no reader, so
 *   `LEASE_MS` is as short as possible. It survives three turns without an answer: a process or a server that hangs for
 *   7.5 s. After a longer hang duties may move needlessly, which costs the service one more reading of what was under
 *   way, and nothing else.
 * - *Turns.* A turn is nearly always one request, which renews the membership and returns the state of all. Only if
 *   there is something to decide does a transaction follow, which looks again. Turns have a connection of their own to
 *   the store (`Sharing.turns`): if they waited behind the replica's own work, a busy replica would lose all its
 *   duties, and the cost of moving them would make others lose theirs. Only a replica whose work commits nothing for
 *   `STUCK_MS` stops renewing.
 * - *Planning.* Each replica decides for itself which duties it takes and gives, in a transaction of its turn
 *   (`plan-duties.ts`). A region that its reader cannot reach is taken over by a replica that can (`part.ts`).
 * - *Deliveries* are not duties: any replica claims them, in the order of their lanes, under its own number. What a
 *   removed replica was sending becomes ambiguous `SENDING_MS` later and is sent again under the same id. No try is
 *   begun that would normally still be running then (`SENDS_MS`). If one ends even later and another was begun, it
 *   settles nothing.
 * - *Ending.* A replica that ends finishes its work in order. It gives back each duty when its work has ended, settles
 *   its deliveries, and then removes itself. It wakes the others at each step, so nothing waits until it expires.
 * - *Times* are the store's (`time/clock.ts`), so what one replica has written comes due for all at once.
 * - *Wakes* between replicas may be lost (`Wakes`). So every turn looks by itself, and a replica that notices that
 *   another one is gone takes care of whatever that one left without waking anybody.
 *
 *   membership.ts        how long this replica certainly remains a member, and which are gone
 *   duty-runner.ts       the work on the duties that it owns, and the state of all duties, for all to see
 *   part.ts              a region, and taking it over from a replica that cannot reach it
 *
 * A process that has its store to itself needs none of this: it owns everything, always (`part.ts`).
 */
import type { Report } from '../report.ts';
import type {
  ConfigInForce,
  Lease,
  OwnershipView,
  RefusedFile,
  ReplicaRecord,
  ShownDuty,
} from '../store/ownership-store.ts';
import type { Sharing, Store, Transaction } from '../store/store.ts';
import { type Bell, type Clock, createBell, type Random } from '../time/clock.ts';
import { DutyRunner, type DutyWork, ShownDuties } from './duty-runner.ts';
import { LEASE_MS, Membership, type OwnSender, RemovedReplicas } from './membership.ts';
import { type DutyPlan, isExpired, planDuties } from './plan-duties.ts';

/** What a process needs to be one of several replicas. */
export interface ReplicaPart extends Omit<Sharing, 'prompt'> {
  /** For people: usually the name of the host. */
  readonly name: string;
  readonly version: string;
}

/** What delivery must know of the replica that it belongs to. */
export interface Senders extends OwnSender {
  /** Whether others send as well. */
  hasOthers(): boolean;
}

export interface Ownership {
  /**
   * Joins, and takes turns from now on. `leave` takes no more duties; `end` gives everything back. `leftOver` is called
   * when another replica may have left work to do.
   */
  begin(leftOver?: () => void): { leave(): void; end(): Promise<void> };
  /** Does the work whenever this replica owns its duty, until `signal` aborts and the work has ended. */
  whileOwned(work: DutyWork, signal: AbortSignal): Promise<void>;
  /** Whether this replica works on the duty now. */
  owns(duty: string): boolean;
  /**
   * Takes a region from its owner, which cannot reach it, unless its lease is no longer this one. Resolves to whether it
   * did.
   */
  takeOver(from: Lease): Promise<boolean>;
  /** The state of a duty as its last owner reported it; undefined if none did. */
  shown(duty: string): ShownDuty | undefined;
  /** The state at the last turn; undefined before the first. */
  view(): OwnershipView | undefined;
  /** The replicas at the last turn, this one as it is now; none if this one is not a member. */
  replicas(): readonly (ReplicaRecord & { readonly isOwn: boolean })[];
  readonly senders: Senders;
}

export interface OwnershipOptions extends ReplicaPart {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Why the configuration file of this replica is not in force, for all to see; undefined if it is. */
  readonly refused: () => RefusedFile | undefined;
  /** The configuration that this replica uses. */
  readonly configInForce: () => ConfigInForce;
}

const TURN_MS = 2_500;
/**
 * The best response time of this many turns tells how fast the store is for this replica: a moment's load does not
 * count.
 */
const TURNS_KEPT = 10;
const MOST_TURN_MS = 60_000;
/**
 * Spreads the turns of replicas that would all remove the same expired one, so that one does it before the others look.
 */
const SPREAD_MS = 500;

export function createOwnership(options: OwnershipOptions): Ownership {
  return new Member(options);
}

class Member implements Ownership {
  readonly #options: OwnershipOptions;
  readonly #bell: Bell;
  readonly #membership: Membership;
  readonly #runner: DutyRunner;
  readonly #duties: ShownDuties;
  readonly #removed: RemovedReplicas;
  #view: OwnershipView | undefined;
  /** The response times of the last turns. */
  readonly #turnsMs: number[] = [];
  #leftOver = () => {};
  #isLeaving = false;
  #isOver = false;
  readonly senders: Senders;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
    // When the membership has expired, other replicas may own its duties.
    this.#membership = new Membership(options.clock, () => this.#runner.endAll());
    this.#runner = new DutyRunner({ ...options, changed: () => this.#bell.ring() });
    this.#duties = new ShownDuties({ ...options, freed: () => this.#bell.ring() }, this.#runner);
    this.#removed = new RemovedReplicas(options.clock);
    this.senders = { ...this.#membership.sender, hasOthers: () => this.#hasOthers() };
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
        this.#membership.end();
        deafen();
        await this.#leave();
      },
    };
  }

  whileOwned(work: DutyWork, signal: AbortSignal): Promise<void> {
    return this.#runner.whileOwned(work, signal);
  }

  owns(duty: string): boolean {
    return this.#runner.isWorking(duty);
  }

  /** What the former owner writes from then on is refused. */
  async takeOver(from: Lease): Promise<boolean> {
    const { turns, wakes } = this.#options;
    const { replica } = this.#membership;
    if (replica === 0 || this.#isLeaving) return false;
    const taken = await turns.transaction(async ({ ownership }) => {
      const { duties } = await ownership.view();
      const { owner } = duties.find(({ duty, epoch }) => duty === from.duty && epoch === from.epoch) ?? {
        owner: 0,
      };
      if (owner === 0) return undefined;
      await ownership.relieve(owner);
      await ownership.release(from);
      return ownership.take(from.duty, replica);
    });
    if (!taken) return false;
    this.#runner.hand(taken);
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
    const isOwn = ({ replica }: ReplicaRecord) => replica === this.#membership.replica;
    if (!all.some(isOwn)) return [];
    const { storeClock, refused, configInForce } = this.#options;
    const said = { clockAheadUs: storeClock.ownAheadUs(), refused: refused(), config: configInForce() };
    const own = { ...said, isOwn: true };
    return all.map((one) => (isOwn(one) ? { ...one, ...own } : { ...one, isOwn: false }));
  }

  #hasOthers(): boolean {
    const view = this.#view;
    const isOther = (one: ReplicaRecord) => one.replica !== this.#membership.replica && !one.isLeaving;
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

  /** Renews. Decides if there is something to decide, and acts on it once that is committed. */
  async #turn(beganMs: number): Promise<void> {
    const renewed = await this.#renew(beganMs);
    if (renewed) this.#noteRemoved(renewed);
    if (!renewed || this.#hasToDecide(renewed)) await this.#decideAll();
    else this.#view = renewed;
    if (this.#view) this.#runner.endTaken(this.#view);
    await this.#duties.exchange(beganMs);
  }

  /**
   * Renews in a request of its own, so that it waits for nothing but the store. Resolves to the state of all; undefined
   * if it had to join again.
   */
  async #renew(beganMs: number): Promise<OwnershipView | undefined> {
    const { name, version, turns, report } = this.#options;
    const { replica: former } = this.#membership;
    const view = former > 0 ? await this.#sayThatItLives(former) : undefined;
    if (!view) {
      const replica = await turns.transaction(({ ownership }) => ownership.join(name, version, LEASE_MS));
      // The process may have been paused for hours. This corrects its store clock before anything is written.
      await this.#sayThatItLives(replica);
      // The work begun under its former number ends: other replicas may own the duties by now.
      this.#runner.endAll();
      this.#membership.replica = replica;
      this.#removed.joins();
      report({ what: 'joined', replica });
    }
    this.#membership.renewed(beganMs);
    return view;
  }

  /** The best response time of the last turns; 0 before there were enough. */
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

  /** Whether a transaction would have something to do. */
  #hasToDecide(view: OwnershipView): boolean {
    if (this.#runner.returned().length > 0 || this.#removed.late().length > 0) return true;
    if (view.replicas.some((one) => one.replica !== this.#membership.replica && isExpired(one, view)))
      return true;
    const isHeldIdly = view.duties.some(
      ({ duty, owner }) => owner === this.#membership.replica && !this.#runner.isWorking(duty),
    );
    const { take, give } = this.#plan(view);
    return isHeldIdly || take.length > 0 || give.length > 0;
  }

  async #decideAll(): Promise<void> {
    const { turns, wakes } = this.#options;
    const returned = this.#runner.returned();
    const missing = this.#removed.late();
    const { view, taken, give, removed } = await turns.transaction((tx) =>
      this.#decide(tx, this.#membership.replica, returned, missing),
    );
    this.#runner.forget(returned);
    this.#removed.forget(missing);
    this.#noteRemoved(view);
    this.#view = view;
    for (const lease of taken) this.#runner.hand(lease);
    for (const duty of give) this.#runner.end(duty);
    if (returned.length > 0 || removed > 0) wakes.ring('ownership');
    if (missing.length > 0) this.#leftOver();
  }

  async #decide(tx: Transaction, replica: number, returned: readonly Lease[], missing: readonly number[]) {
    const { ownership } = tx;
    const removed = await ownership.removeExpired();
    for (const lease of returned) await ownership.release(lease);
    const view = await ownership.view();
    if (missing.length > 0) {
      const living = view.replicas.map((one) => one.replica);
      await tx.outbox.recoverLeases(this.#options.clock.nowUs(), [
        ...living,
        ...this.#removed.mayBeSending(),
      ]);
    }
    // Duties that it owns without working on them: the answer of the turn that took them was lost.
    const held = view.duties.filter(({ owner }) => owner === replica);
    const { unknown = [], waiting = [] } = Object.groupBy(
      held.filter(({ duty }) => !this.#runner.isWorking(duty)),
      ({ duty }) => (this.#runner.isWanted(duty) ? 'waiting' : 'unknown'),
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

  /** What this replica is to take, and to give away. */
  #plan(view: OwnershipView): DutyPlan {
    const { take, give } = planDuties(this.#membership.replica, this.#runner.wanted(), view);
    return {
      take: take.filter((duty) => !this.#runner.isWorking(duty)),
      give: give.filter((duty) => this.#runner.isLasting(duty)),
    };
  }

  /** Takes care of what replicas that are gone may have left. */
  #noteRemoved(view: OwnershipView): void {
    if (this.#removed.notes(view)) this.#leftOver();
  }

  /** Milliseconds until the next turn: sooner if another replica may be removed before that. */
  #waitMs(): number {
    const { random } = this.#options;
    const { nowUs = 0, replicas = [] } = this.#view ?? {};
    const soonestUs = replicas
      .filter(({ replica }) => replica !== this.#membership.replica)
      .reduce((least, { expiresUs }) => Math.min(least, expiresUs), Number.POSITIVE_INFINITY);
    return Math.min(TURN_MS, Math.max(0, (soonestUs - nowUs) / 1000) + (0.1 + random()) * SPREAD_MS);
  }

  async #leave(): Promise<void> {
    const { turns, wakes, report } = this.#options;
    const { replica } = this.#membership;
    this.#membership.replica = 0;
    if (replica === 0) return;
    try {
      await turns.transaction((tx) => tx.ownership.leave(replica));
      wakes.ring('ownership');
    } catch (error) {
      // The membership expires by itself.
      report({ what: 'trouble', stage: 'store', error });
    }
  }
}
