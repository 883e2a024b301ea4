/**
 * Where several replicas send, one of them may not reach a receiver that the others reach: its network, its resolver and
 * its files of secrets are its own. A replica whose tries an integration did not accept leaves what it has to do there to
 * the others for a moment, and does it itself only where nobody else has:
 *
 *   after one such try           what it has tried itself
 *   after some of them in a row  also what nobody has tried; what it holds and has not begun it gives back
 *   after one that is accepted   nothing
 */
import type { Delivery, LeftToOthers, Settlement } from '../store/outbox-store.ts';

/** So long after its instant; the others hear of it at once, but a transaction of theirs may take a while. */
const TRIED_LEFT_US = 5_000_000;
const FRESH_LEFT_US = 2_000_000;
/** Tries in a row after which it may be the way there. */
const DOUBTED_AFTER = 3;

/** An integration of a receiver. */
type At = Pick<Delivery, 'receiver' | 'position'>;

export class DoubtedWays {
  /** By integrations, how many attempts in a row it has not accepted; none that it has accepted last. */
  readonly #failed = new Map<string, number>();

  /** How a try ended. */
  hear(at: At, { state, failed, remaining }: Settlement): void {
    const key = keyOf(at);
    // What was accepted for some of several recipients went the same way.
    if (state === 'delivered' || remaining) this.#failed.delete(key);
    else if (failed) this.#failed.set(key, (this.#failed.get(key) ?? 0) + 1);
  }

  /** Whether others may do better with what nobody has tried. */
  isDoubted(at: At): boolean {
    return (this.#failed.get(keyOf(at)) ?? 0) >= DOUBTED_AFTER;
  }

  /** What is left to others; undefined for nothing. */
  left(at: At): LeftToOthers | undefined {
    if (!this.#failed.has(keyOf(at))) return undefined;
    return { triedUs: TRIED_LEFT_US, freshUs: this.isDoubted(at) ? FRESH_LEFT_US : 0 };
  }
}

function keyOf({ receiver, position }: At): string {
  return `${position} ${receiver}`;
}
