const HOUR_MS = 3_600_000;

/** The part of the retention that audits leave alone at its end. */
const EXPIRY_SHARE = 1 / 20;

/**
 * What occurred since this instant is surely still in the store, as long as one retention is in force. Older events may
 * have been deleted already, even by a clock that was wrong for an hour: to find them at the service again would mean
 * to report them twice. What a shorter retention or a wrong clock deleted before this life began stands in the stream's
 * record (`prunedUs`).
 */
export function retentionHorizonUs(nowUs: number, retentionMs: number): number {
  const keptMs = Math.max(0, retentionMs * (1 - EXPIRY_SHARE) - 2 * HOUR_MS);
  return nowUs - keptMs * 1000;
}
