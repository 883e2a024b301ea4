/** Remembers replicas that are gone until what they left has been taken care of. */
import type { OwnershipView } from '../store/ownership-store.ts';
import type { Clock } from '../time/clock.ts';

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
