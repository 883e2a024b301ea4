/** What is learned of each stream from its polls: what one costs, and what the next is expected to bring. */
import {
  addEvidence,
  type Evidence,
  expectedRate,
  MEMORY_MS,
  noEvidence,
  presentRate,
} from './arrival-rate.ts';
import type { Column, Columns } from './columns.ts';

/** A poll that succeeded. */
interface Lesson {
  /** When it began. */
  readonly beganMs: number;
  readonly nowMs: number;
  readonly requests: number;
  readonly newEntries: number;
  /** Whether it read all that there was. */
  readonly complete: boolean;
  /** How long a time the first complete reading covered; undefined where that is not known. */
  readonly historyMs?: number | undefined;
}

/** What a poll of each stream is worth; a stream is the number of its row in the schedule's columns. */
export interface PollValues {
  /** The row was just added, for a stream of this feed. */
  add(row: number, feed: string): void;
  /** What an earlier life has seen of a stream: entries in a time. */
  recall(row: number, entries: number, coveredMs: number, nowMs: number): void;
  /** How many requests a poll of the stream takes, as the average of the last few. */
  cost(row: number): number;
  /** λ/(2·cost): expected new entries per millisecond and request. */
  worth(row: number): number;
  /** The same where an entry is known to have come, or is likely to come soon. */
  hintedWorth(row: number): number;
  /** The same for a stream of the feed of which nothing is known. */
  freshWorth(feed: string): number;
  /** Expected new entries of a stream of the feed per millisecond. */
  averageRate(feed: string): number;
  /** Takes in what a poll was like. */
  learn(row: number, lesson: Lesson): void;
}

/** How much one poll teaches about the cost of the next. */
const COST_GAIN = 1 / 4;

/** A hint counts as an entry that comes within a minute. */
const HINTED_PER_MS = 1 / 60_000;

/** A first poll also shows how often the others are worth one, so it counts as if the rate were so many times the average. */
const FRESH_GAIN = 4;

/** Evidence of each row, in columns. */
class EvidenceColumns {
  readonly #entries: Column;
  readonly #coveredMs: Column;
  readonly #fadedMs: Column;
  readonly #memoryMs: number;

  constructor(columns: Columns, memoryMs: number) {
    this.#entries = columns.add(0);
    this.#coveredMs = columns.add(0);
    this.#fadedMs = columns.add(0);
    this.#memoryMs = memoryMs;
  }

  of(row: number): Evidence {
    const [entries, coveredMs, atMs] = [this.#entries, this.#coveredMs, this.#fadedMs];
    return { entries: entries.get(row), coveredMs: coveredMs.get(row), atMs: atMs.get(row) };
  }

  count(row: number, newEntries: number, coveredNowMs: number, nowMs: number): void {
    const evidence = this.of(row);
    addEvidence(evidence, newEntries, coveredNowMs, nowMs, this.#memoryMs);
    this.#entries.set(row, evidence.entries);
    this.#coveredMs.set(row, evidence.coveredMs);
    this.#fadedMs.set(row, evidence.atMs);
  }
}

/** The average rate of a feed is learned from all of its streams together. */
export function createPollValues(columns: Columns): PollValues {
  const feeds = new Map<string, Evidence>();
  const feedOf: Evidence[] = [];
  const hours = new EvidenceColumns(columns, MEMORY_MS.hours);
  const minutes = new EvidenceColumns(columns, MEMORY_MS.minutes);
  const cost = columns.add(1);
  /** Entries since `countedMs`, up to where all have been counted; NaN before the first complete poll. */
  const uncounted = columns.add(0);
  const countedMs = columns.add(Number.NaN);

  function evidenceOf(feed: string): Evidence {
    const evidence = feeds.get(feed) ?? noEvidence(0);
    feeds.set(feed, evidence);
    return evidence;
  }

  function rate(row: number): number {
    return presentRate(minutes.of(row), expectedRate(hours.of(row), expectedRate(feedOf[row]!)));
  }

  function count(row: number, newEntries: number, coveredNowMs: number, nowMs: number): void {
    hours.count(row, newEntries, coveredNowMs, nowMs);
    minutes.count(row, newEntries, coveredNowMs, nowMs);
    addEvidence(feedOf[row]!, newEntries, coveredNowMs, nowMs);
  }

  return {
    add(row, feed) {
      feedOf[row] = evidenceOf(feed);
    },
    recall(row, newEntries, coveredNowMs, nowMs) {
      hours.count(row, newEntries, coveredNowMs, nowMs);
      addEvidence(feedOf[row]!, newEntries, coveredNowMs, nowMs);
    },
    cost: (row) => cost.get(row),
    worth: (row) => rate(row) / (2 * cost.get(row)),
    hintedWorth: (row) => (rate(row) + HINTED_PER_MS) / (2 * cost.get(row)),
    freshWorth: (feed) => (FRESH_GAIN * expectedRate(evidenceOf(feed))) / 2,
    averageRate: (feed) => expectedRate(evidenceOf(feed)),
    learn(row, { beganMs, nowMs, requests, newEntries, complete, historyMs }) {
      cost.set(row, cost.get(row) + (Math.max(1, requests) - cost.get(row)) * COST_GAIN);
      const all = uncounted.get(row) + newEntries;
      uncounted.set(row, complete ? 0 : all);
      if (!complete) return;
      const isFirst = Number.isNaN(countedMs.get(row));
      // The first complete poll of a life brings a history, of which it must be known how long it is.
      const coveredMs = isFirst ? historyMs : beganMs - countedMs.get(row);
      if (coveredMs !== undefined) count(row, all, coveredMs, nowMs);
      countedMs.set(row, beganMs);
    },
  };
}
