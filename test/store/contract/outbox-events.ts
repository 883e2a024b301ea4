import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import type { Digest } from '../../../src/domain/digest/digest.ts';
import type { Notification } from '../../../src/domain/grouping/notification.ts';
import type { Delivery, DeliveryQuery, LinkedSpan } from '../../../src/store/outbox-store.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { countTurns } from '../../count-turns.ts';
import { type Run, runIn } from '../test-store.ts';
import {
  alert,
  delivery,
  event,
  flight,
  groupNotification,
  insert,
  links,
  NOW_US,
} from './sample-records.ts';
import type { Subject } from './subject.ts';

export function describeOutboxEvents(subject: () => Subject, run: Run): void {
  const forwarded = (id: string, receiver: string, events: readonly Event[]): Notification => ({
    kind: 'forward',
    id,
    receiver,
    createdAtUs: NOW_US,
    events,
  });
  const events = Array.from({ length: 5 }, (_, index) =>
    event(`e${index}`, { occurredAtUs: NOW_US + index }),
  );
  const key = (index: number) => events[index]!.key;
  const keep = async (tx: Transaction) => {
    await insert(tx, events);
  };
  const queue = (tx: Transaction, notification: Notification, covers?: readonly LinkedSpan[]) =>
    tx.outbox.enqueue(
      notification,
      [
        delivery(`${notification.id}-0`, {
          receiver: notification.receiver,
          notificationId: notification.id,
        }),
      ],
      covers,
    );
  const notificationsOf = async (index: number) =>
    (await run.outbox.notificationsOfEvent(key(index))).map(({ notification }) => notification.id);
  const notificationsOfAll = () => Promise.all(events.map((_, index) => notificationsOf(index)));

  describe('the notifications of an alert', () => {
    test('are those that list it, the newest first, until their deliveries are deleted', async () => {
      const settled = { state: 'delivered', settledAtUs: NOW_US } as const;
      await run(async (tx) => {
        await tx.alerts.put([alert('a')]);
        for (const id of ['n1', 'n2']) {
          await tx.outbox.enqueue(groupNotification(id), [delivery(`${id}-0`, settled)]);
        }
        await queue(tx, forwarded('f', 'lake', events));
      });
      const notified = (limit: number) => run.outbox.notificationsOfAlert('a', limit);
      const [newest, first] = await notified(10);
      expect(newest).toMatchObject({ id: 'n2', receiver: 'ops', reason: 'first', createdAtUs: NOW_US });
      expect(first!.deliveries).toMatchObject([{ id: 'n1-0', state: 'delivered' }]);
      expect(await notified(1)).toEqual([newest]);
      expect(await run.outbox.notificationsOfAlert('b', 10)).toEqual([]);
      await run.upkeep.prune(NOW_US + 1, 100);
      expect(await notified(10)).toEqual([]);
    });

    test('are read one after another, while other work continues: each may be large', async () => {
      await run(async (tx) => {
        await tx.alerts.put([alert('a')]);
        for (let at = 0; at < 20; at += 1) await queue(tx, groupNotification(`n${at}`));
      });
      const { found, turned } = await run(async (tx) => {
        const turns = countTurns();
        return { found: await tx.outbox.notificationsOfAlert('a', 30), turned: turns() };
      });
      expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, at) => `n${19 - at}`));
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 19 : 0);
    });

    test('are, if a fallback may still be given them, known by when the last was queued', async () => {
      await run(async (tx) => {
        await tx.alerts.put([alert('a'), alert('b')]);
        const queueAt = (at: number, more: Partial<Delivery>) =>
          tx.outbox.enqueue(groupNotification(`n${at}`), [
            delivery(`n${at}-0`, { createdAtUs: NOW_US + at, ...more }),
          ]);
        await queueAt(1, { fallbackAtUs: NOW_US + 9 });
        await queueAt(2, { fallbackAtUs: NOW_US + 9 });
        await queueAt(3, {});
        await queueAt(4, { fallbackAtUs: NOW_US + 9, receiver: 'other' });
      });
      expect(await run.outbox.lastToFallBack(['a', 'b', 'c'], ['ops', 'more'])).toEqual(
        new Map([['a', NOW_US + 2]]),
      );
      expect(await run.outbox.lastToFallBack(['a'], [])).toEqual(new Map());
      await run.outbox.takeFallbacks(NOW_US + 9, 9);
      expect(await run.outbox.lastToFallBack(['a'], ['ops'])).toEqual(new Map());
    });

    test('are known while the alert is deleted, and when it comes back, and are never those of another', async () => {
      const notified = async (id: string) =>
        (await run.outbox.notificationsOfAlert(id, 10)).map((one) => one.id);
      await run(async (tx) => {
        await tx.alerts.put([alert('a')]);
        await tx.outbox.enqueue(groupNotification('n1'), [delivery('n1-0')]);
      });
      await run.alerts.delete(['a']);
      expect(await notified('a')).toEqual(['n1']);
      await run.outbox.enqueue(groupNotification('n2'), [delivery('n2-0')]);
      await run.alerts.put([alert('b')]);
      expect(await notified('b')).toEqual([]);
      await run.alerts.put([alert('a')]);
      expect(await notified('a')).toEqual(['n2', 'n1']);
      expect(await notified('b')).toEqual([]);
    });
  });

  describe('pages of deliveries', () => {
    test('are filtered by a receiver, an alert, a Flight, words and a time, and continue', async () => {
      const bird = { region: 'eu', nest_id: '682', nest: 'Marketing', bird_id: '7', bird: 'Blog' };
      const failed = event('f1/failed', { feed: 'flight' });
      await run(async (tx) => {
        const stream = await insert(tx, [failed], '7');
        await tx.flights.put([flight('f1', { stream })]);
        await tx.alerts.put([alert('a', { labels: { ...bird, severity: 'critical' } })]);
        await tx.outbox.enqueue(groupNotification('n1', [failed]), [
          delivery('1', { createdAtUs: NOW_US, lastError: 'HTTP 503 Busy' }),
        ]);
        await tx.outbox.enqueue(forwarded('n2', 'lake', []), [
          delivery('2', { receiver: 'lake', createdAtUs: NOW_US + 5, state: 'dead', settledAtUs: NOW_US }),
        ]);
      });
      const idsOf = (deliveries: readonly Delivery[]) => deliveries.map(({ id }) => id);
      const page = (query: Partial<DeliveryQuery>) => run.outbox.page({ limit: 10, ...query });
      const each: [Partial<DeliveryQuery>, string[]][] = [
        [{}, ['2', '1']],
        [{ receiver: 'lake' }, ['2']],
        [{ state: 'dead' }, ['2']],
        [{ state: 'delivered' }, []],
        [{ nest: 'market' }, ['1']],
        [{ bird: '7', region: 'eu', severity: 'critical' }, ['1']],
        [{ bird: '8' }, []],
        [{ name: 'flightfailed' }, ['1']],
        [{ flight: 'f1' }, ['1']],
        [{ text: 'http 503 busy' }, ['1']],
        [{ sinceUs: NOW_US + 5 }, ['2']],
        [{ untilUs: NOW_US + 5 }, ['1']],
      ];
      for (const [query, expected] of each) {
        const { deliveries } = await page(query);
        expect(idsOf(deliveries), JSON.stringify(query)).toEqual(expected);
      }
      const all = await page({});
      expect(all.deliveries.map(({ about, aboutMore }) => [about, aboutMore])).toEqual([
        ['Events', 0],
        [alert('a').annotations.summary, 0],
      ]);
      const first = await page({ limit: 1 });
      const second = await page({ limit: 1, cursor: first.next });
      expect(idsOf(second.deliveries)).toEqual(['1']);
      expect(second.next).toBeUndefined();
      const digest = { name: 'the "night"', fromUs: 0, toUs: 1 } as unknown as Digest;
      const report = { kind: 'digest', id: 'n3', receiver: 'r', createdAtUs: 1, digest } as const;
      await run.outbox.enqueue(report, [delivery('3', { receiver: 'boss' })]);
      expect((await page({ receiver: 'boss' })).deliveries[0]!.about).toBe('Report the "night"');
      await expect(page({ cursor: 'x' })).rejects.toMatchObject({ code: 'usage' });
    });
  });

  describe('the notifications of an event', () => {
    test('are found by the range of its alert, listed or not, with their deliveries', async () => {
      await run(async (tx) => {
        await keep(tx);
        await tx.alerts.put([alert('a', { lastSeq: 4 })]);
        await tx.alerts.linkEvents(links('a', events.slice(0, 4)));
        await queue(tx, groupNotification('n1', [events[1]!]), [{ alertId: 'a', afterSeq: 0, lastSeq: 2 }]);
        await queue(tx, groupNotification('n2'), [{ alertId: 'a', afterSeq: 2, lastSeq: 4 }]);
        await queue(tx, groupNotification('repeat'), []);
      });
      expect(await notificationsOfAll()).toEqual([['n1'], ['n1'], ['n2'], ['n2'], []]);
      const [found] = await run.outbox.notificationsOfEvent(key(0));
      expect(found!.deliveries).toMatchObject([{ id: 'n1-0', state: 'pending', receiver: 'ops' }]);
      expect(await run.alerts.ofEvent(key(2))).toMatchObject([{ alert: { id: 'a' }, seq: 3 }]);
      expect(await run.alerts.ofEvent(key(4))).toEqual([]);
    });

    test('are read one after another, while other work continues: each may be large', async () => {
      await run(async (tx) => {
        await keep(tx);
        for (let at = 0; at < 20; at += 1) await queue(tx, groupNotification(`n${at}`, [events[0]!]));
      });
      const { found, turned } = await run(async (tx) => {
        const turns = countTurns();
        return { found: await tx.outbox.notificationsOfEvent(key(0)), turned: turns() };
      });
      expect(found.map(({ notification }) => notification.id)).toEqual(
        Array.from({ length: 20 }, (_, at) => `n${at}`),
      );
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 19 : 0);
    });

    test('are found by the events that are listed, if nothing else is known', async () => {
      await run(async (tx) => {
        await keep(tx);
        await queue(tx, groupNotification('copy', [events[3]!, events[0]!]));
      });
      expect(await notificationsOfAll()).toEqual([['copy'], [], [], ['copy'], []]);
    });

    test('outlive the alert', async () => {
      await run(async (tx) => {
        await keep(tx);
        await tx.alerts.put([alert('a')]);
        await tx.alerts.linkEvents(links('a', [events[0]!]));
        await queue(tx, groupNotification('n1'), [{ alertId: 'a', afterSeq: 0, lastSeq: 1 }]);
        await tx.alerts.delete(['a']);
      });
      expect(await notificationsOf(0)).toEqual(['n1']);
      expect(await run.alerts.ofEvent(key(0))).toEqual([]);
    });

    test('include the halves of a batch that was not accepted as a whole', async () => {
      await run(async (tx) => {
        await keep(tx);
        await queue(tx, forwarded('f1', 'lake', events.slice(0, 4)));
        await queue(tx, forwarded('f2', 'lake', events.slice(4)));
        const half = (id: string, of: readonly Event[]) =>
          queue(tx, { ...forwarded(id, 'lake', of), isHalf: true } as Notification);
        await half('h1', events.slice(0, 2));
        await half('h2', events.slice(2, 4));
        await half('h21', events.slice(2, 3));
      });
      expect((await notificationsOfAll()).map((ids) => ids.toSorted())).toEqual([
        ['f1', 'h1'],
        ['f1', 'h1'],
        ['f1', 'h2', 'h21'],
        ['f1', 'h2'],
        ['f2'],
      ]);
    });

    test('include the batch in which it was forwarded also after the first of that batch was deleted', async () => {
      await run(async (tx) => {
        await keep(tx);
        await queue(tx, forwarded('f1', 'lake', events.slice(0, 3)));
        await queue(tx, forwarded('f2', 'lake', events.slice(3)));
        await queue(tx, forwarded('g1', 'siem', events));
      });
      expect(await run.upkeep.prune(NOW_US + 2, 9)).toBe(2);
      expect(await notificationsOfAll()).toEqual([[], [], ['f1', 'g1'], ['f2', 'g1'], ['f2', 'g1']]);
      expect(await run.upkeep.prune(NOW_US + 4, 9)).toBe(2);
      expect(await notificationsOfAll()).toEqual([[], [], [], [], ['f2', 'g1']]);
      expect(await run.upkeep.prune(NOW_US + 5, 9)).toBe(1);
    });

    test('include the batch in which it was forwarded to each receiver', async () => {
      await run(async (tx) => {
        await keep(tx);
        await queue(tx, forwarded('f1', 'lake', events.slice(0, 2)));
        await queue(tx, forwarded('f2', 'lake', events.slice(2, 4)));
        await queue(tx, forwarded('g1', 'siem', [events[1]!, events[3]!]));
      });
      expect(await notificationsOfAll()).toEqual([['f1'], ['f1', 'g1'], ['f2'], ['f2', 'g1'], []]);
    });

    test('do not exist for an event that is not stored', async () => {
      expect(await run.outbox.notificationsOfEvent('eu/notification/none')).toEqual([]);
      expect(await run.alerts.ofEvent('none')).toEqual([]);
    });

    test('are never later ones, after those that covered it were deleted', async () => {
      const settled = { state: 'delivered', settledAtUs: NOW_US } as const;
      await run(async (tx) => {
        await keep(tx);
        await tx.outbox.enqueue(groupNotification('n1', [events[4]!]), [delivery('n1-0', settled)]);
      });
      await run.upkeep.prune(NOW_US + 1, 100);
      expect(await notificationsOf(4)).toEqual([]);
      const store = (await subject().reopen?.()) ?? subject().store;
      const again = runIn(() => store);
      await again((tx) => queue(tx, groupNotification('n2')));
      expect(await again.outbox.notificationsOfEvent(key(4))).toEqual([]);
    });

    test('are deleted with the event when it is old', async () => {
      await run(async (tx) => {
        await keep(tx);
        await queue(tx, groupNotification('n1', [events[0]!]));
        await queue(tx, forwarded('f1', 'lake', events.slice(0, 2)));
      });
      // Only the five events: notifications that wait to be sent stay.
      expect(await run.upkeep.prune(NOW_US + 1_000, 100)).toBe(5);
      await run(keep);
      expect(await notificationsOf(0)).toEqual([]);
    });
  });
}
