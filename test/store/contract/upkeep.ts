import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Delivery } from '../../../src/store/outbox-store.ts';
import type { Run } from '../test-store.ts';
import { describePrune } from './prune.ts';
import {
  alert,
  bird,
  delivery,
  event,
  flight,
  group,
  insert,
  NOW_US,
  notification,
  SECOND_US,
  settlement,
} from './sample-records.ts';

export function describeUpkeep(run: Run): void {
  const queue = (...deliveries: readonly Delivery[]) => run.outbox.enqueue(notification('n'), deliveries);

  test('a key for signatures stays as it was first set', async () => {
    expect(await run.upkeep.signingKey('link', 'first')).toBe('first');
    expect(await run.upkeep.signingKey('link', 'second')).toBe('first');
    expect(await run.upkeep.signingKey('other', 'third')).toBe('third');
  });

  describe('when our clock was set back', () => {
    const HOUR_US = 3_600 * SECOND_US;
    const laterUs = NOW_US + HOUR_US;
    const rollBack = () => run((tx) => tx.upkeep.rollBackClock(HOUR_US, NOW_US, () => tx.pause()));

    test('the latest instant is that of events and deliveries', async () => {
      expect(await run.upkeep.newestInstantUs()).toBe(0);
      await run((tx) => insert(tx, [event('1', { observedAtUs: NOW_US + 5 })]));
      expect(await run.upkeep.newestInstantUs()).toBe(NOW_US + 5);
      await queue(delivery('d', { createdAtUs: NOW_US + 9 }));
      expect(await run.upkeep.newestInstantUs()).toBe(NOW_US + 9);
    });

    test('groups and deliveries that wait for an instant wait as long as they should', async () => {
      await queue(
        delivery('soon', { createdAtUs: laterUs, nextAttemptAtUs: laterUs + 5 }),
        delivery('due', { nextAttemptAtUs: NOW_US - 5, fallbackAtUs: laterUs + 7 }),
        delivery('over', { state: 'dead', nextAttemptAtUs: laterUs, settledAtUs: laterUs }),
      );
      await run.groups.put([
        group('soon', { nextFlushAtUs: laterUs + 3 }),
        group('due', { nextFlushAtUs: 1 }),
      ]);
      await rollBack();
      const nextOf = async (id: string) => (await run.outbox.find(id))!.delivery.nextAttemptAtUs;
      expect([await nextOf('soon'), await nextOf('due'), await nextOf('over')]).toEqual([
        NOW_US + 5,
        NOW_US - 5,
        laterUs,
      ]);
      const fallbacks = await run.outbox.takeFallbacks(NOW_US + 7, 10);
      expect(fallbacks.map((one) => one.delivery.id)).toEqual(['due']);
      const groups = await run.groups.due(NOW_US + 3, 10);
      expect(groups.map(({ key, nextFlushAtUs }) => [key, nextFlushAtUs])).toEqual([
        ['due', 1],
        ['soon', NOW_US + 3],
      ]);
    });

    test('an integration goes on to fail, and what it asked to wait waits as long as it should', async () => {
      const minuteUs = 60 * SECOND_US;
      const asked = {
        nextAttemptAtUs: laterUs + 5 * minuteUs,
        notBeforeUs: laterUs + 5 * minuteUs,
        failed: true,
      };
      await queue(delivery('asked'), delivery('probe'));
      await run.outbox.claim('ops', 0, laterUs, 2);
      await run.outbox.settle([settlement('asked', 'retry', asked)], laterUs);
      await rollBack();
      expect(await run.outbox.failingIntegrations()).toMatchObject([{ sinceUs: NOW_US }]);
      await run.outbox.settle([settlement('probe', 'delivered')], NOW_US + minuteUs);
      const due = await run.outbox.claim('ops', 0, NOW_US + 5 * minuteUs, 2);
      expect(due.map((one) => one.delivery.id)).toEqual(['asked']);
    });

    test('Flights and Birds are judged, and logs are read, as soon as they should be', async () => {
      const judged = { nextUs: laterUs + 5, deadlineUs: 0, countedUs: 0 };
      await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'flight', '1');
        await tx.inventory.putBirds([bird('1')]);
        await tx.flights.put([flight('a', { stream })]);
        const times = { nextUs: laterUs + 5, logDueUs: laterUs + 7 };
        await tx.overdue.judgeFlights([{ stream, startedAtUs: NOW_US, flightId: 'a', ...times }]);
        await tx.overdue.judgeBirds([{ region: 'eu', birdId: '1', ...judged }]);
      });
      await rollBack();
      expect(await run.overdue.nextUs(0)).toBe(NOW_US + 5);
      expect(await run.overdue.birds(NOW_US + 5, 9)).toHaveLength(1);
      expect(await run.overdue.flights(NOW_US, NOW_US + 5, 9)).toHaveLength(1);
      expect(await run.overdue.logsDue('eu', NOW_US + 7, 9, 9)).toHaveLength(1);
    });

    test('what was given up counts as given up when it was', async () => {
      await queue(delivery('dead', { state: 'dead', settledAtUs: laterUs }));
      await rollBack();
      const { dead } = await run.troubles.read({ deadAfterUs: 0, quarantinedFromUs: 0, nowUs: NOW_US });
      expect(dead).toEqual([{ receiver: 'ops', count: 1 }]);
    });

    test('what was set aside is tried again as soon as it should be', async () => {
      const faults = [{ sort: 'receiver', name: 'lake', reason: 'why' } as const];
      await run.faults.note(faults, laterUs, laterUs + 5);
      await rollBack();
      expect(await run.faults.names('receiver', NOW_US + 5)).toEqual(['lake']);
      expect(await run.faults.list(NOW_US, 1)).toMatchObject([{ sinceUs: NOW_US }]);
    });

    test('a group is reminded as long after its last notification as it should be', async () => {
      await run.groups.put([group('of late', { nextFlushAtUs: laterUs + 3, notifiedAtUs: laterUs - 3 })]);
      await rollBack();
      expect(await run.groups.list(['of late'])).toEqual([
        group('of late', { nextFlushAtUs: NOW_US + 3, notifiedAtUs: NOW_US - 3 }),
      ]);
    });

    test("an alert waits as long as it should, with its kind's memory", async () => {
      const down = { alertname: 'RegionDown', scope: 'eu', state: 'pending' } as const;
      const memory = { sinceUs: laterUs - 5, reason: 'connection refused' };
      const waiting = alert('waiting', { ...down, memory, dueAtUs: laterUs + 9 });
      const due = alert('due', { dueAtUs: NOW_US - 1 });
      const never = alert('never', { dueAtUs: null });
      await run.alerts.put([waiting, due, never]);
      await run.alerts.markRouted(['waiting', 'due', 'never']);
      await rollBack();
      const moved = { ...waiting, memory: { ...memory, sinceUs: NOW_US - 5 }, dueAtUs: NOW_US + 9 };
      expect(await run.alerts.due(NOW_US + 9, 10)).toEqual([due, moved]);
      expect(await run.alerts.due(NOW_US + 8, 10)).toEqual([due]);
      expect(await run.alerts.find('never')).toEqual(never);
      expect(await run.alerts.changed(10)).toEqual([]);
    });

    test('a corrupt alert holds up no other', async () => {
      const flapping = {} as NonNullable<Alert['flapping']>;
      const changes = { dueAtUs: laterUs + 9 };
      await run.alerts.put([alert('a', { ...changes, flapping }), alert('b', changes)]);
      await rollBack();
      expect(await run.alerts.due(NOW_US + 9, 10)).toEqual([alert('b', { dueAtUs: NOW_US + 9 })]);
    });

    test('more alerts than are moved in one step are all moved once', async () => {
      const many = Array.from({ length: 1201 }, (_, index) => alert(`a${index}`, { dueAtUs: laterUs + 1 }));
      await run.alerts.put(many);
      await rollBack();
      const due = await run.alerts.due(laterUs, 2000);
      expect(new Set(due.map(({ dueAtUs }) => dueAtUs))).toEqual(new Set([NOW_US + 1]));
      expect(due).toHaveLength(1201);
    });
  });

  test('after our clock was set ahead, what must last for an alert does so as long as it should', async () => {
    const down = { alertname: 'RegionDown', scope: 'eu', state: 'pending' } as const;
    const memory = { sinceUs: NOW_US - 5, reason: 'connection refused' };
    const waiting = Array.from({ length: 1201 }, (_, index) =>
      alert(`a${index}`, { ...down, memory, dueAtUs: NOW_US + 9 }),
    );
    const quiet = alert('quiet', { dueAtUs: NOW_US + 9 });
    await run.alerts.put([...waiting, quiet]);
    await run((tx) => tx.upkeep.setClockAhead(1_000, () => tx.pause()));
    expect(await run.alerts.due(NOW_US + 1_008, 2000)).toEqual([quiet]);
    expect(await run.alerts.due(NOW_US + 1_009, 2000)).toHaveLength(1202);
    expect(await run.alerts.find('a0')).toEqual({
      ...waiting[0],
      memory: { ...memory, sinceUs: NOW_US + 995 },
      dueAtUs: NOW_US + 1_009,
    });
  });

  describePrune(run);
}
