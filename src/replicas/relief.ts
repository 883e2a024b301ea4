/**
 * Looks, at a replica that does not read a region, whether the one that does reaches it. The network, the resolver and
 * the files of secrets of each replica are its own, so that a region may be away for its reader alone, for good. Where the
 * reader shows such a trouble for a while, the service is asked by this replica as well; where it answers twice, and the
 * reader has shown meanwhile that it goes without an answer still, the region is taken from it.
 *
 *   reached by its reader ──trouble lasts──► asked now and then ──answers──► asked once more ──answers──► taken over
 *            ▲                                   ▲                                 │
 *            └───────── the trouble is over ─────┴──────── no answer ──────────────┘
 *
 * Where nobody reaches it, it stays where it is, and is asked more and more seldom. What is repeated to others goes over in
 * the same way (`owned-repeating.ts`).
 */
import { type Clock, type Random, sleep } from '../time/clock.ts';

/** What this replica sees of a region that another one reads. */
export interface ReaderStanding {
  /** Since when its reader goes without what it asks for. */
  readonly sinceUs: number;
  /** Of the reader's lease. */
  readonly epoch: number;
  /** When the reader has shown that. */
  readonly shownUs: number;
  readonly nowUs: number;
}

interface ReliefOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Undefined while there is no reader, or no trouble, or this replica reads it itself. */
  readonly standing: () => ReaderStanding | undefined;
  /** Whether the service answers this replica. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
  /** The service has answered this replica once: its reader may try it at once. */
  readonly answered: () => void;
  /** Takes the region from that reader, unless another one has done so. */
  readonly takeOver: (from: ReaderStanding) => Promise<void>;
}

/** Most troubles of a service are over by then. */
const LASTS_US = 45_000_000;
/** One that shows nothing any more does not live, which is noticed elsewhere. */
const SHOWN_WITHIN_US = 60_000_000;
const LOOK_MS = 10_000;
const LEAST_ASKED_MS = 30_000;
const MOST_ASKED_MS = 300_000;
/** One that took it, and lost it again, does not take it sooner: what is wrong may be the service. */
const TAKEN_AGAIN_MS = 600_000;

/** Looks until `signal` aborts; `failed` hears what nobody foresaw, and what the store refused. */
export async function relieve(
  { clock, random, standing, reaches, answered, takeOver }: ReliefOptions,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  /** When this replica was answered, by the instants of `standing`; undefined where it was not last time. */
  let answeredUs: number | undefined;
  let askEveryMs = LEAST_ASKED_MS;
  let askedMs = Number.NEGATIVE_INFINITY;
  let takenMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const now = standing();
    if (!now || now.nowUs - now.sinceUs < LASTS_US || now.nowUs - now.shownUs > SHOWN_WITHIN_US) {
      answeredUs = undefined;
      askEveryMs = LEAST_ASKED_MS;
      return;
    }
    if (clock.monotonicMs() - takenMs < TAKEN_AGAIN_MS) return;
    // What the reader has shown before this one was answered says nothing of that moment.
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
      if (standing()?.epoch !== now.epoch) return;
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
