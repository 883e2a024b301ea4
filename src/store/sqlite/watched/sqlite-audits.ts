import type { AuditRecord, AuditStore } from '../../audit-store.ts';
import type { Connection } from '../connection.ts';

export function createAudits(connection: Connection): AuditStore {
  const ofRegion = connection.prepare<{ stream: number; body: string }>(
    'SELECT audit.* FROM audit JOIN stream USING (stream) WHERE stream.region = ? ORDER BY stream',
  );
  const put = connection.prepare(
    'INSERT INTO audit (stream, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
  );
  return {
    async list(region) {
      return ofRegion
        .all(region)
        .map(({ stream, body }) => ({ ...(JSON.parse(body) as Omit<AuditRecord, 'stream'>), stream }));
    },
    async put(audits) {
      for (const { stream, ...body } of audits) put.run(stream, JSON.stringify(body));
    },
  };
}
