/** Learns from the polls of each stream how many requests one takes and how many entries the next will find. */

import type { Column, Columns } from '../columns.ts';
import {
  addEvidence,
  type Evidence,
  expectedRate,
  MEMORY_MS,
  noEvidence,
  presentRate,
} from './arrival-rate.ts';

/** A successful poll. */
interface Lesson {
  /** When it began. */
  readonly beganMs: number;
  readonly nowMs: number;
  readonly requests: number;
  readonly newEntries: number;
  /** Whether it read everything. */
  readonly complete: boolean;
  /** The length of the time that the first complete poll covered; undefined if unknown. */
  readonly historyMs?: number | undefined;
}

/** The value of polling each stream. A stream is known by its row in the schedule's columns. */
export interface PollValues {
  /** The row was just added, for a stream of this feed. */
  add(row: number, feed: string): void;
  /** An earlier run saw this many entries of the stream in `coveredMs`. */
  recall(row: number, entries: number, coveredMs: number, nowMs: number): void;
  /** The number of requests that a poll of the stream takes, averaged over the last few. */
  cost(row: number): number;
  /** λ/(2·cost): the expected new entries per millisecond and request. */
  worth(row: number): number;
  /** The same for a stream in which an entry has arrived or is likely to arrive soon. */
  hintedWorth(row: number): number;
  /** The same for an unknown stream of the feed. */
  freshWorth(feed: string): number;
  /** The expected new entries of a stream of the feed per millisecond. */
  averageRate(feed: string): number;
  /** Learns from a poll. */
  learn(row: number, lesson: Lesson): void;
}

/** The weight of one poll in the average cost. */
const COST_GAIN = 1 / 4;

/** A hint counts as an expected entry per minute. */
const HINTED_PER_MS = 1 / 60_000;

/**
 * The first poll of a stream also shows how often it is worth polling, so it counts as if the rate were so many times
 * the average.
 */
const FRESH_GAIN = 4;

/** The evidence of each row, in columns. */
class EvidenceColumns {
  readonly #entries: Column<number>;
  readonly #coveredMs: Column<number>;
  readonly #fadedMs: Column<number>;
  readonly #memoryMs: number;

  /** `fadedMs`: when the evidence was last faded. */
  constructor(columns: Columns, memoryMs: number, fadedMs: Column<number>) {
    this.#entries = columns.addRough(0);
    this.#coveredMs = columns.addRough(0);
    this.#fadedMs = fadedMs;
    this.#memoryMs = memoryMs;
  }

  of(row: number): Evidence {
    const [entries, coveredMs, atMs] = [this.#entries, this.#coveredMs, this.#fadedMs];
    return { entries: entries.get(row), coveredMs: coveredMs.get(row), atMs: atMs.get(row) };
  }

  /** Then `fadedMs` is to be set to `nowMs`. */
  count(row: number, newEntries: number, coveredNowMs: number, nowMs: number): void {
    const evidence = this.of(row);
    addEvidence(evidence, newEntries, coveredNowMs, nowMs, this.#memoryMs);
    this.#entries.set(row, evidence.entries);
    this.#coveredMs.set(row, evidence.coveredMs);
  }
}

/** The average rate of a feed is learned from all of its streams together. */
export function createPollValues(columns: Columns): PollValues {
  const feeds = new Map<string, Evidence>();
  const feedOf = columns.addChoice(noEvidence(0));
  const fadedMs = columns.add(0);
  const hours = new EvidenceColumns(columns, MEMORY_MS.hours, fadedMs);
  const minutes = new EvidenceColumns(columns, MEMORY_MS.minutes, fadedMs);
  const cost = columns.addRough(1);
  /** Entries since `countedMs`, up to which all were counted; NaN before the first complete poll. */
  const uncounted = columns.addRough(0);
  const countedMs = columns.add(Number.NaN);

  function evidenceOf(feed: string): Evidence {
    const evidence = feeds.get(feed) ?? noEvidence(0);
    feeds.set(feed, evidence);
    return evidence;
  }

  function rate(row: number): number {
    return presentRate(minutes.of(row), expectedRate(hours.of(row), expectedRate(feedOf.get(row))));
  }

  function count(row: number, newEntries: number, coveredNowMs: number, nowMs: number): void {
    hours.count(row, newEntries, coveredNowMs, nowMs);
    minutes.count(row, newEntries, coveredNowMs, nowMs);
    fadedMs.set(row, nowMs);
    addEvidence(feedOf.get(row), newEntries, coveredNowMs, nowMs);
  }

  return {
    add(row, feed) {
      feedOf.set(row, evidenceOf(feed));
    },
    recall(row, newEntries, coveredNowMs, nowMs) {
      hours.count(row, newEntries, coveredNowMs, nowMs);
      fadedMs.set(row, nowMs);
      addEvidence(feedOf.get(row), newEntries, coveredNowMs, nowMs);
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
      // The first complete poll returns a history, which only counts if the time it covers is known.
      const coveredMs = isFirst ? historyMs : beganMs - countedMs.get(row);
      if (coveredMs !== undefined) count(row, all, coveredMs, nowMs);
      countedMs.set(row, beganMs);
    },
  };
}
