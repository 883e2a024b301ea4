/**
 * The membership of this replica: its number, and how long it certainly remains a member, on its own monotonic clock.
 */
import type { Clock } from '../time/clock.ts';
import { SENDING_MS } from './removed-replicas.ts';

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
