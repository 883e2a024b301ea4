import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import { delivery, giveUpThree, HOSTILE_TEXTS, NOW_US, notification } from './sample-records.ts';

const NONE = {
  failing: [],
  delivered: [],
  dead: [],
  quarantined: [],
  faults: { count: 0, latest: undefined },
};

export function describeTroubles(run: Run): void {
  const read = (span: { deadAfterUs?: number; quarantinedFromUs?: number; nowUs?: number } = {}) =>
    run.troubles.read({ deadAfterUs: NOW_US, quarantinedFromUs: NOW_US, nowUs: NOW_US + 100, ...span });

  describe('troubles', () => {
    test('do not exist while nothing goes wrong', async () => {
      expect(await read()).toEqual(NONE);
    });

    test('are integrations that fail, and receivers that accepted something', async () => {
      const [error] = HOSTILE_TEXTS;
      await run(async (tx) => {
        await tx.outbox.enqueue(notification('n'), [
          delivery('a'),
          delivery('b', { receiver: 'lake', position: 1 }),
          delivery('c', { receiver: 'lake' }),
          delivery('d', { receiver: 'pager' }),
        ]);
        const again = { state: 'retry', nextAttemptAtUs: NOW_US + 50, failed: true } as const;
        await tx.outbox.settle(
          [
            { id: 'a', state: 'delivered', nextAttemptAtUs: 0, lastError: '' },
            { id: 'b', ...again, lastError: error! },
            { id: 'c', ...again, lastError: 'HTTP 500' },
          ],
          NOW_US + 3,
        );
      });
      const failing = await run.outbox.failingIntegrations();
      expect(failing.map(({ receiver, position, lastError }) => [receiver, position, lastError])).toEqual([
        ['lake', 0, 'HTTP 500'],
        ['lake', 1, error],
      ]);
      expect(await read()).toEqual({ ...NONE, failing, delivered: ['ops'] });
    });

    test('are deliveries that were given up in the given time, by receiver', async () => {
      await run(giveUpThree);
      const both = [
        { receiver: 'lake', count: 1 },
        { receiver: 'ops', count: 2 },
      ];
      expect((await read()).dead).toEqual(both);
      expect((await read({ deadAfterUs: NOW_US + 1 })).dead).toEqual([{ receiver: 'ops', count: 1 }]);
      expect((await read({ nowUs: NOW_US + 2 })).dead).toEqual(both.map((one) => ({ ...one, count: 1 })));
      expect((await read({ deadAfterUs: NOW_US + 3 })).dead).toEqual([]);
    });

    test('are malformed entries from an instant on, by region and feed', async () => {
      await run(async (tx) => {
        const put = async (region: string, feed: 'flight' | 'inventory', raw: string, atUs: number) => {
          const { stream } = await tx.streams.open(region, feed, '');
          await tx.streams.quarantine(stream, [{ raw, reason: 'no id' }], atUs);
        };
        await put('us', 'inventory', 'c', NOW_US + 2);
        await put('eu', 'flight', 'old', NOW_US - 1);
        await put('eu', 'flight', 'a', NOW_US);
        await put('eu', 'flight', 'b', NOW_US + 5);
        await put('eu', 'flight', 'b', NOW_US + 9);
      });
      expect((await read()).quarantined).toEqual([
        { region: 'eu', feed: 'flight', count: 2, sinceUs: NOW_US },
        { region: 'us', feed: 'inventory', count: 1, sinceUs: NOW_US + 2 },
      ]);
      expect((await read({ quarantinedFromUs: NOW_US + 6 })).quarantined).toEqual([]);
    });

    test('are faults: how many, and the latest', async () => {
      await run.faults.note([{ sort: 'silence', name: 'a', reason: 'old' }], NOW_US);
      await run.faults.note([{ sort: 'rule', name: 'b', reason: 'new' }], NOW_US + 7);
      await run.faults.note(
        [{ sort: 'alert', name: 'c', reason: 'again' }],
        NOW_US + 1,
        NOW_US + 200_000_000,
      );
      const latest = { sort: 'rule', name: 'b', reason: 'new', sinceUs: NOW_US + 7 };
      expect((await read()).faults).toEqual({ count: 3, latest });
      // What is not retried lasts for an hour after it was last noted, what is retried after it should have been.
      const later = await read({ nowUs: NOW_US + 3_700_000_000 });
      expect(later.faults).toMatchObject({ count: 1, latest: { name: 'c' } });
    });
  });
}
