import { describe, expect, test } from 'vitest';
import type { AuditRecord } from '../../../src/store/sql/watched/audits.ts';
import type { Run } from '../test-store.ts';
import { event, NOW_US } from './sample-records.ts';

export function describeAudits(run: Run): void {
  const record = (stream: number, changes: Partial<AuditRecord> = {}): AuditRecord => ({
    stream,
    verifiedUs: NOW_US,
    dayAuditedUs: 1,
    wholeAuditedUs: 2,
    deletedUs: 3,
    gaps: [],
    ...changes,
  });

  describe('audits', () => {
    test('stores the last record of each stream, and returns those of one region', async () => {
      const found = await run(async (tx) => {
        const one = (await tx.streams.open('eu', 'notification', '')).stream;
        const two = (await tx.streams.open('eu', 'bird_log', '7')).stream;
        const other = (await tx.streams.open('us', 'notification', '')).stream;
        await tx.audits.put([record(one), record(two), record(other)]);
        const gaps = [{ fromUs: 3, toUs: 9, missing: 2, seen: 1, notified: 0 }];
        const later = record(one, { verifiedUs: 3, gaps });
        await tx.audits.put([later]);
        return { audits: await tx.audits.list('eu'), expected: [later, record(two)] };
      });
      expect(found.audits).toEqual(found.expected);
    });

    test('ids of a window exclude what occurred at its end', async () => {
      const ids = await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'notification', '');
        await tx.events.insert(
          stream,
          [0, 1, 2, 3].map((at) => event(`e${at}`, { occurredAtUs: NOW_US + at })),
        );
        return tx.events.ids(stream, NOW_US + 1, NOW_US + 3);
      });
      expect(ids.map(({ id }) => id)).toEqual(['e1', 'e2']);
    });
  });
}
