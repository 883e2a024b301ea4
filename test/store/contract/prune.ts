import { describe, expect, test } from 'vitest';
import { type GroupMember, type GroupSort, HAS_LEFT } from '../../../src/domain/grouping/group.ts';
import type { Run } from '../test-store.ts';
import {
  alert,
  bird,
  delivery,
  event,
  flight,
  group,
  insert,
  links,
  member,
  NOW_US,
  nest,
  notification,
  SECOND_US,
  settlement,
} from './sample-records.ts';

export function describePrune(run: Run): void {
  /** Prunes in batches until nothing is left to delete; returns how many were deleted. */
  async function pruneAll(beforeUs: number, limit: number): Promise<number> {
    let gone = 0;
    for (;;) {
      const batch = await run.upkeep.prune(beforeUs, limit);
      expect(batch).toBeLessThanOrEqual(limit);
      if (batch === 0) return gone;
      gone += batch;
    }
  }
  const stored = async () =>
    (await run.events.page({ limit: 1000 })).events.map((one) => one.key.split('/').at(-1));
  const old = (id: string, us = 1) => event(id, { occurredAtUs: NOW_US - us });

  describe('retention', () => {
    test('deletes events before the bound in batches and keeps those at and after it', async () => {
      const events = Array.from({ length: 25 }, (_, index) => old(`e${index}`, 25 - index));
      await run((tx) => insert(tx, [...events, event('at')]));
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(10);
      expect(await stored()).toEqual(['at', ...Array.from({ length: 15 }, (_, index) => `e${24 - index}`)]);
      expect(await pruneAll(NOW_US, 10)).toBe(15);
      expect(await stored()).toEqual(['at']);
    });

    test('keeps the events of an alert while it fires; links are deleted with their events', async () => {
      await run(async (tx) => {
        const names = ['firing', 'both', 'resolved', 'pending', 'free'];
        await insert(
          tx,
          names.map((id) => old(id)),
        );
        const alerts = [alert('f'), alert('r', { state: 'resolved' }), alert('p', { state: 'pending' })];
        await tx.alerts.put(alerts);
        await tx.alerts.linkEvents(links('f', [old('firing'), old('both')]));
        await tx.alerts.linkEvents(links('r', [old('both'), old('resolved')]));
        await tx.alerts.linkEvents(links('p', [old('pending')]));
      });
      await pruneAll(NOW_US, 2);
      expect((await stored()).sort()).toEqual(['both', 'firing']);
      expect(await run.alerts.events('f', 0, 10)).toHaveLength(2);
      expect((await run.alerts.events('r', 0, 10)).map((one) => one.seq)).toEqual([1]);
      await run.alerts.put([alert('f', { state: 'resolved' })]);
      await pruneAll(NOW_US, 2);
      expect(await stored()).toEqual([]);
      expect(await run.alerts.events('f', 0, 10)).toEqual([]);
      expect(await run.alerts.ofScopes(['eu/bird/148890'])).toHaveLength(3);
    });

    const notified = (
      groupKey: string,
      notifiedSeq: number,
      notifiedState: GroupMember['notifiedState'] = 'firing',
      sort: GroupSort = 'route',
    ) => member(groupKey, 'f', { sort, notifiedSeq, notifiedState });
    const of = notified('{}:a', 60);

    test.each([
      ['its newest, once all is notified of', [of], 41],
      ['what its group has not notified of', [notified('{}:a', 25)], 26],
      ['what one of its groups has not notified of', [of, notified('{}/{b="1"}:b', 7)], 8],
      ['all where no group knows of it', [], 1],
      [
        'all where no group of the route tree does',
        [notified('held-back:ops', 60, 'firing', 'held_back')],
        1,
      ],
      ['all where it has left its only group', [notified('{}:a', HAS_LEFT)], 1],
      ['its newest where it goes on in another', [notified('{}:a', HAS_LEFT), notified('{}:b', 60)], 41],
      ['what is held back', [of, notified('held-back:ops', 9, 'firing', 'held_back')], 10],
      [
        'what waits for a summary',
        [notified('{}:a', 60, 'summary'), notified('catching-up:ops', 12, 'none', 'catch_up')],
        13,
      ],
      ['what may be escalated', [of, notified('escalation:1:{}:a', 3, 'none', 'escalation')], 4],
      [
        'its newest where it was escalated',
        [of, notified('escalation:1:{}:a', 3, 'firing', 'escalation')],
        41,
      ],
      [
        'its newest where a fallback was notified',
        [of, notified('fallback:1:{}:a', 3, 'firing', 'fallback')],
        41,
      ],
    ] as const)('keeps for a firing alert %s', async (_, members, firstLeft) => {
      const events = Array.from({ length: 60 }, (_, index) => old(`e${index + 1}`, 60 - index));
      const fires = alert('f', { eventsTotal: 60, lastSeq: 60 });
      await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'notification', '');
        await tx.events.insert(stream, events);
        await tx.streams.advanceCursor(stream, NOW_US);
        await tx.alerts.put([fires]);
        await tx.alerts.linkEvents(links('f', events));
        await tx.groups.put([...new Set(members.map(({ groupKey }) => groupKey))].map((key) => group(key)));
        await tx.groups.putMembers(members);
      });
      const seqs = async () => (await run.alerts.events('f', 0, 100)).map(({ seq }) => seq);
      // As long as it waits to be routed, other groups that do not know it may join.
      expect(await pruneAll(NOW_US, 7)).toBe(0);
      await run.alerts.markRouted(['f']);
      expect(await pruneAll(NOW_US, 7)).toBe(firstLeft - 1);
      expect(await seqs()).toEqual(Array.from({ length: 61 - firstLeft }, (_, index) => 60 - index));
      const [row] = await run.streams.list('eu');
      expect(row!.prunedUs).toBe(firstLeft === 1 ? 0 : events[firstLeft - 2]!.occurredAtUs);
      expect(await run.alerts.find('f')).toEqual(fires);
      await run.alerts.put([{ ...fires, state: 'resolved' }]);
      await pruneAll(NOW_US, 100);
      expect(await stored()).toEqual([]);
    });

    test('keeps an event that a group of one of several alerts has not notified of', async () => {
      const events = Array.from({ length: 30 }, (_, index) => old(`e${index + 1}`, 30 - index));
      await run(async (tx) => {
        await insert(tx, events);
        await tx.alerts.put([alert('f'), alert('g')]);
        await tx.alerts.linkEvents(links('f', events));
        await tx.alerts.linkEvents(links('g', [events[4]!]));
        await tx.groups.put([group('{}:a')]);
        const firing = { notifiedState: 'firing' } as const;
        await tx.groups.putMembers([
          member('{}:a', 'f', { ...firing, notifiedSeq: 30 }),
          member('{}:a', 'g', firing),
        ]);
        await tx.alerts.markRouted(['f', 'g']);
      });
      expect(await pruneAll(NOW_US, 100)).toBe(9);
      expect(await run.events.find(events[4]!.key)).toEqual(events[4]);
    });

    test('continues after many events that it keeps, and comes back to them [long]', async () => {
      const events = Array.from({ length: 25_000 }, (_, index) => old(`e${index + 1}`, 30_000 - index));
      await run(async (tx) => {
        await insert(tx, [...events, old('behind', 2), old('last', 1)]);
        await tx.alerts.put([alert('f')]);
        await tx.alerts.linkEvents(links('f', events));
      });
      const gone: number[] = [];
      for (let step = 0; step < 20; step += 1) gone.push(await run.upkeep.prune(NOW_US, 1));
      expect(gone.reduce((sum, count) => sum + count)).toBe(2);
      await run.alerts.put([alert('f', { state: 'resolved' })]);
      for (let step = 0; step < 20; step += 1) await run.upkeep.prune(NOW_US, 100_000);
      expect(await stored()).toEqual([]);
    });

    test('remembers how far it went in each stream, never beyond the cursor and never back', async () => {
      const ended = (id: string, stream: number, us: number) =>
        flight(id, { stream, startedAtUs: NOW_US - us, open: false });
      const pruned = async () =>
        (await run.streams.list('eu')).map(({ feed, birdId, prunedUs }) => [
          feed,
          birdId,
          prunedUs === 0 ? 0 : NOW_US - prunedUs,
        ]);
      await run(async (tx) => {
        const open = async (feed: 'notification' | 'bird_log' | 'flight', birdId: string) => {
          const { stream } = await tx.streams.open('eu', feed, birdId);
          await tx.streams.advanceCursor(stream, NOW_US - 2);
          return stream;
        };
        await tx.events.insert(await open('notification', ''), [old('a', 30), old('b', 20), old('c', 10)]);
        const log = (id: string, us: number) =>
          event(id, { feed: 'bird_log', birdId: '1', occurredAtUs: NOW_US - us });
        // Its instant is ahead of the cursor, which stopped at the service's present.
        await tx.events.insert(await open('bird_log', '1'), [log('ahead', 1)]);
        await open('bird_log', '2');
        const flights = await open('flight', '1');
        const end = event('f/failed', { feed: 'flight', birdId: '1', occurredAtUs: NOW_US - 12 });
        await tx.events.insert(flights, [end]);
        await tx.flights.put([
          ended('f', flights, 40),
          flight('g', { stream: flights, startedAtUs: NOW_US - 35 }),
        ]);
      });
      await pruneAll(NOW_US - 15, 2);
      expect(await pruned()).toEqual([
        ['notification', '', 20],
        ['bird_log', '1', 0],
        ['bird_log', '2', 0],
        ['flight', '1', 40],
      ]);
      await pruneAll(NOW_US, 100);
      await pruneAll(NOW_US - 5, 100);
      expect(await pruned()).toEqual([
        ['notification', '', 10],
        ['bird_log', '1', 2],
        ['bird_log', '2', 0],
        ['flight', '1', 40],
      ]);
    });

    test('keeps what waits to be forwarded', async () => {
      await run(async (tx) => {
        await insert(tx, [old('a')]);
        await tx.forwards.queue([{ receiver: 'lake', event: old('a') }]);
      });
      await pruneAll(NOW_US, 100);
      expect(await run.forwards.take('lake', 10)).toEqual([old('a')]);
    });

    test('deletes Flights that ended and keeps open ones', async () => {
      const past = NOW_US - 1;
      await run.flights.put([
        flight('open', { startedAtUs: past }),
        flight('ended', { startedAtUs: past, open: false }),
        flight('undated', { startedAtUs: 0, open: true }),
        flight('recent', { open: false }),
      ]);
      expect(await pruneAll(NOW_US, 1)).toBe(1);
      expect((await run.flights.since(1, 0)).map((one) => one.flightId)).toEqual([
        'undated',
        'open',
        'recent',
      ]);
    });

    test('keeps a Flight without a start while its Bird is watched, because nothing else says that it is known', async () => {
      const undated = (id: string, stream: number, endedAtUs: number) =>
        flight(id, { stream, startedAtUs: 0, open: false, endedAtUs });
      const openStream = (birdId: string) => run.streams.open('eu', 'flight', birdId);
      const left = async () => {
        const all = await Promise.all(streams.map((stream) => run.flights.since(stream, 0)));
        return all.flat().map((one) => one.flightId);
      };
      const streams = [(await openStream('here')).stream, (await openStream('gone')).stream];
      await run(async (tx) => {
        await tx.inventory.putBirds([bird('here'), bird('gone', { present: false })]);
        await tx.flights.put([
          undated('of a Bird', streams[0]!, NOW_US - 1),
          undated('old', streams[1]!, NOW_US - 1),
          undated('recent', streams[1]!, NOW_US),
        ]);
      });
      expect(await pruneAll(NOW_US, 1)).toBe(1);
      expect(await left()).toEqual(['of a Bird', 'recent']);
      await run.inventory.putBirds([bird('here', { present: false })]);
      // Together with the two Birds themselves.
      expect(await pruneAll(NOW_US + 1, 5)).toBe(4);
      expect(await left()).toEqual([]);
    });

    test('deletes what belongs to Birds and Nests that were deleted long ago, except how far they were read', async () => {
      const gone = { present: false };
      const times = { verifiedUs: 1, dayAuditedUs: 1, wholeAuditedUs: 1, deletedUs: 0 };
      const streams = new Map<string, number>();
      const left = () =>
        run(async (tx) => ({
          birds: (await tx.inventory.birds('eu')).map(({ birdId }) => birdId),
          nests: (await tx.inventory.nests('eu')).map(({ nestId }) => nestId),
          members: (await tx.inventory.nestMembers('eu')).map(({ nestId }) => nestId),
          audits: (await tx.audits.list('eu')).map(({ stream }) => stream),
          open: (await Promise.all([...streams.values()].map((stream) => tx.flights.open(stream)))).flat(),
          judged: await tx.overdue.flights(NOW_US, NOW_US, 10),
        }));
      await run(async (tx) => {
        await tx.inventory.putNests([nest('stays'), nest('goes')]);
        await tx.inventory.putNestMembers([
          { region: 'eu', nestId: 'stays', addresses: [] },
          { region: 'eu', nestId: 'goes', addresses: [] },
        ]);
        const inNest = { here: 'stays', goes: 'goes', known: 'stays' };
        await tx.inventory.putBirds(Object.entries(inNest).map(([id, nestId]) => bird(id, { nestId })));
        for (const birdId of ['here', 'goes', 'known']) {
          const { stream } = await tx.streams.open('eu', 'flight', birdId);
          streams.set(birdId, stream);
          await tx.streams.advanceCursor(stream, NOW_US - 1);
          await tx.audits.put([{ stream, ...times, gaps: [] }]);
          await tx.flights.put([
            flight('in the air', { stream, startedAtUs: NOW_US - 9 }),
            flight('ended and in the air again', { stream, startedAtUs: NOW_US - 10, ends: 1 }),
          ]);
        }
        const failed = event('f/failed', { feed: 'flight', birdId: 'known', occurredAtUs: NOW_US - 5 });
        await tx.events.insert(streams.get('known')!, [failed]);
        await tx.alerts.put([alert('fires')]);
        await tx.alerts.linkEvents(links('fires', [failed]));
        await tx.inventory.putBirds([
          bird('goes', { nestId: 'goes', ...gone }),
          bird('known', { nestId: 'stays', ...gone }),
        ]);
        await tx.inventory.putNests([{ ...nest('goes'), ...gone }]);
      });
      const before = await left();
      expect(await pruneAll(NOW_US, 3)).toBe(0);
      expect(await left()).toEqual(before);
      // A later reading that also lacks it changes nothing.
      await run.inventory.putBirds([bird('goes', { nestId: 'goes', ...gone })]);
      await pruneAll(NOW_US + 1, 1);
      const [here, goes, known] = ['here', 'goes', 'known'].map((birdId) => streams.get(birdId)!);
      const after = await left();
      expect(after).toMatchObject({
        birds: ['here', 'known'],
        nests: ['stays'],
        members: ['stays'],
        audits: [here, known],
      });
      expect(after.open.map(({ stream }) => stream)).toEqual([here, here, known, known]);
      expect(after.judged).toHaveLength(4);
      // When it comes back, what was known about it is still known.
      const row = await run.streams.open('eu', 'flight', 'goes');
      expect(row).toMatchObject({ stream: goes, cursorUs: NOW_US - 1, prunedUs: NOW_US - 10 });
      await run.inventory.putBirds([bird('goes', { nestId: 'goes' })]);
      await pruneAll(NOW_US + 1, 10);
      expect((await left()).birds).toEqual(['goes', 'here', 'known']);
    });

    test('keeps a Bird and a Nest that came back', async () => {
      const putBird = (present: boolean) => run.inventory.putBirds([bird('1', { nestId: '1', present })]);
      const putNest = (present: boolean) => run.inventory.putNests([{ ...nest('1'), present }]);
      for (const present of [true, false, true]) {
        await putBird(present);
        await putNest(present);
      }
      expect(await pruneAll(NOW_US + 1, 10)).toBe(0);
      // A Nest stays as long as it has a known Bird.
      await putNest(false);
      expect(await pruneAll(NOW_US + 1, 10)).toBe(0);
      await putBird(false);
      expect(await pruneAll(NOW_US + 1, 10)).toBe(2);
    });

    test('keeps a Nest that is gone as long as its Flights are counted', async () => {
      const ends = (nestId: string, occurredAtUs: number) =>
        run(async (tx) => {
          const { stream } = await tx.streams.open('eu', 'flight', 'b');
          const flown = { feed: 'flight', type: 'flight.failed', birdId: 'b', nestId } as const;
          await tx.events.insert(stream, [event(`${occurredAtUs}/failed`, { ...flown, occurredAtUs })]);
        });
      const left = async () => (await run.inventory.nests('eu')).map(({ nestId }) => nestId);
      await run.inventory.putNests([nest('flew'), nest('idle')]);
      await ends('flew', NOW_US - 1);
      await run.inventory.putNests(['flew', 'idle'].map((id) => ({ ...nest(id), present: false })));
      await pruneAll(NOW_US + 1, 10);
      expect(await left()).toEqual(['flew']);
      const laterUs = NOW_US + 91 * 86_400 * SECOND_US;
      await ends('other', laterUs);
      await pruneAll(laterUs, 10);
      expect(await left()).toEqual([]);
    });

    test('deletes settled deliveries, and a notification with its last one', async () => {
      await run(async (tx) => {
        await tx.outbox.enqueue(notification('n'), [delivery('a'), delivery('b', { position: 1 })]);
        await tx.outbox.enqueue(notification('m'), [delivery('waits')]);
        await tx.outbox.settle([settlement('a', 'delivered')], NOW_US - 1);
      });
      expect(await pruneAll(NOW_US, 10)).toBe(1);
      expect(await run.outbox.find('a')).toBeUndefined();
      expect((await run.outbox.find('b'))?.notification).toEqual(notification('n'));
      expect(await run.outbox.count()).toEqual([{ receiver: 'ops', state: 'pending', count: 2 }]);
      await run.outbox.settle([settlement('b', 'dead')], NOW_US);
      expect(await pruneAll(NOW_US, 10)).toBe(0);
      expect(await pruneAll(NOW_US + 1, 10)).toBe(1);
      expect((await run.outbox.page({ limit: 10 })).deliveries.map((one) => one.id)).toEqual(['waits']);
    });

    test('deletes quarantined entries, which may then be stored again', async () => {
      const entry = { raw: '{', reason: 'cut' };
      await run.streams.quarantine(1, [entry], NOW_US - SECOND_US);
      expect(await pruneAll(NOW_US - SECOND_US, 10)).toBe(0);
      expect(await pruneAll(NOW_US, 10)).toBe(1);
      expect(await run.streams.quarantine(1, [entry], NOW_US)).toBe(1);
    });

    test('counts all kinds of rows against one limit', async () => {
      await run(async (tx) => {
        await insert(tx, [old('a')]);
        const ended = ['1', '2', '3', '4', '5'].map((id) =>
          flight(id, { startedAtUs: NOW_US - 1, open: false }),
        );
        await tx.flights.put(ended);
      });
      expect(await run.upkeep.prune(NOW_US, 3)).toBe(3);
      expect(await run.flights.since(1, 0)).toHaveLength(3);
    });

    test('of nothing deletes nothing', async () => {
      expect(await run.upkeep.prune(NOW_US, 100)).toBe(0);
    });
  });
}
