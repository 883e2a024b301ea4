import { describe, expect, test } from 'vitest';
import { flight, NOW_US, SECOND_US } from './sample-records.ts';
import type { Run } from './subject.ts';

export function describeFlights(run: Run): void {
  describe('flights', () => {
    test('are kept whole and updated in place', async () => {
      await run((tx) => tx.flights.put([flight('a')]));
      const ended = flight('a', { status: 'failed', open: false, ends: 1 });
      await run((tx) => tx.flights.put([ended]));
      expect(await run((tx) => tx.flights.since(1, 0))).toEqual([ended]);
      const again = flight('a', { status: 'active', open: true, ends: 1 });
      await run((tx) => tx.flights.put([ended, again]));
      expect(await run((tx) => tx.flights.since(1, 0))).toEqual([again]);
    });

    test('are open until they are seen to end', async () => {
      const old = flight('old', { startedAtUs: NOW_US - 3 * 86_400 * SECOND_US });
      const undated = flight('undated', { startedAtUs: 0, status: 'a new status' });
      await run((tx) =>
        tx.flights.put([
          flight('a'),
          old,
          undated,
          flight('done', { open: false }),
          flight('other', { stream: 2 }),
        ]),
      );
      expect(await run((tx) => tx.flights.open(1))).toEqual([undated, old, flight('a')]);
      await run((tx) => tx.flights.put([{ ...old, open: false, status: 'failed', ends: 1 }]));
      expect(await run((tx) => tx.flights.open(1))).toEqual([undated, flight('a')]);
      expect(await run((tx) => tx.flights.open(3))).toEqual([]);
    });

    test('are listed from an instant of their start on, whatever their state', async () => {
      const flights = [
        flight('a', { startedAtUs: NOW_US - 1 }),
        flight('b', { open: false, status: 'failed' }),
        flight('c', { startedAtUs: NOW_US + 1 }),
      ];
      await run((tx) => tx.flights.put([...flights, flight('d', { stream: 2 })]));
      expect(await run((tx) => tx.flights.since(1, NOW_US))).toEqual(flights.slice(1));
      expect(await run((tx) => tx.flights.since(2, 0))).toHaveLength(1);
    });

    test('are found by their exact start and id', async () => {
      const stored = [flight('a'), flight('b', { startedAtUs: 0 }), flight('c', { open: false })];
      await run((tx) => tx.flights.put(stored));
      const wanted = [
        { flightId: 'c', startedAtUs: NOW_US },
        { flightId: 'a', startedAtUs: NOW_US + 1 },
        { flightId: 'b', startedAtUs: 0 },
        { flightId: 'x', startedAtUs: NOW_US },
      ];
      const found = await run((tx) => tx.flights.find(1, wanted));
      expect(found.map((one) => one.flightId).sort()).toEqual(['b', 'c']);
      expect(await run((tx) => tx.flights.find(2, wanted))).toEqual([]);
      expect(await run((tx) => tx.flights.find(1, []))).toEqual([]);
    });

    test('come by the thousand and not at all', async () => {
      await run((tx) => tx.flights.put([]));
      const many = Array.from({ length: 1000 }, (_, index) =>
        flight(`f${index}`, { startedAtUs: NOW_US + index, open: index % 2 === 0 }),
      );
      await run((tx) => tx.flights.put(many));
      expect(await run((tx) => tx.flights.since(1, 0))).toEqual(many);
      expect(await run((tx) => tx.flights.open(1))).toHaveLength(500);
      expect(await run((tx) => tx.flights.find(1, many))).toHaveLength(1000);
    });
  });
}
