/** Replicas that were there and are no more, until it was looked after what they have left. */
import type { OwnershipView } from '../store/ownership-store.ts';
import type { Clock } from '../time/clock.ts';

/** What a replica was sending when it was removed is left to it for so long. */
export const SENDING_MS = 6_000;
/** In the place of all that were gone before this one joined: a number that no replica has. */
const ANY_BEFORE = 0;

export class MissedReplicas {
  readonly #clock: Clock;
  /** Those that were there at the last turn. */
  #present = new Set<number>();
  /** Since when each is missed. */
  readonly #missing = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This replica joins: whoever was there before may have left something. */
  joins(): void {
    this.#missing.set(ANY_BEFORE, this.#clock.monotonicMs());
  }

  /** Notes who is there no more; says whether there are such. */
  notes({ replicas }: OwnershipView): boolean {
    const nowMs = this.#clock.monotonicMs();
    const present = new Set(replicas.map(({ replica }) => replica));
    const gone = [...this.#present].filter((replica) => !present.has(replica));
    this.#present = present;
    for (const replica of gone) this.#missing.set(replica, nowMs);
    return gone.length > 0;
  }

  /** Those whose last tries to send may be under way: not yet late ones, and who is there or was at the last turn. */
  mayBeSending(): number[] {
    const late = this.late();
    return [...this.#present, ...this.#missing.keys()].filter((replica) => !late.includes(replica));
  }

  /** Those whose last tries to send have ended by now. */
  late(): number[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#missing]
      .filter(([, sinceMs]) => nowMs - sinceMs >= SENDING_MS)
      .map(([replica]) => replica);
  }

  /** It was looked after what these have left. */
  forget(replicas: readonly number[]): void {
    for (const replica of replicas) this.#missing.delete(replica);
  }
}
