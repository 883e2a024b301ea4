/**
 * Finds deliveries that their integration does not accept while it accepts others: what is wrong is the message, to that
 * receiver, and not the way there. Such a one is said to be set aside, and holds up nothing behind it for the three days
 * for which it is tried. Known in memory alone: after a start, though not when the configuration is read again, it takes
 * a while until the same is found once more.
 */
import type { Delivery, Settlement } from '../store/outbox-store.ts';

/**
 * For so long it may be the receiver that is in trouble, or is getting over it: others are accepted before and after that.
 * What is behind it in its lane waits as long.
 */
const ALONE_AFTER_US = 300_000_000;
/** By chance, as often as others fail meanwhile, it would fail so many times in a row no more often than this. */
const LEAST_CHANCE = 1e-6;
/** A delivery that is refused is given up after six minutes: what is accepted meanwhile goes the same way. */
const LATELY_US = 600_000_000;
/** Of an integration that accepts nothing everything fails: those that began first are looked at. */
const MAX_FAILING = 1_000;

/** Tries of an integration, by how they ended. */
interface Ended {
  readonly accepted: number;
  readonly failed: number;
}

interface Failing {
  /** When it first failed; once another was accepted since, when it failed again after that. */
  readonly sinceUs: number;
  readonly isAfterAnother: boolean;
  /** Its own tries since then. */
  readonly tries: number;
  /** All that had ended before these. */
  readonly before: Ended;
}

interface Way {
  /** When the integration last accepted something. */
  acceptedAtUs: number;
  ended: Ended;
  readonly failing: Map<string, Failing>;
}

/** What a try says of its delivery beside its own end: that it fails alone now, or that it is settled after that. */
export type Standing = 'alone' | 'over' | undefined;

export interface UnacceptedAlone {
  /** Hears how each try ended, in their order. */
  hear(delivery: Delivery, settlement: Settlement, nowUs: number): Standing;
  /** Whether its integration has accepted others lately. */
  acceptsOthers(delivery: Delivery, nowUs: number): boolean;
}

const UNHEARD = { acceptedAtUs: Number.NEGATIVE_INFINITY, ended: { accepted: 0, failed: 0 } };

export function createUnacceptedAlone(): UnacceptedAlone {
  const ways = new Map<string, Way>();

  function wayOf({ receiver, position }: Delivery): Way {
    const key = JSON.stringify([receiver, position]);
    const way = ways.get(key) ?? { ...UNHEARD, failing: new Map() };
    ways.set(key, way);
    return way;
  }

  return {
    hear(delivery, { state, failed = false, remaining }, nowUs) {
      const { id } = delivery;
      const way = wayOf(delivery);
      const isAccepted = state === 'delivered' || remaining !== undefined;
      if (isAccepted) way.acceptedAtUs = nowUs;
      const before = way.ended;
      way.ended = {
        accepted: before.accepted + Number(isAccepted),
        failed: before.failed + Number(failed && !isAccepted),
      };
      if (state !== 'retry' && state !== 'ambiguous') {
        way.failing.delete(id);
        return delivery.attempts > 1 ? 'over' : undefined;
      }
      // What some of several recipients have not accepted has left its lane already.
      if (!failed || remaining || delivery.remaining) return undefined;
      const known = way.failing.get(id);
      const isPassed = known !== undefined && way.acceptedAtUs > known.sinceUs;
      if (known ? isPassed && !known.isAfterAnother : way.failing.size < MAX_FAILING) {
        way.failing.set(id, { sinceUs: nowUs, isAfterAnother: isPassed, tries: 1, before });
      } else if (known) {
        const again = { ...known, tries: known.tries + 1 };
        way.failing.set(id, again);
        const isLong = nowUs - known.sinceUs >= ALONE_AFTER_US;
        if (known.isAfterAnother && isPassed && isLong && chanceOf(again, way.ended) < LEAST_CHANCE)
          return 'alone';
      }
      return undefined;
    },
    acceptsOthers: (delivery, nowUs) => nowUs - wayOf(delivery).acceptedAtUs < LATELY_US,
  };
}

/** How likely it is that it failed each time if nothing sets it apart from the others. */
function chanceOf({ tries, before }: Failing, ended: Ended): number {
  const accepted = ended.accepted - before.accepted;
  const failed = ended.failed - before.failed - tries;
  // Of few tries little is known: Laplace's rule of succession.
  return ((failed + 1) / (accepted + failed + 2)) ** tries;
}
