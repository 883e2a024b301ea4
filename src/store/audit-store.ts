/** The room of audits: how far each stream is known to be complete, and where entries are missing. */

/** A stretch of time in which the service counts entries that cannot be read. */
export interface GapRecord {
  readonly fromUs: number;
  readonly toUs: number;
  /** How many. */
  readonly missing: number;
  /** Audits in a row that found it. */
  readonly seen: number;
  /** How many of them people have been notified of. */
  readonly notified: number;
}

/**
 * How far a stream is known to be complete, as its last audits left it. Flights are not audited: of theirs it holds
 * up to when they were read, which may be some hours old, and the gaps, each as one missing Flight.
 */
export interface AuditRecord {
  readonly stream: number;
  /** Nothing is missing up to here; 0 before the first audit. */
  readonly verifiedUs: number;
  /** When its last day was last audited; 0 for never. */
  readonly dayAuditedUs: number;
  /** When all that is kept of it was last audited; 0 for never. */
  readonly wholeAuditedUs: number;
  /** When entries were last seen to be gone that should have been there; 0 for never. */
  readonly deletedUs: number;
  readonly gaps: readonly GapRecord[];
}

export interface AuditStore {
  /** The audits of a region's streams; a stream that was never audited has none. */
  list(region: string): Promise<AuditRecord[]>;
  put(audits: readonly AuditRecord[]): Promise<void>;
}
