import { describe, expect, test } from 'vitest';
import { groupKey } from '../../../src/domain/routing/route.ts';
import { countTurns } from '../../count-turns.ts';
import { node, tree } from '../../domain/route-tree.ts';
import type { Run } from '../test-store.ts';
import {
  alert,
  delivery,
  event,
  group,
  HOSTILE_TEXTS,
  member,
  NOW_US,
  notification,
} from './sample-records.ts';
import type { Subject } from './subject.ts';

export function describeGroups(subject: () => Subject, run: Run): void {
  describe('groups', () => {
    test('return thousands of members in the order of their alerts, while other work continues', async () => {
      const { key } = group('{}:{}');
      const alerts = Array.from({ length: 2_100 }, (_, at) =>
        alert(`a${String(at).padStart(4, '0')}`, { scope: `eu/bird/${at}` }),
      );
      await run(async (tx) => {
        await tx.alerts.put(alerts.toReversed());
        await tx.groups.put([group('{}:{}'), group('{}:{another}')]);
        await tx.groups.putMembers(alerts.map(({ id }, at) => member(key, id, { notifiedSeq: at })));
        await tx.groups.putMembers([member('{}:{another}', alerts[7]!.id)]);
      });
      const { found, turned } = await run(async (tx) => {
        const turns = countTurns();
        return { found: await tx.groups.members(key), turned: turns() };
      });
      expect(found.map((one) => one.alert)).toEqual(alerts);
      expect(found.map((one) => one.member)).toEqual(
        alerts.map(({ id }, at) => member(key, id, { notifiedSeq: at })),
      );
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 4 : 0);
    });

    test('are stored completely, updated and found by their keys', async () => {
      const [a, b] = [group('{}:{a="1"}'), group('{}:{b="2"}', { labels: {}, notifications: 3 })];
      await run.groups.put([a!, b!]);
      const notified = {
        ...a!,
        notifiedAtUs: NOW_US,
        thread: 't2',
        notifications: 1,
        nextFlushAtUs: NOW_US + 9,
      };
      await run.groups.put([notified]);
      expect(await run.groups.list([b!.key, a!.key, a!.key, 'unknown'])).toEqual([notified, b]);
      expect(await run.groups.list([])).toEqual([]);
    });

    test('keep every text exactly and distinct', async () => {
      const groups = HOSTILE_TEXTS.map((text) => group(`{}:${text}`, { labels: { nest: text } }));
      await run.groups.put(groups);
      for (const one of groups) expect(await run.groups.list([one.key])).toEqual([one]);
    });

    test.each([660, 1_000, 3_000])(
      'are stored, and wait in a lane, however long their labels are: %i',
      async (length) => {
        // Ideographs that an index cannot compress.
        const nest = Array.from({ length }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000)));
        const route = tree(node('', { groupBy: ['nest'] }));
        const one = group(groupKey(route, route, { nest: nest.join('') }));
        await run(async (tx) => {
          await tx.groups.put([one]);
          await tx.outbox.enqueue(notification('n'), [delivery('d', { lane: `0 ${one.key}` })]);
          await tx.faults.note([{ sort: 'group', name: one.key, reason: 'r' }], NOW_US, NOW_US);
        });
        expect(await run.groups.list([one.key])).toEqual([one]);
        expect(await run.faults.names('group')).toEqual([one.key]);
      },
    );

    test('are due when their time has come, the oldest first', async () => {
      await run.groups.put([
        group('now'),
        group('first', { nextFlushAtUs: NOW_US - 1 }),
        group('later', { nextFlushAtUs: NOW_US + 1 }),
      ]);
      const due = async (limit: number) => (await run.groups.due(NOW_US, limit)).map((one) => one.key);
      expect(await due(10)).toEqual(['first', 'now']);
      expect(await due(1)).toEqual(['first']);
      await run.groups.delete(['first', 'unknown']);
      expect(await due(10)).toEqual(['now']);
    });

    test('are due apart from those with an alert that is to join anew', async () => {
      await run.groups.put([group('waits'), group('goes'), group('empty')]);
      await run.alerts.put([alert('a'), alert('b')]);
      await run.groups.putMembers([member('waits', 'a'), member('waits', 'b'), member('goes', 'b')]);
      await run.alerts.markRouted(['b']);
      const due = () => run.groups.due(NOW_US, 9, true);
      expect((await due()).map(({ key }) => key)).toEqual(['empty', 'goes']);
      await run.alerts.markRouted(['a']);
      expect((await due()).map(({ key }) => key)).toEqual(['empty', 'goes', 'waits']);
    });

    const work = () => run.groups.work(NOW_US, 'DeliveryFailing');

    test('and alerts say when something is due next', async () => {
      expect(await work()).toMatchObject({ alertUs: null, groupUs: null, fallbackUs: null });
      await run.alerts.put([alert('never')]);
      expect(await work()).toMatchObject({ alertUs: null, groupUs: null });
      await run.groups.put([group('g', { nextFlushAtUs: NOW_US + 7 })]);
      await run.alerts.put([alert('soon', { dueAtUs: NOW_US + 3 })]);
      expect(await work()).toMatchObject({ alertUs: NOW_US + 3, groupUs: NOW_US + 7 });
      await run.groups.delete(['g']);
      await run.alerts.delete(['soon']);
      expect(await work()).toMatchObject({ alertUs: null, groupUs: null });
    });

    test('wait for alerting if an alert is to join them, an event is to be forwarded, or an attempt failed', async () => {
      const waiting = async () =>
        Object.entries(await work()).flatMap(([what, is]) => (is === true ? [what] : []));
      expect(await waiting()).toEqual([]);
      await run.alerts.put([alert('a')]);
      expect(await waiting()).toEqual(['isJoining']);
      await run.alerts.markRouted(['a']);
      expect(await waiting()).toEqual([]);

      await run.forwards.queue([{ receiver: 'lake', event: event('e') }]);
      expect(await waiting()).toEqual(['isForwarding']);
      await run.forwards.take('lake', 1);
      expect(await waiting()).toEqual([]);

      const fault = { sort: 'alert', name: 'a', reason: 'why' } as const;
      await run.faults.note([fault], NOW_US, NOW_US + 1);
      expect(await waiting()).toEqual([]);
      await run.faults.note([fault], NOW_US, NOW_US);
      expect(await waiting()).toEqual(['isRetrying']);
      await run.faults.mend('alert', ['a']);
      expect(await waiting()).toEqual([]);

      const failing = alert('b', { alertname: 'DeliveryFailing', state: 'firing' });
      await run(async (tx) => {
        await tx.alerts.put([failing]);
        await tx.alerts.markRouted(['b']);
      });
      expect(await waiting()).toEqual(['isDeliveryFailing']);
      await run(async (tx) => {
        await tx.alerts.put([{ ...failing, state: 'resolved' }]);
        await tx.alerts.markRouted(['b']);
      });
      expect(await waiting()).toEqual([]);

      await run(async (tx) => {
        await tx.outbox.enqueue(notification('n'), [delivery('d')]);
        const settlement = { id: 'd', state: 'retry', nextAttemptAtUs: NOW_US, failed: true } as const;
        await tx.outbox.settle([{ ...settlement, lastError: 'no' }], NOW_US);
      });
      expect(await waiting()).toEqual(['isDeliveryFailing']);
    });
  });

  describe('members of a group', () => {
    test('are found by group, with the current state of their alerts, and by alert', async () => {
      await run(async (tx) => {
        await tx.alerts.put([alert('a'), alert('b'), alert('c')]);
        await tx.groups.put([group('g'), group('h')]);
        await tx.groups.putMembers([member('g', 'b'), member('g', 'a'), member('h', 'a')]);
      });
      const notified = member('g', 'a', { notifiedSeq: 4, notifiedState: 'firing' });
      await run.groups.putMembers([notified]);
      await run.alerts.put([alert('a', { state: 'resolved' })]);
      expect(await run.groups.members('g')).toEqual([
        { member: notified, alert: alert('a', { state: 'resolved' }) },
        { member: member('g', 'b'), alert: alert('b') },
      ]);
      expect(await run.groups.membersOfAlerts(['a', 'c', 'unknown'])).toEqual([notified, member('h', 'a')]);
      expect(await run.groups.members('unknown')).toEqual([]);
      expect(await run.groups.membersOfAlerts([])).toEqual([]);
    });

    test('are deleted one by one, with their group and with their alert', async () => {
      await run(async (tx) => {
        await tx.alerts.put(['a', 'b', 'c'].map((id) => alert(id)));
        await tx.groups.put([group('g'), group('h')]);
        await tx.groups.putMembers([member('g', 'a'), member('g', 'b'), member('g', 'c'), member('h', 'a')]);
      });
      const left = async () =>
        (await run.groups.membersOfAlerts(['a', 'b', 'c'])).map((one) => one.groupKey + one.alertId);
      await run.groups.deleteMembers([{ groupKey: 'g', alertId: 'b' }]);
      await run.groups.deleteMembers([]);
      expect(await left()).toEqual(['ga', 'gc', 'ha']);
      await run.alerts.delete(['c']);
      expect(await left()).toEqual(['ga', 'ha']);
      await run.groups.delete(['h']);
      await run.groups.delete([]);
      expect(await left()).toEqual(['ga']);
      await run.groups.put([]);
      await run.groups.putMembers([]);
    });

    test('say of which firing alerts a receiver was notified, by id and in pages', async () => {
      const over = alert('d', { state: 'resolved', endsAtUs: NOW_US });
      await run(async (tx) => {
        await tx.alerts.put([alert('c'), alert('a'), alert('b'), over, alert('e'), alert('f')]);
        await tx.groups.put([group('g1'), group('g2'), group('other', { receiver: 'pager' })]);
        await tx.groups.putMembers([
          ...['a', 'b', 'c', 'd'].map((id) => member('g1', id, { notifiedState: 'firing' })),
          member('g2', 'a', { notifiedState: 'firing' }),
          member('g2', 'e'),
          member('other', 'f', { notifiedState: 'firing' }),
        ]);
      });
      const page = (afterId: string, limit: number) => run.groups.notifiedFiring('ops', afterId, limit);
      expect((await page('', 10)).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      expect(await page('', 2)).toEqual([alert('a'), alert('b')]);
      expect((await page('b', 2)).map(({ id }) => id)).toEqual(['c']);
      expect((await run.groups.notifiedFiring('pager', '', 9)).map(({ id }) => id)).toEqual(['f']);
    });
  });
}
