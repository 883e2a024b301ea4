import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import {
  alert,
  event,
  giveUpThree,
  HOSTILE_TEXTS,
  insert,
  NOW_US,
  SECOND_US,
  suppression,
} from './sample-records.ts';

export function describeDigests(run: Run): void {
  const flightEvent = (id: string, status: string, occurredAtUs: number, changes = {}) =>
    event(`${id}/${status}`, {
      feed: 'flight',
      type: `flight.${status}`,
      occurredAtUs,
      attributes: { duration_seconds: 1.5 },
      ...changes,
    });

  describe('digests', () => {
    test('how far a name has come is stored, and can be changed', async () => {
      expect(await run.digests.find('daily')).toBeUndefined();
      await run.digests.put({ name: 'daily', lastUs: 1 });
      await run.digests.put({ name: 'weekly', lastUs: 2 });
      await run.digests.put({ name: 'daily', lastUs: 3, lastEvent: 9 });
      expect(await run.digests.find('daily')).toEqual({ name: 'daily', lastUs: 3, lastEvent: 9 });
      expect(await run.digests.find('weekly')).toEqual({ name: 'weekly', lastUs: 2 });
    });

    test('ended Flights come in the order of their arrival, with what a digest needs of them', async () => {
      const message = HOSTILE_TEXTS.join(' ');
      await run((tx) =>
        insert(
          tx,
          [
            flightEvent('late', 'succeeded', NOW_US),
            flightEvent('early', 'failed', NOW_US - SECOND_US, { message, attributes: {} }),
            flightEvent('stopped', 'cancelled', NOW_US),
          ],
          '148890',
        ),
      );
      const { before, last } = await run.digests.arrivals(0);
      const place = {
        region: 'eu',
        nestId: '682',
        nest: 'Marketing',
        birdId: '148890',
        bird: 'Translate blog',
      };
      const number = expect.any(Number);
      expect(await run.digests.endedFlights(before, last)).toEqual([
        { ...place, number, occurredAtUs: NOW_US, status: 'succeeded', message: '', durationUs: 1_500_000 },
        { ...place, number, occurredAtUs: NOW_US - SECOND_US, status: 'failed', message, durationUs: null },
        expect.objectContaining({ status: 'cancelled', message: '' }),
      ]);
      const [first] = await run.digests.endedFlights(before, last);
      expect(await run.digests.endedFlights(first!.number, last)).toHaveLength(2);
      expect(await run.digests.endedFlights(before, first!.number)).toHaveLength(1);
    });

    test('the numbers of arrivals limit what occurred since an instant', async () => {
      expect(await run.digests.arrivals(0)).toEqual({ before: 0, last: 0 });
      await run((tx) =>
        insert(
          tx,
          [
            flightEvent('a', 'failed', NOW_US - 2),
            flightEvent('b', 'failed', NOW_US),
            flightEvent('c', 'failed', NOW_US - 1),
          ],
          '148890',
        ),
      );
      const since = async (us: number) => {
        const { before, last } = await run.digests.arrivals(us);
        return (await run.digests.endedFlights(before, last)).map(
          ({ occurredAtUs }) => NOW_US - occurredAtUs,
        );
      };
      expect(await since(NOW_US - 2)).toEqual([2, 0, 1]);
      expect(await since(NOW_US - 1)).toEqual([0, 1]);
      expect(await since(NOW_US + 1)).toEqual([]);
    });

    test('what else arrived late is known by when it occurred', async () => {
      const at = (us: number, type = 'app.disconnected') =>
        event(`${type}${us}`, { type, occurredAtUs: NOW_US + us });
      await run((tx) =>
        insert(tx, [at(1), at(2), at(2, 'flight.failed'), at(4), at(3), at(3, 'bird.x'), at(5)]),
      );
      const { before, last } = await run.digests.arrivals(0);
      const late = async (after: number) =>
        (await run.digests.lateInstants(after, [after, last - 1], NOW_US + 2, NOW_US + 5)).toSorted();
      expect(await late(before)).toEqual([2, 3, 4].map((us) => NOW_US + us));
      expect(await late(before + 2)).toEqual([3, 4].map((us) => NOW_US + us));
      expect(await late(before + 5)).toEqual([]);
    });

    test('an episode is added to the history when its alert resolves, once, and outlives it until the retention', async () => {
      const over = (id: string, changes = {}) =>
        alert(id, {
          state: 'resolved',
          endsAtUs: NOW_US + SECOND_US,
          ending: 'over',
          updatedAtUs: NOW_US + 2,
          ...changes,
        });
      await run.alerts.put([alert('a'), alert('p', { state: 'pending' }), over('b')]);
      await run.alerts.put([over('b', { updatedAtUs: NOW_US + 9 })]);
      await run.alerts.put([over('a', { updatedAtUs: NOW_US + 5, ending: 'quiet', eventsTotal: 7 })]);
      await run.alerts.delete(['a', 'b', 'p']);
      const between = (from: number, to: number) => run.digests.episodes(NOW_US + from, NOW_US + to, 10);
      expect(await between(0, 10)).toEqual([
        expect.objectContaining({ alertId: 'b', ending: 'over' }),
        {
          alertId: 'a',
          alertname: 'FlightFailed',
          labels: alert('a').labels,
          startsAtUs: NOW_US,
          endsAtUs: NOW_US + SECOND_US,
          events: 7,
          ending: 'quiet',
        },
      ]);
      expect((await between(2, 5)).map((one) => one.alertId)).toEqual(['a']);
      expect(await run.digests.episodes(NOW_US, NOW_US + 10, 1)).toHaveLength(1);
      expect(await run.upkeep.prune(NOW_US + 5, 10)).toBe(1);
      expect((await between(0, 10)).map((one) => one.alertId)).toEqual(['a']);
    });

    test('what ended under a silence is listed once for all groups that would have notified of it', async () => {
      const muted = (alertId: string, groupKey: string, after: number, changes = {}) =>
        suppression(alertId, { lastSeq: 0, groupKey, receiver: groupKey, atUs: NOW_US + after, ...changes });
      const over = (id: string, startsAtUs: number, bird: string) =>
        alert(id, { state: 'resolved', startsAtUs, labels: { alertname: 'FlightFailed', bird } });
      await run(async (tx) => {
        await tx.alerts.put([over('a', NOW_US - 9, 'before'), over('b', NOW_US, 'b'), alert('c')]);
        await tx.alerts.put([over('a', NOW_US, HOSTILE_TEXTS.join(' '))]);
        await tx.suppressions.add([
          ...[muted('b', 'ops', 0), muted('b', 'ops', 1), muted('b', 'ops', 4)],
          ...[muted('a', 'ops', 1), muted('a', 'ops', 3), muted('a', 'pager', 2)],
          ...[muted('c', 'ops', 2), muted('c', 'ops', 2, { reason: 'inhibited' })],
          muted('gone', 'ops', 2),
        ]);
        await tx.alerts.delete(['a', 'b']);
      });
      const { alertname, labels } = alert('c');
      const { list, total } = await run.digests.endedSilenced(NOW_US, NOW_US + 3, 10);
      expect(list).toEqual([
        { alertId: 'a', alertname, labels: { alertname, bird: HOSTILE_TEXTS.join(' ') }, times: 2 },
        { alertId: 'b', alertname, labels: { alertname, bird: 'b' }, times: 1 },
        { alertId: 'c', alertname, labels, times: 1 },
        { alertId: 'gone', alertname: '', labels: {}, times: 1 },
      ]);
      expect(total).toBe(4);
      const first = { list: [list[0]], total: 4 };
      expect(await run.digests.endedSilenced(NOW_US, NOW_US + 3, 1)).toEqual(first);
      expect(await run.digests.endedSilenced(0, NOW_US - 1, 1)).toEqual({ list: [], total: 0 });
    });

    test('what was suppressed for a receiver is counted by its reason, and so is what was given up', async () => {
      const muted = (receiver: string, reason: 'silenced' | 'too_old', after: number) =>
        suppression('a', { lastSeq: 0, receiver, reason, atUs: NOW_US + after });
      await run(async (tx) => {
        await tx.alerts.put([alert('a')]);
        await tx.suppressions.add([
          ...[muted('ops', 'silenced', 0), muted('ops', 'too_old', 1), muted('ops', 'silenced', 2)],
          ...[muted('ops', 'silenced', 3), muted('pager', 'silenced', 2)],
        ]);
        await giveUpThree(tx);
      });
      expect(await run.digests.countSuppressed('ops', NOW_US, NOW_US + 3)).toEqual([
        { reason: 'silenced', count: 2 },
        { reason: 'too_old', count: 1 },
      ]);
      expect(await run.digests.countDead('ops', NOW_US, NOW_US + 2)).toBe(1);
      expect(await run.digests.countDead('ops', NOW_US, NOW_US + 3)).toBe(2);
    });
  });
}
