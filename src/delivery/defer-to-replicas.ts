/**
 * Lets a replica leave deliveries to other replicas when an integration does not accept its own. Replicas have their
 * own network, resolver and secret files, so one of them may not reach a receiver that the others reach. What it leaves
 * to others for a moment, and then sends only if none of them has:
 *
 *   after one failed attempt          what it has attempted itself
 *   after SUSPECT_AFTER in a row      also what nobody has attempted; it gives back what it claimed and has not begun
 *   after one that is accepted        nothing
 */
import type { Delivery, LeftToOthers, Settlement } from '../store/outbox-store.ts';

/**
 * How long after it is due a delivery is left to others. They hear of it at once, but their transaction may take a
 * while.
 */
const TRIED_LEFT_US = 5_000_000;
const FRESH_LEFT_US = 2_000_000;
/** So many failed attempts in a row suggest that this replica does not reach the integration. */
const SUSPECT_AFTER = 3;

/** An integration of a receiver. */
type At = Pick<Delivery, 'receiver' | 'position'>;

export class ReplicaDeferral {
  /** By integration: how many attempts in a row it did not accept. Empty for those that accepted the last one. */
  readonly #failed = new Map<string, number>();

  /** Records how an attempt ended. */
  hear(at: At, { state, failed, remaining }: Settlement): void {
    const key = keyOf(at);
    // If some of several recipients accepted it, the integration can be reached.
    if (state === 'delivered' || remaining) this.#failed.delete(key);
    else if (failed) this.#failed.set(key, (this.#failed.get(key) ?? 0) + 1);
  }

  /** Whether what nobody has attempted is left to others as well. */
  isSuspect(at: At): boolean {
    return (this.#failed.get(keyOf(at)) ?? 0) >= SUSPECT_AFTER;
  }

  /** How long deliveries to the integration are left to others; undefined for not at all. */
  left(at: At): LeftToOthers | undefined {
    if (!this.#failed.has(keyOf(at))) return undefined;
    return { triedUs: TRIED_LEFT_US, freshUs: this.isSuspect(at) ? FRESH_LEFT_US : 0 };
  }
}

function keyOf({ receiver, position }: At): string {
  return `${position} ${receiver}`;
}
