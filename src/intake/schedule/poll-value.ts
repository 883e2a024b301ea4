/** What is learned of each stream from its polls: what one costs, and what the next is expected to bring. */
import { addEvidence, type Evidence, expectedRate, noEvidence } from './arrival-rate.ts';
import type { Columns } from './columns.ts';

/** A poll that succeeded. */
interface Lesson {
  /** When it began. */
  readonly beganMs: number;
  readonly nowMs: number;
  readonly requests: number;
  readonly newEntries: number;
  /** Whether it read all that there was. */
  readonly complete: boolean;
}

/** What a poll of each stream is worth; a stream is the number of its row in the schedule's columns. */
export interface PollValues {
  /** The row was just added, for a stream of this feed. */
  add(row: number, feed: string): void;
  /** How many requests a poll of the stream takes, as the average of the last few. */
  cost(row: number): number;
  /** λ/(2·cost): expected new entries per millisecond and request. */
  worth(row: number): number;
  /** Takes in what a poll was like. */
  learn(row: number, lesson: Lesson): void;
}

/** How much one poll teaches about the cost of the next. */
const COST_GAIN = 1 / 4;

/** The average rate of a feed is learned from all of its streams together. */
export function createPollValues(columns: Columns): PollValues {
  const feeds = new Map<string, Evidence>();
  const feedOf: Evidence[] = [];
  const entries = columns.add(0);
  const coveredMs = columns.add(0);
  const fadedMs = columns.add(0);
  const cost = columns.add(1);
  /** Entries since `countedMs`, up to where all have been counted; NaN before the first complete poll. */
  const uncounted = columns.add(0);
  const countedMs = columns.add(Number.NaN);

  const evidenceOf = (row: number): Evidence => ({
    entries: entries.get(row),
    coveredMs: coveredMs.get(row),
    atMs: fadedMs.get(row),
  });

  function count(row: number, newEntries: number, coveredNowMs: number, nowMs: number): void {
    const evidence = evidenceOf(row);
    addEvidence(evidence, newEntries, coveredNowMs, nowMs);
    entries.set(row, evidence.entries);
    coveredMs.set(row, evidence.coveredMs);
    fadedMs.set(row, evidence.atMs);
    addEvidence(feedOf[row]!, newEntries, coveredNowMs, nowMs);
  }

  return {
    add(row, feed) {
      const evidence = feeds.get(feed) ?? noEvidence(0);
      feeds.set(feed, evidence);
      feedOf[row] = evidence;
    },
    cost: (row) => cost.get(row),
    worth: (row) => expectedRate(evidenceOf(row), expectedRate(feedOf[row]!)) / (2 * cost.get(row)),
    learn(row, { beganMs, nowMs, requests, newEntries, complete }) {
      cost.set(row, cost.get(row) + (Math.max(1, requests) - cost.get(row)) * COST_GAIN);
      const all = uncounted.get(row) + newEntries;
      uncounted.set(row, complete ? 0 : all);
      if (!complete) return;
      // The first complete poll of a life brings a history of unknown length.
      if (!Number.isNaN(countedMs.get(row))) count(row, all, beganMs - countedMs.get(row), nowMs);
      countedMs.set(row, beganMs);
    },
  };
}
