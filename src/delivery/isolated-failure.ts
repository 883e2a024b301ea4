/**
 * Finds deliveries that fail alone: their integration does not accept them while it accepts others. So the fault lies
 * in the message, and not in the integration or the way there. Such a delivery is reported as set aside, and does not
 * hold up its lane for the three days for which it is retried. This knowledge is in memory only: it outlasts a reload
 * of the configuration, and takes a while to be gained again after a restart.
 */
import type { Delivery, Settlement } from '../store/outbox-store.ts';

/**
 * For this long the receiver may be failing or recovering, which is why others must be accepted both before and after.
 * The delivery holds up its lane for as long.
 */
const ALONE_AFTER_US = 300_000_000;
/**
 * The delivery counts as failing alone if mere chance, at the rate at which others failed meanwhile, would make it fail
 * so often in a row with less than this probability.
 */
const LEAST_CHANCE = 1e-6;
/**
 * A refused delivery is given up after six minutes. If others were accepted within this time, the integration works.
 */
const LATELY_US = 600_000_000;
/**
 * If an integration accepts nothing, everything fails; only so many deliveries are watched, those that failed first.
 */
const MAX_FAILING = 1_000;

/** The attempts of an integration that have ended, by outcome. */
interface Ended {
  readonly accepted: number;
  readonly failed: number;
}

interface Failing {
  /** When it first failed; after another was accepted since, when it failed next. */
  readonly sinceUs: number;
  readonly isAfterAnother: boolean;
  /** Its own attempts since then. */
  readonly attempts: number;
  /** The integration's attempts that had ended before these. */
  readonly before: Ended;
}

interface History {
  /** When the integration last accepted something. */
  acceptedAtUs: number;
  ended: Ended;
  readonly failing: Map<string, Failing>;
}

/** What an attempt says about its delivery: that it now fails alone, or that it is settled after earlier attempts. */
type Standing = 'isolated' | 'over' | undefined;

export interface IsolatedFailures {
  /** Records how an attempt ended; to be called for each, in order. */
  hear(delivery: Delivery, settlement: Settlement, nowUs: number): Standing;
  /** Whether its integration has accepted others lately. */
  acceptsOthers(delivery: Delivery, nowUs: number): boolean;
}

const UNHEARD = { acceptedAtUs: Number.NEGATIVE_INFINITY, ended: { accepted: 0, failed: 0 } };

export function createIsolatedFailures(): IsolatedFailures {
  const histories = new Map<string, History>();

  function historyOf({ receiver, position }: Delivery): History {
    const key = JSON.stringify([receiver, position]);
    const history = histories.get(key) ?? { ...UNHEARD, failing: new Map() };
    histories.set(key, history);
    return history;
  }

  return {
    hear(delivery, { state, failed = false, remaining }, nowUs) {
      const { id } = delivery;
      const history = historyOf(delivery);
      const isAccepted = state === 'delivered' || remaining !== undefined;
      if (isAccepted) history.acceptedAtUs = nowUs;
      const before = history.ended;
      history.ended = {
        accepted: before.accepted + Number(isAccepted),
        failed: before.failed + Number(failed && !isAccepted),
      };
      if (state !== 'retry' && state !== 'ambiguous') {
        history.failing.delete(id);
        return delivery.attempts > 1 ? 'over' : undefined;
      }
      // A delivery that only some of its recipients have accepted has left its lane already.
      if (!failed || remaining || delivery.remaining) return undefined;
      const known = history.failing.get(id);
      const isPassed = known !== undefined && history.acceptedAtUs > known.sinceUs;
      if (known ? isPassed && !known.isAfterAnother : history.failing.size < MAX_FAILING) {
        history.failing.set(id, { sinceUs: nowUs, isAfterAnother: isPassed, attempts: 1, before });
      } else if (known) {
        const again = { ...known, attempts: known.attempts + 1 };
        history.failing.set(id, again);
        const isLong = nowUs - known.sinceUs >= ALONE_AFTER_US;
        if (known.isAfterAnother && isPassed && isLong && chanceOf(again, history.ended) < LEAST_CHANCE)
          return 'isolated';
      }
      return undefined;
    },
    acceptsOthers: (delivery, nowUs) => nowUs - historyOf(delivery).acceptedAtUs < LATELY_US,
  };
}

/** The probability that it failed each time if nothing sets it apart from the others. */
function chanceOf({ attempts, before }: Failing, ended: Ended): number {
  const accepted = ended.accepted - before.accepted;
  const failed = ended.failed - before.failed - attempts;
  // Laplace's rule of succession, since few attempts show little: each failure makes the next more probable.
  let chance = 1;
  for (let more = 0; more < attempts; more += 1) {
    chance *= (failed + more + 1) / (accepted + failed + more + 2);
  }
  return chance;
}
