/**
 * The deliveries of one integration, on their way. A line takes turns: one transaction settles what has ended and
 * claims as much again. It claims more than it has in flight, so that sending goes on while a turn commits, and takes
 * the next turn when half of what it holds has ended, or a moment after the first has: a commit costs as much as a few
 * deliveries.
 *
 * First tries go before others, among what is claimed and of what it has claimed, and have places there and in flight that
 * those leave free: messages that the receiver lets wait until their time is over would else be in flight for good, with
 * all that is new behind them.
 */
import type { Pace } from '../channels/channel.ts';
import type { Report } from '../report.ts';
import type { ClaimedDelivery, Settlement } from '../store/outbox-store.ts';
import { type Clock, createBell, sleep } from '../time/clock.ts';

/** How long a try that has ended may wait to be settled; the next of its lane waits for that. */
const SETTLED_WITHIN_MS = 50;
/** The same while others that are claimed go out: a commit that holds a few only costs more than they do. */
const SETTLED_WITHIN_BUSY_MS = 100;
/** How long delivery rests when the store refuses a transaction. */
export const STORE_PAUSE_MS = 1_000;

/** How many may be claimed. */
export interface Room {
  readonly all: number;
  /** Of those, how many that were tried before, once the first tries are claimed; undefined where these need no help. */
  readonly tried: number | undefined;
}

interface LineOptions {
  readonly pace: Pace;
  readonly clock: Clock;
  readonly report: Report;
  /** Settles these and claims more, in one transaction. */
  readonly turn: (settlements: readonly Settlement[], room: Room) => Promise<readonly ClaimedDelivery[]>;
  /** Tries once; never rejects. */
  readonly attempt: (claimed: ClaimedDelivery) => Promise<Settlement>;
  /** With a signal the line bears failures of the store; without one its work rejects. */
  readonly signal?: AbortSignal | undefined;
}

export class Line {
  readonly #options: LineOptions;
  /** Rung when a try ended or something new is due. */
  readonly #bell: ReturnType<typeof createBell>;
  /** Claimed and not begun: those that were never tried, and the others. */
  readonly #fresh: ClaimedDelivery[] = [];
  readonly #tried: ClaimedDelivery[] = [];
  readonly #ended: Settlement[] = [];
  #endedSinceMs = 0;
  #inFlight = 0;
  /** Of those, what was tried before. */
  #triedInFlight = 0;
  #isWanted = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
  }

  /** More is due. */
  want(): void {
    this.#isWanted = true;
    this.#bell.ring();
  }

  /** Whether more became due after it last claimed. */
  isWanted(): boolean {
    return this.#isWanted;
  }

  /** Goes on until nothing is due and nothing is in flight. Resolves to whether anything was claimed. */
  async work(): Promise<boolean> {
    const { signal } = this.#options;
    let hasWorked = false;
    for (;;) {
      const isStopping = signal?.aborted ?? false;
      const claimed = await this.#takeTurn(isStopping);
      if (claimed) {
        hasWorked ||= claimed.length > 0;
        for (const one of claimed) (isFresh(one) ? this.#fresh : this.#tried).push(one);
        this.#fill();
        if (this.#isEmpty()) return hasWorked;
        await this.#untilTurn(isStopping);
      } else {
        if (isStopping && this.#inFlight === 0) return hasWorked;
        await sleep(this.#options.clock, STORE_PAUSE_MS, isStopping ? undefined : signal);
      }
    }
  }

  /** What it claimed; undefined when the store refused: then nothing of the turn happened. */
  async #takeTurn(isStopping: boolean): Promise<readonly ClaimedDelivery[] | undefined> {
    const { turn, report, signal } = this.#options;
    const nowUs = this.#options.clock.nowUs();
    const left = isStopping ? [...this.#fresh.splice(0), ...this.#tried.splice(0)] : [];
    this.#ended.push(...left.map((one) => putBack(one, nowUs)));
    const room = isStopping ? { all: 0, tried: undefined } : this.#room();
    const settlements = this.#ended.splice(0);
    this.#isWanted = false;
    try {
      return await turn(settlements, room);
    } catch (error) {
      // What ended is settled later; if that never comes, the next start repeats it.
      report({ what: 'trouble', stage: 'delivery', error });
      this.#ended.unshift(...settlements);
      if (!signal) throw error;
      return undefined;
    }
  }

  #room(): Room {
    const { claimed } = this.#options.pace;
    const tried = this.#triedInFlight + this.#tried.length;
    const most = claimed - placesOfFresh(claimed);
    return {
      all: claimed - this.#inFlight - this.#waiting(),
      tried: tried > 0 ? Math.max(0, most - tried) : undefined,
    };
  }

  #fill(): void {
    const { pace, attempt, clock, signal } = this.#options;
    while (this.#inFlight < pace.inFlight && !signal?.aborted) {
      const mayTry = this.#triedInFlight < pace.inFlight - placesOfFresh(pace.inFlight);
      const next = this.#fresh.shift() ?? (mayTry ? this.#tried.shift() : undefined);
      if (!next) return;
      const tried = isFresh(next) ? 0 : 1;
      this.#inFlight += 1;
      this.#triedInFlight += tried;
      void attempt(next).then((settlement) => {
        this.#inFlight -= 1;
        this.#triedInFlight -= tried;
        const isFirst = this.#ended.length === 0;
        if (isFirst) this.#endedSinceMs = clock.monotonicMs();
        this.#ended.push(settlement);
        this.#fill();
        // Whoever waits for the next turn knows until when. To wake it for each of hundreds costs more than they do.
        if (isFirst || this.#waiting() === 0 || this.#isTurn(false)) this.#bell.ring();
      });
    }
  }

  /** How many are claimed and not begun. */
  #waiting(): number {
    return this.#fresh.length + this.#tried.length;
  }

  #isEmpty(): boolean {
    return this.#inFlight === 0 && this.#waiting() === 0 && this.#ended.length === 0;
  }

  async #untilTurn(isStopping: boolean): Promise<void> {
    while (!this.#isTurn(isStopping)) {
      const waitMs = this.#ended.length > 0 ? this.#settledWithinMs() : Number.POSITIVE_INFINITY;
      await this.#bell.wait(waitMs, isStopping ? undefined : this.#options.signal);
    }
  }

  #isTurn(isStopping: boolean): boolean {
    const { pace, clock, signal } = this.#options;
    const ended = this.#ended.length;
    if (signal?.aborted) return !isStopping || ended > 0;
    // More may be due, and there are hands free for it.
    if (this.#isWanted && this.#inFlight < pace.inFlight) return true;
    if (ended === 0) return false;
    const isHalf = ended >= this.#inFlight + this.#waiting();
    return isHalf || clock.monotonicMs() - this.#endedSinceMs >= this.#settledWithinMs();
  }

  #settledWithinMs(): number {
    return this.#waiting() > 0 ? SETTLED_WITHIN_BUSY_MS : SETTLED_WITHIN_MS;
  }
}

const isFresh = ({ delivery }: ClaimedDelivery) => delivery.attempts === 1;

/** How many of so many places are for first tries alone; a single one has none to spare. */
function placesOfFresh(places: number): number {
  return places === 1 ? 0 : Math.max(1, Math.floor(places / 4));
}

/** Claimed and not begun: free again at that instant. */
export function putBack({ delivery }: ClaimedDelivery, nextAttemptAtUs: number): Settlement {
  const { id, lastError, refusals, refusedBy, attempts: attempt } = delivery;
  return {
    id,
    attempt,
    state: 'retry',
    nextAttemptAtUs,
    lastError,
    ...(refusals !== undefined && { refusals }),
    ...(refusedBy !== undefined && { refusedBy }),
  };
}
