import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import { alert, event, giveUpThree, HOSTILE_TEXTS, insert, NOW_US, SECOND_US } from './sample-records.ts';

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
      await run(async (tx) => {
        await insert(
          tx,
          [
            flightEvent('late', 'succeeded', NOW_US),
            flightEvent('early', 'failed', NOW_US - SECOND_US, { message, attributes: {} }),
            flightEvent('stopped', 'cancelled', NOW_US),
          ],
          '148890',
        );
      });
      const { before, last } = await run.digests.arrivals(0);
      expect(await run.digests.endedFlights(before, last)).toEqual([
        expect.objectContaining({
          occurredAtUs: NOW_US,
          status: 'succeeded',
          message: '',
          durationUs: 1_500_000,
        }),
        {
          number: expect.any(Number),
          occurredAtUs: NOW_US - SECOND_US,
          status: 'failed',
          region: 'eu',
          nest: 'Marketing',
          nestId: '682',
          bird: 'Translate blog',
          birdId: '148890',
          message,
          durationUs: null,
        },
        expect.objectContaining({ status: 'cancelled', message: '' }),
      ]);
      const [first] = await run.digests.endedFlights(before, last);
      expect(await run.digests.endedFlights(first!.number, last)).toHaveLength(2);
      expect(await run.digests.endedFlights(before, first!.number)).toHaveLength(1);
    });

    test('the numbers of arrivals limit what occurred since an instant', async () => {
      expect(await run.digests.arrivals(0)).toEqual({ before: 0, last: 0 });
      await run(async (tx) => {
        await insert(
          tx,
          [
            flightEvent('a', 'failed', NOW_US - 2),
            flightEvent('b', 'failed', NOW_US),
            flightEvent('c', 'failed', NOW_US - 1),
          ],
          '148890',
        );
      });
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
      const suppression = (alertId: string, groupKey: string, atUs: number, reason = 'silenced') => ({
        ...{ alertId, afterSeq: 0, lastSeq: 0, groupKey, receiver: groupKey, detail: '' },
        ...{ reason: reason as 'silenced', atUs },
      });
      const over = (id: string, startsAtUs: number, bird: string) =>
        alert(id, { state: 'resolved', startsAtUs, labels: { alertname: 'FlightFailed', bird } });
      await run(async (tx) => {
        await tx.alerts.put([over('a', NOW_US - 9, 'before'), over('b', NOW_US, 'b'), alert('c')]);
        await tx.alerts.put([over('a', NOW_US, HOSTILE_TEXTS.join(' '))]);
        await tx.suppressions.add([
          suppression('b', 'ops', NOW_US),
          suppression('b', 'ops', NOW_US + 1),
          suppression('b', 'ops', NOW_US + 4),
          suppression('a', 'ops', NOW_US + 1),
          suppression('a', 'ops', NOW_US + 3),
          suppression('a', 'pager', NOW_US + 2),
          suppression('c', 'ops', NOW_US + 2),
          suppression('c', 'ops', NOW_US + 2, 'inhibited'),
          suppression('gone', 'ops', NOW_US + 2),
        ]);
        await tx.alerts.delete(['a', 'b']);
      });
      const { alertname, labels } = alert('c');
      const { list, total } = await run.digests.endedSilenced(NOW_US, NOW_US + 3, 10);
      expect([list, total]).toEqual([
        [
          {
            alertId: 'a',
            alertname: 'FlightFailed',
            labels: { alertname: 'FlightFailed', bird: HOSTILE_TEXTS.join(' ') },
            times: 2,
          },
          {
            alertId: 'b',
            alertname: 'FlightFailed',
            labels: { alertname: 'FlightFailed', bird: 'b' },
            times: 1,
          },
          { alertId: 'c', alertname, labels, times: 1 },
          { alertId: 'gone', alertname: '', labels: {}, times: 1 },
        ],
        4,
      ]);
      expect(await run.digests.endedSilenced(NOW_US, NOW_US + 3, 1)).toEqual({
        list: [list[0]],
        total: 4,
      });
      expect(await run.digests.endedSilenced(0, NOW_US - 1, 1)).toEqual({ list: [], total: 0 });
    });

    test('what was suppressed for a receiver is counted by its reason, and so is what was given up', async () => {
      const suppression = (receiver: string, reason: 'silenced' | 'too_old', atUs: number) => ({
        ...{ alertId: 'a', afterSeq: 0, lastSeq: 0, groupKey: 'g', detail: '', receiver, reason, atUs },
      });
      await run(async (tx) => {
        await tx.alerts.put([alert('a')]);
        await tx.suppressions.add([
          suppression('ops', 'silenced', NOW_US),
          suppression('ops', 'too_old', NOW_US + 1),
          suppression('ops', 'silenced', NOW_US + 2),
          suppression('ops', 'silenced', NOW_US + 3),
          suppression('pager', 'silenced', NOW_US + 2),
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
