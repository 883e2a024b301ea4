import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import type { NestRecord } from '../../../src/store/sql/watched/nests-and-birds.ts';
import { countTurns } from '../../count-turns.ts';
import type { Run } from '../test-store.ts';
import { delivery, event, HOSTILE_TEXTS, notification } from './sample-records.ts';
import type { Subject } from './subject.ts';

const nest = (nestId: string, name = nestId): NestRecord => ({ region: 'eu', nestId, name, present: true });

export function describeTransactions(subject: () => Subject, run: Run): void {
  const names = async () => (await run.inventory.nests('eu')).map((one) => one.name);

  describe('transactions', () => {
    test('return what their work returned', async () => {
      expect(await run(async () => 42)).toBe(42);
    });

    test('that throw leave nothing behind and pass the error on', async () => {
      const failure = new Error('no');
      const failed = run(async (tx) => {
        await tx.inventory.putNests([nest('1')]);
        await tx.events.insert((await tx.streams.open('eu', 'notification', '')).stream, [event('1')]);
        throw failure;
      });
      await expect(failed).rejects.toBe(failure);
      expect(await names()).toEqual([]);
      expect(await run.streams.list('eu')).toEqual([]);
    });

    test('let other work continue in each pause, except in memory, where nothing waits', async () => {
      const turned = await run(async (tx) => {
        const turns = countTurns();
        for (let pauses = 0; pauses < 10; pauses += 1) await tx.pause();
        return turns();
      });
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 10 : 0);
    });

    test('that wait together are each all or nothing', async () => {
      const outcomes = await Promise.allSettled(
        [1, 2, 3, 4, 5, 6].map((number) =>
          run(async (tx) => {
            await tx.inventory.putNests([nest(`${number}a`), nest(`${number}b`)]);
            if (number % 2 === 1) throw new Error(`odd ${number}`);
          }),
        ),
      );
      expect(outcomes.map(({ status }) => status)).toEqual([
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect(await names()).toEqual(['2a', '2b', '4a', '4b', '6a', '6b']);
    });

    test('may attempt a part that fails: nothing of it remains, everything before and after does', async () => {
      const failure = new TypeError('no');
      const outcomes = await run(async (tx) => {
        await tx.inventory.putNests([nest('before')]);
        const failed = await tx.attempt(async () => {
          await tx.inventory.putNests([nest('part')]);
          await tx.streams.open('eu', 'notification', '');
          throw failure;
        });
        const whole = await tx.attempt(async () => {
          await tx.inventory.putNests([nest('after')]);
          return 42;
        });
        return [failed, whole];
      });
      expect(outcomes).toEqual([
        { ok: false, error: failure },
        { ok: true, value: 42 },
      ]);
      expect(await names()).toEqual(['after', 'before']);
      expect(await run.streams.list('eu')).toEqual([]);
      // What the part had opened is opened again.
      const { stream } = await run.streams.open('eu', 'notification', '');
      expect(await run.events.insert(stream, [event('1')])).toHaveLength(1);
    });

    test('count deliveries of the parts that remain, and of no others', async () => {
      const queued = (id: string) => delivery(id, { notificationId: id, receiver: 'ops' });
      await run(async (tx) => {
        await tx.outbox.enqueue(notification('a'), [queued('a')]);
        await tx.attempt(async () => {
          await tx.outbox.enqueue(notification('b'), [queued('b')]);
          throw new Error('no');
        });
        await tx.attempt(() => tx.outbox.enqueue(notification('c'), [queued('c')]));
      });
      expect(await run.outbox.count()).toEqual([{ receiver: 'ops', state: 'pending', count: 2 }]);
    });

    test('end when the store itself fails in a part', async () => {
      const failure = new NestwatchError('store_failed', 'The disk is gone.');
      const failed = run(async (tx) => {
        await tx.inventory.putNests([nest('1')]);
        await tx.attempt(() => Promise.reject(failure));
      });
      await expect(failed).rejects.toBe(failure);
      expect(await names()).toEqual([]);
    });

    test('run one after another, in the order in which they were requested', async () => {
      const log: string[] = [];
      await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          run(async (tx) => {
            log.push(`${index} begins`);
            const before = await tx.inventory.nests('eu');
            await tx.inventory.putNests([
              nest('counter', String(before.length ? Number(before[0]!.name) + 1 : 1)),
            ]);
            log.push(`${index} ends`);
          }),
        ),
      );
      expect(log).toEqual(
        Array.from({ length: 200 }, (_, index) => [`${index} begins`, `${index} ends`]).flat(),
      );
      expect(await names()).toEqual(['200']);
    });

    test('see what those before them wrote, even if one in between failed', async () => {
      const [, failed, seen] = await Promise.allSettled([
        run.streams.open('eu', 'flight', '1'),
        run(async (tx) => {
          await tx.streams.open('eu', 'flight', '2');
          throw new Error('no');
        }),
        run(async (tx) => {
          const third = await tx.streams.open('eu', 'flight', '3');
          await tx.events.insert(third.stream, [event('x/failed', { feed: 'flight', birdId: '3' })]);
          return tx.events.find('eu/flight/x/failed');
        }),
      ]);
      expect(failed.status).toBe('rejected');
      expect(seen).toMatchObject({ status: 'fulfilled', value: { birdId: '3', feed: 'flight' } });
      expect((await run.streams.list('eu')).map((stream) => stream.birdId)).toEqual(['1', '3']);
    });

    test('with a failed statement cannot succeed any more', async () => {
      const swallowed = run(async (tx) => {
        await tx.inventory.putNests([nest('1')]);
        const broken = { ...nest('2'), nestId: null as unknown as string };
        await tx.inventory.putNests([broken]).catch(() => {});
        await tx.inventory.putNests([nest('3')]).catch(() => {});
      });
      await expect(swallowed).rejects.toThrow();
      expect(await names()).toEqual([]);
    });

    test('are refused after the store is closed', async () => {
      await subject().store.close();
      await expect(run(async () => 1)).rejects.toMatchObject({ code: 'cancelled' });
    });

    test('that wait when the store is closed are finished first', async () => {
      const { store, reopen } = subject();
      const written = Promise.all([run.inventory.putNests([nest('1')]), run.inventory.putNests([nest('2')])]);
      const closed = store.close();
      await expect(written).resolves.toHaveLength(2);
      await closed;
      await store.close();
      if (!reopen) return;
      const again = await reopen();
      expect(await again.transaction((tx) => tx.inventory.nests('eu'))).toHaveLength(2);
    });

    test('keep every text exactly', async () => {
      const nests = HOSTILE_TEXTS.map((text, index) => nest(String(index).padStart(2, '0'), text));
      await run.inventory.putNests(nests);
      expect(await run.inventory.nests('eu')).toEqual(nests);
      const { reopen } = subject();
      if (!reopen) return;
      expect(await (await reopen()).transaction((tx) => tx.inventory.nests('eu'))).toEqual(nests);
    });
  });
}
