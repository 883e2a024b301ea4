import type { AuditRecord } from './record.ts';

export interface AuditStore {
  /** What audits found out about the streams of a region. */
  list(region: string): Promise<AuditRecord[]>;
  put(audits: readonly AuditRecord[]): Promise<void>;
}
