/**
 * The delivery stage: sends what alerting has queued. Deliveries are rows of the store. This stage claims them, sends
 * them, and settles them:
 *
 *   pending ──claim──► leased ──send──► delivered
 *                        │ ▲            dead         given up: refused for good, or not accepted for 72 h
 *                        │ │            suppressed   there is nothing to send, or nobody left to send it to
 *                        ▼ │
 *                 retry, ambiguous      claimed again when they are due
 *
 * - *At least once.* A claim, with its attempt counted, is committed before the first byte is sent. Every attempt
 *   carries the same id, by which a receiver can drop repeats. What a process had leased when it died may have been
 *   sent: it becomes ambiguous at the next start.
 * - *Independently.* Each integration of each receiver has its own line (`line.ts`), so a slow or dead one delays no
 *   other.
 * - *In order.* Deliveries of one lane are sent one after another: the store lets only the first of a lane be claimed.
 *   A delivery that fails again and again while its integration accepts others leaves its lane (`PASSED_AFTER`) and
 *   is reported. A batch of events is sent in halves instead (`queueHalves`).
 * - *By any replica.* Where several replicas send, one from which an integration did not accept the last attempt leaves
 *   deliveries to the others for a moment: it has its own network, resolver and secret files.
 */
import type { Pace } from '../channels/channel.ts';
import { atPosition } from '../channels/integration-identity.ts';
import type { Integration } from '../channels/receiver.ts';
import { channelOf } from '../channels/registry.ts';
import { type Fault, faultOf } from '../domain/alert/fault.ts';
import type { ForwardNotification, Notification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Settlement } from '../store/outbox-store.ts';
import type { Store, Transaction } from '../store/store.ts';
import { type Clock, createBell } from '../time/clock.ts';
import { type AttemptOptions, attempt, createLatency, integrationOf } from './attempt.ts';
import { Line, type Room, STORE_PAUSE_MS } from './line.ts';

interface Delivery {
  /**
   * Call it when something was queued. If delivery was idle, resolves once it has claimed: who queues more awaits that, so
   * that the first message of many is not sent later because they are queued.
   */
  wake(): Promise<void>;
  /**
   * Runs until `signal` aborts. Then it claims nothing more, and resolves when what is in flight has ended and is
   * settled. Once `ending` aborts too, because the process ends, it no longer waits for a store that refuses that.
   */
  run(signal: AbortSignal, ending?: AbortSignal): Promise<void>;
  /**
   * Tries once everything that is due now. Resolves to how many attempts were not accepted; rejects if the store fails.
   */
  drain(): Promise<number>;
}

/** For an integration that is no longer configured, to which nothing is sent. */
const ANY_PACE: Pace = { inFlight: 8, claimed: 256 };
/** No wait is longer than this, since the clock may be set in the meantime. */
const LONGEST_WAIT_MS = 60_000;
/**
 * Replicas load a new configuration one after the other, so one may not know an integration that others know. For
 * `UNKNOWN_FOR_US` after it was queued, it leaves such a delivery to the others. It looks at an integration that it
 * does not know only for deliveries that have been due for `LEFT_TO_OTHERS_US`.
 */
const UNKNOWN_FOR_US = 600_000_000;
const LEFT_TO_OTHERS_US = 10_000_000;
/** How long after it is due a replica leaves a delivery to others. They hear of it at once, but may take a while. */
const LEFT_US = 3_000_000;
/** How often a replica looks whether others have sent what it left to them. */
const LEFT_LOOK_MS = 1_000;

/**
 * A delivery that failed so often, each time after its integration had accepted others since the time before, is itself
 * at fault: the next of its lane no longer waits for it. Services that keep incidents need the order all the same: an
 * incident opened after its resolution would stay open.
 */
const PASSED_AFTER = 8;
/** It is reported as set aside later, since an integration that fails by chance fails so often now and then. */
const REPORTED_AFTER = 24;
/** A refused delivery is given up after six minutes. If others were accepted within this time, the integration works. */
const LATELY_MS = 600_000;
/** If an integration accepts nothing, everything fails; only so many deliveries are watched, those that failed last. */
const MOST_WATCHED = 1_000;
/** After an outage of hours, each batch of forwarded events must still be known to have been answered every time. */
const MOST_BATCHES = 100_000;

export interface DeliveryOptions extends AttemptOptions {
  readonly store: Store;
  /** Required if the process has several outboxes, one after the other. */
  readonly recovery?: LeaseRecovery;
  /** The same: what earlier ones have learned. */
  readonly experience?: Experience | undefined;
  /** The replica that this stage belongs to, if several share the store. */
  readonly senders?: Senders | undefined;
  /** How often it checks the store for what is due and no `wake` announced. Default: one minute. */
  readonly lookEveryMs?: number | undefined;
  /** Called after a commit that leaves deliveries for other replicas to claim. */
  readonly leftOver?: () => void;
  /** Called after a commit that settled a failed attempt. */
  readonly failed?: () => void;
}

/** What delivery must know of the replica that it belongs to. */
interface Senders {
  /** The number under which deliveries are claimed; undefined while none may be. */
  holder(): number | undefined;
  /** Whether an attempt may be begun, because it will have ended when another replica may repeat it. */
  mayBegin(): boolean;
  /** Whether others send as well. */
  hasOthers(): boolean;
}

/** Makes deliveries ambiguous that earlier processes left leased. Does so once, before anything is claimed. */
export type LeaseRecovery = () => Promise<void>;

/**
 * Creates the recovery of this process. There must be only one: what another stage of the same process has leased is
 * still being sent.
 */
export function createLeaseRecovery(store: Store, clock: Clock): LeaseRecovery {
  let isDone = false;
  return async () => {
    if (isDone) return;
    await store.transaction((tx) => tx.outbox.recoverLeases(clock.nowUs()));
    isDone = true;
  };
}

/** What attempts have shown. If a reload forgot it, what fails alone would be taken for a failing integration. */
export interface Experience {
  /** By integration: how many deliveries it has accepted, and when the last one. */
  readonly accepted: Map<string, { readonly count: number; readonly atMs: number }>;
  /** By delivery that fails while others are accepted: how often, and how many those were by then. */
  readonly isolated: Map<string, { readonly failures: number; readonly accepted: number }>;
  /** By batch that fails: how many of its attempts are known not to have arrived: answered, or not begun. */
  readonly notArrived: Map<string, number>;
}

export function createExperience(): Experience {
  return { accepted: new Map(), isolated: new Map(), notArrived: new Map() };
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
  readonly #experience: Experience;
  /** Integrations that did not accept the last attempt. */
  readonly #failing = new Set<string>();
  /** Batches that are to be sent in halves, until that is written. */
  readonly #toHalve = new Set<string>();
  /** By delivery, until written: why it is set aside; null if it no longer is. */
  readonly #setAside = new Map<string, Fault | null>();
  /** By integration: until when it need not be looked at, since all that is due there is left to others. */
  readonly #leftUntilMs = new Map<string, number>();
  /** Claimed although left to others first: none of them has sent it. */
  readonly #claimedAnyway = new WeakSet<ClaimedDelivery>();
  readonly #recovery: LeaseRecovery;
  /** Whether it runs and no line works. */
  #isIdle = false;
  /** Resolve what `wake` returned. */
  readonly #awaiting: (() => void)[] = [];
  /** Attempts of this stage that were not accepted. */
  #failedAttempts = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
    this.#experience = options.experience ?? createExperience();
    this.#recovery = options.recovery ?? createLeaseRecovery(options.store, options.clock);
  }

  readonly wake = () => {
    this.#leftUntilMs.clear();
    this.#bell.ring();
    return this.#isIdle ? new Promise<void>((claimed) => this.#awaiting.push(claimed)) : Promise.resolve();
  };

  async run(signal: AbortSignal, ending = signal): Promise<void> {
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
      const fresh = this.#lineOf(at, this.#options.clock.nowUs, signal, ending);
      lines.set(key, fresh);
      this.#isIdle = false;
      const done = fresh.work().then((hasWorked) => {
        lines.delete(key);
        working.delete(done);
        this.#isIdle = lines.size === 0 && !signal.aborted;
        if (!hasWorked) this.#leaveFor(at);
        // `want` may have been called just after the line last claimed.
        if (fresh.isWanted()) this.#bell.ring();
      });
      working.add(done);
    };
    while (!signal.aborted) {
      const waitMs = await this.#beginDue(begin);
      this.#isIdle = lines.size === 0;
      if (this.#isIdle) this.#hasClaimed();
      await this.#bell.wait(waitMs, signal);
    }
    this.#isIdle = false;
    this.#hasClaimed();
    await Promise.all(working);
  }

  async drain(): Promise<number> {
    await this.#recovery();
    const dueUs = this.#options.clock.nowUs();
    const failedBefore = this.#failedAttempts;
    let isWorking = true;
    while (isWorking) {
      const { due } = await this.#options.store.transaction((tx) => tx.outbox.due(dueUs));
      const worked = await Promise.all(due.map((at) => this.#lineOf(at, () => dueUs).work()));
      isWorking = worked.includes(true);
    }
    return this.#failedAttempts - failedBefore;
  }

  #hasClaimed(): void {
    for (const resolve of this.#awaiting.splice(0)) resolve();
  }

  /** Starts lines for what is due. Resolves to how long nothing else will be due, in milliseconds. */
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
      return own.some((at) => this.#isLeft(at)) ? Math.min(nextMs, LEFT_LOOK_MS) : nextMs;
    } catch (error) {
      report({ what: 'trouble', stage: 'delivery', error });
      return STORE_PAUSE_MS;
    }
  }

  /**
   * Puts off looking at an integration whose due deliveries are left to others. They stay due, so looking at them at
   * each turn would be all that this stage does.
   */
  #leaveFor(at: Destination): void {
    if (!this.#isLeft(at)) return;
    this.#leftUntilMs.set(keyOf(at), this.#options.clock.monotonicMs() + LEFT_LOOK_MS);
  }

  /** Whether deliveries are left to other replicas first. */
  #isLeft(at: Destination): boolean {
    return this.#options.senders?.hasOthers() === true && this.#failing.has(keyOf(at));
  }

  /** Undefined if this configuration has no integration there. */
  #integrationAt({ receiver, position }: Destination): Integration | undefined {
    const known = this.#options.receivers.find(({ name }) => name === receiver);
    return known && atPosition(known.integrations, position);
  }

  /** Whether another replica may know the integration of this delivery, which this one does not. */
  #mayBeKnownToOthers({ delivery, notification }: ClaimedDelivery): boolean {
    const { receivers, clock } = this.#options;
    if (clock.nowUs() - delivery.createdAtUs >= UNKNOWN_FOR_US) return false;
    const receiver = receivers.find(({ name }) => name === delivery.receiver);
    return integrationOf(receiver, delivery, notification) === undefined;
  }

  /** The line of one integration, for what is due at the time that `dueUs` returns. */
  #lineOf(at: Destination, dueUs: () => number, signal?: AbortSignal, ending = signal): Line {
    const { clock, report, leftOver } = this.#options;
    const integration = this.#integrationAt(at);
    return new Line({
      pace: integration ? channelOf(integration).pace : ANY_PACE,
      clock,
      report,
      turn: async (settlements, room) => {
        const claimed = await this.#turn(at, settlements, room, dueUs()).finally(() => this.#hasClaimed());
        const isLeft = settlements.some(isUnsettled) && this.#isLeft(at);
        if (isLeft || (signal?.aborted && settlements.length > 0)) leftOver?.();
        return claimed;
      },
      attempt: (claimed) => this.#attempt(claimed),
      putBack: (claimed, nextAttemptAtUs) => this.#putBack(claimed, nextAttemptAtUs),
      signal,
      ending,
    });
  }

  async #attempt(claimed: ClaimedDelivery): Promise<Settlement> {
    const { senders, clock } = this.#options;
    if (senders && !senders.mayBegin()) return this.#putBack(claimed, clock.nowUs() + STORE_PAUSE_MS * 1000);
    if (senders && this.#mayBeKnownToOthers(claimed))
      return this.#putBack(claimed, clock.nowUs() + LEFT_TO_OTHERS_US);
    // Only since it was claimed have attempts shown that others may do better.
    if (this.#isLeft(claimed.delivery) && !this.#claimedAnyway.has(claimed))
      return this.#putBack(claimed, clock.nowUs());
    const ended = await attempt(claimed, this.#options, this.#latency);
    if (ended.failed) this.#failedAttempts += 1;
    const settlement = this.#judge(claimed, ended);
    // If this replica was presumed dead in the meantime, another one tries too. The store decides which attempt counts.
    return senders ? { ...settlement, attempt: claimed.delivery.attempts } : settlement;
  }

  /** Settles a delivery that was claimed and not begun: it may be claimed again at `nextAttemptAtUs`. */
  #putBack({ delivery, notification }: ClaimedDelivery, nextAttemptAtUs: number): Settlement {
    if (isBatch(notification)) this.#noteNotArrived(delivery.id);
    const { id, lastError, refusals, refusedBy, attempts: attempt } = delivery;
    return {
      id,
      attempt,
      state: 'retry',
      nextAttemptAtUs,
      lastError,
      ...(refusals !== undefined && { refusals }),
      ...(refusedBy !== undefined && { refusedBy }),
    };
  }

  /** Records how an attempt ended. Returns how it is to be settled: differently if the delivery fails alone. */
  #judge(claimed: ClaimedDelivery, ended: Settlement): Settlement {
    const { delivery, notification } = claimed;
    const { clock } = this.#options;
    const key = keyOf(delivery);
    const { count, atMs } = this.#experience.accepted.get(key) ?? {
      count: 0,
      atMs: Number.NEGATIVE_INFINITY,
    };
    // If some of several recipients accepted it, the integration can be reached.
    const isAccepted = ended.state === 'delivered' || ended.remaining !== undefined;
    if (isAccepted) this.#experience.accepted.set(key, { count: count + 1, atMs: clock.monotonicMs() });
    if (isAccepted) this.#failing.delete(key);
    else if (ended.failed) this.#failing.add(key);
    const failures = this.#failuresAlone(claimed, ended, isAccepted, count);
    const isPassed = failures >= PASSED_AFTER;
    const isGivenUp = ended.state === 'dead' && clock.monotonicMs() - atMs < LATELY_MS;
    if (this.#hasNotArrived(claimed, ended) && (isPassed || isGivenUp)) {
      this.#experience.isolated.delete(delivery.id);
      this.#experience.notArrived.delete(delivery.id);
      this.#toHalve.add(delivery.id);
      return halved(ended);
    }
    if (failures >= REPORTED_AFTER) {
      const { id, receiver, integration } = delivery;
      const why = `${receiver} accepts others by ${integration}, and not this one: ${ended.lastError}`;
      this.#setAside.set(id, faultOf('delivery', id, why));
    }
    if (!isPassed) return ended;
    const known = this.#options.receivers.find(({ name }) => name === delivery.receiver);
    const own = integrationOf(known, delivery, notification);
    return own && channelOf(own).audience === 'incidents' ? ended : { ...ended, leavesLane: true };
  }

  /**
   * How often it has failed, each time after others were accepted, if it has just failed so again; else 0.
   * `accepted`: how many others its integration has accepted.
   */
  #failuresAlone(
    { delivery: { id } }: ClaimedDelivery,
    { state, failed }: Settlement,
    isAccepted: boolean,
    accepted: number,
  ): number {
    const before = this.#experience.isolated.get(id);
    if (isAccepted || !isUnsettled({ state })) {
      this.#experience.isolated.delete(id);
      if (before && before.failures >= REPORTED_AFTER) this.#setAside.set(id, null);
      return 0;
    }
    if (!failed || accepted <= (before?.accepted ?? 0)) return 0;
    const failures = (before?.failures ?? 0) + 1;
    watch(this.#experience.isolated, id, { failures, accepted });
    return failures;
  }

  /** Whether it is a batch of which no attempt can have arrived. */
  #hasNotArrived({ delivery, notification }: ClaimedDelivery, { state, refusals }: Settlement): boolean {
    if (!isBatch(notification)) return false;
    const { id, attempts } = delivery;
    const isAnswered = state === 'retry' || (state === 'dead' && refusals !== undefined);
    if (isAnswered) this.#noteNotArrived(id);
    const notArrived = this.#experience.notArrived.get(id) ?? 0;
    if (!isUnsettled({ state })) this.#experience.notArrived.delete(id);
    // Refusals in a row are known after a restart as well.
    return Math.max(notArrived, refusals ?? 0) >= attempts;
  }

  #noteNotArrived(id: string): void {
    const { notArrived } = this.#experience;
    watch(notArrived, id, (notArrived.get(id) ?? 0) + 1, MOST_BATCHES);
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
    let found: readonly Fault[] = [];
    const toHalve = settlements.filter(({ id }) => this.#toHalve.has(id));
    const holder = senders ? senders.holder() : 0;
    const claimed = await store.transaction(async (tx) => {
      if (settlements.length > 0) await tx.outbox.settle(settlements, clock.nowUs());
      for (const { id, isForNobody } of settlements) {
        if (isForNobody) await tx.outbox.fallBackAt(id, clock.nowUs());
      }
      found = await this.#writeSetAside(tx, settlements);
      for (const { id } of toHalve) await queueHalves(tx, { id, nowUs: clock.nowUs() });
      if (room.all === 0 || holder === undefined) return [];
      if (senders && !(await tx.ownership.isMember(holder))) return [];
      const leftUs = this.#isLeft({ receiver, position }) ? LEFT_US : 0;
      const claim = (limit: number, isFresh: boolean) =>
        tx.outbox.claim(receiver, position, dueUs, limit, holder, { leftUs, isFresh });
      const fresh = room.retries === undefined ? [] : await claim(room.all, true);
      const others = Math.min(room.all - fresh.length, room.retries ?? room.all);
      const more = others > 0 ? [...fresh, ...(await claim(others, false))] : fresh;
      if (leftUs > 0) for (const one of more) this.#claimedAnyway.add(one);
      await this.#latency.prepare(
        tx,
        more.map(({ notification }) => notification),
      );
      return more;
    });
    for (const { id } of settlements) this.#setAside.delete(id);
    for (const { id } of toHalve) this.#toHalve.delete(id);
    for (const fault of found) report({ what: 'set_aside', ...fault });
    if (settlements.some((one) => one.failed || one.isForNobody)) failed?.();
    // There is something due now, or a new time to wake up at.
    if (toHalve.length > 0 || settlements.some(isUnsettled)) this.#bell.ring();
    return claimed;
  }

  /** Writes which of these deliveries are set aside, or no longer are. Resolves to the faults that are new. */
  async #writeSetAside(tx: Transaction, settlements: readonly Settlement[]): Promise<readonly Fault[]> {
    const own = settlements.filter(({ id }) => this.#setAside.has(id)).map(({ id }) => id);
    if (own.length === 0) return [];
    await tx.faults.mend(
      'delivery',
      own.filter((id) => this.#setAside.get(id) === null),
    );
    return tx.faults.note(
      own.flatMap((id) => this.#setAside.get(id) ?? []),
      this.#options.clock.nowUs(),
    );
  }
}

/** Notes it as the last. What another replica settles meanwhile is never taken out, so the first one makes room. */
function watch<T>(watched: Map<string, T>, id: string, what: T, most = MOST_WATCHED): void {
  watched.delete(id);
  watched.set(id, what);
  if (watched.size > most) watched.delete(watched.keys().next().value!);
}

function keyOf({ receiver, position }: Destination): string {
  return `${position} ${receiver}`;
}

function isUnsettled({ state }: Pick<Settlement, 'state'>): boolean {
  return state === 'retry' || state === 'ambiguous';
}

// Halves: splits a batch of forwarded events in halves if its receiver does not accept it but accepts others, and the halves
// again. So in the end only those events are not delivered that the receiver does not accept. An event keeps its own
// id. But each half is a message with an id of its own. So a batch is not split if any attempt of it may have been
// accepted without an answer: its events would be sent twice.

/** Whether it is a batch that has halves. */
function isBatch(notification: Notification): notification is ForwardNotification {
  return notification.kind === 'forward' && notification.events.length > 1;
}

/** How a batch is settled that is sent in halves. */
function halved({ id, lastError, nextAttemptAtUs }: Settlement): Settlement {
  const why = `not accepted as a whole, so its events are sent in two halves: ${lastError}`;
  return { id, state: 'suppressed', nextAttemptAtUs, lastError: why };
}

/**
 * Queues both halves in place of a batch that was settled as `halved`, unless another attempt of it was begun since:
 * then that one counts. They are due at once, and expire when the batch would.
 */
async function queueHalves(
  tx: Transaction,
  { id, nowUs }: { readonly id: string; readonly nowUs: number },
): Promise<void> {
  const found = await tx.outbox.find(id);
  if (found?.delivery.state !== 'suppressed' || !isBatch(found.notification)) return;
  for (const { delivery, notification } of halvesOf(found.delivery, found.notification, nowUs)) {
    await tx.outbox.enqueue(notification, [delivery]);
  }
}

function halvesOf(
  whole: ClaimedDelivery['delivery'],
  batch: ForwardNotification,
  nowUs: number,
): ClaimedDelivery[] {
  const { receiver, integration, position, lane, createdAtUs } = whole;
  const middle = Math.ceil(batch.events.length / 2);
  return [batch.events.slice(0, middle), batch.events.slice(middle)].map((events, at) => {
    const id = `${whole.id}-half-${at + 1}`;
    return {
      notification: { ...batch, id, events, isHalf: true },
      delivery: {
        ...{
          id: `${id}-${position}`,
          notificationId: id,
          receiver,
          integration,
          position,
          lane,
          createdAtUs,
        },
        ...{ state: 'pending', attempts: 0, nextAttemptAtUs: nowUs, settledAtUs: 0, lastError: '' },
      },
    };
  });
}
