/**
 * Sends what alerting has queued. It stands in the store as deliveries; this stage claims them, sends them and settles
 * them:
 *
 *   pending ──claim──► leased ──send──► delivered
 *                        │ ▲            dead         given up: refused for good, or not accepted for 72 h
 *                        │ │            suppressed   nothing to send, or nobody left to send it to
 *                        ▼ │
 *                 retry, ambiguous      claimed again when their instant comes
 *
 * A claim is durable, with the attempt counted, before the first byte leaves, and a delivery carries the same id on
 * every try: so it is sent at least once, and a receiver can drop repeats. What another life of this process left
 * leased was perhaps sent; it becomes ambiguous when this one starts.
 *
 * Every integration of every receiver has a line of its own (`line.ts`), so a slow or dead one delays nobody else. The
 * order within a lane is the store's: it gives only the first of each. One that is not accepted while its integration
 * accepts others leaves its lane (`unaccepted-alone.ts`). Where several replicas send, what one has tried in vain is
 * tried by another next (`doubted-way.ts`). Forwarded events that are not accepted together are sent in halves
 * (`halve-batch.ts`).
 */

import type { Pace } from '../channels/channel.ts';
import type { Integration } from '../channels/receiver.ts';
import { channelOf } from '../channels/registry.ts';
import { type Fault, faultOf } from '../domain/alert/fault.ts';
import type { ClaimedDelivery, LeftToOthers, Settlement } from '../store/outbox-store.ts';
import type { Store, Transaction } from '../store/store.ts';
import { type Clock, createBell } from '../time/clock.ts';
import { type AttemptOptions, attempt, integrationOf } from './attempt.ts';
import { DoubtedWays } from './doubted-way.ts';
import { type Half, halvesOf, RefusedBatches } from './halve-batch.ts';
import { createLatency } from './latency.ts';
import { Line, putBack, type Room, STORE_PAUSE_MS } from './line.ts';
import { createUnacceptedAlone, type UnacceptedAlone } from './unaccepted-alone.ts';

interface Delivery {
  /** Something was queued. */
  wake(): void;
  /** Runs until `signal` aborts; then claims nothing more and resolves when what is in flight has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Tries everything once that is due now; resolves to how many were not accepted, and rejects when the store fails. */
  drain(): Promise<number>;
}

/** Where the integration is no longer configured, so that nothing is sent. */
const ANY_PACE: Pace = { inFlight: 8, claimed: 256 };
/** The clock may be set meanwhile, so that no wait is trusted for longer. */
const LONGEST_WAIT_MS = 60_000;
/**
 * Replicas read a new configuration one after the other. For so long after it was queued, what one of them does not know
 * is left to another that may; and so long it stays due before one that does not know it looks.
 */
const UNKNOWN_FOR_US = 600_000_000;
const LEFT_TO_OTHERS_US = 10_000_000;
/** How often a replica looks whether others have done what it has left to them. */
const LEFT_LOOK_MS = 1_000;

export interface DeliveryOptions extends AttemptOptions {
  readonly store: Store;
  /** Needed where the process has several outboxes, one after the other. */
  readonly recovery?: LeaseRecovery;
  /** What was learned of integrations, where that is to last longer than the stage. */
  readonly learned?: Learned | undefined;
  /** Of the replica that sends, where several share the store. */
  readonly senders?: Senders | undefined;
  /** How often it looks for what is due though nobody says so; a minute without it. */
  readonly lookEveryMs?: number | undefined;
  /** Called after a commit by which others are to claim what it had. */
  readonly leftOver?: () => void;
  /** Called after a commit that settled a failed try. */
  readonly failed?: () => void;
}

/** What delivery has to know of the replica that it is part of. */
export interface Senders {
  /** Under what number deliveries are claimed; undefined while none are. */
  holder(): number | undefined;
  /** Whether a try may be begun: this replica surely lives until it has ended. */
  mayBegin(): boolean;
  /** Whether others send as well. */
  hasOthers(): boolean;
}

/** Takes back what earlier lives of the process left leased; does so once, before anything is claimed. */
export type LeaseRecovery = () => Promise<void>;

/** One for each life of the process: what another stage of the same life has leased is still on its way. */
export function createLeaseRecovery(store: Store, clock: Clock): LeaseRecovery {
  let isDone = false;
  return async () => {
    if (isDone) return;
    await store.transaction((tx) => tx.outbox.recoverLeases(clock.nowUs()));
    isDone = true;
  };
}

/** What is known of integrations by the tries of this process, whatever its configuration says by now. */
export interface Learned {
  readonly unacceptedAlone: UnacceptedAlone;
  readonly doubtedWays: DoubtedWays;
  readonly refusedBatches: RefusedBatches;
}

export function createLearned(): Learned {
  return {
    unacceptedAlone: createUnacceptedAlone(),
    doubtedWays: new DoubtedWays(),
    refusedBatches: new RefusedBatches(),
  };
}

export function createDelivery(options: DeliveryOptions): Delivery {
  return new Outbox(options);
}

interface Destination {
  readonly receiver: string;
  readonly position: number;
}

class Outbox implements Delivery {
  readonly #options: DeliveryOptions;
  readonly #bell: ReturnType<typeof createBell>;
  readonly #latency = createLatency();
  readonly #unacceptedAlone: UnacceptedAlone;
  readonly #doubtedWays: DoubtedWays;
  readonly #refusedBatches: RefusedBatches;
  /** By integrations: until when it need not be looked at, since all that is due there is left to others. */
  readonly #leftUntilMs = new Map<string, number>();
  /** Claimed where the way was doubted already: nobody else has done it meanwhile. */
  readonly #leftLying = new WeakSet<ClaimedDelivery>();
  /** By the ids of the deliveries: those that fail alone, and null for those that do so no more; until that is written. */
  readonly #standings = new Map<string, Fault | null>();
  /** By the ids of batches that are not accepted as a whole, what goes out in their place; until that is written. */
  readonly #halves = new Map<string, readonly Half[]>();
  readonly #recovery: LeaseRecovery;
  /** By the ids of the deliveries. */
  readonly #underWay = new Map<string, Promise<Settlement>>();
  /** Tries in this life that were not accepted. */
  #failedTries = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
    const { unacceptedAlone, doubtedWays, refusedBatches } = options.learned ?? createLearned();
    this.#unacceptedAlone = unacceptedAlone;
    this.#doubtedWays = doubtedWays;
    this.#refusedBatches = refusedBatches;
    this.#recovery = options.recovery ?? createLeaseRecovery(options.store, options.clock);
  }

  readonly wake = () => {
    this.#leftUntilMs.clear();
    this.#bell.ring();
  };

  async run(signal: AbortSignal): Promise<void> {
    const lines = new Map<string, Line>();
    const working = new Set<Promise<unknown>>();
    const begin = (at: Destination) => {
      const key = keyOf(at);
      if ((this.#leftUntilMs.get(key) ?? 0) > this.#options.clock.monotonicMs()) return;
      const line = lines.get(key);
      if (line) {
        line.want();
        return;
      }
      const fresh = this.#lineOf(at, this.#options.clock.nowUs, signal);
      lines.set(key, fresh);
      const done = fresh.work().then((hasWorked) => {
        lines.delete(key);
        working.delete(done);
        if (!hasWorked) this.#leaveFor(at);
        // It may have been asked for more just after it last looked.
        if (fresh.isWanted()) this.#bell.ring();
      });
      working.add(done);
    };
    while (!signal.aborted) await this.#bell.wait(await this.#beginDue(begin), signal);
    await Promise.all(working);
  }

  async drain(): Promise<number> {
    await this.#recovery();
    const dueUs = this.#options.clock.nowUs();
    const failedBefore = this.#failedTries;
    let isWorking = true;
    while (isWorking) {
      const { due } = await this.#options.store.transaction((tx) => tx.outbox.due(dueUs));
      const worked = await Promise.all(due.map((at) => this.#lineOf(at, () => dueUs).work()));
      isWorking = worked.includes(true);
    }
    return this.#failedTries - failedBefore;
  }

  /** Begins what is due; resolves to how long nothing else will be, in milliseconds. */
  async #beginDue(begin: (at: Destination) => void): Promise<number> {
    const { store, clock, report, senders, lookEveryMs: longestMs = LONGEST_WAIT_MS } = this.#options;
    try {
      await this.#recovery();
      if (senders && senders.holder() === undefined) return STORE_PAUSE_MS;
      const nowUs = clock.nowUs();
      const { due, nextAtUs } = await store.transaction((tx) => tx.outbox.due(nowUs));
      const own = senders ? due.filter((at) => this.#integrationAt(at)) : due;
      own.forEach(begin);
      if (own.length < due.length) {
        const left = await store.transaction((tx) => tx.outbox.due(nowUs - LEFT_TO_OTHERS_US));
        left.due.filter((at) => !this.#integrationAt(at)).forEach(begin);
      }
      const nextMs = nextAtUs === undefined ? longestMs : Math.min(longestMs, (nextAtUs - nowUs) / 1000);
      return own.some((at) => this.#left(at)) ? Math.min(nextMs, LEFT_LOOK_MS) : nextMs;
    } catch (error) {
      report({ what: 'trouble', stage: 'delivery', error });
      return STORE_PAUSE_MS;
    }
  }

  /** Where what is due is left to others, it stays due: whoever looks at each turn does nothing else. */
  #leaveFor(at: Destination): void {
    if (!this.#left(at)) return;
    this.#leftUntilMs.set(keyOf(at), this.#options.clock.monotonicMs() + LEFT_LOOK_MS);
  }

  /** What is left to other replicas; undefined for nothing. */
  #left(at: Destination): LeftToOthers | undefined {
    return this.#options.senders?.hasOthers() ? this.#doubtedWays.left(at) : undefined;
  }

  /** Undefined where this configuration has none there. */
  #integrationAt({ receiver, position }: Destination): Integration | undefined {
    return this.#options.receivers.find(({ name }) => name === receiver)?.integrations[position];
  }

  /** Whether another replica may know what this delivery is for, and this one does not. */
  #isOfOthers({ delivery, notification }: ClaimedDelivery): boolean {
    const { receivers, clock } = this.#options;
    if (clock.nowUs() - delivery.createdAtUs >= UNKNOWN_FOR_US) return false;
    const receiver = receivers.find(({ name }) => name === delivery.receiver);
    return integrationOf(receiver, delivery, notification) === undefined;
  }

  /** Whether it was claimed before it showed that another replica may do better. */
  #mayBeOthers(claimed: ClaimedDelivery): boolean {
    const { senders } = this.#options;
    const isDoubted = senders?.hasOthers() && this.#doubtedWays.isDoubted(claimed.delivery);
    return isDoubted === true && !this.#leftLying.has(claimed);
  }

  /** The line of one integration, for what is due at the instant that `dueUs` gives. */
  #lineOf(at: Destination, dueUs: () => number, signal?: AbortSignal): Line {
    const { clock, report, leftOver } = this.#options;
    const integration = this.#integrationAt(at);
    return new Line({
      pace: integration ? channelOf(integration).pace : ANY_PACE,
      clock,
      report,
      turn: async (settlements, room) => {
        const claimed = await this.#turn(at, settlements, room, dueUs());
        const isLeft = settlements.some(isUnsettled) && this.#left(at) !== undefined;
        if (isLeft || (signal?.aborted && settlements.length > 0)) leftOver?.();
        return claimed;
      },
      attempt: (claimed) => this.#attempt(claimed),
      signal,
    });
  }

  async #attempt(claimed: ClaimedDelivery): Promise<Settlement> {
    const { senders, clock } = this.#options;
    if (senders && !senders.mayBegin()) return putBack(claimed, clock.nowUs() + STORE_PAUSE_MS * 1000);
    if (senders && this.#isOfOthers(claimed)) return putBack(claimed, clock.nowUs() + LEFT_TO_OTHERS_US);
    if (this.#mayBeOthers(claimed)) return putBack(claimed, clock.nowUs());
    const ended = await this.#try(claimed);
    this.#doubtedWays.hear(claimed.delivery, ended);
    if (ended.failed) this.#failedTries += 1;
    const settlement = this.#setAside(claimed, ended);
    // If this replica was taken for dead meanwhile, another one tries, and what it finds counts.
    return senders ? { ...settlement, attempt: claimed.delivery.attempts } : settlement;
  }

  /**
   * A replica that was taken for dead, and has joined anew, may be given what it is still sending: the try that is under
   * way counts.
   */
  #try(claimed: ClaimedDelivery): Promise<Settlement> {
    const { id } = claimed.delivery;
    const before = this.#underWay.get(id);
    if (before) return before;
    const begun = attempt(claimed, this.#options, this.#latency).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, begun);
    return begun;
  }

  /** The same settlement; where the delivery alone fails, it holds up its lane no more. */
  #setAside(claimed: ClaimedDelivery, settlement: Settlement): Settlement {
    const { delivery, notification } = claimed;
    const { id, receiver, integration } = delivery;
    const { clock, receivers } = this.#options;
    const nowUs = clock.nowUs();
    const standing = this.#unacceptedAlone.hear(delivery, settlement, nowUs);
    if (standing === 'over') this.#standings.set(id, null);
    const isRefusedAlone =
      settlement.state === 'dead' && this.#unacceptedAlone.acceptsOthers(delivery, nowUs);
    const isRefused = this.#refusedBatches.hear(claimed, settlement);
    const isHalved = isRefused && (standing === 'alone' || isRefusedAlone);
    const halves = isHalved ? halvesOf(claimed, nowUs) : undefined;
    if (halves) {
      this.#halves.set(id, halves);
      const lastError = `not accepted as a whole, so its events are sent in two halves: ${settlement.lastError}`;
      return { id, state: 'suppressed', nextAttemptAtUs: nowUs, lastError };
    }
    if (standing !== 'alone') return settlement;
    const why = `${receiver} accepts others by ${integration}, and not this one: ${settlement.lastError}`;
    this.#standings.set(id, faultOf('delivery', id, why));
    const own = integrationOf(
      receivers.find(({ name }) => name === receiver),
      delivery,
      notification,
    );
    // An incident that is opened after its end would stay open.
    return own && channelOf(own).audience === 'incidents' ? settlement : { ...settlement, leavesLane: true };
  }

  /** Writes which of these deliveries fail alone; resolves to those of which that was not known. */
  async #noteAlone(tx: Transaction, settlements: readonly Settlement[], nowUs: number): Promise<Fault[]> {
    const own = settlements.filter(({ id }) => this.#standings.has(id)).map(({ id }) => id);
    if (own.length === 0) return [];
    const over = own.filter((id) => this.#standings.get(id) === null);
    if (over.length > 0) await tx.faults.mend('delivery', over);
    return tx.faults.note(
      own.flatMap((id) => this.#standings.get(id) ?? []),
      nowUs,
    );
  }

  /** Unless another try of the whole was begun since, which counts. */
  async #queueHalves(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
    for (const { id } of settlements) {
      const halves = this.#halves.get(id);
      if (!halves || (await tx.outbox.find(id))?.delivery.state !== 'suppressed') continue;
      for (const { notification, delivery } of halves) await tx.outbox.enqueue(notification, [delivery]);
    }
  }

  /** Settles and claims in one transaction. */
  async #turn(
    { receiver, position }: Destination,
    settlements: readonly Settlement[],
    room: Room,
    dueUs: number,
  ): Promise<readonly ClaimedDelivery[]> {
    if (settlements.length === 0 && room.all === 0) return [];
    const { store, clock, failed, report, senders } = this.#options;
    const holder = senders ? senders.holder() : 0;
    let setAside: readonly Fault[] = [];
    const claimed = await store.transaction(async (tx) => {
      if (settlements.length > 0) await tx.outbox.settle(settlements, clock.nowUs());
      setAside = await this.#noteAlone(tx, settlements, clock.nowUs());
      await this.#queueHalves(tx, settlements);
      if (room.all === 0 || holder === undefined) return [];
      if (senders && !(await tx.ownership.isMember(holder))) return [];
      const left = this.#left({ receiver, position });
      const claim = (limit: number, isFresh: boolean) =>
        tx.outbox.claim(receiver, position, dueUs, limit, holder, { left, isFresh });
      const fresh = room.tried === undefined ? [] : await claim(room.all, true);
      const others = Math.min(room.all - fresh.length, room.tried ?? room.all);
      const more = others > 0 ? [...fresh, ...(await claim(others, false))] : fresh;
      if (left && left.freshUs > 0) for (const one of more) this.#leftLying.add(one);
      await this.#latency.prepare(
        tx,
        more.map(({ notification }) => notification),
      );
      return more;
    });
    const isHalved = settlements.some(({ id }) => this.#halves.has(id));
    for (const { id } of settlements) {
      this.#standings.delete(id);
      this.#halves.delete(id);
    }
    // What is due now.
    if (isHalved) this.#bell.ring();
    for (const fault of setAside) report({ what: 'set_aside', ...fault });
    if (settlements.some((one) => one.failed)) failed?.();
    // A new instant to wake up at.
    if (settlements.some(isUnsettled)) this.#bell.ring();
    return claimed;
  }
}

function keyOf({ receiver, position }: Destination): string {
  return `${position} ${receiver}`;
}

function isUnsettled({ state }: Settlement): boolean {
  return state === 'retry' || state === 'ambiguous';
}
