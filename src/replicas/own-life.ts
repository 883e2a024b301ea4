/** The life of this replica: its number, and how long it surely still lives, on its own clock that never jumps. */
import type { Clock } from '../time/clock.ts';
import { SENDING_MS } from './missed-replicas.ts';

/** How long a replica lives without a word. */
export const LEASE_MS = 10_000;
/** How long most tries of a delivery may take. */
const SENDS_MS = 10_000;

/** What of its own life delivery has to know. */
export interface OwnSender {
  /** Under what number deliveries are claimed; undefined while none are. */
  holder(): number | undefined;
  /** Whether a try may be begun: this replica surely lives until it has ended. */
  mayBegin(): boolean;
}

export class OwnLife {
  readonly #clock: Clock;
  readonly #expired: () => void;
  #replica = 0;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #cancelExpiry = () => {};
  readonly sender: OwnSender = {
    holder: () => (this.#replica === 0 || this.#remainingMs() <= 0 ? undefined : this.#replica),
    mayBegin: () => this.#remainingMs() + SENDING_MS >= SENDS_MS,
  };

  /** `expired` is called when its time is over unless it was renewed before. */
  constructor(clock: Clock, expired: () => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** 0 for none. */
  get replica(): number {
    return this.#replica;
  }

  set replica(replica: number) {
    this.#replica = replica;
  }

  /** The store has heard that it lives, not before this instant. */
  renewed(beganMs: number): void {
    this.#renewedMs = beganMs;
    this.#cancelExpiry();
    this.#cancelExpiry = this.#clock.setTimer(this.#remainingMs(), this.#expired);
  }

  /** Nothing happens when its time is over. */
  end(): void {
    this.#cancelExpiry();
  }

  #remainingMs(): number {
    return this.#renewedMs + LEASE_MS - this.#clock.monotonicMs();
  }
}
