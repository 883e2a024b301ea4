/**
 * Learns from the polls of each stream how many requests one takes and how many entries the next will find.
 *
 * A rate is the mean of a Gamma posterior. There are three levels, and each is the prior of the next: the feed's average,
 * what the stream showed over hours, and what it showed in the last minutes. So an unknown stream counts as average
 * rather than quiet, a Bird that becomes active is followed from its first entries, and one that becomes quiet is soon
 * left alone.
 */
import type { Event } from '../../domain/alert/event.ts';
import { mayRaise } from '../../domain/evaluate/choose-rule.ts';
import type { Column, Columns } from '../columns.ts';

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

/** The weight of one poll in the average cost. */
const COST_GAIN = 1 / 4;

/** A hint counts as an expected entry per minute. */
const HINTED_PER_MS = 1 / 60_000;

/**
 * The first poll of a stream also shows how often it is worth polling, so it counts as if the rate were so many times
 * the average.
 */
const FRESH_GAIN = 4;

/** The value of polling each stream. A stream is known by its row in the schedule's columns. */
export class PollValues {
  /** The average rate of a feed is learned from all of its streams together. */
  readonly #feeds = new Map<string, Evidence>();
  readonly #feedOf: Column<Evidence>;
  /** When the evidence of the row was last faded. */
  readonly #fadedMs: Column<number>;
  readonly #hours: readonly [entries: Column<number>, coveredMs: Column<number>];
  readonly #minutes: readonly [entries: Column<number>, coveredMs: Column<number>];
  readonly #cost: Column<number>;
  /** Entries since `#countedMs`, up to which all were counted; NaN before the first complete poll. */
  readonly #uncounted: Column<number>;
  readonly #countedMs: Column<number>;

  constructor(columns: Columns) {
    this.#feedOf = columns.addChoice(noEvidence(0));
    this.#fadedMs = columns.add(0);
    this.#hours = [columns.addRough(0), columns.addRough(0)];
    this.#minutes = [columns.addRough(0), columns.addRough(0)];
    this.#cost = columns.addRough(1);
    this.#uncounted = columns.addRough(0);
    this.#countedMs = columns.add(Number.NaN);
  }

  /** The row was just added, for a stream of this feed. */
  add(row: number, feed: string): void {
    this.#feedOf.set(row, this.#ofFeed(feed));
  }

  /** An earlier run saw this many entries of the stream in `coveredMs`. */
  recall(row: number, entries: number, coveredMs: number, nowMs: number): void {
    this.#count(row, this.#hours, MEMORY_MS.hours, entries, coveredMs, nowMs);
    this.#fadedMs.set(row, nowMs);
    addEvidence(this.#feedOf.get(row), entries, coveredMs, nowMs);
  }

  /** The number of requests that a poll of the stream takes, averaged over the last few. */
  cost(row: number): number {
    return this.#cost.get(row);
  }

  /** λ/(2·cost): the expected new entries per millisecond and request. */
  worth(row: number): number {
    return this.#rate(row) / (2 * this.#cost.get(row));
  }

  /** The same for a stream in which an entry has arrived or is likely to arrive soon. */
  hintedWorth(row: number): number {
    return (this.#rate(row) + HINTED_PER_MS) / (2 * this.#cost.get(row));
  }

  /** The same for an unknown stream of the feed. */
  freshWorth(feed: string): number {
    return (FRESH_GAIN * this.averageRate(feed)) / 2;
  }

  /** The expected new entries of a stream of the feed per millisecond. */
  averageRate(feed: string): number {
    return expectedRate(this.#ofFeed(feed));
  }

  learn(row: number, { beganMs, nowMs, requests, newEntries, complete, historyMs }: Lesson): void {
    const cost = this.#cost.get(row);
    this.#cost.set(row, cost + (Math.max(1, requests) - cost) * COST_GAIN);
    const all = this.#uncounted.get(row) + newEntries;
    this.#uncounted.set(row, complete ? 0 : all);
    if (!complete) return;
    const countedMs = this.#countedMs.get(row);
    // The first complete poll returns a history, which only counts if the time it covers is known.
    const coveredMs = Number.isNaN(countedMs) ? historyMs : beganMs - countedMs;
    if (coveredMs !== undefined) {
      this.#count(row, this.#minutes, MEMORY_MS.minutes, all, coveredMs, nowMs);
      this.recall(row, all, coveredMs, nowMs);
    }
    this.#countedMs.set(row, beganMs);
  }

  #ofFeed(feed: string): Evidence {
    return this.#feeds.getOrInsertComputed(feed, () => noEvidence(0));
  }

  #rate(row: number): number {
    const longPerMs = expectedRate(this.#evidence(row, this.#hours), expectedRate(this.#feedOf.get(row)));
    return presentRate(this.#evidence(row, this.#minutes), longPerMs);
  }

  #evidence(row: number, [entries, coveredMs]: readonly [Column<number>, Column<number>]): Evidence {
    return { entries: entries.get(row), coveredMs: coveredMs.get(row), atMs: this.#fadedMs.get(row) };
  }

  #count(
    row: number,
    columns: readonly [Column<number>, Column<number>],
    memoryMs: number,
    newEntries: number,
    coveredNowMs: number,
    nowMs: number,
  ): void {
    const evidence = this.#evidence(row, columns);
    addEvidence(evidence, newEntries, coveredNowMs, nowMs, memoryMs);
    columns[0].set(row, evidence.entries);
    columns[1].set(row, evidence.coveredMs);
  }
}

/** How many entries arrived, and in how much time. Both fade with age. */
interface Evidence {
  entries: number;
  coveredMs: number;
  /** When the evidence was last faded. */
  atMs: number;
}

/** The age at which evidence counts 1/e of its first weight. */
export const MEMORY_MS = { hours: 12 * 3_600_000, minutes: 20 * 60_000 } as const;

/**
 * The shape of the prior for hours: it weighs as much as half an entry. The rates of a feed's Birds differ by orders
 * of magnitude, so the prior must be weak.
 */
const PRIOR_ENTRIES = 0.5;

/** The same for minutes. Entries come in bursts, so a single one says much about those to come. */
const RECENT_PRIOR_ENTRIES = 0.5;

/** The assumed rate of a feed before any of its streams has shown anything: one entry an hour. */
const FIRST_GUESS_PER_MS = 1 / 3_600_000;

function noEvidence(nowMs: number): Evidence {
  return { entries: 0, coveredMs: 0, atMs: nowMs };
}

/**
 * Adds entries that arrived during `coveredMs`. A time longer than the memory counts as one of the memory's length
 * with the same rate.
 */
function addEvidence(
  evidence: Evidence,
  entries: number,
  coveredMs: number,
  nowMs: number,
  memoryMs: number = MEMORY_MS.hours,
): void {
  const kept = Math.exp(-Math.max(0, nowMs - evidence.atMs) / memoryMs);
  const counted = Math.min(1, memoryMs / coveredMs);
  evidence.entries = evidence.entries * kept + entries * counted;
  evidence.coveredMs = evidence.coveredMs * kept + Math.min(coveredMs, memoryMs);
  evidence.atMs = nowMs;
}

/** The rate over hours, in entries per millisecond. Without evidence it is `averagePerMs`. */
function expectedRate(evidence: Evidence, averagePerMs: number = FIRST_GUESS_PER_MS): number {
  return (PRIOR_ENTRIES + evidence.entries) / (PRIOR_ENTRIES / averagePerMs + evidence.coveredMs);
}

/** The current rate, in entries per millisecond, from the rate over hours and the evidence of the last minutes. */
function presentRate(recent: Evidence, longPerMs: number): number {
  return (RECENT_PRIOR_ENTRIES + recent.entries) / (RECENT_PRIOR_ENTRIES / longPerMs + recent.coveredMs);
}

// How much the entries of a stream count in the choice of what to poll next: as much as they may alert people. Every end of
// a Flight counts fully, since it raises an alert or ends one. Most entries of a Bird's log, such as Saved and Published,
// raise none.

/** What an entry counts that raises no alert. It still shows who changed a Bird. */
export const QUIET_ENTRY = 1 / 20;

/** The entries of one stream, counted by what they may raise. */
export function newsWorth(fresh: readonly Event[]): number {
  return fresh.reduce(
    (sum, event) => sum + (event.feed !== 'bird_log' || mayRaise(event) ? 1 : QUIET_ENTRY),
    0,
  );
}

/** Divides the requests: among regular streams by shares, and among the feeds of Birds by how long each may wait. */

export interface Account {
  /** Between 0 and 1. */
  readonly share: number;
  debt: number;
}

/**
 * Divides requests into shares. An account that used more than its share is in debt, and the requests of all others
 * pay the debt off. Unused shares are not saved up. So a stream that waits for its share gets it within a bounded
 * time, and never more than its share while others wait.
 */
export class Shares {
  readonly #accounts = new Set<Account>();

  open(share: number): Account {
    const account = { share, debt: 0 };
    this.#accounts.add(account);
    return account;
  }

  close(account: Account): void {
    this.#accounts.delete(account);
  }

  /** A poll begins and is expected to take this many requests. `payer` is undefined if it has no account. */
  begin(payer: Account | undefined, expected: number): void {
    if (payer && this.#accounts.has(payer)) payer.debt += owed(payer, expected);
  }

  /**
   * The poll took this many requests. They pay off the debts of other accounts only now, because a payment could not
   * be undone for an account without debt.
   */
  end(payer: Account | undefined, expected: number, requests: number): void {
    for (const account of this.#accounts) {
      const change = account === payer ? owed(payer, requests - expected) : -requests;
      account.debt = Math.max(0, account.debt + change);
    }
  }
}

/** How many requests others have to use before these are no more than the account's share. */
function owed({ share }: Account, requests: number): number {
  return (requests * (1 - share)) / share;
}

// Computes the longest wait of the streams in each feed, so that a wrong guess about one costs a bounded time. It is
// a multiple of the interval that the feed's streams would have if they were polled in turn, with the requests
// divided among the feeds by the square-root law: if all streams of a feed have the same interval Tᵢ, Σ λᵢ·Tᵢ/2 is
// least if Tᵢ is proportional to √(cost/λᵢ).

/** All streams of a feed, as averages. */
interface FeedLoad {
  readonly streams: number;
  /** The requests of one poll. */
  readonly cost: number;
  /** The expected new entries of a stream per millisecond. */
  readonly ratePerMs: number;
}

/**
 * The multiple of that interval. At 1.5 the mean delay is at most a few percent longer than possible, whatever the
 * rates are. At 1 nothing would be left for streams where new entries are expected.
 */
const FAIR_WAIT = 1.5;

interface FairLimit {
  readonly limitMs: number;
  /** Whether so few entries are expected that by the law it would be polled even more rarely. */
  readonly isQuiet: boolean;
}

/**
 * The limit of each feed, at most `mostMs`, if the feeds get `requestsPerMs`. If these requests are too few for
 * `mostMs`, each feed gets `mostMs`.
 */
export function fairLimits(
  feeds: readonly FeedLoad[],
  requestsPerMs: number,
  mostMs: number,
): readonly FairLimit[] {
  let leftPerMs = requestsPerMs;
  const atMost = new Set<FeedLoad>();
  for (;;) {
    const shared = feeds.filter((feed) => !atMost.has(feed));
    const total = shared.reduce(
      (sum, { streams, cost, ratePerMs }) => sum + streams * Math.sqrt(cost * ratePerMs),
      0,
    );
    const inTurnMs = ({ cost, ratePerMs }: FeedLoad) => (total / leftPerMs) * Math.sqrt(cost / ratePerMs);
    // Feeds whose limit would be too long get more than the law gives them, which leaves less to the others.
    const slow = shared.filter((feed) => inTurnMs(feed) > mostMs);
    if (slow.length === 0) {
      return feeds.map((feed) => {
        const isQuiet = atMost.has(feed);
        return { isQuiet, limitMs: isQuiet ? mostMs : Math.min(mostMs, FAIR_WAIT * inTurnMs(feed)) };
      });
    }
    for (const feed of slow) {
      atMost.add(feed);
      leftPerMs -= (feed.streams * feed.cost) / mostMs;
    }
    if (leftPerMs <= 0) return feeds.map(() => ({ isQuiet: false, limitMs: mostMs }));
  }
}
