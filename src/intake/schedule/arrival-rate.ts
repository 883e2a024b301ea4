/**
 * How often entries come in a stream, learned from what its polls brought. The rate of each stream has a Gamma
 * prior around the average of its feed, so a new Bird is polled like an average one until it shows what it is; what
 * was seen fades, so a Bird that falls asleep or wakes up is noticed within hours.
 */

/** Entries that came over a time that was covered, both fading with age. */
export interface Evidence {
  entries: number;
  coveredMs: number;
  /** When it was faded last. */
  atMs: number;
}

/** What is this old counts for 1/e of what is new. */
const MEMORY_MS = 6 * 3_600_000;

/**
 * The shape of the prior: it weighs as much as half an entry. The rates of a feed's Birds differ by orders of
 * magnitude, so little is believed before it is seen.
 */
const PRIOR_ENTRIES = 0.5;

/** What a feed is taken for before any of its streams has shown anything: an entry in a day. */
const FIRST_GUESS_PER_MS = 1 / 86_400_000;

export function noEvidence(nowMs: number): Evidence {
  return { entries: 0, coveredMs: 0, atMs: nowMs };
}

export function addEvidence(evidence: Evidence, entries: number, coveredMs: number, nowMs: number): void {
  const kept = Math.exp(-Math.max(0, nowMs - evidence.atMs) / MEMORY_MS);
  evidence.entries = evidence.entries * kept + entries;
  evidence.coveredMs = evidence.coveredMs * kept + coveredMs;
  evidence.atMs = nowMs;
}

/** Entries per millisecond: the mean of the posterior, around `averagePerMs` as long as nothing is known. */
export function expectedRate(evidence: Evidence, averagePerMs: number = FIRST_GUESS_PER_MS): number {
  return (PRIOR_ENTRIES + evidence.entries) / (PRIOR_ENTRIES / averagePerMs + evidence.coveredMs);
}
