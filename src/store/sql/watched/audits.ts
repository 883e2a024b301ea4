/** Stores audits: until when each stream is known to be complete, and where entries are missing. */
import { lastOfEach, type Sql, upsertRows } from '../sql.ts';

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
 * holds until when they were read, which may be some hours ago, and as gaps the times of which not all could be read.
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

const PUT = upsertRows('audit', 'stream bigint, body text', 'stream');

export function createAudits(sql: Sql) {
  return {
    /** The audits of a region's streams; a stream that was never audited has none. */
    async list(region: string): Promise<AuditRecord[]> {
      const rows = await sql.rows<{ stream: number; body: string }>(
        'SELECT audit.* FROM audit JOIN stream USING (stream) WHERE stream.region = $1 ORDER BY stream',
        region,
      );
      return rows.map(({ stream, body }) => ({
        ...(JSON.parse(body) as Omit<AuditRecord, 'stream'>),
        stream,
      }));
    },
    async put(audits: readonly AuditRecord[]): Promise<void> {
      const last = lastOfEach(audits, ({ stream }) => String(stream));
      await sql.write(
        PUT,
        last.map(({ stream, ...body }) => [stream, JSON.stringify(body)]),
      );
    },
  };
}
