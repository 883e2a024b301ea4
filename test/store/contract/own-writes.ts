import { describe, expect, test } from 'vitest';
import type { Transaction } from '../../../src/store/store.ts';
import type { Run } from '../test-store.ts';
import {
  alert,
  delivery,
  event,
  group,
  groupNotification,
  insert,
  member,
  NOW_US,
  suppression,
} from './sample-records.ts';

const DUE = group('due');
const LATER = group('later', { nextFlushAtUs: NOW_US + 5 });

/** Two alerts with one event each, of which `a` is in a group that is due. */
async function begin(tx: Transaction): Promise<void> {
  await insert(tx, [event('1'), event('2')]);
  await tx.alerts.put([alert('a'), alert('b')]);
  await tx.alerts.linkEvents([
    { alertId: 'a', seq: 1, event: event('1') },
    { alertId: 'b', seq: 1, event: event('2') },
  ]);
  await tx.groups.put([DUE]);
  await tx.groups.putMembers([member('due', 'a')]);
}

const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);
const membersOf = async (tx: Transaction, key: string) =>
  (await tx.groups.members(key)).map((one) => [one.alert.id, one.member.notifiedSeq]);
const spanOf = (alertId: string) => ({ alertId, afterSeq: 0, lastSeq: 1 });

/** A store may hold writes back. Whatever reads them in the same transaction must not notice. */
const READ: readonly [what: string, write: (tx: Transaction) => Promise<void>, read: Read, found: unknown][] =
  [
    ['a group, by its key', (tx) => tx.groups.put([LATER]), async (tx) => tx.groups.list(['later']), [LATER]],
    [
      'the last of what was written of a group',
      async (tx) => {
        await tx.groups.put([{ ...DUE, notifications: 1 }]);
        await tx.groups.put([
          { ...DUE, notifications: 2 },
          { ...DUE, notifications: 3 },
        ]);
      },
      async (tx) => (await tx.groups.list(['due'])).map(({ notifications }) => notifications),
      [3],
    ],
    [
      'which groups are due',
      (tx) => tx.groups.put([{ ...DUE, nextFlushAtUs: NOW_US + 9 }, LATER]),
      async (tx) => (await tx.groups.due(NOW_US + 5, 9)).map(({ key }) => key),
      ['later'],
    ],
    [
      'when something is due',
      (tx) => tx.groups.put([{ ...DUE, nextFlushAtUs: NOW_US + 9 }]),
      async (tx) => (await tx.groups.work(NOW_US, '')).groupUs,
      NOW_US + 9,
    ],
    [
      'the members of a group that were loaded with those of another',
      async (tx) => {
        await tx.groups.put([group('early', { nextFlushAtUs: NOW_US - 1 })]);
        await tx.groups.putMembers([member('early', 'a')]);
        await tx.groups.due(NOW_US, 9);
        await tx.groups.members('early');
        await tx.groups.putMembers([member('due', 'a', { notifiedSeq: 1 }), member('due', 'b')]);
      },
      (tx) => membersOf(tx, 'due'),
      [
        ['a', 1],
        ['b', 0],
      ],
    ],
    [
      'that such a member was deleted',
      async (tx) => {
        await tx.groups.due(NOW_US, 9);
        await tx.groups.members('due');
        await tx.groups.deleteMembers([member('due', 'a')]);
      },
      (tx) => membersOf(tx, 'due'),
      [],
    ],
    [
      'that such a group was deleted',
      async (tx) => {
        await tx.groups.due(NOW_US, 9);
        await tx.groups.members('due');
        await tx.groups.delete(['due']);
      },
      (tx) => membersOf(tx, 'due'),
      [],
    ],
    [
      'a change of an alert in such a group',
      async (tx) => {
        await tx.groups.due(NOW_US, 9);
        await tx.groups.members('due');
        await tx.alerts.put([alert('a', { state: 'resolved' })]);
      },
      async (tx) => (await tx.groups.members('due')).map((one) => one.alert.state),
      ['resolved'],
    ],
    [
      'the groups of an alert',
      (tx) => tx.groups.putMembers([member('due', 'b', { notifiedSeq: 1 })]),
      async (tx) => (await tx.groups.membersOfAlerts(['b'])).map((one) => one.notifiedSeq),
      [1],
    ],
    [
      'which alerts a receiver was notified of',
      (tx) => tx.groups.putMembers([member('due', 'a', { notifiedState: 'firing' })]),
      async (tx) => ids(await tx.groups.notifiedFiring('ops', '', 9)),
      ['a'],
    ],
    [
      'that a member went with its alert',
      async (tx) => {
        await tx.groups.putMembers([member('due', 'b')]);
        await tx.alerts.delete(['b']);
      },
      (tx) => membersOf(tx, 'due'),
      [['a', 0]],
    ],
    [
      'that a member went with its group, which then came again',
      async (tx) => {
        await tx.groups.putMembers([member('due', 'b')]);
        await tx.groups.delete(['due']);
        await tx.groups.put([DUE]);
      },
      (tx) => membersOf(tx, 'due'),
      [],
    ],
    [
      'a delivery, by its id, also if several look at once',
      (tx) => tx.outbox.enqueue(groupNotification('n'), [delivery('d'), delivery('e')]),
      async (tx) => {
        const found = await Promise.all([tx.outbox.find('d'), tx.outbox.find('e'), tx.outbox.find('f')]);
        return found.map((one) => one?.delivery.id);
      },
      ['d', 'e', undefined],
    ],
    [
      'deliveries in the order in which they were queued, also those of the same notification',
      async (tx) => {
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d'), delivery('a')]);
        await tx.outbox.enqueue(groupNotification('m'), [delivery('c')]);
        await tx.outbox.enqueue(groupNotification('l'), [delivery('b')]);
      },
      async (tx) => ids((await tx.outbox.page({ limit: 9 })).deliveries),
      ['b', 'c', 'a', 'd'],
    ],
    [
      'each delivery with its own notification',
      async (tx) => {
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d'), delivery('e')]);
        await tx.outbox.enqueue(groupNotification('m'), [delivery('c')]);
      },
      async (tx) =>
        (await tx.outbox.claim('ops', 0, NOW_US, 9)).map((one) => [one.delivery.id, one.notification.id]),
      [
        ['d', 'n'],
        ['e', 'n'],
        ['c', 'm'],
      ],
    ],
    [
      'whose turn it is in a lane',
      async (tx) => {
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d', { lane: 'L' })]);
        await tx.outbox.enqueue(groupNotification('m'), [delivery('e', { lane: 'L' }), delivery('f')]);
      },
      async (tx) => (await tx.outbox.claim('ops', 0, NOW_US, 9)).map((one) => one.delivery.id),
      ['d', 'f'],
    ],
    [
      'how many deliveries there are',
      (tx) => tx.outbox.enqueue(groupNotification('n'), [delivery('d')]),
      (tx) => tx.outbox.count(),
      [{ receiver: 'ops', state: 'pending', count: 1 }],
    ],
    [
      'the notifications of an alert and of an event',
      async (tx) => {
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d')], [spanOf('a')]);
        await tx.outbox.enqueue(groupNotification('m', [event('2')]), [delivery('e')]);
      },
      async (tx) => [
        ids(await tx.outbox.notificationsOfAlert('a', 9)),
        ids((await tx.outbox.notificationsOfEvent(event('1').key)).map((one) => one.notification)),
        ids((await tx.outbox.notificationsOfEvent(event('2').key)).map((one) => one.notification)),
      ],
      [['m', 'n'], ['n'], ['m']],
    ],
    [
      'that a notification covered an alert that was deleted since',
      async (tx) => {
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d')], [spanOf('a')]);
        await tx.alerts.delete(['a']);
      },
      async (tx) => [
        ids(await tx.outbox.notificationsOfAlert('a', 9)),
        ids((await tx.outbox.notificationsOfEvent(event('1').key)).map((one) => one.notification)),
      ],
      [['n'], ['n']],
    ],
    [
      'what was suppressed, of an alert that was deleted since',
      async (tx) => {
        await tx.suppressions.add([suppression('a')]);
        await tx.alerts.delete(['a']);
      },
      async (tx) => [await tx.suppressions.ofAlert('a'), await tx.suppressions.ofEvent(event('1').key)],
      [[suppression('a')], [suppression('a')]],
    ],
  ];
type Read = (tx: Transaction) => Promise<unknown>;

export function describeOwnWrites(run: Run): void {
  test('a transaction sees what it wrote', async () => {
    for (const [what, write, read, found] of READ) {
      let seen: unknown;
      const undone = run(async (tx) => {
        await begin(tx);
        await write(tx);
        seen = await read(tx);
        throw new Error('undo');
      });
      await expect(undone, what).rejects.toThrow('undo');
      expect(seen, what).toEqual(found);
    }
  });

  describe('what a part of a transaction wrote', () => {
    test('is gone if the part fails, but not what was written before it', async () => {
      await run(async (tx) => {
        await begin(tx);
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d')]);
        await tx.suppressions.add([suppression('a')]);
        await tx.attempt(async () => {
          await tx.groups.put([{ ...DUE, notifications: 7 }, LATER]);
          await tx.groups.putMembers([member('due', 'a', { notifiedSeq: 7 }), member('later', 'b')]);
          await tx.outbox.enqueue(groupNotification('m'), [delivery('e')]);
          await tx.suppressions.add([suppression('b')]);
          throw new Error('no');
        });
        await tx.suppressions.add([suppression('a')]);
        await tx.outbox.enqueue(groupNotification('l'), [delivery('c')]);
        expect(await membersOf(tx, 'due')).toEqual([['a', 0]]);
      });
      const left = await run(async (tx) => [
        await tx.groups.list(['due', 'later']),
        await membersOf(tx, 'due'),
        ids(await tx.outbox.page({ limit: 9 }).then((one) => one.deliveries)),
        [await tx.suppressions.ofAlert('a'), await tx.suppressions.ofAlert('b')],
      ]);
      expect(left).toEqual([...[[DUE], [['a', 0]], ['c', 'd']], [[suppression('a'), suppression('a')], []]]);
    });

    test('is forgotten with the members that it loaded and changed', async () => {
      await run(async (tx) => {
        await begin(tx);
        await tx.attempt(async () => {
          await tx.groups.putMembers([member('due', 'a', { notifiedSeq: 7 })]);
          await tx.groups.due(NOW_US, 9);
          expect(await membersOf(tx, 'due')).toEqual([['a', 7]]);
          throw new Error('no');
        });
        expect(await membersOf(tx, 'due')).toEqual([['a', 0]]);
      });
    });

    test('is gone with its transaction', async () => {
      const failed = run(async (tx) => {
        await begin(tx);
        await tx.outbox.enqueue(groupNotification('n'), [delivery('d')]);
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      const left = await run(async (tx) => [
        await tx.groups.list(['due']),
        await tx.outbox.page({ limit: 9 }).then((one) => one.deliveries),
      ]);
      expect(left).toEqual([[], []]);
    });
  });

  test.each([
    ['group', member('unknown', 'a')],
    ['alert', member('due', 'unknown')],
  ])('a member without its %s fails what wrote it, whether or not something reads it', async (_, stray) => {
    const missing = 'A group or an alert of a member is not in the store.';
    const unread = run(async (tx) => {
      await begin(tx);
      await tx.groups.putMembers([stray]);
    });
    await expect(unread).rejects.toThrow(missing);
    const swallowed = run(async (tx) => {
      await begin(tx);
      await tx.groups.putMembers([stray]).catch(() => {});
      await tx.groups.membersOfAlerts(['a']).catch(() => {});
      await tx.inventory.nests('eu').catch(() => {});
    });
    await expect(swallowed).rejects.toThrow(missing);
    expect(await run.groups.list(['due'])).toEqual([]);
    const part = await run(async (tx) => {
      await begin(tx);
      const attempted = await tx.attempt(() => tx.groups.putMembers([stray]));
      await tx.groups.put([LATER]);
      return attempted;
    });
    expect(part).toMatchObject({ ok: false, error: { message: missing } });
    expect(await run.groups.list(['due', 'later'])).toEqual([DUE, LATER]);
  });
}
