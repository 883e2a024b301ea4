import { describe, expect, test } from 'vitest';
import type { ClaimedDelivery, Delivery, Settlement } from '../../../src/store/store.ts';
import { delivery, HOSTILE_TEXTS, NOW_US, notification, SECOND_US } from './samples.ts';
import type { Run } from './subject.ts';

export function describeOutbox(run: Run): void {
  /** Queues a notification of its own for each delivery. */
  const enqueue = (...deliveries: readonly Delivery[]) =>
    run(async (tx) => {
      for (const one of deliveries) await tx.enqueue(notification(one.notificationId, one.receiver), [one]);
    });
  const ids = (claimed: readonly ClaimedDelivery[]) => claimed.map((one) => one.delivery.id);
  const claim = async ({ receiver = 'ops', position = 0, nowUs = NOW_US, limit = 10 } = {}) =>
    ids(await run((tx) => tx.claim(receiver, position, nowUs, limit)));
  const settle = (id: string, state: Settlement['state'], nextAttemptAtUs = NOW_US) =>
    run((tx) => tx.settle([{ id, state, nextAttemptAtUs, lastError: state }], NOW_US));
  const stateOf = async (id: string) => (await run((tx) => tx.delivery(id)))?.delivery.state;

  describe('the outbox', () => {
    test('leases what is due once, records the attempt and gives what it carries', async () => {
      await run((tx) => tx.enqueue(notification('n'), [delivery('d', { notificationId: 'n' })]));
      const claimed = await run((tx) => tx.claim('ops', 0, NOW_US, 10));
      const leased = delivery('d', { notificationId: 'n', state: 'leased', attempts: 1 });
      expect(claimed).toEqual([{ delivery: leased, notification: notification('n') }]);
      expect(await run((tx) => tx.delivery('d'))).toEqual(claimed[0]);
      expect(await claim()).toEqual([]);
      expect(await run((tx) => tx.delivery('unknown'))).toBeUndefined();
    });

    test('claims the oldest due first, up to the limit, of this integration alone', async () => {
      await enqueue(
        delivery('later', { nextAttemptAtUs: NOW_US + 1 }),
        delivery('b'),
        delivery('a', { nextAttemptAtUs: NOW_US - 1 }),
        delivery('c'),
        delivery('mail', { position: 1 }),
        delivery('other', { receiver: 'pager' }),
      );
      expect(await claim({ limit: 2 })).toEqual(['a', 'b']);
      expect(await claim()).toEqual(['c']);
      expect(await claim({ position: 1 })).toEqual(['mail']);
      expect(await claim({ receiver: 'pager' })).toEqual(['other']);
      expect(await claim({ receiver: 'unknown' })).toEqual([]);
      expect(await claim({ nowUs: NOW_US + 1 })).toEqual(['later']);
    });

    test('gives a refused and a doubtful one again when its time has come, and counts every try', async () => {
      await enqueue(delivery('r'), delivery('x'));
      await claim();
      await settle('r', 'retry', NOW_US + SECOND_US);
      await settle('x', 'ambiguous', NOW_US + SECOND_US);
      expect(await claim({ nowUs: NOW_US + SECOND_US - 1 })).toEqual([]);
      expect(await claim({ nowUs: NOW_US + SECOND_US })).toEqual(['r', 'x']);
      expect(await run((tx) => tx.delivery('r'))).toMatchObject({
        delivery: { state: 'leased', attempts: 2, lastError: 'retry', settledAtUs: 0 },
      });
    });

    test.each(['delivered', 'dead', 'suppressed'] as const)(
      'ends what is %s and remembers when',
      async (state) => {
        await enqueue(delivery('d'));
        await claim();
        await settle('d', state);
        expect(await claim({ nowUs: NOW_US * 2 })).toEqual([]);
        expect(await run((tx) => tx.delivery('d'))).toMatchObject({
          delivery: { state, settledAtUs: NOW_US, lastError: state, attempts: 1 },
        });
      },
    );

    test('queues all deliveries of a notification or none', async () => {
      await enqueue(delivery('taken'));
      const twice = run((tx) => tx.enqueue(notification('n'), [delivery('new'), delivery('taken')]));
      await expect(twice).rejects.toThrow();
      expect(await run((tx) => tx.delivery('new'))).toBeUndefined();
      await run((tx) => tx.enqueue(notification('n2'), []));
      expect(await claim()).toEqual(['taken']);
    });

    test('keeps every text exactly', async () => {
      for (const [index, text] of HOSTILE_TEXTS.entries()) {
        const one = delivery(`${index}${text}`, { lane: text, lastError: text, receiver: `r${text}` });
        await run((tx) => tx.enqueue(notification(text), [one]));
        expect((await run((tx) => tx.delivery(one.id)))?.delivery).toEqual(one);
        expect(await claim({ receiver: one.receiver })).toEqual([one.id]);
      }
    });

    test('leaves what is under way when the process ends in doubt and due at once', async () => {
      await enqueue(delivery('a', { lane: 'l' }), delivery('b', { lane: 'l' }), delivery('c'), delivery('d'));
      await claim();
      await settle('d', 'delivered');
      expect(await run((tx) => tx.recoverLeases(NOW_US + 5))).toBe(2);
      expect(await run((tx) => tx.recoverLeases(NOW_US + 6))).toBe(0);
      expect(await run((tx) => tx.delivery('a'))).toMatchObject({
        delivery: { state: 'ambiguous', nextAttemptAtUs: NOW_US + 5, attempts: 1 },
      });
      expect(await claim({ nowUs: NOW_US + 4 })).toEqual([]);
      expect(await claim({ nowUs: NOW_US + 5 })).toEqual(['a', 'c']);
    });
  });

  describe('a lane', () => {
    const inLane = (id: string, changes: Partial<Delivery> = {}) => delivery(id, { lane: 'l', ...changes });

    test('gives one at a time, in the order of creation', async () => {
      await enqueue(
        inLane('1', { nextAttemptAtUs: NOW_US }),
        inLane('2', { nextAttemptAtUs: NOW_US - 9 }),
        inLane('3'),
        delivery('free'),
        inLane('m', { lane: 'm' }),
      );
      expect(await claim()).toEqual(['1', 'free', 'm']);
      expect(await claim()).toEqual([]);
      await settle('1', 'delivered');
      expect(await claim()).toEqual(['2']);
      await settle('2', 'dead');
      expect(await claim()).toEqual(['3']);
      await settle('3', 'suppressed');
      await enqueue(inLane('4'));
      expect(await claim()).toEqual(['4']);
    });

    test('waits for one that is to be tried again', async () => {
      await enqueue(inLane('1'), inLane('2'));
      await claim();
      await settle('1', 'retry', NOW_US + SECOND_US);
      expect(await claim()).toEqual([]);
      expect(await run((tx) => tx.dueDeliveries(NOW_US))).toEqual({ due: [], nextAtUs: NOW_US + SECOND_US });
      expect(await claim({ nowUs: NOW_US + SECOND_US })).toEqual(['1']);
      await settle('1', 'ambiguous', NOW_US);
      expect(await claim()).toEqual(['1']);
    });

    test('passes over what was suppressed before it was ever claimed', async () => {
      await enqueue(inLane('1'), inLane('2'), inLane('3'));
      await settle('2', 'suppressed');
      await settle('1', 'suppressed');
      expect(await claim()).toEqual(['3']);
      await enqueue(inLane('told', { state: 'suppressed', lane: 'n' }), inLane('next', { lane: 'n' }));
      expect(await claim()).toEqual(['next']);
    });

    test('lets a dead one that is tried again wait for the one under way', async () => {
      await enqueue(inLane('1'), inLane('2'), inLane('3'));
      await claim();
      await settle('1', 'dead');
      expect(await claim()).toEqual(['2']);
      await settle('1', 'retry');
      expect(await claim()).toEqual([]);
      await settle('2', 'delivered');
      expect(await claim()).toEqual(['1']);
      await settle('1', 'delivered');
      expect(await claim()).toEqual(['3']);
    });

    test('goes on after the process ended, wherever it stood', async () => {
      await enqueue(inLane('1'), inLane('2'), inLane('3'));
      await claim();
      await settle('1', 'dead');
      await claim();
      await settle('1', 'retry');
      expect(await run((tx) => tx.recoverLeases(NOW_US))).toBe(1);
      for (const id of ['1', '2', '3']) {
        expect(await claim()).toEqual([id]);
        await settle(id, 'delivered');
      }
    });

    test("is one integration's own", async () => {
      await enqueue(inLane('w'), inLane('m', { position: 1 }), inLane('p', { receiver: 'pager' }));
      expect(await claim()).toEqual(['w']);
      expect(await claim({ position: 1 })).toEqual(['m']);
      expect(await claim({ receiver: 'pager' })).toEqual(['p']);
    });

    test('of a thousand gives one', async () => {
      await enqueue(...Array.from({ length: 1000 }, (_, index) => inLane(`d${index}`)));
      expect(await claim({ limit: 1000 })).toEqual(['d0']);
    });
  });

  describe('looking at the outbox', () => {
    test('tells which integrations have something due and when the next thing is', async () => {
      const due = (nowUs = NOW_US) => run((tx) => tx.dueDeliveries(nowUs));
      expect(await due()).toEqual({ due: [] });
      await enqueue(
        delivery('a'),
        delivery('b'),
        delivery('c', { position: 1, nextAttemptAtUs: NOW_US + 8 }),
        delivery('d', { receiver: 'pager', nextAttemptAtUs: NOW_US + 5 }),
        delivery('e', { receiver: 'pager', position: 2 }),
        delivery('f', { receiver: '', lane: 'l' }),
        delivery('g', { receiver: '', lane: 'l', nextAttemptAtUs: NOW_US + 1 }),
      );
      const { due: integrations, nextAtUs } = await due();
      expect(integrations).toHaveLength(3);
      expect(integrations).toEqual(
        expect.arrayContaining([
          { receiver: '', position: 0 },
          { receiver: 'ops', position: 0 },
          { receiver: 'pager', position: 2 },
        ]),
      );
      expect(nextAtUs).toBe(NOW_US + 5);
      await claim();
      await claim({ receiver: 'pager', position: 2 });
      await claim({ receiver: '' });
      expect(await due()).toEqual({ due: [], nextAtUs: NOW_US + 5 });
      expect((await due(NOW_US + 5)).due).toEqual([{ receiver: 'pager', position: 0 }]);
      expect((await due(NOW_US + 5)).nextAtUs).toBe(NOW_US + 8);
    });

    test('lists deliveries, the newest first, by state and receiver', async () => {
      await enqueue(
        delivery('1'),
        delivery('2', { receiver: 'pager' }),
        delivery('3'),
        delivery('4'),
        delivery('5'),
      );
      await claim({ limit: 3 });
      await settle('1', 'delivered');
      await settle('3', 'dead');
      const list = async (query: { state?: Delivery['state']; receiver?: string; limit?: number }) =>
        (await run((tx) => tx.deliveries({ limit: 10, ...query }))).map((one) => one.id);
      expect(await list({})).toEqual(['5', '4', '3', '2', '1']);
      expect(await list({ limit: 2 })).toEqual(['5', '4']);
      expect(await list({ receiver: 'pager' })).toEqual(['2']);
      expect(await list({ state: 'pending' })).toEqual(['5', '2']);
      expect(await list({ state: 'pending', receiver: 'ops' })).toEqual(['5']);
      expect(await list({ state: 'delivered' })).toEqual(['1']);
      expect(await list({ state: 'delivered', receiver: 'pager' })).toEqual([]);
      expect(await list({ state: 'dead' })).toEqual(['3']);
      expect(await list({ state: 'leased' })).toEqual(['4']);
      expect((await run((tx) => tx.deliveries({ limit: 1, state: 'leased' })))[0]).toEqual(
        delivery('4', { state: 'leased', attempts: 1 }),
      );
    });

    test('counts deliveries by receiver and state, through every change', async () => {
      const counts = async () =>
        Object.fromEntries(
          (await run((tx) => tx.countDeliveries())).map((one) => [`${one.receiver} ${one.state}`, one.count]),
        );
      expect(await counts()).toEqual({});
      await enqueue(
        delivery('1'),
        delivery('2'),
        delivery('3', { receiver: 'pager' }),
        delivery('4', { state: 'suppressed' }),
      );
      expect(await counts()).toEqual({ 'ops pending': 2, 'ops suppressed': 1, 'pager pending': 1 });
      await claim();
      await settle('1', 'delivered');
      expect(await counts()).toEqual({
        'ops leased': 1,
        'ops delivered': 1,
        'ops suppressed': 1,
        'pager pending': 1,
      });
      await run((tx) => tx.recoverLeases(NOW_US));
      await settle('unknown', 'dead');
      const failed = run(async (tx) => {
        await tx.enqueue(notification('n'), [delivery('undone')]);
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      expect(await counts()).toEqual({
        'ops ambiguous': 1,
        'ops delivered': 1,
        'ops suppressed': 1,
        'pager pending': 1,
      });
      expect(await stateOf('2')).toBe('ambiguous');
    });
  });
}
