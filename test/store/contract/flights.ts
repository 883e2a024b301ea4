import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import { flight, NOW_US, SECOND_US } from './sample-records.ts';

export function describeFlights(run: Run): void {
  describe('flights', () => {
    test('are stored completely and updated in place', async () => {
      await run.flights.put([flight('a')]);
      const ended = flight('a', { status: 'failed', open: false, ends: 1 });
      await run.flights.put([ended]);
      expect(await run.flights.since(1, 0)).toEqual([ended]);
      const again = flight('a', { status: 'active', open: true, ends: 1 });
      await run.flights.put([ended, again]);
      expect(await run.flights.since(1, 0)).toEqual([again]);
    });

    test('are open until they are seen to end', async () => {
      const old = flight('old', { startedAtUs: NOW_US - 3 * 86_400 * SECOND_US });
      const undated = flight('undated', { startedAtUs: 0, status: 'a new status' });
      await run.flights.put([
        flight('a'),
        old,
        undated,
        flight('done', { open: false }),
        flight('other', { stream: 2 }),
      ]);
      expect(await run.flights.open(1)).toEqual([undated, old, flight('a')]);
      await run.flights.put([{ ...old, open: false, status: 'failed', ends: 1 }]);
      expect(await run.flights.open(1)).toEqual([undated, flight('a')]);
      expect(await run.flights.open(3)).toEqual([]);
    });

    test('are listed from an instant of their start on, whatever their state', async () => {
      const flights = [
        flight('a', { startedAtUs: NOW_US - 1 }),
        flight('b', { open: false, status: 'failed' }),
        flight('c', { startedAtUs: NOW_US + 1 }),
      ];
      await run.flights.put([...flights, flight('d', { stream: 2 })]);
      expect(await run.flights.since(1, NOW_US)).toEqual(flights.slice(1));
      expect(await run.flights.since(2, 0)).toHaveLength(1);
    });

    test('are listed without a start too, if they are open or ended since', async () => {
      const ended = { startedAtUs: 0, open: false, ends: 1, status: 'succeeded' };
      const flights = [
        flight('in the air', { startedAtUs: 0 }),
        flight('landed', { ...ended, endedAtUs: NOW_US }),
        flight('dated'),
      ];
      const before = flight('before', { ...ended, endedAtUs: NOW_US - 1 });
      await run.flights.put([...flights, before, flight('other', { stream: 2, startedAtUs: 0 })]);
      expect(await run.flights.since(1, NOW_US)).toEqual(flights);
      expect(await run.flights.since(1, 0)).toHaveLength(4);
    });

    test('say when the last one of each Bird failed', async () => {
      const ended = { open: false, ends: 1, status: 'failed' };
      await run(async (tx) => {
        const { stream: one } = await tx.streams.open('eu', 'flight', '1');
        const { stream: two } = await tx.streams.open('eu', 'flight', '2');
        const { stream: us } = await tx.streams.open('us', 'flight', '1');
        await tx.flights.put([
          flight('a', { stream: one, ...ended, startedAtUs: NOW_US - 9, endedAtUs: NOW_US - 5 }),
          flight('b', { stream: one, ...ended, startedAtUs: NOW_US - 7, endedAtUs: NOW_US - 6 }),
          flight('c', { stream: one, ...ended, status: 'succeeded', endedAtUs: NOW_US }),
          flight('d', { stream: two, ...ended, startedAtUs: NOW_US - 3 }),
          flight('e', { stream: us, status: 'failed' }),
        ]);
      });
      expect(await run.flights.lastFailures('eu')).toEqual(
        new Map([
          ['1', NOW_US - 5],
          ['2', NOW_US - 3],
        ]),
      );
      expect(await run.flights.lastFailures('us')).toEqual(new Map());
    });

    test('are found by their ids, whenever they started', async () => {
      const stored = [flight('a'), flight('b', { startedAtUs: 0 }), flight('c', { open: false })];
      await run.flights.put(stored);
      const wanted = ['c', 'b', 'x'];
      const found = await run.flights.find(1, wanted);
      expect(found.map((one) => one.flightId).sort()).toEqual(['b', 'c']);
      expect(await run.flights.find(2, wanted)).toEqual([]);
      expect(await run.flights.find(1, [])).toEqual([]);
    });

    test('come by the thousand or not at all', async () => {
      await run.flights.put([]);
      const many = Array.from({ length: 1000 }, (_, index) =>
        flight(`f${index}`, { startedAtUs: NOW_US + index, open: index % 2 === 0 }),
      );
      await run.flights.put(many);
      expect(await run.flights.since(1, 0)).toEqual(many);
      expect(await run.flights.open(1)).toHaveLength(500);
      expect(
        await run.flights.find(
          1,
          many.map(({ flightId }) => flightId),
        ),
      ).toHaveLength(1000);
    });
  });
}
