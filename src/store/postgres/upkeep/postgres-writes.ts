import { LIMITS } from '../../../limits.ts';
import { seqOfCursor, type WriteRow, writesPage } from '../../rows/write-row.ts';
import { searchTerm } from '../../texts/search-term.ts';
import type { WriteStore } from '../../write-store.ts';
import type { Statements } from '../statements.ts';
import { contains } from '../watched/postgres-conditions.ts';

/** Writes examined for one page of a text search. */
const MAX_LOOKED_INTO = 4_000;

/** Adds a record and deletes the oldest beyond the limit. */
const ADD = `WITH added AS (
    INSERT INTO write_request (at_us, who, known_by, source, action, asked, status)
    VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING seq)
  DELETE FROM write_request WHERE seq <= (SELECT seq - $8::bigint FROM added)`;

export function createPostgresWrites(statements: Statements): WriteStore {
  return {
    async add({ atUs, who, by, from, action, asked, status }) {
      await statements.run(ADD, atUs, who, by, from, action, asked, status, LIMITS.kept_writes.most);
    },
    async page({ who, text, sinceUs, untilUs, cursor, limit }) {
      const before = seqOfCursor(cursor);
      const part = text === undefined ? undefined : searchTerm(text);
      const last =
        text === undefined
          ? undefined
          : await statements.first<{ seq: number }>(
              `SELECT seq FROM write_request WHERE $1::bigint IS NULL OR seq < $1
               ORDER BY seq DESC LIMIT 1 OFFSET ${MAX_LOOKED_INTO - 1}`,
              before,
            );
      // A condition whose value is null matches all.
      const rows = await statements.rows<WriteRow>(
        `SELECT * FROM write_request
         WHERE ($1::bigint IS NULL OR seq < $1) AND ($2::text IS NULL OR who = $2)
           AND ($3::bigint IS NULL OR at_us >= $3) AND ($4::bigint IS NULL OR at_us < $4)
           AND ($5::text IS NULL OR ${contains('action', '$5', '$6')} OR ${contains('asked', '$5', '$6')})
           AND seq >= $7
         ORDER BY seq DESC LIMIT $8`,
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
