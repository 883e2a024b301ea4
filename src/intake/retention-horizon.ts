const HOUR_MS = 3_600_000;

/** The part of the retention, at its old end, that audits do not check. */
const EXPIRY_SHARE = 1 / 20;

/**
 * What occurred since this instant is certainly still in the store, as long as the retention has not changed. Older
 * events may already be deleted, even if only because a clock was wrong for an hour; reading them from the service
 * again would report them twice. Deletions by an earlier, shorter retention or a wrong clock before this run are
 * recorded in the stream's `prunedUs`.
 */
export function retentionHorizonUs(nowUs: number, retentionMs: number): number {
  const keptMs = Math.max(0, retentionMs * (1 - EXPIRY_SHARE) - 2 * HOUR_MS);
  return nowUs - keptMs * 1000;
}
