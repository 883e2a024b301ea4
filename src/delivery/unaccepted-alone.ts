/**
 * Finds deliveries that their integration does not accept while it accepts others: what is wrong is the message, to that
 * receiver, and not the way there. Such a one is said to be set aside, and holds up nothing behind it for the three days
 * for which it is tried. Known in memory alone: after a start it takes a while until the same is found again.
 */
import type { Delivery, Settlement } from '../store/outbox-store.ts';

/**
 * For so long it may be the receiver that is in trouble, or is getting over it: others are accepted before and after that.
 * What is behind it in its lane waits as long.
 */
const ALONE_AFTER_US = 300_000_000;
/** Of an integration that accepts nothing everything fails: those that began first are looked at. */
const MAX_FAILING = 1_000;

interface Failing {
  /** When it first failed; once another was accepted since, when it failed again after that. */
  readonly sinceUs: number;
  readonly isAfterAnother: boolean;
}

interface Way {
  /** When the integration last accepted something. */
  acceptedAtUs: number;
  readonly failing: Map<string, Failing>;
}

/** What a try says of its delivery beside its own end: that it fails alone now, or that it is settled after that. */
export type Standing = 'alone' | 'over' | undefined;

export interface UnacceptedAlone {
  /** Hears how each try ended, in their order. */
  hear(delivery: Delivery, settlement: Settlement, nowUs: number): Standing;
}

export function createUnacceptedAlone(): UnacceptedAlone {
  const ways = new Map<string, Way>();

  function wayOf({ receiver, position }: Delivery): Way {
    const key = JSON.stringify([receiver, position]);
    const way = ways.get(key) ?? { acceptedAtUs: Number.NEGATIVE_INFINITY, failing: new Map() };
    ways.set(key, way);
    return way;
  }

  return {
    hear(delivery, { state, failed = false, remaining }, nowUs) {
      const { id } = delivery;
      const way = wayOf(delivery);
      if (state === 'delivered' || remaining) way.acceptedAtUs = nowUs;
      if (state !== 'retry' && state !== 'ambiguous') {
        way.failing.delete(id);
        return delivery.attempts > 1 ? 'over' : undefined;
      }
      // What some of several recipients have not accepted has left its lane already.
      if (!failed || remaining || delivery.remaining) return undefined;
      const before = way.failing.get(id);
      const isPassed = before !== undefined && way.acceptedAtUs > before.sinceUs;
      if (before?.isAfterAnother && isPassed && nowUs - before.sinceUs >= ALONE_AFTER_US) return 'alone';
      if (before ? isPassed && !before.isAfterAnother : way.failing.size < MAX_FAILING) {
        way.failing.set(id, { sinceUs: nowUs, isAfterAnother: isPassed });
      }
      return undefined;
    },
  };
}
