import { LIMITS } from '../../../limits.ts';
import { seqOfCursor, type WriteRow, writesPage } from '../../rows/write-row.ts';
import { searchTerm } from '../../texts/search-term.ts';
import type { WriteStore } from '../../write-store.ts';
import type { Connection } from '../connection.ts';
import { contains } from '../watched/page-conditions.ts';

/** Writes examined for one page of a text search; takes about 40 ms at worst. */
const MAX_LOOKED_INTO = 2_800;

export function createWrites(connection: Connection): WriteStore {
  const put = connection.prepare<{ seq: number }>(
    `INSERT INTO write_request (at_us, who, known_by, source, action, asked, status)
     VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
  );
  const cut = connection.prepare('DELETE FROM write_request WHERE seq <= ?');
  // A condition whose value is null matches all.
  const page = connection.prepare<WriteRow>(
    `SELECT * FROM write_request
     WHERE (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR who = ?2) AND (?3 IS NULL OR at_us >= ?3)
       AND (?4 IS NULL OR at_us < ?4) AND (?5 IS NULL OR ${contains('action', '?5', '?6')} OR ${contains('asked', '?5', '?6')})
       AND seq >= ?7
     ORDER BY seq DESC LIMIT ?8`,
  );
  const lastLookedInto = connection.prepare<{ seq: number }>(
    'SELECT seq FROM write_request WHERE ?1 IS NULL OR seq < ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2',
  );

  return {
    async add({ atUs, who, by, from, action, asked, status }) {
      const { seq } = put.get(atUs, who, by, from, action, asked, status)!;
      cut.run(seq - LIMITS.kept_writes.most);
    },
    async page({ who, text, sinceUs, untilUs, cursor, limit }) {
      const before = seqOfCursor(cursor);
      const part = text === undefined ? undefined : searchTerm(text);
      const last = text === undefined ? undefined : lastLookedInto.get(before, MAX_LOOKED_INTO - 1);
      const rows = page.all(
        before,
        who ?? null,
        sinceUs ?? null,
        untilUs ?? null,
        part?.inJson ?? null,
        part?.signed ?? null,
        last?.seq ?? 0,
        limit + 1,
      );
      return writesPage(rows, limit, last);
    },
  };
}
