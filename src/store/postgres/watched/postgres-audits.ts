import type { AuditRecord, AuditStore } from '../../audit-store.ts';
import { lastOfEach } from '../../sql/sql.ts';
import { columnsOf, type Statements, upsert } from '../statements.ts';

const PUT = upsert('audit', 'stream bigint, body text', 'stream');

export function createPostgresAudits(statements: Statements): AuditStore {
  return {
    async list(region) {
      const rows = await statements.rows<{ stream: number; body: string }>(
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
      await statements.run(
        PUT,
        ...columnsOf(
          2,
          last.map(({ stream, ...body }) => [stream, JSON.stringify(body)]),
        ),
      );
    },
  };
}
