/**
 * Estimates how often entries arrive in a stream, from what its polls found. A rate is the mean of a Gamma posterior.
 * There are three levels, and each is the prior of the next: the feed's average, what the stream showed over hours,
 * and what it showed in the last minutes. So an unknown stream counts as average rather than quiet, a Bird that
 * becomes active is followed from its first entries, and one that becomes quiet is soon left alone.
 */

/** How many entries arrived, and in how much time. Both fade with age. */
export interface Evidence {
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

export function noEvidence(nowMs: number): Evidence {
  return { entries: 0, coveredMs: 0, atMs: nowMs };
}

/**
 * Adds entries that arrived during `coveredMs`. A time longer than the memory counts as one of the memory's length
 * with the same rate.
 */
export function addEvidence(
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
export function expectedRate(evidence: Evidence, averagePerMs: number = FIRST_GUESS_PER_MS): number {
  return (PRIOR_ENTRIES + evidence.entries) / (PRIOR_ENTRIES / averagePerMs + evidence.coveredMs);
}

/** The current rate, in entries per millisecond, from the rate over hours and the evidence of the last minutes. */
export function presentRate(recent: Evidence, longPerMs: number): number {
  return (RECENT_PRIOR_ENTRIES + recent.entries) / (RECENT_PRIOR_ENTRIES / longPerMs + recent.coveredMs);
}
