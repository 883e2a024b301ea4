/**
 * How often entries come in a stream, learned from what its polls brought. A rate is the mean of a Gamma posterior, on
 * three levels, each the prior of the next: the average of the feed, what the stream showed over hours, and what it
 * showed in the last minutes. So a stream of which nothing is known counts as an average one and never as a quiet one,
 * a Bird that wakes up is followed from its first entries on, and one that falls asleep is left alone as soon.
 */

/** Entries that came over a time that was covered, both fading with age. */
export interface Evidence {
  entries: number;
  coveredMs: number;
  /** When it was faded last. */
  atMs: number;
}

/** What is this old counts for 1/e of what is new. */
export const MEMORY_MS = { hours: 12 * 3_600_000, minutes: 20 * 60_000 } as const;

/**
 * The shape of the prior for hours: it weighs as much as half an entry. The rates of a feed's Birds differ by orders of
 * magnitude, so little is believed before it is seen.
 */
const PRIOR_ENTRIES = 0.5;

/** The same for minutes: entries come in bursts, so a single one says much about those to come. */
const RECENT_PRIOR_ENTRIES = 0.5;

/** What a feed is taken for before any of its streams has shown anything: an entry in an hour. */
const FIRST_GUESS_PER_MS = 1 / 3_600_000;

export function noEvidence(nowMs: number): Evidence {
  return { entries: 0, coveredMs: 0, atMs: nowMs };
}

/** Of a time longer than the memory only as much counts as the memory holds, at the same rate. */
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

/** Entries per millisecond over hours: around `averagePerMs` as long as nothing is known. */
export function expectedRate(evidence: Evidence, averagePerMs: number = FIRST_GUESS_PER_MS): number {
  return (PRIOR_ENTRIES + evidence.entries) / (PRIOR_ENTRIES / averagePerMs + evidence.coveredMs);
}

/** Entries per millisecond now, where `longPerMs` is expected over hours and `recent` was seen in minutes. */
export function presentRate(recent: Evidence, longPerMs: number): number {
  return (RECENT_PRIOR_ENTRIES + recent.entries) / (RECENT_PRIOR_ENTRIES / longPerMs + recent.coveredMs);
}
