import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import { event, HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

export function describeForwards(run: Run): void {
  describe('forwarding', () => {
    const queue = (receiver: string, ...numbers: number[]) =>
      numbers.map((number) => ({ receiver, event: event(`e${number}`, { occurredAtUs: NOW_US - number }) }));
    const take = async (receiver: string, limit: number) =>
      (await run.forwards.take(receiver, limit)).map((one) =>
        Number(one.key.slice('eu/notification/e'.length)),
      );

    test('returns each receiver its events once, in the order in which they were committed', async () => {
      await run.forwards.queue([...queue('lake', 3, 1), ...queue('siem', 1)]);
      await run.forwards.queue(queue('lake', 2, 4));
      expect((await run.forwards.receivers()).sort()).toEqual(['lake', 'siem']);
      expect(await take('lake', 3)).toEqual([3, 1, 2]);
      await run.forwards.queue(queue('lake', 5));
      expect(await take('lake', 100)).toEqual([4, 5]);
      expect(await take('lake', 100)).toEqual([]);
      expect(await run.forwards.receivers()).toEqual(['siem']);
      expect(await take('unknown', 100)).toEqual([]);
      await run.forwards.queue([]);
    });

    test('keeps the event complete, and keeps it waiting if the taking is rolled back', async () => {
      const whole = event('whole', { message: HOSTILE_TEXTS.join(), attributes: { a: 1, b: false } });
      await run.forwards.queue([{ receiver: 'lake', event: whole }]);
      const failed = run(async (tx) => {
        expect(await tx.forwards.take('lake', 1)).toEqual([whole]);
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      expect(await run.forwards.take('lake', 1)).toEqual([whole]);
    });
  });
}
