/**
 * The membership of this replica: its number, and how long it certainly remains a member, on its own monotonic clock.
 */

import type { OwnershipView } from '../store/ownership-store.ts';
import type { Clock } from '../time/clock.ts';

/** How long a replica remains a member without renewing. */
export const LEASE_MS = 10_000;
/** How long tries of a delivery take, all but the slowest. */
const SENDS_MS = 10_000;

/** What delivery must know of this replica's membership. */
export interface OwnSender {
  /** The number under which deliveries are claimed; undefined while none may be. */
  holder(): number | undefined;
  /** Whether a try may be begun, because it will have ended when another replica may repeat it. */
  mayBegin(): boolean;
}

export class Membership {
  readonly #clock: Clock;
  readonly #expired: () => void;
  #replica = 0;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #cancelExpiry = () => {};
  readonly sender: OwnSender = {
    holder: () => (this.#replica === 0 || this.#remainingMs() <= 0 ? undefined : this.#replica),
    mayBegin: () => this.#remainingMs() + SENDING_MS >= SENDS_MS,
  };

  /** `expired` is called when the membership expires without having been renewed. */
  constructor(clock: Clock, expired: () => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** The number of this replica; 0 while it is not a member. */
  get replica(): number {
    return this.#replica;
  }

  set replica(replica: number) {
    this.#replica = replica;
  }

  /** The store has renewed the membership, at `beganMs` or later. */
  renewed(beganMs: number): void {
    this.#renewedMs = beganMs;
    this.#cancelExpiry();
    this.#cancelExpiry = this.#clock.setTimer(this.#remainingMs(), this.#expired);
  }

  /** From now on `expired` is not called. */
  end(): void {
    this.#cancelExpiry();
  }

  #remainingMs(): number {
    return this.#renewedMs + LEASE_MS - this.#clock.monotonicMs();
  }
}

/** What a replica was sending when it was removed is left to it for this long. */
export const SENDING_MS = 6_000;
/** Stands for all replicas that were gone before this one joined; no replica has this number. */
const ANY_BEFORE = 0;

export class RemovedReplicas {
  readonly #clock: Clock;
  /** The members at the last turn. */
  #present = new Set<number>();
  /** Since when each replica has been missing. */
  readonly #missing = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This replica joins: any replica before it may have left something. */
  joins(): void {
    this.#missing.set(ANY_BEFORE, this.#clock.monotonicMs());
  }

  /** Notes which members are gone; returns whether there are any. */
  notes({ replicas }: OwnershipView): boolean {
    const nowMs = this.#clock.monotonicMs();
    const present = new Set(replicas.map(({ replica }) => replica));
    const gone = [...this.#present].filter((replica) => !present.has(replica));
    this.#present = present;
    for (const replica of gone) this.#missing.set(replica, nowMs);
    return gone.length > 0;
  }

  /**
   * The replicas whose last tries may still be in flight: members, and those that have been gone for less than
   * `SENDING_MS`.
   */
  mayBeSending(): number[] {
    const late = this.late();
    return [...this.#present, ...this.#missing.keys()].filter((replica) => !late.includes(replica));
  }

  /** The gone replicas whose last tries have ended by now. */
  late(): number[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#missing]
      .filter(([, sinceMs]) => nowMs - sinceMs >= SENDING_MS)
      .map(([replica]) => replica);
  }

  /** What these have left has been taken care of. */
  forget(replicas: readonly number[]): void {
    for (const replica of replicas) this.#missing.delete(replica);
  }
}
