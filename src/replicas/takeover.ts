/**
 * Takes over a region from a replica that cannot reach it. Each replica has its own network, resolver and secret files,
 * so a region may be unreachable for its reader alone, and stay so. If the reader reports such trouble for a while,
 * this replica asks the service too. If the service answers twice, and the reader has reported in between that it still
 * gets no answer, this replica takes the region over.
 *
 *   reached by its reader ──trouble lasts──► asked now and then ──answers──► asked once more ──answers──► taken over
 *            ▲                                   ▲                                 │
 *            └───────── the trouble is over ─────┴──────── no answer ──────────────┘
 *
 * If no replica reaches the region, it stays with its reader and is asked less and less often.
 */
import { type Clock, type Random, sleep } from '../time/clock.ts';

/** The trouble of another replica with a region that it owns. */
export interface OwnerTrouble {
  /** Since when the owner has been failing. */
  readonly sinceUs: number;
  /** The epoch of the owner's lease. */
  readonly epoch: number;
  /** When the owner reported this. */
  readonly shownUs: number;
  readonly nowUs: number;
}

interface TakeoverOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The owner's trouble; undefined if there is no owner or no trouble, or if this replica is the owner. */
  readonly trouble: () => OwnerTrouble | undefined;
  /** Whether the service answers this replica. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
  /** Called when the service has answered this replica once: its reader may try it at once. */
  readonly answered: () => void;
  /** Takes the region from that owner, unless another replica has done so. */
  readonly takeOver: (from: OwnerTrouble) => Promise<void>;
}

/** Most outages of a service are over by then. */
const LASTS_US = 45_000_000;
/** An owner that has not reported for this long has died, which is noticed elsewhere. */
const SHOWN_WITHIN_US = 60_000_000;
const LOOK_MS = 10_000;
const LEAST_ASKED_MS = 30_000;
const MOST_ASKED_MS = 300_000;
/** A replica that took a region over and lost it again does not take it sooner than this: the service may be at fault. */
const TAKEN_AGAIN_MS = 600_000;

/** Watches the owner until `signal` aborts. `failed` is called for unforeseen errors and for refusals of the store. */
export async function watchOwner(
  { clock, random, trouble, reaches, answered, takeOver }: TakeoverOptions,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  /** When the service answered this replica, by the clock of `trouble`; undefined if it did not the last time. */
  let answeredUs: number | undefined;
  let askEveryMs = LEAST_ASKED_MS;
  let askedMs = Number.NEGATIVE_INFINITY;
  let takenMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const now = trouble();
    if (!now || now.nowUs - now.sinceUs < LASTS_US || now.nowUs - now.shownUs > SHOWN_WITHIN_US) {
      answeredUs = undefined;
      askEveryMs = LEAST_ASKED_MS;
      return;
    }
    if (clock.monotonicMs() - takenMs < TAKEN_AGAIN_MS) return;
    // A report from before that answer says nothing about the time after it.
    if (answeredUs !== undefined && now.shownUs <= answeredUs) return;
    if (answeredUs === undefined && clock.monotonicMs() - askedMs < askEveryMs) return;
    askedMs = clock.monotonicMs();
    const isAnswered = await reaches(signal);
    if (signal.aborted) return;
    if (!isAnswered) {
      answeredUs = undefined;
      askEveryMs = Math.min(2 * askEveryMs, MOST_ASKED_MS);
    } else if (answeredUs === undefined) {
      answeredUs = now.nowUs;
      answered();
    } else {
      answeredUs = undefined;
      if (trouble()?.epoch !== now.epoch) return;
      takenMs = clock.monotonicMs();
      await takeOver(now);
    }
  }

  while (!signal.aborted) {
    await sleep(clock, LOOK_MS * (0.5 + random()), signal);
    if (signal.aborted) return;
    try {
      await look();
    } catch (error) {
      failed(error);
    }
  }
}
