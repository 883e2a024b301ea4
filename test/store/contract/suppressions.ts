import { describe, expect, test } from 'vitest';
import type { Suppression } from '../../../src/domain/muting/suppression.ts';
import type { Run } from '../test-store.ts';
import { alert, event, insert, links, NOW_US, suppression as sample } from './sample-records.ts';

export function describeSuppressions(run: Run): void {
  describe('what is suppressed', () => {
    const suppression = (changes: Partial<Suppression> = {}) =>
      sample('a', { lastSeq: 2, detail: 'by "ann"', ...changes });

    async function alertWithEvents(): Promise<void> {
      await run(async (tx) => {
        const events = [event('1'), event('2'), event('3')];
        await insert(tx, events);
        await tx.alerts.put([alert('a', { state: 'resolved' })]);
        await tx.alerts.linkEvents(links('a', events));
      });
    }

    test('is found by alert and by each of its events', async () => {
      await alertWithEvents();
      const later = suppression({ afterSeq: 1, reason: 'time_interval', atUs: NOW_US + 1 });
      const onlyItsEnd = suppression({ afterSeq: 3, lastSeq: 3 });
      await run.suppressions.add([suppression(), later, onlyItsEnd]);
      expect(await run.suppressions.ofAlert('a')).toEqual([suppression(), later, onlyItsEnd]);
      expect(await run.suppressions.ofAlert('b')).toEqual([]);
      const ofEvent = (id: string) => run.suppressions.ofEvent(`eu/notification/${id}`);
      expect(await ofEvent('1')).toEqual([suppression()]);
      expect(await ofEvent('2')).toEqual([suppression(), later]);
      expect(await ofEvent('3')).toEqual([]);
      expect(await ofEvent('unknown')).toEqual([]);
    });

    test('is known to concern the events of an alert, or those of an earlier one with its id', async () => {
      await alertWithEvents();
      await run.suppressions.add([suppression({ lastSeq: 3 })]);
      expect(await run.suppressions.ofPresent('a')).toEqual([suppression({ lastSeq: 3 })]);
      await run.alerts.delete(['a']);
      expect(await run.suppressions.ofPresent('a')).toEqual([]);
      const later = suppression({ afterSeq: 0, lastSeq: 1 });
      await run(async (tx) => {
        await insert(tx, [event('4'), event('5')]);
        await tx.alerts.put([alert('a')]);
        await tx.alerts.linkEvents(links('a', [event('4'), event('5')]));
        await tx.suppressions.add([later]);
      });
      expect(await run.suppressions.ofPresent('a')).toEqual([later]);
      expect(await run.suppressions.ofAlert('a')).toHaveLength(2);
    });

    test('outlives the alert, and is deleted with its events or by its own age', async () => {
      await alertWithEvents();
      await run(async (tx) => {
        await tx.suppressions.add([
          suppression({ atUs: NOW_US - 1 }),
          suppression({ alertId: 'a', reason: 'too_old' }),
        ]);
        await tx.alerts.delete(['a']);
      });
      const reasons = async () =>
        (await run.suppressions.ofEvent('eu/notification/1')).map(({ reason }) => reason);
      expect(await reasons()).toEqual(['silenced', 'too_old']);
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(1);
      expect(await reasons()).toEqual(['too_old']);
      // Three events, the other reason, and the alert's episode.
      expect(await run.upkeep.prune(NOW_US + 1, 10)).toBe(5);
      expect(await reasons()).toEqual([]);
    });
  });
}
