import type { WriteRecord } from '../../report.ts';

/** A row of `write_request`. */
export interface WriteRow {
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
export function seqOfCursor(cursor: string | undefined): number | null {
  return cursor !== undefined && /^\d{1,15}$/.test(cursor) ? Number(cursor) : null;
}

/** A page of up to `limit` rows; `last` is where the search of a page without more rows ended. */
export function writesPage(
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
