import type { AuditRecord, AuditStore } from '../../audit-store.ts';
import { lastOfEach, type Sql, upsertRows } from '../sql.ts';

const PUT = upsertRows('audit', 'stream bigint, body text', 'stream');

export function createAudits(sql: Sql): AuditStore {
  return {
    async list(region) {
      const rows = await sql.rows<{ stream: number; body: string }>(
        'SELECT audit.* FROM audit JOIN stream USING (stream) WHERE stream.region = $1 ORDER BY stream',
        region,
      );
      return rows.map(({ stream, body }) => ({
        ...(JSON.parse(body) as Omit<AuditRecord, 'stream'>),
        stream,
      }));
    },
    async put(audits) {
      const last = lastOfEach(audits, ({ stream }) => String(stream));
      await sql.write(
        PUT,
        last.map(({ stream, ...body }) => [stream, JSON.stringify(body)]),
      );
    },
  };
}
