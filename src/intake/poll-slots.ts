/**
 * Limits how many polls of a region run at the same time. If the service is slow to answer one feed, that feed's
 * polls would soon occupy all slots and every other feed would have to wait. So a feed whose polls are slow must
 * leave some slots to the others.
 */
/** A poll that takes longer is slow. Most take a fraction of a second. */
const SLOW_MS = 2_000;

/** The part of the slots that slow feeds leave to others. */
const LEFT_TO_OTHERS = 1 / 4;

interface Held {
  /** When each poll in progress began, oldest first. */
  readonly beganMs: number[];
  /** The duration of the poll that ended last. */
  lastMs: number;
}

/** All instants are monotonic milliseconds. */
export class PollSlots {
  readonly #count: number;
  readonly #mostOfSlow: number;
  readonly #held = new Map<string, Held>();
  #taken = 0;

  constructor(count: number) {
    this.#count = count;
    this.#mostOfSlow = count === 1 ? 1 : count - Math.max(1, Math.floor(count * LEFT_TO_OTHERS));
  }

  /** Whether no further poll may begin. */
  isFull(): boolean {
    return this.#taken >= this.#count;
  }

  /**
   * The feed that may begin no further poll because its polls are slow and occupy all slots they may; undefined if
   * none.
   */
  fullFeed(nowMs: number): string | undefined {
    for (const [feed, { beganMs, lastMs }] of this.#held) {
      if (beganMs.length < this.#mostOfSlow) continue;
      if (Math.max(lastMs, nowMs - beganMs[0]!) > SLOW_MS) return feed;
    }
    return undefined;
  }

  /** To be called when a poll begins; the returned function is to be called when it ends. */
  take(feed: string, nowMs: number): (endedMs: number) => void {
    const held = this.#heldBy(feed);
    held.beganMs.push(nowMs);
    this.#taken += 1;
    return (endedMs) => {
      held.beganMs.splice(held.beganMs.indexOf(nowMs), 1);
      held.lastMs = endedMs - nowMs;
      this.#taken -= 1;
    };
  }

  #heldBy(feed: string): Held {
    let held = this.#held.get(feed);
    if (!held) {
      held = { beganMs: [], lastMs: 0 };
      this.#held.set(feed, held);
    }
    return held;
  }
}
