/**
 * The places for polls of a region: so many may be under way at once. Where the service takes long to answer one feed,
 * its polls would soon hold all of them, and every other feed would wait for it. So a feed whose polls last long leaves
 * some places to the others.
 */
/** A poll that takes longer is slow: most take a fraction of a second. */
const SLOW_MS = 2_000;

/** The part of the places that is left to others. */
const LEFT_TO_OTHERS = 1 / 4;

interface Held {
  /** When each poll that is under way began, the first one first. */
  readonly beganMs: number[];
  /** How long the poll took that ended last. */
  lastMs: number;
}

/** Time is monotonic milliseconds. */
export class Places {
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

  /** The feed of which no further poll may begin, since its polls are slow and hold all that they may; undefined for none. */
  fullFeed(nowMs: number): string | undefined {
    for (const [feed, { beganMs, lastMs }] of this.#held) {
      if (beganMs.length < this.#mostOfSlow) continue;
      if (Math.max(lastMs, nowMs - beganMs[0]!) > SLOW_MS) return feed;
    }
    return undefined;
  }

  /** A poll begins; the function that is returned says that it has ended. */
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
