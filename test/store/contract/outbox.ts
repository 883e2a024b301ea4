import { describe, expect, test } from 'vitest';
import type { ClaimedDelivery, Delivery, Lane, Settlement } from '../../../src/store/outbox-store.ts';
import type { Transaction } from '../../../src/store/store.ts';
import type { Run } from '../test-store.ts';
import { describeOutboxEvents } from './outbox-events.ts';
import {
  alert,
  delivery,
  groupNotification,
  HOSTILE_TEXTS,
  NOW_US,
  notification,
  SECOND_US,
  settlement,
} from './sample-records.ts';
import type { Subject } from './subject.ts';

export function describeOutbox(subject: () => Subject, run: Run): void {
  /** Queues a separate notification for each delivery. */
  const enqueue = (...deliveries: readonly Delivery[]) =>
    run(async (tx) => {
      for (const one of deliveries)
        await tx.outbox.enqueue(notification(one.notificationId, one.receiver), [one]);
    });
  const ids = (claimed: readonly ClaimedDelivery[]) => claimed.map((one) => one.delivery.id);
  const claim = async ({ receiver = 'ops', position = 0, nowUs = NOW_US, limit = 10 } = {}) =>
    ids(await run.outbox.claim(receiver, position, nowUs, limit));
  const settle = (
    id: string,
    state: Settlement['state'],
    changes: Partial<Settlement> = {},
    nowUs = NOW_US,
  ) => run.outbox.settle([settlement(id, state, changes)], nowUs);
  const fails = (id: string, changes: Partial<Settlement> = {}, nowUs = NOW_US) =>
    settle(id, 'retry', { failed: true, ...changes }, nowUs);
  const inLane = (id: string, changes: Partial<Delivery> = {}) => delivery(id, { lane: 'l', ...changes });
  const deliveryOf = async (id: string) => (await run.outbox.find(id))!.delivery;
  const stateOf = async (id: string) => (await deliveryOf(id)).state;
  const failing = () => run.outbox.failingIntegrations();

  describe('the outbox', () => {
    test('leases what is due once, records the attempt and returns its content', async () => {
      await run.outbox.enqueue(notification('n'), [delivery('d', { notificationId: 'n' })]);
      const claimed = await run.outbox.claim('ops', 0, NOW_US, 10);
      const leased = delivery('d', { notificationId: 'n', state: 'leased', attempts: 1 });
      expect(claimed).toEqual([{ delivery: leased, notification: notification('n') }]);
      expect(await run.outbox.find('d')).toEqual(claimed[0]);
      expect(await claim()).toEqual([]);
      expect(await run.outbox.find('unknown')).toBeUndefined();
    });

    test('knows whether there is an id that begins in the same way', async () => {
      async function expectKnown(tx: Transaction) {
        for (const prefix of ['t', 't-0', 't-0-nest-1-to0']) {
          expect(await tx.outbox.hasIdsOf(prefix)).toBe(true);
        }
        for (const prefix of ['', 's', 't-', 't-1', 't-0-n', 't-0-nest-1-to0-0']) {
          expect(await tx.outbox.hasIdsOf(prefix)).toBe(false);
        }
      }
      await run(async (tx) => {
        await tx.outbox.enqueue(notification('n'), [delivery('t-0-nest-1-to0-0', { notificationId: 'n' })]);
        // Also of what the transaction itself has queued.
        await expectKnown(tx);
      });
      await run(expectKnown);
    });

    test('claims the oldest due first, up to the limit, only for this integration', async () => {
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

    test('claims few at a time if they are large, and at least one however large it is', async () => {
      const big = { ...notification('big', 'ops'), notices: ['x'.repeat(3 * 1024 * 1024)] };
      const huge = { ...notification('huge', 'ops'), notices: ['x'.repeat(9 * 1024 * 1024)] };
      await run(async (tx) => {
        for (const id of ['a', 'b']) await tx.outbox.enqueue(big, [delivery(id)]);
        await tx.outbox.enqueue(huge, [delivery('c')]);
      });
      expect(await claim()).toEqual(['a']);
      expect(await claim()).toEqual(['b']);
      expect(await claim()).toEqual(['c']);
      expect(await claim()).toEqual([]);
    });

    test('remembers which recipients are left, until it is delivered', async () => {
      await enqueue(delivery('d'), delivery('other'));
      const remainingOf = async (id: string) => {
        const claimed = await run.outbox.claim('ops', 0, NOW_US, 10);
        return claimed.find((one) => one.delivery.id === id)?.delivery.remaining;
      };
      expect(await remainingOf('d')).toBeUndefined();
      await settle('d', 'retry', { remaining: ['b@x', 'c@x'] });
      expect(await remainingOf('d')).toEqual(['b@x', 'c@x']);
      // An attempt that reached nobody says nothing about them.
      await settle('d', 'ambiguous');
      expect(await remainingOf('d')).toEqual(['b@x', 'c@x']);
      await settle('d', 'retry', { remaining: ['c@x'] });
      expect(await remainingOf('d')).toEqual(['c@x']);
      await settle('d', 'dead');
      await run.outbox.redrive(['d'], NOW_US);
      expect(await remainingOf('d')).toEqual(['c@x']);
      await settle('d', 'delivered');
      expect(await deliveryOf('d')).not.toHaveProperty('remaining');
      expect(await deliveryOf('other')).not.toHaveProperty('remaining');
    });

    test('one that leaves its lane continues by itself, and the next has the turn', async () => {
      await enqueue(delivery('first', { lane: 'L' }), delivery('second', { lane: 'L' }));
      expect(await claim()).toEqual(['first']);
      await fails('first');
      expect(await claim()).toEqual(['first']);
      await fails('first', { leavesLane: true });
      expect((await claim()).toSorted()).toEqual(['first', 'second']);
      expect((await deliveryOf('first')).lane).toBe('');
    });

    test('remembers how often it was refused in a row, and by whom, until an attempt has another result', async () => {
      await enqueue(delivery('d'));
      const facts = async () => {
        const { refusals, refusedBy } = await deliveryOf('d');
        return { refusals, refusedBy };
      };
      const none = { refusals: undefined, refusedBy: undefined };
      const refused = { refusals: 2, refusedBy: 'bob@x: 550 "no"' };
      expect(await facts()).toEqual(none);

      await claim();
      await fails('d', refused);
      expect(await facts()).toEqual(refused);
      const [claimed] = await run.outbox.claim('ops', 0, NOW_US, 10);
      expect(claimed!.delivery).toMatchObject(refused);
      await run.outbox.recoverLeases(NOW_US);
      expect(await facts()).toEqual(refused);

      await claim();
      await fails('d');
      expect(await facts()).toEqual(none);

      await claim();
      await settle('d', 'dead', { failed: true, ...refused });
      expect(await facts()).toEqual(refused);
      await run.outbox.redrive(['d'], NOW_US);
      expect(await facts()).toEqual(none);

      await claim();
      await fails('d', refused);
      await claim();
      await settle('d', 'delivered');
      expect(await facts()).toEqual(none);
    });

    test('holds up no other of its lane while only some recipients are left', async () => {
      await enqueue(inLane('a'), inLane('b'), inLane('c'));
      const later = { nextAttemptAtUs: NOW_US + SECOND_US };
      expect(await claim()).toEqual(['a']);
      await fails('a', { ...later, remaining: ['full@x'] });
      expect(await claim()).toEqual(['b']);
      await fails('b', later);
      expect(await claim()).toEqual([]);
      expect(await claim({ nowUs: NOW_US + SECOND_US })).toEqual(['a', 'b']);
      await settle('a', 'dead');
      await settle('b', 'delivered');
      await run.outbox.redrive(['a'], NOW_US);
      expect((await claim()).toSorted()).toEqual(['a', 'c']);
    });

    test('counts one accepted for some as accepted, and the failure for the rest not at all', async () => {
      await enqueue(delivery('a'), delivery('b'));
      const failures = async () => (await failing()).map((one) => one.failures);
      await claim();
      await fails('b');
      expect(await failures()).toEqual([1]);
      await fails('a', { remaining: ['c@x', 'd@x'] });
      expect(await failures()).toEqual([]);
      await claim();
      await fails('a');
      expect(await failures()).toEqual([]);
      await fails('b');
      await claim();
      await fails('a');
      expect(await failures()).toEqual([1]);
      await claim();
      await fails('a', { remaining: ['d@x'] });
      expect(await failures()).toEqual([]);
    });

    test('settles many at once, each with its result', async () => {
      await enqueue(delivery('a'), delivery('b'), delivery('c'), delivery('d'));
      await claim();
      const settlements = [
        settlement('a', 'delivered'),
        settlement('b', 'retry', { lastError: 'HTTP 503', failed: true }),
        settlement('c', 'delivered'),
        settlement('d', 'dead', { lastError: 'HTTP 410', failed: true }),
      ];
      await run.outbox.settle(settlements, NOW_US + 1);
      const stored = await Promise.all(['a', 'b', 'c', 'd'].map(deliveryOf));
      expect(stored.map((one) => [one.state, one.settledAtUs])).toEqual([
        ['delivered', NOW_US + 1],
        ['retry', 0],
        ['delivered', NOW_US + 1],
        ['dead', NOW_US + 1],
      ]);
      // The delivery accepted before the last one ended the earlier series of failures.
      expect(await failing()).toMatchObject([{ failures: 1, lastError: 'HTTP 410' }]);
    });

    test('returns a refused and an ambiguous one again when its time has come, and counts every attempt', async () => {
      await enqueue(delivery('r'), delivery('x'));
      await claim();
      await settle('r', 'retry', { nextAttemptAtUs: NOW_US + SECOND_US });
      await settle('x', 'ambiguous', { nextAttemptAtUs: NOW_US + SECOND_US });
      expect(await claim({ nowUs: NOW_US + SECOND_US - 1 })).toEqual([]);
      expect(await claim({ nowUs: NOW_US + SECOND_US })).toEqual(['r', 'x']);
      const returned = { state: 'leased', attempts: 2, lastError: 'retry', settledAtUs: 0 };
      expect(await deliveryOf('r')).toMatchObject(returned);
    });

    test.each(['delivered', 'dead', 'suppressed'] as const)(
      'ends what is %s and remembers when',
      async (state) => {
        await enqueue(delivery('d'));
        await claim();
        await settle('d', state);
        expect(await claim({ nowUs: NOW_US * 2 })).toEqual([]);
        const ended = { state, settledAtUs: NOW_US, lastError: state, attempts: 1 };
        expect(await deliveryOf('d')).toMatchObject(ended);
      },
    );

    test('queues all deliveries of a notification or none', async () => {
      await enqueue(delivery('taken'));
      const twice = run.outbox.enqueue(notification('n'), [delivery('new'), delivery('taken')]);
      await expect(twice).rejects.toThrow();
      expect(await run.outbox.find('new')).toBeUndefined();
      await run.outbox.enqueue(notification('n2'), []);
      expect(await claim()).toEqual(['taken']);
    });

    test('keeps every text exactly', async () => {
      for (const [index, text] of HOSTILE_TEXTS.entries()) {
        const one = delivery(`${index}${text}`, { lane: text, lastError: text, receiver: `r${text}` });
        await run.outbox.enqueue(notification(text), [one]);
        expect((await run.outbox.find(one.id))?.delivery).toEqual(one);
        expect(await claim({ receiver: one.receiver })).toEqual([one.id]);
      }
    });

    test('leaves what is in flight when the process ends ambiguous and due at once', async () => {
      await enqueue(inLane('a'), inLane('b'), delivery('c'), delivery('d'));
      await claim();
      await settle('d', 'delivered');
      expect(await run.outbox.recoverLeases(NOW_US + 5)).toBe(2);
      expect(await run.outbox.recoverLeases(NOW_US + 6)).toBe(0);
      const left = { state: 'ambiguous', nextAttemptAtUs: NOW_US + 5, attempts: 1 };
      expect(await deliveryOf('a')).toMatchObject(left);
      expect(await claim({ nowUs: NOW_US + 4 })).toEqual([]);
      expect(await claim({ nowUs: NOW_US + 5 })).toEqual(['a', 'c']);
    });
  });

  describe('among several replicas, the outbox', () => {
    const claimAs = async (holder: number) => ids(await run.outbox.claim('ops', 0, NOW_US, 10, holder));

    test('leaves to others for a while what it has attempted itself, and what nobody has', async () => {
      const claimLeaving = async (holder: number, atUs: number) => {
        return ids(await run.outbox.claim('ops', 0, atUs, 10, holder, { leftUs: 5 }));
      };
      await enqueue(delivery('a'));
      expect(await claimLeaving(1, NOW_US + 4)).toEqual([]);
      expect(await claimLeaving(1, NOW_US + 5)).toEqual(['a']);
      await settle('a', 'retry');
      const { nextAttemptAtUs } = await deliveryOf('a');
      expect(await claimLeaving(1, nextAttemptAtUs + 4)).toEqual([]);
      expect(await claimLeaving(2, nextAttemptAtUs)).toEqual(['a']);
      await settle('a', 'ambiguous');
      expect(await claimLeaving(2, nextAttemptAtUs + 4)).toEqual([]);
      expect(await claimLeaving(2, nextAttemptAtUs + 5)).toEqual(['a']);
    });

    test('claims only what nobody has attempted, if asked for', async () => {
      await enqueue(delivery('a'));
      await claimAs(1);
      await settle('a', 'retry');
      const { nextAttemptAtUs } = await deliveryOf('a');
      await enqueue(delivery('b'));
      const claim = (isFresh: boolean) => run.outbox.claim('ops', 0, nextAttemptAtUs, 10, 1, { isFresh });
      expect(ids(await claim(true))).toEqual(['b']);
      expect(ids(await claim(false))).toEqual(['a']);
    });

    test('leaves what living replicas hold in flight', async () => {
      await enqueue(inLane('a'), inLane('b'));
      expect(await claimAs(1)).toEqual(['a']);
      await enqueue(delivery('c'));
      expect(await claimAs(2)).toEqual(['c']);
      expect(await run.outbox.recoverLeases(NOW_US, [1, 2])).toBe(0);
      expect(await run.outbox.recoverLeases(NOW_US, [2])).toBe(1);
      expect([await stateOf('a'), await stateOf('c')]).toEqual(['ambiguous', 'leased']);
      // The next one in its lane waits for the next attempt.
      expect(await claimAs(2)).toEqual(['a']);
    });

    test('ignores the result of an attempt after which another was begun', async () => {
      await enqueue(delivery('a'), delivery('b'));
      await claimAs(1);
      await run.outbox.recoverLeases(NOW_US, []);
      // Nobody attempts it any more, because its outcome is now known.
      await settle('b', 'delivered', { attempt: 1 });
      expect(await stateOf('b')).toBe('delivered');
      expect(await claimAs(2)).toEqual(['a']);
      await settle('a', 'retry', { attempt: 1 });
      expect(await stateOf('a')).toBe('leased');
      await settle('a', 'delivered', { attempt: 1 });
      expect(await stateOf('a')).toBe('leased');
      await settle('a', 'delivered', { attempt: 2 });
      expect(await stateOf('a')).toBe('delivered');
    });

    test('uses the result of an earlier attempt once no other is in flight', async () => {
      await enqueue(delivery('a'));
      await claimAs(1);
      await run.outbox.recoverLeases(NOW_US, []);
      await claimAs(2);
      await settle('a', 'retry', { attempt: 2, nextAttemptAtUs: NOW_US + 8 });
      // The receiver asked the first one to wait longer; a shorter wait changes nothing.
      await settle('a', 'retry', { attempt: 1, nextAttemptAtUs: NOW_US + 20 });
      expect((await deliveryOf('a')).nextAttemptAtUs).toBe(NOW_US + 20);
      await settle('a', 'ambiguous', { attempt: 1, nextAttemptAtUs: NOW_US + 10 });
      expect((await deliveryOf('a')).nextAttemptAtUs).toBe(NOW_US + 20);
      await settle('a', 'dead', { attempt: 1 });
      expect(await stateOf('a')).toBe('ambiguous');
      await settle('a', 'delivered', { attempt: 1 });
      expect(await stateOf('a')).toBe('delivered');
      await settle('a', 'retry', { attempt: 1 });
      expect(await stateOf('a')).toBe('delivered');
    });

    test('waits as long as the receiver asked one attempt to, even if an earlier one times out', async () => {
      const hourUs = NOW_US + 3_600 * SECOND_US;
      await enqueue(delivery('a'), delivery('probe'));
      await claimAs(1);
      await run.outbox.recoverLeases(NOW_US, []);
      await claimAs(2);
      const refused = { refusals: 2, refusedBy: 'bob@x: 450 "later"' };
      await fails('a', { attempt: 2, nextAttemptAtUs: hourUs, notBeforeUs: hourUs, ...refused });
      await fails('probe', { nextAttemptAtUs: hourUs });
      await settle('a', 'ambiguous', { attempt: 1, failed: true, nextAttemptAtUs: NOW_US + SECOND_US });
      expect(await deliveryOf('a')).toMatchObject({
        state: 'ambiguous',
        nextAttemptAtUs: hourUs,
        ...refused,
      });
      await settle('probe', 'delivered', {}, NOW_US + 60 * SECOND_US);
      expect((await deliveryOf('a')).nextAttemptAtUs).toBe(hourUs);
    });
  });

  describe('the id that a service gives a message', () => {
    test('is known to later ones in its lane, only to this integration', async () => {
      await enqueue(
        inLane('a'),
        inLane('b'),
        inLane('c'),
        delivery('elsewhere', { lane: 'm' }),
        delivery('laneless'),
        inLane('mail', { position: 1 }),
      );
      const claimed = async (position = 0) =>
        (await run.outbox.claim('ops', position, NOW_US, 10)).map(({ delivery: one }) => [
          one.id,
          one.reference,
        ]);
      const accept = (id: string, reference: string) => settle(id, 'delivered', { reference });
      expect(await claimed()).toEqual([
        ['a', undefined],
        ['elsewhere', undefined],
        ['laneless', undefined],
      ]);
      await accept('a', 'C1/1.1');
      await accept('elsewhere', 'C1/9.9');
      await accept('laneless', 'C1/8.8');
      await enqueue(delivery('laneless too'));
      expect(await claimed()).toEqual([
        ['b', 'C1/1.1'],
        ['laneless too', undefined],
      ]);
      await accept('b', 'C1/2.2');
      expect(await claimed()).toEqual([['c', 'C1/2.2']]);
      expect(await claimed(1)).toEqual([['mail', undefined]]);
    });
  });

  describe('a lane', () => {
    test('returns one at a time, in the order of creation', async () => {
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

    test('waits for one that is to be retried', async () => {
      await enqueue(inLane('1'), inLane('2'));
      await claim();
      await settle('1', 'retry', { nextAttemptAtUs: NOW_US + SECOND_US });
      expect(await claim()).toEqual([]);
      expect(await run.outbox.due(NOW_US)).toEqual({ due: [], nextAtUs: NOW_US + SECOND_US });
      expect(await claim({ nowUs: NOW_US + SECOND_US })).toEqual(['1']);
      await settle('1', 'ambiguous');
      expect(await claim()).toEqual(['1']);
    });

    test('skips what was suppressed before it was ever claimed', async () => {
      await enqueue(inLane('1'), inLane('2'), inLane('3'));
      await settle('2', 'suppressed');
      await settle('1', 'suppressed');
      expect(await claim()).toEqual(['3']);
      await enqueue(inLane('suppressed', { state: 'suppressed', lane: 'n' }), inLane('next', { lane: 'n' }));
      expect(await claim()).toEqual(['next']);
    });

    test('lets a dead one that is retried wait for the one in flight', async () => {
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

    test('continues after the process ended, wherever it was', async () => {
      await enqueue(inLane('1'), inLane('2'), inLane('3'));
      await claim();
      await settle('1', 'dead');
      await claim();
      await settle('1', 'retry');
      expect(await run.outbox.recoverLeases(NOW_US)).toBe(1);
      for (const id of ['1', '2', '3']) {
        expect(await claim()).toEqual([id]);
        await settle(id, 'delivered');
      }
    });

    test('belongs to one integration', async () => {
      await enqueue(inLane('w'), inLane('m', { position: 1 }), inLane('p', { receiver: 'pager' }));
      expect(await claim()).toEqual(['w']);
      expect(await claim({ position: 1 })).toEqual(['m']);
      expect(await claim({ receiver: 'pager' })).toEqual(['p']);
    });

    test('of a thousand returns one', async () => {
      await enqueue(...Array.from({ length: 1000 }, (_, index) => inLane(`d${index}`)));
      expect(await claim({ limit: 1000 })).toEqual(['d0']);
    });
  });

  describe('unsettled lanes', () => {
    const lane = (name: string, changes: Partial<Lane> = {}): Lane => ({
      receiver: 'ops',
      position: 0,
      lane: name,
      ...changes,
    });

    test('are those in which something is not settled yet', async () => {
      await enqueue(
        delivery('1', { lane: 'over' }),
        delivery('2', { lane: 'retried' }),
        delivery('3', { lane: 'leased' }),
        delivery('4', { lane: 'queued' }),
        delivery('5', { lane: 'queued' }),
        delivery('6', { lane: 'of mail', position: 1 }),
      );
      await claim({ limit: 3 });
      await settle('1', 'delivered');
      await settle('2', 'retry');
      const all = [
        ...['over', 'retried', 'leased', 'queued', 'of mail', 'unknown'].map((name) => lane(name)),
        lane('of mail', { position: 1 }),
        lane('queued', { receiver: 'pager' }),
      ];
      expect(await run.outbox.unsettledLanes(all)).toEqual([
        lane('retried'),
        lane('leased'),
        lane('queued'),
        lane('of mail', { position: 1 }),
      ]);
      expect(await run.outbox.unsettledLanes([])).toEqual([]);
    });

    test('can be asked for those that list one of some alerts', async () => {
      await run(async (tx) => {
        await tx.alerts.put([alert('a'), alert('b', { subject: 'b' })]);
        await tx.outbox.enqueue(groupNotification('of-a'), [delivery('1', { lane: 'l' })]);
        await tx.outbox.enqueue(notification('of-none'), [delivery('2', { lane: 'm' })]);
      });
      const listing = (...alertIds: string[]) => run.outbox.unsettledLanes([lane('m'), lane('l')], alertIds);
      expect(await listing('b', 'a')).toEqual([lane('l')]);
      expect(await listing('b', 'unknown')).toEqual([]);
      expect(await listing()).toEqual([]);
      await claim();
      await settle('1', 'delivered');
      expect(await listing('a')).toEqual([]);
    });

    test('that are joined are sent as one, in the order of creation', async () => {
      await enqueue(
        delivery('1', { lane: 'a' }),
        delivery('2', { lane: 'b' }),
        delivery('3', { lane: 'c' }),
        delivery('4', { lane: 'a' }),
        delivery('mail', { lane: 'a', position: 1 }),
      );
      expect(await claim({ limit: 1 })).toEqual(['1']);
      await run.outbox.joinLanes([lane('a'), lane('b')], 'c');
      await run.outbox.joinLanes([], 'c');
      // What is in flight keeps the turn, and what was first in its lane loses it.
      expect(await claim()).toEqual([]);
      await settle('1', 'retry');
      expect(await claim({ position: 1 })).toEqual(['mail']);
      for (const id of ['1', '2', '3', '4']) {
        expect(await claim()).toEqual([id]);
        await settle(id, 'delivered');
      }
      expect(await claim()).toEqual([]);
      expect((await deliveryOf('4')).lane).toBe('c');
    });

    test('that are joined leave what is settled where it was', async () => {
      await enqueue(delivery('1', { lane: 'a' }), delivery('2', { lane: 'a' }));
      await claim();
      await settle('1', 'dead');
      await run.outbox.joinLanes([lane('a')], 'c');
      expect((await deliveryOf('1')).lane).toBe('a');
      expect(await claim()).toEqual(['2']);
    });
  });

  describe('a dead delivery', () => {
    test('is queued again as if new, in its lane, and nothing else is', async () => {
      const tried = { attempts: 7, fallbackAtUs: NOW_US + 9 };
      await enqueue(inLane('1', tried), inLane('2', tried), delivery('well'));
      await claim();
      await settle('1', 'dead');
      await settle('well', 'delivered');
      const laterUs = NOW_US + 100 * SECOND_US;
      expect(await run.outbox.redrive(['1', 'well', 'unknown', '2'], laterUs)).toEqual(['1']);
      expect(await deliveryOf('1')).toMatchObject({
        state: 'pending',
        attempts: 0,
        createdAtUs: laterUs,
        nextAttemptAtUs: laterUs,
        settledAtUs: 0,
        lastError: '',
      });
      expect(await claim({ nowUs: laterUs })).toEqual(['1']);
      await settle('1', 'delivered');
      expect(await claim({ nowUs: laterUs })).toEqual(['2']);
      expect(await run.outbox.redrive(['1'], laterUs)).toEqual([]);
    });
  });

  describe('a fallback', () => {
    const FIVE_US = 300 * SECOND_US;
    const withFallback = (id: string) => delivery(id, { fallbackAtUs: NOW_US + FIVE_US });
    const failsLater = (id: string, state: Settlement['state'] = 'retry') =>
      settle(id, state, { failed: true }, NOW_US + 1);
    const taken = async (nowUs: number) => ids(await run.outbox.takeFallbacks(nowUs, 10));

    const fallbackUs = async () => (await run.groups.work(NOW_US, 'DeliveryFailing')).fallbackUs;

    test('is given once what was not accepted in time, attempted or not', async () => {
      await enqueue(withFallback('a'), withFallback('b'), delivery('without'));
      await claim({ limit: 1 });
      await failsLater('a');
      expect(await taken(NOW_US + FIVE_US - 1)).toEqual([]);
      expect(await fallbackUs()).toBe(NOW_US + FIVE_US);
      expect(await taken(NOW_US + FIVE_US)).toEqual(['a', 'b']);
      expect(await taken(NOW_US * 2)).toEqual([]);
      expect(await fallbackUs()).toBeNull();
      expect(await deliveryOf('a')).not.toHaveProperty('fallbackAtUs');
    });

    test('is given at once what failed three times, or is dead', async () => {
      await enqueue(withFallback('a'), withFallback('b'));
      await claim({ limit: 1 });
      await failsLater('a');
      await claim({ limit: 1 });
      await failsLater('a', 'ambiguous');
      expect(await taken(NOW_US + 1)).toEqual([]);
      await claim({ limit: 1 });
      await failsLater('a');
      expect(await taken(NOW_US)).toEqual([]);
      expect(await taken(NOW_US + 1)).toEqual(['a']);
      await claim();
      await failsLater('b', 'dead');
      expect(await taken(NOW_US + 1)).toEqual(['b']);
    });

    test('is not given at once what failed twice and was interrupted once', async () => {
      await enqueue(withFallback('a'));
      await claim({ limit: 1 });
      await run.outbox.recoverLeases(NOW_US);
      for (let tries = 0; tries < 2; tries += 1) {
        await claim({ limit: 1 });
        await failsLater('a');
      }
      expect(await taken(NOW_US + 1)).toEqual([]);
      await claim({ limit: 1 });
      await failsLater('a');
      expect(await taken(NOW_US + 1)).toEqual(['a']);
    });

    test('is not given what was accepted, suppressed, or only queued again', async () => {
      await enqueue(withFallback('a'), withFallback('b'), withFallback('c'));
      for (let tries = 0; tries < 4; tries += 1) {
        await claim();
        for (const id of ['a', 'b', 'c']) await settle(id, 'retry');
      }
      expect(await taken(NOW_US + 1)).toEqual([]);
      await claim();
      await settle('a', 'delivered');
      await settle('b', 'suppressed');
      expect(await taken(NOW_US * 2)).toEqual(['c']);
    });
  });

  describe("an integration's health", () => {
    test('counts the attempts that failed since something was accepted', async () => {
      await enqueue(delivery('a'), delivery('b', { position: 1, integration: 'email' }), delivery('c'));
      expect(await failing()).toEqual([]);
      await claim({ limit: 1 });
      await settle('a', 'retry');
      expect(await failing()).toEqual([]);
      await fails('a', { lastError: 'first' }, NOW_US + 5);
      await fails('a', { lastError: 'second' }, NOW_US + 9);
      await fails('b', { lastError: 'other' }, NOW_US + 9);
      const web = { receiver: 'ops', integration: 'webhook', position: 0 };
      const mail = { receiver: 'ops', integration: 'email', position: 1 };
      const other = { ...mail, failures: 1, sinceUs: NOW_US + 9, lastError: 'other' };
      expect(await failing()).toEqual([
        { ...web, failures: 2, sinceUs: NOW_US + 5, lastError: 'second' },
        other,
      ]);
      await settle('c', 'delivered');
      expect(await failing()).toEqual([other]);
    });

    test('is tried again within a minute, by one of those that wait', async () => {
      const hourUs = NOW_US + 3_600 * SECOND_US;
      await enqueue(delivery('a'), delivery('b'), delivery('mail', { position: 1 }), delivery('asked'));
      await claim();
      await claim({ position: 1 });
      const failed = { nextAttemptAtUs: hourUs, failed: true };
      const settled = ['a', 'b', 'mail'].map((id) => settlement(id, 'retry', failed));
      const asked = settlement('asked', 'retry', { ...failed, notBeforeUs: hourUs });
      await run.outbox.settle([asked, ...settled], NOW_US);
      const soonUs = NOW_US + 60 * SECOND_US;
      expect(await claim({ nowUs: soonUs - 1 })).toEqual([]);
      expect(await claim({ nowUs: soonUs })).toEqual(['a']);
      expect(await claim({ nowUs: soonUs, position: 1 })).toEqual(['mail']);
      expect(await claim({ nowUs: hourUs - 1 })).toEqual([]);
      expect((await claim({ nowUs: hourUs })).toSorted()).toEqual(['asked', 'b']);
    });

    test('that accepts something again after a minute makes due what waits for it', async () => {
      const minuteUs = 60 * SECOND_US;
      const hourUs = NOW_US + 60 * minuteUs;
      const askedUs = NOW_US + 30 * minuteUs;
      await enqueue(
        delivery('down'),
        delivery('asked'),
        delivery('partly'),
        delivery('probe'),
        delivery('mail', { position: 1 }),
        delivery('other', { receiver: 'pager' }),
      );
      await claim();
      await claim({ position: 1 });
      await claim({ receiver: 'pager' });
      const failed = (id: string, changes: Partial<Settlement> = {}) =>
        settlement(id, 'retry', { nextAttemptAtUs: hourUs, failed: true, ...changes });
      const settled = [
        failed('probe', { nextAttemptAtUs: NOW_US }),
        failed('down'),
        failed('asked', { notBeforeUs: askedUs }),
        failed('partly', { remaining: ['b@x'], failed: false }),
        failed('probe', { nextAttemptAtUs: NOW_US + minuteUs }),
        failed('mail', { notBeforeUs: hourUs }),
        failed('other', { notBeforeUs: hourUs }),
      ];
      await run.outbox.settle(settled, NOW_US);
      expect(await claim({ nowUs: NOW_US + minuteUs })).toEqual(['probe']);
      await settle('probe', 'delivered', {}, NOW_US + minuteUs);
      expect((await claim({ nowUs: NOW_US + minuteUs })).toSorted()).toEqual(['down', 'partly']);
      expect(await claim({ nowUs: askedUs - 1 })).toEqual([]);
      expect(await claim({ nowUs: askedUs })).toEqual(['asked']);
      expect(await claim({ nowUs: hourUs - 1, position: 1 })).toEqual([]);
      expect(await claim({ nowUs: hourUs - 1, receiver: 'pager' })).toEqual([]);
    });

    test('that accepts only some makes nothing due sooner', async () => {
      const hourUs = NOW_US + 3_600 * SECOND_US;
      await enqueue(delivery('a'), delivery('b'), delivery('c'));
      await claim();
      await fails('c', { nextAttemptAtUs: NOW_US + SECOND_US });
      await fails('a', { nextAttemptAtUs: hourUs });
      await settle('b', 'delivered', {}, NOW_US + 59 * SECOND_US);
      expect(await claim({ nowUs: hourUs - 1 })).toEqual(['c']);
    });

    test('ends with an integration that is no longer configured', async () => {
      await enqueue(delivery('a'));
      await claim();
      await fails('a');
      expect(await failing()).toHaveLength(1);
      await claim();
      await settle('a', 'suppressed');
      expect(await failing()).toHaveLength(1);
      await settle('a', 'suppressed', { isGone: true });
      expect(await failing()).toEqual([]);
    });
  });

  describe('looking at the outbox', () => {
    test('says which integrations have something due and when the next thing is', async () => {
      const due = (nowUs = NOW_US) => run.outbox.due(nowUs);
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
        (await run.outbox.page({ limit: 10, ...query })).deliveries.map((one) => one.id);
      expect(await list({})).toEqual(['5', '4', '3', '2', '1']);
      expect(await list({ limit: 2 })).toEqual(['5', '4']);
      expect(await list({ receiver: 'pager' })).toEqual(['2']);
      expect(await list({ state: 'pending' })).toEqual(['5', '2']);
      expect(await list({ state: 'pending', receiver: 'ops' })).toEqual(['5']);
      expect(await list({ state: 'delivered' })).toEqual(['1']);
      expect(await list({ state: 'delivered', receiver: 'pager' })).toEqual([]);
      expect(await list({ state: 'dead' })).toEqual(['3']);
      expect(await list({ state: 'leased' })).toEqual(['4']);
      expect((await run.outbox.page({ limit: 1, state: 'leased' })).deliveries[0]).toEqual({
        ...delivery('4', { state: 'leased', attempts: 1 }),
        about: 'Events: notification.FlowDeactivated, Translate blog',
        aboutMore: 0,
      });
    });

    test('counts deliveries by receiver and state, through every change', async () => {
      const counts = async () =>
        Object.fromEntries(
          (await run.outbox.count()).map((one) => [`${one.receiver} ${one.state}`, one.count]),
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
      await run.outbox.recoverLeases(NOW_US);
      await settle('unknown', 'dead');
      const failed = run(async (tx) => {
        await tx.outbox.enqueue(notification('n'), [delivery('undone')]);
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

  describeOutboxEvents(subject, run);
}
