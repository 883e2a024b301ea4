import type { AuditStore } from '../../audit-store.ts';
import type { AuditRecord } from '../../record.ts';
import type { Connection } from '../connection.ts';

/** Earlier versions did not write down what was deleted. */
type Stored = Omit<AuditRecord, 'stream' | 'deletedUs'> & Partial<Pick<AuditRecord, 'deletedUs'>>;

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
        .map(({ stream, body }) => ({ deletedUs: 0, ...(JSON.parse(body) as Stored), stream }));
    },
    async put(audits) {
      for (const { stream, ...body } of audits) put.run(stream, JSON.stringify(body));
    },
  };
}
