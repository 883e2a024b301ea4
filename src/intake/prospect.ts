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
  return () => {
    const own: Evidence = noEvidence(0);
    let cost = 1;
    /** Entries since `coveredMs`, up to where all have been counted; undefined before the first complete poll. */
    let news = 0;
    let coveredMs: number | undefined;
    return {
      cost: () => cost,
      worth: () => expectedRate(own, expectedRate(feed)) / (2 * cost),
      learn(lesson) {
        const { beganMs, nowMs } = lesson;
        cost += (Math.max(1, lesson.requests) - cost) * COST_GAIN;
        news += lesson.news;
        if (!lesson.complete) return;
        // The first complete poll of a life brings a history of unknown length.
        if (coveredMs !== undefined) {
          addEvidence(own, news, beganMs - coveredMs, nowMs);
          addEvidence(feed, news, beganMs - coveredMs, nowMs);
        }
        coveredMs = beganMs;
        news = 0;
      },
    };
  };
}
