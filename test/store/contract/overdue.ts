import { describe, expect, test } from 'vitest';
import type { FlightTail } from '../../../src/domain/alert/fact.ts';
import { NO_NEWS_US } from '../../../src/store/sql/watched/nests-and-birds.ts';
import type { Transaction } from '../../../src/store/store.ts';
import type { Run } from '../test-store.ts';
import { alert, bird, event, flight, insert, NOW_US, nest, SECOND_US } from './sample-records.ts';

const MINUTE_US = 60 * SECOND_US;

const MARKETING = nest('682', 'Marketing');
const PLACE = { region: 'eu', nestId: '682', nest: 'Marketing', birdId: '1', bird: 'Bird 1' };

const openFlightsOf = async (tx: Transaction, birdId: string) =>
  (await tx.streams.open('eu', 'flight', birdId)).stream;

export function describeOverdue(run: Run): void {
  describe('what may be overdue', () => {
    test('open Flights are judged when they are old enough, the oldest first, with their place', async () => {
      const found = await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        await tx.inventory.putNests([MARKETING]);
        await tx.inventory.putBirds([bird('1')]);
        await tx.flights.put([
          flight('young', { stream }),
          flight('old', { stream, startedAtUs: NOW_US - MINUTE_US }),
          flight('older', { stream, startedAtUs: NOW_US - 2 * MINUTE_US }),
          flight('ended', { stream, startedAtUs: NOW_US - MINUTE_US, open: false }),
          flight('undated', { stream, startedAtUs: 0 }),
        ]);
        return tx.overdue.flights(NOW_US - MINUTE_US, NOW_US, 10);
      });
      expect(found.map((one) => one.flightId)).toEqual(['older', 'old']);
      expect(found[0]).toMatchObject({
        startedAtUs: NOW_US - 2 * MINUTE_US,
        place: PLACE,
      });
      expect(await run.overdue.flights(NOW_US, NOW_US, 1)).toHaveLength(1);
    });

    test('a Flight of a Bird that the inventory does not know has no names', async () => {
      const found = await run(async (tx) => {
        await tx.flights.put([flight('a', { stream: await openFlightsOf(tx, 'x') })]);
        return tx.overdue.flights(NOW_US, NOW_US, 10);
      });
      expect(found[0]!.place).toEqual({ region: 'eu', nestId: '', nest: '', birdId: 'x', bird: '' });
    });

    test('missed deadlines are counted by Nest and half hour, until they are too old', async () => {
      const half = (at: number) => (Math.floor(NOW_US / 1_800_000_000) + at) * 1_800_000_000;
      const missed = (nestId: string, atUs: number) => ({ region: 'eu', nestId, atUs });
      await run(async (tx) => {
        const first = [half(0), half(1) - 1, half(1)].map((atUs) => missed('682', atUs));
        await tx.overdue.countMissed(first);
        const second = [missed('682', half(0) + 1), missed('7', half(0)), missed('7', half(-1))];
        await tx.overdue.countMissed(second);
        await tx.overdue.countMissed([{ ...missed('682', half(0)), region: 'us' }]);
      });
      expect(await run.overdue.missedSince('eu', half(0) + 1)).toEqual([
        { nestId: '682', sinceUs: half(0), missed: 3 },
        { nestId: '7', sinceUs: half(0), missed: 1 },
        { nestId: '682', sinceUs: half(1), missed: 1 },
      ]);
      await run.upkeep.prune(half(1), 100);
      expect(await run.overdue.missedSince('eu', 0)).toEqual([
        { nestId: '682', sinceUs: half(1), missed: 1 },
      ]);
    });

    test('a Flight is returned again when it is to be judged next, or when it ended and is active again', async () => {
      const ids = (atUs: number) =>
        run(async (tx) => (await tx.overdue.flights(NOW_US, atUs, 10)).map((one) => one.flightId).sort());
      await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        await tx.flights.put([flight('a', { stream }), flight('b', { stream })]);
        const nextUs = NOW_US + MINUTE_US;
        await tx.overdue.judgeFlights([{ stream, startedAtUs: NOW_US, flightId: 'a', nextUs, logDueUs: 0 }]);
        // Another reading without changes does not bring it back.
        await tx.flights.put([flight('a', { stream })]);
      });
      expect(await ids(NOW_US + MINUTE_US - 1)).toEqual(['b']);
      expect(await ids(NOW_US + MINUTE_US)).toEqual(['a', 'b']);
      await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        await tx.flights.put([flight('a', { stream, open: false, status: 'failed', ends: 1 })]);
        await tx.flights.put([flight('a', { stream, ends: 1 })]);
      });
      expect(await ids(NOW_US)).toEqual(['a', 'b']);
    });

    test('existing Birds are judged, whatever their status, with their last start', async () => {
      const found = await run(async (tx) => {
        await tx.inventory.putNests([MARKETING]);
        await tx.inventory.putBirds([
          bird('1'),
          bird('2', { status: 'suspended' }),
          bird('3', { present: false }),
          bird('4', { triggerType: 'event', hasFirstStatus: true, newsSinceUs: NOW_US - 60 * MINUTE_US }),
          bird('5', { newsSinceUs: NOW_US - 120 * MINUTE_US }),
        ]);
        const stream = await openFlightsOf(tx, '1');
        await tx.streams.advanceCursor(stream, NOW_US - MINUTE_US);
        return tx.overdue.birds(NOW_US, 10);
      });
      expect(found.toSorted((a, b) => (a.place.birdId < b.place.birdId ? -1 : 1))).toEqual([
        {
          place: PLACE,
          status: 'active',
          deadlineUs: 0,
          countedUs: 0,
          triggerType: 'scheduled',
          statusSinceUs: NOW_US,
          hasFirstStatus: false,
          joinedUs: 0,
          newsSinceUs: 0,
          stream: expect.any(Number),
          lastStartUs: NOW_US - MINUTE_US,
        },
        expect.objectContaining({ status: 'suspended' }),
        expect.objectContaining({
          triggerType: 'event',
          stream: undefined,
          lastStartUs: 0,
          joinedUs: NOW_US,
        }),
        expect.objectContaining({
          joinedUs: NOW_US - 60 * MINUTE_US,
          newsSinceUs: NOW_US - 120 * MINUTE_US,
        }),
      ]);
    });

    test('the earliest judgement is known, of Birds and of Flights that are old enough', async () => {
      const next = (leastMs: number) => run.overdue.nextUs(leastMs);
      expect(await next(0)).toBeNull();
      const stream = await run(async (tx) => {
        await tx.inventory.putBirds([bird('1'), bird('2', { present: false })]);
        await tx.overdue.judgeBirds([
          { region: 'eu', birdId: '1', nextUs: NOW_US + 9 * MINUTE_US, deadlineUs: 7, countedUs: 8 },
        ]);
        return openFlightsOf(tx, '1');
      });
      expect(await next(0)).toBe(NOW_US + 9 * MINUTE_US);
      await run.flights.put([flight('a', { stream }), flight('b', { stream, open: false })]);
      expect(await next(60_000)).toBe(NOW_US + MINUTE_US);
      const judged = { stream, flightId: 'a', startedAtUs: NOW_US, logDueUs: 0 };
      await run.overdue.judgeFlights([{ ...judged, nextUs: NOW_US + 2 * MINUTE_US }]);
      expect(await next(60_000)).toBe(NOW_US + 2 * MINUTE_US);
      expect(await next(600_000)).toBe(NOW_US + 9 * MINUTE_US);
    });

    test('a Bird is returned again when it is to be judged next, or when its status changed', async () => {
      const ids = (atUs: number) =>
        run(async (tx) => (await tx.overdue.birds(atUs, 10)).map((one) => one.place.birdId));
      const nextUs = NOW_US + MINUTE_US;
      await run(async (tx) => {
        await tx.inventory.putBirds([bird('1')]);
        await tx.overdue.judgeBirds([{ region: 'eu', birdId: '1', nextUs, deadlineUs: 7, countedUs: 8 }]);
        await tx.inventory.putBirds([bird('1', { name: 'renamed' })]);
      });
      expect(await ids(nextUs - 1)).toEqual([]);
      expect(await ids(nextUs)).toEqual(['1']);
      await run.inventory.putBirds([bird('1', { status: 'suspended' })]);
      await run.inventory.putBirds([bird('1')]);
      expect(await ids(NOW_US)).toEqual(['1']);
    });

    test('one Bird is found, and those with a deadline that was judged', async () => {
      const found = await run(async (tx) => {
        await tx.inventory.putNests([MARKETING]);
        // Its Nest is excluded.
        const left = bird('3', { present: false, newsSinceUs: NO_NEWS_US });
        await tx.inventory.putBirds([bird('1'), bird('2'), left]);
        const judged = { region: 'eu', nextUs: 9, countedUs: 0 };
        const judgements = [1, 2, 3].map((id) => ({ ...judged, birdId: `${id}`, deadlineUs: 6 + id }));
        await tx.overdue.judgeBirds(judgements);
        return {
          one: await tx.overdue.bird('eu', '3'),
          none: await tx.overdue.bird('us', '3'),
          later: await tx.overdue.birdsWithDeadlines(7, 9),
          first: await tx.overdue.birdsWithDeadlines(0, 1),
        };
      });
      expect(found.one).toMatchObject({
        place: { birdId: '3', nest: 'Marketing' },
        deadlineUs: 9,
        newsSinceUs: 0,
      });
      expect(found.none).toBeUndefined();
      expect(found.later.map(({ place }) => place.birdId)).toEqual(['3', '2']);
      expect(found.first.map(({ place }) => place.birdId)).toEqual(['3']);
    });

    test('a Bird is found by its id, and woken', async () => {
      const nextUs = NOW_US + MINUTE_US;
      const judged = { nextUs, deadlineUs: 7, countedUs: 8 };
      const found = await run(async (tx) => {
        await tx.inventory.putBirds([bird('1'), bird('2'), bird('3', { present: false })]);
        await tx.overdue.judgeBirds(['1', '2'].map((birdId) => ({ region: 'eu', birdId, ...judged })));
        await tx.overdue.wake('us', ['1']);
        await tx.overdue.wake('eu', ['2', 'none']);
        return [
          await tx.overdue.bird('eu', '1'),
          await tx.overdue.bird('eu', '3'),
          await tx.overdue.bird('us', '1'),
          (await tx.overdue.birds(NOW_US, 9)).map(({ place }) => place.birdId),
        ];
      });
      expect(found).toEqual([
        expect.objectContaining({ deadlineUs: 7, countedUs: 8, stream: undefined }),
        expect.objectContaining({ place: expect.objectContaining({ birdId: '3' }) }),
        undefined,
        ['2'],
      ]);
    });

    test('starts are counted in a span, and the first is known', async () => {
      const at = (id: string, seconds: number, stream = 1) =>
        flight(id, { stream, startedAtUs: NOW_US + seconds * SECOND_US });
      const found = await run(async (tx) => {
        await tx.flights.put([at('a', 0), at('b', 1), at('c', 2), at('d', 1, 2)]);
        await tx.flights.put([flight('undated', { startedAtUs: 0 })]);
        return [
          await tx.flights.countStarts(1, NOW_US, NOW_US + 2 * SECOND_US),
          await tx.flights.countStarts(3, NOW_US, NOW_US + SECOND_US),
          await tx.flights.firstStart(1),
          await tx.flights.firstStart(3),
          (await tx.flights.landed(1, 2)).length,
        ];
      });
      expect(found).toEqual([2, 0, NOW_US, undefined, 0]);
    });

    test('logs that are wanted are read when they are due, of the Flights that have been silent longest', async () => {
      const at = (minutes: number) => NOW_US + minutes * MINUTE_US;
      const wanted = (id: string, minutes: number, logDueUs: number) => ({
        ...{ flightId: id, startedAtUs: at(minutes), nextUs: at(99), logDueUs },
      });
      const tail: FlightTail = {
        ...{ readAtUs: at(9), wroteAtUs: at(8), sort: 'log', scope: 'Wait "é" \u0000', step: '4' },
        resumedAtUs: 0,
      };
      const due = (us: number, limit: number, most: number, region = 'eu') =>
        run(async (tx) =>
          (await tx.overdue.logsDue(region, us, limit, most)).map((one) => `${one.birdId} ${one.flightId}`),
        );
      await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        const other = (await tx.streams.open('us', 'flight', '1')).stream;
        const ids = ['a', 'b', 'c', 'unwanted', 'ended'];
        await tx.flights.put([
          ...ids.map((id, index) => flight(id, { stream, startedAtUs: at(index) })),
          flight('x', { stream: other, startedAtUs: at(0) }),
        ]);
        await tx.overdue.judgeFlights([
          { stream, ...wanted('a', 0, at(10)) },
          { stream, ...wanted('b', 1, at(20)) },
          { stream, ...wanted('c', 2, at(10)) },
          { stream, ...wanted('unwanted', 3, 0) },
          { stream, ...wanted('ended', 4, at(10)) },
          { stream: other, ...wanted('x', 0, at(10)) },
        ]);
        await tx.flights.put([flight('ended', { stream, startedAtUs: at(4), open: false, ends: 1 })]);
      });
      expect(await due(at(9), 9, 9)).toEqual([]);
      expect(await due(at(10), 9, 9)).toEqual(['1 a', '1 c']);
      expect(await due(at(20), 2, 9)).toEqual(['1 a', '1 b']);
      expect(await due(at(10), 9, 2)).toEqual(['1 a']);
      expect(await due(at(10), 9, 9, 'us')).toEqual(['1 x']);
      expect(await due(at(10), 9, 9, 'asia')).toEqual([]);
      const judged = await run(async (tx) => {
        const [a, c] = await tx.overdue.logsDue('eu', at(10), 9, 9);
        expect(a!.tail).toBeNull();
        const unwanted = { ...a!, flightId: 'unwanted', startedAtUs: at(3) };
        const read = [{ ...a!, tail }, { ...unwanted, tail }, c!];
        await tx.overdue.putTails(read.map((one) => ({ ...one, logDueUs: at(70) })));
        return tx.overdue.flights(at(50), at(50), 9);
      });
      // They are judged again at once.
      expect(judged.map((one) => [one.flightId, one.logDueUs, one.tail])).toEqual([
        ['a', at(70), tail],
        ['c', at(70), null],
        ['unwanted', 0, tail],
      ]);
      // It wrote later than the others started.
      expect(await due(at(70), 9, 9)).toEqual(['1 b', '1 c', '1 a']);
    });

    test('judgements are forgotten', async () => {
      const left = await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        await tx.inventory.putBirds([bird('1')]);
        await tx.flights.put([flight('a', { stream })]);
        const nextUs = NOW_US + MINUTE_US;
        await tx.overdue.judgeFlights([{ stream, startedAtUs: NOW_US, flightId: 'a', nextUs, logDueUs: 0 }]);
        await tx.overdue.judgeBirds([{ region: 'eu', birdId: '1', nextUs, deadlineUs: 7, countedUs: 8 }]);
        await tx.overdue.forget();
        return [await tx.overdue.flights(NOW_US, NOW_US, 9), await tx.overdue.birds(NOW_US, 9)];
      });
      expect(left.map((list) => list.length)).toEqual([1, 1]);
    });

    test('Flights that landed are those that succeeded and whose end is known', async () => {
      const landed = { open: false, status: 'succeeded', ends: 1 };
      const ended = (id: string, seconds: number, changes = {}) =>
        flight(id, { ...landed, endedAtUs: NOW_US + seconds * SECOND_US, ...changes });
      const { endedAtUs: _unknown, ...undated } = ended('c', 1);
      const found = await run(async (tx) => {
        await tx.flights.put([
          ended('a', 30),
          ended('b', 0),
          undated,
          ended('d', 5, { status: 'failed' }),
          ended('e', 7, { stream: 2 }),
          flight('open'),
        ]);
        expect((await tx.flights.landed(1, 10)).map((one) => one.endedAtUs).toSorted()).toEqual([
          NOW_US,
          NOW_US + 30 * SECOND_US,
        ]);
        expect(await tx.flights.landed(3, 10)).toEqual([]);
        return tx.flights.since(1, 0);
      });
      // The end is kept with the Flight.
      expect(found).toContainEqual(ended('a', 30));
    });

    test('gaps are between the starts of Flights, whatever their outcome', async () => {
      const at = (id: string, minutes: number) => flight(id, { startedAtUs: NOW_US + minutes * MINUTE_US });
      const found = await run(async (tx) => {
        await tx.flights.put([at('a', 0), at('b', 60), at('c', 10), flight('undated', { startedAtUs: 0 })]);
        return [await tx.flights.gaps(1), await tx.flights.gaps(2)];
      });
      expect(found).toEqual([
        { count: 2, longestUs: 50 * MINUTE_US, spanUs: 60 * MINUTE_US },
        { count: 0, longestUs: 0, spanUs: 0 },
      ]);
    });

    test('the latest ends are those that failed or succeeded', async () => {
      const ended = (id: string, minutes: number, type: string) =>
        event(id, { feed: 'flight', type, occurredAtUs: NOW_US + minutes * MINUTE_US, birdId: '1' });
      const found = await run(async (tx) => {
        const ends = [
          ended('a/failed', 1, 'flight.failed'),
          ended('b/succeeded', 3, 'flight.succeeded'),
          ended('c/cancelled', 4, 'flight.cancelled'),
          ended('d/failed', 2, 'flight.failed'),
        ];
        const stream = await insert(tx, ends, '1');
        return tx.flights.latestEnds(stream, 2);
      });
      expect(found).toEqual([
        { key: 'eu/flight/b/succeeded', atUs: NOW_US + 3 * MINUTE_US, failed: false },
        { key: 'eu/flight/d/failed', atUs: NOW_US + 2 * MINUTE_US, failed: true },
      ]);
    });

    test("the outcomes of a Bird's last Flights come oldest first, without those of other Birds", async () => {
      const ended = (birdId: string, minutes: number, outcome: string) => {
        const about = { feed: 'flight', type: `flight.${outcome}`, birdId } as const;
        return event(`${minutes}/${outcome}`, { ...about, occurredAtUs: NOW_US + minutes * MINUTE_US });
      };
      await run(async (tx) => {
        const ends = [ended('1', 1, 'failed'), ended('1', 3, 'succeeded'), ended('1', 4, 'cancelled')];
        await insert(tx, [...ends, ended('1', 2, 'failed')], '1');
        await insert(tx, [ended('2', 5, 'failed')], '2');
      });
      const last = (birdId: string, limit: number) => run.flights.lastOutcomes('eu', birdId, limit);
      expect(await last('1', 3)).toEqual(['failed', 'succeeded', 'cancelled']);
      expect(await last('1', 10)).toHaveLength(4);
      expect(await last('3', 10)).toEqual([]);
    });

    test('alerts of Flights that are no longer open are found', async () => {
      const stuck = (id: string, flightId: string, changes = {}) =>
        alert(id, {
          alertname: 'FlightStuck',
          labels: { region: 'eu', severity: 'warning', bird_id: '1', flight_id: flightId },
          memory: { startedAtUs: NOW_US },
          ...changes,
        });
      const found = await run(async (tx) => {
        const stream = await openFlightsOf(tx, '1');
        await tx.flights.put([flight('open', { stream }), flight('closed', { stream, open: false })]);
        await tx.alerts.put([
          stuck('1', 'open'),
          stuck('2', 'closed'),
          stuck('3', 'unknown'),
          stuck('4', 'unknown', { state: 'resolved' }),
          stuck('5', 'unknown', { alertname: 'FlightFailed' }),
        ]);
        return tx.overdue.alertsOfGoneFlights('FlightStuck');
      });
      expect(found.map((one) => one.id)).toEqual(['2', '3']);
    });
  });
}
