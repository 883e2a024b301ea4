import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../src/domain/alert/fault.ts';
import type { Run } from '../test-store.ts';
import { NOW_US } from './sample-records.ts';

const HOUR_US = 3_600_000_000;
const fault = (sort: Fault['sort'], name: string, reason = 'why'): Fault => ({ sort, name, reason });

export function describeFaults(run: Run): void {
  const listed = async (nowUs: number) =>
    (await run.faults.list(nowUs, 10)).map(({ sort, name }) => `${sort} ${name}`);

  describe('faults', () => {
    test('are new once', async () => {
      const [one, two] = [fault('silence', 'a'), fault('silence', 'b')];
      expect(await run.faults.note([one], NOW_US)).toEqual([one]);
      expect(await run.faults.note([one, two], NOW_US + 1)).toEqual([two]);
      expect(await run.faults.count(NOW_US)).toEqual([{ sort: 'silence', count: 2 }]);
      expect(await run.faults.list(NOW_US, 1)).toEqual([{ ...two, sinceUs: NOW_US + 1 }]);
    });

    test('that are not retried last for an hour after they were last noted', async () => {
      await run.faults.note([fault('rule', 'a')], NOW_US);
      await run.faults.note([fault('rule', 'a')], NOW_US + HOUR_US / 2);
      expect(await listed(NOW_US + HOUR_US)).toEqual(['rule a']);
      expect(await listed(NOW_US + 1.5 * HOUR_US)).toEqual([]);
    });

    test('that are retried last until they are fixed, and are due at their instant or at a start', async () => {
      await run.faults.note([fault('alert', 'a'), fault('alert', 'b')], NOW_US, NOW_US + 10);
      expect(await listed(NOW_US + 9)).toEqual(['alert a', 'alert b']);
      expect(await run.faults.names('alert', NOW_US + 9)).toEqual([]);
      expect(await run.faults.names('alert', NOW_US + 10)).toEqual(['a', 'b']);
      await run.faults.mend('alert', ['a']);
      await run.faults.begin(NOW_US + 5);
      expect(await run.faults.names('alert', NOW_US + 5)).toEqual(['b']);
    });

    test('of rows last until the retention, since nothing mends them', async () => {
      await run.faults.note([fault('row', 'alert a'), fault('step', 'b')], NOW_US);
      await run.faults.begin(NOW_US + 1);
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(0);
      expect(await listed(NOW_US + 720 * HOUR_US)).toEqual(['row alert a']);
      expect(await run.upkeep.prune(NOW_US + 1, 10)).toBe(1);
      expect(await listed(NOW_US)).toEqual([]);
    });

    test('that should have been retried an hour ago are over: nobody retries them any more', async () => {
      await run.faults.note([fault('delivery', 'a')], NOW_US, NOW_US + HOUR_US);
      expect(await listed(NOW_US + 2 * HOUR_US - 1)).toEqual(['delivery a']);
      expect(await listed(NOW_US + 2 * HOUR_US)).toEqual([]);
      await run.faults.begin(NOW_US + 3 * HOUR_US);
      expect(await listed(NOW_US + 3 * HOUR_US)).toEqual([]);
    });

    test('that are evaluated anyway are forgotten at a start', async () => {
      await run.faults.note([fault('silence', 'a'), fault('step', 'b')], NOW_US);
      await run.faults.note([fault('group', 'c')], NOW_US, NOW_US + 10);
      await run.faults.begin(NOW_US);
      expect(await listed(NOW_US)).toEqual(['group c']);
    });
  });
}
