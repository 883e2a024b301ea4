/**
 * Sends the deliveries of one integration, in turns. A turn is one transaction: it settles the attempts that have
 * ended, and claims as many deliveries again.
 *
 * A commit costs as much as a few deliveries, so turns are few, and sending never waits for one. A line claims more
 * deliveries than it has in flight. It takes the next turn when half of what it holds has ended, or a moment after the
 * first of them has.
 *
 * First attempts go before retries, both in claiming and in sending, and some places are for first attempts alone.
 * Otherwise messages that a receiver lets time out would fill all places, and new ones would wait behind them.
 */
import type { Pace } from '../channels/channel.ts';
import type { Report } from '../report.ts';
import type { ClaimedDelivery, Settlement } from '../store/outbox-store.ts';
import { type Clock, createBell, sleep } from '../time/clock.ts';

/** How long an attempt that has ended may wait to be settled. The next delivery of its lane waits for that. */
const SETTLED_WITHIN_MS = 50;
/** The same while other claimed deliveries wait to be sent: a commit for only a few would cost more than they do. */
const SETTLED_WITHIN_BUSY_MS = 100;
/** How long delivery waits after the store refused a transaction. */
export const STORE_PAUSE_MS = 1_000;

/** How many deliveries a turn may claim. */
export interface Room {
  readonly all: number;
  /**
   * How many of those may be retries, after first attempts have been claimed; undefined if first attempts need no
   * precedence.
   */
  readonly retries: number | undefined;
}

interface LineOptions {
  readonly pace: Pace;
  readonly clock: Clock;
  readonly report: Report;
  /** Settles these attempts and claims more, in one transaction. */
  readonly turn: (settlements: readonly Settlement[], room: Room) => Promise<readonly ClaimedDelivery[]>;
  /** Tries once; never rejects. */
  readonly attempt: (claimed: ClaimedDelivery) => Promise<Settlement>;
  /** Settles a delivery that was claimed and not begun: it may be claimed again at `nextAttemptAtUs`. */
  readonly putBack: (claimed: ClaimedDelivery, nextAttemptAtUs: number) => Settlement;
  /** With a signal the line goes on when the store fails. Without one `work` rejects. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Aborts when the process ends: only then is left leased what the store refuses to settle, since only the next start
   * recovers leases.
   */
  readonly ending?: AbortSignal | undefined;
}

export class Line {
  readonly #options: LineOptions;
  /** Rung when an attempt ended, or when more is due. */
  readonly #bell: ReturnType<typeof createBell>;
  /** Claimed and not begun: first attempts, and retries. */
  readonly #fresh: ClaimedDelivery[] = [];
  readonly #retries: ClaimedDelivery[] = [];
  readonly #ended: Settlement[] = [];
  #endedSinceMs = 0;
  #inFlight = 0;
  /** How many of those are retries. */
  #retriesInFlight = 0;
  #isWanted = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#bell = createBell(options.clock);
  }

  /** Says that more is due. */
  want(): void {
    this.#isWanted = true;
    this.#bell.ring();
  }

  /** Whether more became due since it last claimed. */
  isWanted(): boolean {
    return this.#isWanted;
  }

  /** Works until nothing is due and nothing is in flight. Resolves to whether anything was claimed. */
  async work(): Promise<boolean> {
    const { signal, ending } = this.#options;
    let hasWorked = false;
    for (;;) {
      const isStopping = signal?.aborted ?? false;
      const claimed = await this.#takeTurn(isStopping);
      if (claimed) {
        hasWorked ||= claimed.length > 0;
        for (const one of claimed) (isFresh(one) ? this.#fresh : this.#retries).push(one);
        this.#fill();
        if (this.#isEmpty()) return hasWorked;
        await this.#untilTurn(isStopping);
      } else {
        if (ending?.aborted && isStopping && this.#inFlight === 0) return hasWorked;
        const next = isStopping ? ending : signal;
        await sleep(this.#options.clock, STORE_PAUSE_MS, next?.aborted ? undefined : next);
      }
    }
  }

  /** Resolves to what it claimed; undefined if the store refused, so that nothing of the turn happened. */
  async #takeTurn(isStopping: boolean): Promise<readonly ClaimedDelivery[] | undefined> {
    const { turn, putBack, report, signal } = this.#options;
    const nowUs = this.#options.clock.nowUs();
    const left = isStopping ? [...this.#fresh.splice(0), ...this.#retries.splice(0)] : [];
    this.#ended.push(...left.map((one) => putBack(one, nowUs)));
    const room = isStopping ? { all: 0, retries: undefined } : this.#room();
    const settlements = this.#ended.splice(0);
    this.#isWanted = false;
    try {
      return await turn(settlements, room);
    } catch (error) {
      // The attempts are settled by a later turn. If none comes because the process ends, the deliveries are still leased
      // at the next start, and repeated.
      report({ what: 'trouble', stage: 'delivery', error });
      this.#ended.unshift(...settlements);
      if (!signal) throw error;
      return undefined;
    }
  }

  #room(): Room {
    const { claimed } = this.#options.pace;
    const retries = this.#retriesInFlight + this.#retries.length;
    const most = claimed - placesOfFresh(claimed);
    return {
      all: claimed - this.#inFlight - this.#waiting(),
      retries: retries > 0 ? Math.max(0, most - retries) : undefined,
    };
  }

  #fill(): void {
    const { pace, attempt, clock, signal } = this.#options;
    while (this.#inFlight < pace.inFlight && !signal?.aborted) {
      const mayRetry = this.#retriesInFlight < pace.inFlight - placesOfFresh(pace.inFlight);
      const next = this.#fresh.shift() ?? (mayRetry ? this.#retries.shift() : undefined);
      if (!next) return;
      const retries = isFresh(next) ? 0 : 1;
      this.#inFlight += 1;
      this.#retriesInFlight += retries;
      void attempt(next).then((settlement) => {
        this.#inFlight -= 1;
        this.#retriesInFlight -= retries;
        const isFirst = this.#ended.length === 0;
        if (isFirst) this.#endedSinceMs = clock.monotonicMs();
        this.#ended.push(settlement);
        this.#fill();
        // `#untilTurn` knows how long to wait. Waking it for each of hundreds of attempts costs more than the attempts
        // do.
        if (isFirst || this.#waiting() === 0 || this.#isTurn(false)) this.#bell.ring();
      });
    }
  }

  /** How many are claimed and not begun. */
  #waiting(): number {
    return this.#fresh.length + this.#retries.length;
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
    // More may be due, and there are free places to send it.
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

/** How many of so many places are for first attempts alone; a single place is for all. */
function placesOfFresh(places: number): number {
  return places === 1 ? 0 : Math.max(1, Math.floor(places / 4));
}
