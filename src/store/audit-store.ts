/** Stores audits: until when each stream is known to be complete, and where entries are missing. */

/** A time span in which the service counts entries that cannot be read. */
export interface GapRecord {
  readonly fromUs: number;
  readonly toUs: number;
  /** How many entries are missing. */
  readonly missing: number;
  /** How many audits in a row found it. */
  readonly seen: number;
  /** How many of the missing entries people have been notified of. */
  readonly notified: number;
}

/**
 * Until when a stream is known to be complete, as of its last audits. Flights are not audited by count: for them it
 * holds until when they were read, which may be some hours ago, and one gap for each missing Flight.
 */
export interface AuditRecord {
  readonly stream: number;
  /** Nothing is missing until then; 0 before the first audit. */
  readonly verifiedUs: number;
  /** When its last day was last audited; 0 for never. */
  readonly dayAuditedUs: number;
  /** When everything kept of it was last audited; 0 for never. */
  readonly wholeAuditedUs: number;
  /** When entries were last found deleted that should have been there; 0 for never. */
  readonly deletedUs: number;
  readonly gaps: readonly GapRecord[];
}

export interface AuditStore {
  /** The audits of a region's streams; a stream that was never audited has none. */
  list(region: string): Promise<AuditRecord[]>;
  put(audits: readonly AuditRecord[]): Promise<void>;
}
