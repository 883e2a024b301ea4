import { describe, expect, test } from 'vitest';
import type { GroupMember } from '../../../src/domain/grouping/group.ts';
import { alert, event, group, HOSTILE_TEXTS, NOW_US } from './samples.ts';
import type { Run } from './subject.ts';

export function describeGroups(run: Run): void {
  const member = (groupKey: string, alertId: string, changes: Partial<GroupMember> = {}): GroupMember => ({
    groupKey,
    alertId,
    notifiedSeq: 0,
    notifiedState: 'none',
    ...changes,
  });

  describe('groups', () => {
    test('are kept whole, updated and found by their keys', async () => {
      const [a, b] = [group('{}:{a="1"}'), group('{}:{b="2"}', { labels: {}, notifications: 3 })];
      await run((tx) => tx.putGroups([a!, b!]));
      const told = { ...a!, notifiedAtUs: NOW_US, thread: 't2', notifications: 1, nextFlushAtUs: NOW_US + 9 };
      await run((tx) => tx.putGroups([told]));
      expect(await run((tx) => tx.groups([b!.key, a!.key, a!.key, 'unknown']))).toEqual([told, b]);
      expect(await run((tx) => tx.groups([]))).toEqual([]);
    });

    test('keep every text exactly and apart', async () => {
      const groups = HOSTILE_TEXTS.map((text) => group(`{}:${text}`, { labels: { nest: text } }));
      await run((tx) => tx.putGroups(groups));
      for (const one of groups) expect(await run((tx) => tx.groups([one.key]))).toEqual([one]);
    });

    test('are due when their time has come, the oldest first', async () => {
      await run((tx) =>
        tx.putGroups([
          group('now'),
          group('first', { nextFlushAtUs: NOW_US - 1 }),
          group('later', { nextFlushAtUs: NOW_US + 1 }),
        ]),
      );
      const due = async (limit: number) =>
        (await run((tx) => tx.groupsDue(NOW_US, limit))).map((one) => one.key);
      expect(await due(10)).toEqual(['first', 'now']);
      expect(await due(1)).toEqual(['first']);
      await run((tx) => tx.deleteGroups(['first', 'unknown']));
      expect(await due(10)).toEqual(['now']);
    });

    test('and alerts tell when something is due next', async () => {
      const next = () => run((tx) => tx.nextAlertingUs());
      expect(await next()).toBeUndefined();
      await run((tx) => tx.putAlerts([alert('never')]));
      expect(await next()).toBeUndefined();
      await run((tx) => tx.putGroups([group('g', { nextFlushAtUs: NOW_US + 7 })]));
      expect(await next()).toBe(NOW_US + 7);
      await run((tx) => tx.putAlerts([alert('soon', { dueAtUs: NOW_US + 3 })]));
      expect(await next()).toBe(NOW_US + 3);
      await run((tx) => tx.deleteGroups(['g']));
      await run((tx) => tx.deleteAlerts(['soon']));
      expect(await next()).toBeUndefined();
    });
  });

  describe('members of a group', () => {
    test('are found by group, with their alerts as they stand now, and by alert', async () => {
      await run(async (tx) => {
        await tx.putAlerts([alert('a'), alert('b'), alert('c')]);
        await tx.putGroups([group('g'), group('h')]);
        await tx.putGroupMembers([member('g', 'b'), member('g', 'a'), member('h', 'a')]);
      });
      const told = member('g', 'a', { notifiedSeq: 4, notifiedState: 'firing' });
      await run((tx) => tx.putGroupMembers([told]));
      await run((tx) => tx.putAlerts([alert('a', { state: 'resolved' })]));
      expect(await run((tx) => tx.groupMembers('g'))).toEqual([
        { member: told, alert: alert('a', { state: 'resolved' }) },
        { member: member('g', 'b'), alert: alert('b') },
      ]);
      expect(await run((tx) => tx.groupsOfAlerts(['a', 'c', 'unknown']))).toEqual([told, member('h', 'a')]);
      expect(await run((tx) => tx.groupMembers('unknown'))).toEqual([]);
      expect(await run((tx) => tx.groupsOfAlerts([]))).toEqual([]);
    });

    test('go one by one, with their group and with their alert', async () => {
      await run(async (tx) => {
        await tx.putAlerts(['a', 'b', 'c'].map((id) => alert(id)));
        await tx.putGroups([group('g'), group('h')]);
        await tx.putGroupMembers([member('g', 'a'), member('g', 'b'), member('g', 'c'), member('h', 'a')]);
      });
      const left = async () =>
        (await run((tx) => tx.groupsOfAlerts(['a', 'b', 'c']))).map((one) => one.groupKey + one.alertId);
      await run((tx) => tx.deleteGroupMembers([{ groupKey: 'g', alertId: 'b' }]));
      await run((tx) => tx.deleteGroupMembers([]));
      expect(await left()).toEqual(['ga', 'gc', 'ha']);
      await run((tx) => tx.deleteAlerts(['c']));
      expect(await left()).toEqual(['ga', 'ha']);
      await run((tx) => tx.deleteGroups(['h']));
      await run((tx) => tx.deleteGroups([]));
      expect(await left()).toEqual(['ga']);
      await run((tx) => tx.putGroups([]));
      await run((tx) => tx.putGroupMembers([]));
    });
  });

  describe('forwarding', () => {
    const queue = (receiver: string, ...numbers: number[]) =>
      numbers.map((number) => ({ receiver, event: event(`e${number}`, { occurredAtUs: NOW_US - number }) }));
    const take = async (receiver: string, limit: number) =>
      (await run((tx) => tx.takeForward(receiver, limit))).map((one) =>
        Number(one.key.slice('eu/notification/e'.length)),
      );

    test('gives each receiver its events once, in the order in which they were committed', async () => {
      await run((tx) => tx.queueForward([...queue('lake', 3, 1), ...queue('siem', 1)]));
      await run((tx) => tx.queueForward(queue('lake', 2, 4)));
      expect((await run((tx) => tx.forwardReceivers())).sort()).toEqual(['lake', 'siem']);
      expect(await take('lake', 3)).toEqual([3, 1, 2]);
      await run((tx) => tx.queueForward(queue('lake', 5)));
      expect(await take('lake', 100)).toEqual([4, 5]);
      expect(await take('lake', 100)).toEqual([]);
      expect(await run((tx) => tx.forwardReceivers())).toEqual(['siem']);
      expect(await take('unknown', 100)).toEqual([]);
      await run((tx) => tx.queueForward([]));
    });

    test('keeps the event whole, and keeps it waiting when the taking is taken back', async () => {
      const whole = event('whole', { message: HOSTILE_TEXTS.join(), attributes: { a: 1, b: false } });
      await run((tx) => tx.queueForward([{ receiver: 'lake', event: whole }]));
      const failed = run(async (tx) => {
        expect(await tx.takeForward('lake', 1)).toEqual([whole]);
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      expect(await run((tx) => tx.takeForward('lake', 1))).toEqual([whole]);
    });

    test('say what fires and was told to a receiver, by id and in pages', async () => {
      const over = alert('d', { state: 'resolved', endsAtUs: NOW_US });
      await run(async (tx) => {
        await tx.putAlerts([alert('c'), alert('a'), alert('b'), over, alert('e'), alert('f')]);
        await tx.putGroups([group('g1'), group('g2'), group('other', { receiver: 'pager' })]);
        await tx.putGroupMembers([
          ...['a', 'b', 'c', 'd'].map((id) => member('g1', id, { notifiedState: 'firing' })),
          member('g2', 'a', { notifiedState: 'firing' }),
          member('g2', 'e'),
          member('other', 'f', { notifiedState: 'firing' }),
        ]);
      });
      const page = (afterId: string, limit: number) => run((tx) => tx.notifiedFiring('ops', afterId, limit));
      expect((await page('', 10)).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      expect(await page('', 2)).toEqual([alert('a'), alert('b')]);
      expect((await page('b', 2)).map(({ id }) => id)).toEqual(['c']);
      expect((await run((tx) => tx.notifiedFiring('pager', '', 9))).map(({ id }) => id)).toEqual(['f']);
    });
  });
}
