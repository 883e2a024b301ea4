/** What is learned of each stream from its polls: what one costs, and what the next is expected to bring. */
import { addEvidence, type Evidence, expectedRate, noEvidence } from './arrival-rate.ts';
import type { Rows } from './columns.ts';

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

/** Of streams that are rows of the schedule. */
export interface Prospects {
  /** A row just made is a stream of this feed. */
  add(row: number, feed: string): void;
  /** Requests of a poll. */
  cost(row: number): number;
  /** λ/(2·cost), per millisecond. */
  worth(row: number): number;
  learn(row: number, lesson: Lesson): void;
}

/** How much one poll teaches about the cost of the next. */
const COST_GAIN = 1 / 4;

/** The streams of one feed learn its average from each other. */
export function createProspects(rows: Rows): Prospects {
  const feeds = new Map<string, Evidence>();
  const feedOf: Evidence[] = [];
  const entries = rows.column(0);
  const coveredMs = rows.column(0);
  const fadedMs = rows.column(0);
  const cost = rows.column(1);
  /** Entries since `countedMs`, up to where all have been counted; NaN before the first complete poll. */
  const uncounted = rows.column(0);
  const countedMs = rows.column(Number.NaN);

  const evidenceOf = (row: number): Evidence => ({
    entries: entries.get(row),
    coveredMs: coveredMs.get(row),
    atMs: fadedMs.get(row),
  });

  function count(row: number, news: number, coveredNowMs: number, nowMs: number): void {
    const evidence = evidenceOf(row);
    addEvidence(evidence, news, coveredNowMs, nowMs);
    entries.set(row, evidence.entries);
    coveredMs.set(row, evidence.coveredMs);
    fadedMs.set(row, evidence.atMs);
    addEvidence(feedOf[row]!, news, coveredNowMs, nowMs);
  }

  return {
    add(row, feed) {
      const evidence = feeds.get(feed) ?? noEvidence(0);
      feeds.set(feed, evidence);
      feedOf[row] = evidence;
    },
    cost: (row) => cost.get(row),
    worth: (row) => expectedRate(evidenceOf(row), expectedRate(feedOf[row]!)) / (2 * cost.get(row)),
    learn(row, { beganMs, nowMs, requests, news, complete }) {
      cost.set(row, cost.get(row) + (Math.max(1, requests) - cost.get(row)) * COST_GAIN);
      const all = uncounted.get(row) + news;
      uncounted.set(row, complete ? 0 : all);
      if (!complete) return;
      // The first complete poll of a life brings a history of unknown length.
      if (!Number.isNaN(countedMs.get(row))) count(row, all, beganMs - countedMs.get(row), nowMs);
      countedMs.set(row, beganMs);
    },
  };
}
