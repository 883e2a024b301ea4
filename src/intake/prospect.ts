/** What is learned of each stream from its polls: what one costs, and what the next is expected to bring. */
import { addEvidence, type Evidence, expectedRate, noEvidence } from './arrival-rate.ts';

/** What a poll that succeeded was like. */
export interface Lesson {
  /** When it began. */
  readonly beganMs: number;
  readonly nowMs: number;
  readonly requests: number;
  /** Entries that were new. */
  readonly news: number;
  /** It read all that there was. */
  readonly complete: boolean;
}

export interface Prospect {
  /** Requests of a poll. */
  cost(): number;
  /** λ/(2·cost), per millisecond. */
  worth(): number;
  learn(lesson: Lesson): void;
}

/** How much one poll teaches about the cost of the next. */
const COST_GAIN = 1 / 4;

/** Creates the streams of one feed, which learn its average from each other. */
export function createFeedProspects(): () => Prospect {
  const feed = noEvidence(0);
  return () => new StreamProspect(feed);
}

/** A class, since there are so many: methods are shared, and what was learned lies in the object itself. */
class StreamProspect implements Prospect, Evidence {
  entries = 0;
  coveredMs = 0;
  atMs = 0;
  readonly #feed: Evidence;
  #cost = 1;
  /** Entries since `#countedMs`, up to where all have been counted; NaN before the first complete poll. */
  #news = 0;
  #countedMs = Number.NaN;

  constructor(feed: Evidence) {
    this.#feed = feed;
  }

  cost(): number {
    return this.#cost;
  }

  worth(): number {
    return expectedRate(this, expectedRate(this.#feed)) / (2 * this.#cost);
  }

  learn({ beganMs, nowMs, requests, news, complete }: Lesson): void {
    this.#cost += (Math.max(1, requests) - this.#cost) * COST_GAIN;
    this.#news += news;
    if (!complete) return;
    // The first complete poll of a life brings a history of unknown length.
    if (!Number.isNaN(this.#countedMs)) {
      addEvidence(this, this.#news, beganMs - this.#countedMs, nowMs);
      addEvidence(this.#feed, this.#news, beganMs - this.#countedMs, nowMs);
    }
    this.#countedMs = beganMs;
    this.#news = 0;
  }
}
