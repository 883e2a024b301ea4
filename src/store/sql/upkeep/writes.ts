import { LIMITS } from '../../../limits.ts';
import type { WriteRecord } from '../../../report.ts';
import { searchTerm } from '../../filter.ts';
import type { Sql } from '../sql.ts';
import { contains } from '../watched/conditions.ts';

/** All given conditions must match. */
export interface WriteQuery {
  /** A person's or token's whole name. */
  readonly who?: string | undefined;
  /** A part of the request, in any case. */
  readonly text?: string | undefined;
  readonly sinceUs?: number | undefined;
  /** Exclusive. */
  readonly untilUs?: number | undefined;
  /** Where the previous page ended; an invalid cursor reads as the beginning. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** Writes examined for one page of a text search; takes about 40 ms at worst. */
const MAX_LOOKED_INTO = 2_800;

export function createWrites(sql: Sql) {
  const part = (column: string) => contains(sql.engine, column, '$5', '$6');
  // A condition whose value is null matches all.
  const page = `SELECT * FROM write_request
    WHERE ($1::bigint IS NULL OR seq < $1) AND ($2::text IS NULL OR who = $2)
      AND ($3::bigint IS NULL OR at_us >= $3) AND ($4::bigint IS NULL OR at_us < $4)
      AND ($5::text IS NULL OR ${part('action')} OR ${part('asked')}) AND seq >= $7
    ORDER BY seq DESC LIMIT $8`;
  return {
    /** Adds a record; beyond `LIMITS.kept_writes` the oldest are deleted. */
    async add({ atUs, who, by, from, action, asked, status }: WriteRecord): Promise<void> {
      const row = await sql.first<{ seq: number }>(
        `INSERT INTO write_request (at_us, who, known_by, source, action, asked, status)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING seq`,
        ...[atUs, who, by, from, action, asked, status],
      );
      await sql.run('DELETE FROM write_request WHERE seq <= $1', row!.seq - LIMITS.kept_writes.most);
    },
    /** Newest first. */
    async page({
      who,
      text,
      sinceUs,
      untilUs,
      cursor,
      limit,
    }: WriteQuery): Promise<{ readonly writes: readonly WriteRecord[]; readonly next?: string }> {
      const before = seqOfCursor(cursor);
      const term = text === undefined ? undefined : searchTerm(text);
      const last =
        text === undefined
          ? undefined
          : await sql.first<{ seq: number }>(
              `SELECT seq FROM write_request WHERE $1::bigint IS NULL OR seq < $1
               ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_LOOKED_INTO - 1}`,
              before,
            );
      const rows = await sql.rows<WriteRow>(
        page,
        before,
        who ?? null,
        sinceUs ?? null,
        untilUs ?? null,
        term?.inJson ?? null,
        term?.signed ?? null,
        last?.seq ?? 0,
        limit + 1,
      );
      return writesPage(rows, limit, last);
    },
  };
}

/** A row of `write_request`. */
interface WriteRow {
  readonly seq: number;
  readonly at_us: number;
  readonly who: string;
  readonly known_by: WriteRecord['by'];
  readonly source: string;
  readonly action: string;
  readonly asked: string;
  readonly status: number;
}

/** The row after which a page begins; null for the first page, and for a cursor that no page gave. */
function seqOfCursor(cursor: string | undefined): number | null {
  return cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : null;
}

/** A page of up to `limit` rows; `last` is where the search of a page without more rows ended. */
function writesPage(
  rows: readonly WriteRow[],
  limit: number,
  last: Pick<WriteRow, 'seq'> | undefined,
): { writes: WriteRecord[]; next?: string } {
  const shown = rows.slice(0, limit);
  const end = rows.length > limit ? shown.at(-1) : last;
  return { writes: shown.map(writeOf), ...(end && { next: String(end.seq) }) };
}

function writeOf({ at_us, who, known_by, source, action, asked, status }: WriteRow): WriteRecord {
  return { atUs: at_us, who, by: known_by, from: source, action, asked, status };
}
