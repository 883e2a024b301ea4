import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import { scopeOfMatch } from '../../../src/domain/kinds/event-matched.ts';
import type { Run } from '../test-store.ts';
import { alert, event, group, HOSTILE_TEXTS, insert, links, NOW_US, SECOND_US } from './sample-records.ts';

export function describeAlerts(run: Run): void {
  const ids = (alerts: readonly Alert[]) => alerts.map((one) => one.id);
  const changed = async (limit = 100) => ids(await run.alerts.changed(limit));

  describe('alerts', () => {
    test('are found by their ids, in any state', async () => {
      await run.alerts.put([alert('a'), alert('b', { state: 'resolved' })]);
      expect(await run.alerts.find('b')).toMatchObject({ id: 'b', state: 'resolved' });
      expect(await run.alerts.find('c')).toBeUndefined();
    });

    test('are found by their scopes, in every state, complete', async () => {
      const stored = [
        alert('a', { state: 'pending', startsAtUs: 0, memory: null }),
        alert('b', { state: 'resolved', endsAtUs: NOW_US + 1, memory: 'text' }),
        alert('c', { scope: 'eu/entity/Connection/9', dueAtUs: NOW_US + 5, memory: [1, { x: 'y' }] }),
        alert('d', { scope: 'eu' }),
      ];
      await run.alerts.put(stored);
      const scopes = ['eu/entity/Connection/9', 'eu/bird/148890', 'eu/bird/148890', 'eu/bird/1'];
      expect(await run.alerts.ofScopes(scopes)).toEqual(stored.slice(0, 3));
      expect(await run.alerts.ofScopes([])).toEqual([]);
      expect(await run.alerts.ofKinds([stored[0]!.alertname, 'other'], 'eu')).toEqual(stored);
      expect(await run.alerts.ofKinds(['other'], 'eu')).toEqual([]);
      expect(await run.alerts.ofKinds([stored[0]!.alertname], 'us')).toEqual([]);
    });

    test('are kept also if what they are about has the longest names, in any script', async () => {
      // As long as `LIMITS` lets names be, and such that no server compresses them well.
      const name = (length: number) =>
        Array.from({ length }, (_, at) => {
          const chance = createHash('sha256').update(`${length} ${at}`).digest().readUInt16LE();
          return String.fromCharCode(0x4e00 + (chance % 20_902));
        }).join('');
      const [type, entity, initiator] = [200, 500, 500].map(name);
      const attributes = { entity_type: type!, entity_name: entity!, initiator: initiator! };
      const about = event('a', { birdId: '', attributes });
      const stored = (['bird', 'initiator'] as const).map((forEach) =>
        alert(forEach, { scope: scopeOfMatch(about, forEach) }),
      );
      await run.alerts.put(stored);
      for (const one of stored) expect(await run.alerts.ofScopes([one.scope])).toEqual([one]);
    });

    test('keep every text exactly and distinct', async () => {
      const stored = HOSTILE_TEXTS.map((text) =>
        alert(`A/${text}`, { scope: `eu/entity/${text}`, labels: { severity: text, nest: text } }),
      );
      await run.alerts.put(stored);
      for (const one of stored) {
        expect(await run.alerts.ofScopes([one.scope])).toEqual([one]);
      }
      expect(new Set(await run.alerts.scopes('eu'))).toEqual(new Set(stored.map((one) => one.scope)));
      await run.alerts.markRouted(ids(stored));
      expect(await changed()).toEqual([]);
    });

    test('have regions, and scopes in each, each once', async () => {
      await run.alerts.put([
        alert('a'),
        alert('b', { state: 'resolved' }),
        alert('c', { scope: 'eu' }),
        alert('d', { scope: 'eu-2/bird/1' }),
        alert('e', { scope: 'us/bird/1', state: 'pending' }),
      ]);
      expect(await run.alerts.regions()).toEqual(['eu', 'eu-2', 'us']);
      expect((await run.alerts.scopes('eu')).sort()).toEqual(['eu', 'eu/bird/148890']);
      expect(await run.alerts.scopes('us')).toEqual(['us/bird/1']);
      expect(await run.alerts.scopes('ap')).toEqual([]);
    });

    test('are due when their time has come, the oldest first', async () => {
      await run.alerts.put([
        alert('late', { dueAtUs: NOW_US }),
        alert('never'),
        alert('first', { dueAtUs: NOW_US - 5 }),
        alert('not yet', { dueAtUs: NOW_US + 1 }),
      ]);
      const due = async (limit: number) => ids(await run.alerts.due(NOW_US, limit));
      expect(await due(10)).toEqual(['first', 'late']);
      expect(await due(1)).toEqual(['first']);
      await run.alerts.put([alert('first', { dueAtUs: null })]);
      expect(await due(10)).toEqual(['late']);
    });

    test('count as changed from each write until they are routed, the oldest change first', async () => {
      await run.alerts.put([alert('b'), alert('a')]);
      await run.alerts.put([alert('c')]);
      expect(await changed()).toEqual(['b', 'a', 'c']);
      expect(await changed(2)).toEqual(['b', 'a']);
      await run.alerts.put([alert('b', { eventsTotal: 2 })]);
      expect(await changed()).toEqual(['b', 'a', 'c']);
      await run.alerts.markRouted(['b', 'c', 'unknown']);
      expect(await changed()).toEqual(['a']);
      await run.alerts.put([alert('b', { state: 'resolved' })]);
      expect(await changed()).toEqual(['a', 'b']);
      await run.alerts.markRouted([]);
      await run.alerts.put([]);
      expect(await changed()).toEqual(['a', 'b']);
    });

    test('do not count as changed by a write that was rolled back', async () => {
      await run.alerts.put([alert('a')]);
      await run.alerts.markRouted(['a']);
      const failed = run(async (tx) => {
        await tx.alerts.put([alert('a', { state: 'resolved' })]);
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      expect(await changed()).toEqual([]);
    });

    test('that fire are returned in steps, the newest first', async () => {
      const at = { e: 3, d: 2, c: 2, b: 2, a: 1 };
      await run.alerts.put([
        ...Object.entries(at).map(([id, later]) => alert(id, { startsAtUs: NOW_US + later })),
        alert('x', { startsAtUs: NOW_US + 2, state: 'resolved', endsAtUs: NOW_US + 5 }),
      ]);
      for (const limit of [1, 2, 3, 5, 6]) {
        const found: Alert[] = [];
        for (let step = await run.alerts.firing(undefined, limit); step.length > 0; ) {
          expect(step.length).toBeLessThanOrEqual(limit);
          found.push(...step);
          step = await run.alerts.firing(found.at(-1), limit);
        }
        expect(ids(found)).toEqual(['e', 'b', 'c', 'd', 'a']);
      }
    });

    test('return the labels of those that fire, of all or by name', async () => {
      await run.alerts.put([
        alert('a'),
        alert('b', { alertname: 'RegionDown', labels: { nest: '"x' } }),
        alert('c', { alertname: 'RegionDown', state: 'resolved' }),
      ]);
      const labels = async (names: string[] | null) => (await run.alerts.firingLabels(names, 0, 10)).labels;
      expect(await labels(null)).toEqual([alert('a').labels, { nest: '"x' }]);
      expect(await labels(['RegionDown', 'other'])).toEqual([{ nest: '"x' }]);
      expect(await labels([])).toEqual([]);
      for (const names of [null, ['RegionDown', alert('a').alertname]]) {
        const first = await run.alerts.firingLabels(names, 0, 1);
        expect(first).toEqual({ labels: [alert('a').labels], next: expect.any(Number) });
        const second = await run.alerts.firingLabels(names, first.next!, 1);
        expect(second).toEqual({ labels: [{ nest: '"x' }], next: expect.any(Number) });
        expect(await run.alerts.firingLabels(names, second.next!, 1)).toEqual({ labels: [] });
      }
    });

    test('return no labels of those that are over and keep firing because they flap', async () => {
      const held = { endsAtUs: NOW_US, by: '', ending: 'over', untilUs: NOW_US + 1, dueAtUs: null } as const;
      await run.alerts.put([
        alert('a', { labels: { is: 'held' }, flapping: { changesUs: [], held } }),
        alert('b', { labels: { is: 'flapping' }, flapping: { changesUs: [], isFlapping: true } }),
        alert('c', { labels: { is: 'both' }, flapping: { changesUs: [], held, isFlapping: true } }),
      ]);
      const labels = [{ is: 'held' }, { is: 'flapping' }];
      expect(await run.alerts.firingLabels(null, 0, 10)).toEqual({ labels });
      expect(await run.alerts.firingLabels([alert('a').alertname], 0, 10)).toEqual({ labels });
    });

    test('are counted by name, severity and state', async () => {
      expect(await run.alerts.count()).toEqual([]);
      await run.alerts.put([
        alert('a'),
        alert('b'),
        alert('c', { state: 'pending' }),
        alert('d', { alertname: 'RegionDown', labels: { severity: 'critical' } }),
        alert('e', { alertname: 'RegionDown', labels: {} }),
      ]);
      const counts = await run.alerts.count();
      expect(counts).toHaveLength(4);
      expect(counts).toEqual(
        expect.arrayContaining([
          { alertname: 'FlightFailed', severity: 'warning', state: 'firing', count: 2 },
          { alertname: 'FlightFailed', severity: 'warning', state: 'pending', count: 1 },
          { alertname: 'RegionDown', severity: 'critical', state: 'firing', count: 1 },
          { alertname: 'RegionDown', severity: '', state: 'firing', count: 1 },
        ]),
      );
    });
  });

  test('those that fire are counted by name, severity, region and Nest', async () => {
    expect(await run.alerts.countFiring()).toEqual([]);
    const inNest = (nest_id: string) => ({ labels: { severity: 'warning', nest_id } });
    await run.alerts.put([
      alert('a', inNest('7')),
      alert('b', inNest('7')),
      alert('c', inNest('8')),
      alert('d', { ...inNest('7'), state: 'resolved' }),
      alert('e', { alertname: 'RegionDown', labels: { severity: 'critical' } }),
    ]);
    await run.alerts.put([alert('c', inNest('9'))]);
    const { scope } = alert('a');
    const region = scope.split('/', 1)[0]!;
    expect(await run.alerts.countFiring()).toEqual([
      { alertname: 'FlightFailed', severity: 'warning', region, nestId: '7', count: 2 },
      { alertname: 'FlightFailed', severity: 'warning', region, nestId: '9', count: 1 },
      { alertname: 'RegionDown', severity: 'critical', region, nestId: '', count: 1 },
    ]);
  });

  describe("an alert's events", () => {
    const events = [1, 2, 3, 4].map((number) => event(`e${number}`, { occurredAtUs: NOW_US + number }));
    const link = (alertId: string, seqs: readonly number[]) =>
      seqs.map((seq) => ({ alertId, seq, event: events[seq - 1]! }));
    const seqs = async (alertId: string, after: number, limit: number, last?: number) =>
      (await run.alerts.events(alertId, after, limit, last)).map((one) => one.seq);

    test('are linked in the transaction that inserts them, and later', async () => {
      await run(async (tx) => {
        await insert(tx, events);
        await tx.alerts.put([alert('a'), alert('b')]);
        await tx.alerts.linkEvents([...link('a', [1, 2, 3]), ...link('b', [2])]);
      });
      await run.alerts.linkEvents(link('a', [4]));
      expect(await run.alerts.events('a', 2, 10)).toEqual([
        { alertId: 'a', seq: 4, event: events[3] },
        { alertId: 'a', seq: 3, event: events[2] },
      ]);
      expect(await seqs('a', 0, 3)).toEqual([4, 3, 2]);
      expect(await seqs('a', 4, 3)).toEqual([]);
      expect(await seqs('a', 1, 9, 3)).toEqual([3, 2]);
      expect(await seqs('a', 0, 1, 2)).toEqual([2]);
      expect(await seqs('b', 0, 3)).toEqual([2]);
      expect(await seqs('unknown', 0, 3)).toEqual([]);
      const spans = [
        { alertId: 'b', afterSeq: 0, lastSeq: 9 },
        { alertId: 'unknown', afterSeq: 0, lastSeq: 9 },
        { alertId: 'a', afterSeq: 1, lastSeq: 3 },
      ];
      const ofSpans = async (limit: number) => run.alerts.eventsOf(spans, limit);
      expect(await ofSpans(2)).toEqual(
        new Map([
          ['b', [events[1]]],
          ['a', [events[2], events[1]]],
        ]),
      );
      expect((await ofSpans(1)).get('a')).toEqual([events[2]]);
      const ofOne = (at: number) => run.alerts.eventsOf([spans[at]!], 9);
      expect(await ofOne(2)).toEqual(new Map([['a', [events[2], events[1]]]]));
      expect(await ofOne(1)).toEqual(new Map());
      expect(await run.alerts.eventsOf([], 1)).toEqual(new Map());
      await run.alerts.linkEvents([]);
    });

    test('are found also if the id of their alert is a text that a store keeps in another form', async () => {
      const ids = ['"quoted"', 'half \ud800'];
      await run(async (tx) => {
        await insert(tx, events);
        await tx.alerts.put(ids.map((id) => alert(id)));
        await tx.alerts.linkEvents(ids.map((alertId, at) => ({ alertId, seq: 1, event: events[at]! })));
      });
      const spans = ids.map((alertId) => ({ alertId, afterSeq: 0, lastSeq: 9 }));
      expect(await run.alerts.eventsOf(spans, 9)).toEqual(new Map(ids.map((id, at) => [id, [events[at]]])));
    });

    test('are the right ones even if a call named some twice', async () => {
      const [first, second] = events;
      await run(async (tx) => {
        await insert(tx, [first!, second!, first!, { ...second!, message: 'again' }]);
        await tx.alerts.put([alert('a')]);
        await tx.alerts.linkEvents(link('a', [1, 2]));
      });
      const linked = await run.alerts.events('a', 0, 10);
      expect(linked.map((one) => one.event)).toEqual([second, first]);
    });

    test('are found in the stream of a Bird and among those of the same instant', async () => {
      const of = (birdId: string, changes = {}) =>
        event('same', { feed: 'bird_log', birdId, message: birdId, ...changes });
      // The stream's Bird and the event's may differ: an event of a Bird's stream need not name it.
      const unnamed = of('', { key: 'eu/bird_log/unnamed', message: 'unnamed' });
      await run(async (tx) => {
        for (const birdId of ['1', '2']) {
          await insert(tx, birdId === '2' ? [of(birdId), unnamed] : [of(birdId)], birdId);
        }
        await tx.alerts.put([alert('a')]);
      });
      await run.alerts.linkEvents(links('a', [of('1'), of('2'), unnamed]));
      const linked = await run.alerts.events('a', 0, 10);
      expect(linked.map((one) => one.event.message)).toEqual(['unnamed', '2', '1']);
    });

    test('give their places to those that come with the same `seq`, even in one call', async () => {
      await run(async (tx) => {
        await insert(tx, events);
        await tx.alerts.put([alert('a')]);
        await tx.alerts.linkEvents([1, 2].map((seq) => ({ alertId: 'a', seq, event: events[0]! })));
        await tx.alerts.linkEvents(events.map((event) => ({ alertId: 'a', seq: 1, event })));
      });
      const linked = await run.alerts.events('a', 0, 10);
      expect(linked.map(({ seq, event }) => [seq, event])).toEqual([
        [2, events[0]],
        [1, events.at(-1)],
      ]);
    });

    test('must be in the store', async () => {
      await run.alerts.put([alert('a')]);
      await expect(run.alerts.linkEvents(link('a', [1]))).rejects.toThrow('not in the store');
      const undone = run(async (tx) => {
        await insert(tx, events);
        throw new Error('no');
      });
      await expect(undone).rejects.toThrow('no');
      await expect(run.alerts.linkEvents(link('a', [1]))).rejects.toThrow('not in the store');
      expect(await seqs('a', 0, 10)).toEqual([]);
    });

    test('are not confused with those of a stream that was never committed', async () => {
      const here = event('same', { feed: 'flight', birdId: '2' });
      await run.events.page({ limit: 1 });
      const undone = run(async (tx) => {
        await tx.streams.open('eu', 'flight', '2');
        await tx.events.find(here.key);
        throw new Error('no');
      });
      await expect(undone).rejects.toThrow('no');
      await run(async (tx) => {
        const { stream } = await tx.streams.open('us', 'flight', '3');
        await tx.events.insert(stream, [event('same', { region: 'us', feed: 'flight', birdId: '3' })]);
        await tx.alerts.put([alert('a')]);
      });
      const linked = run.alerts.linkEvents([{ alertId: 'a', seq: 1, event: here }]);
      await expect(linked).rejects.toThrow('not in the store');
    });

    test('are old up to the first one that was observed soon after it occurred', async () => {
      const HOUR_US = 3_600 * SECOND_US;
      const ages = [7, 9, 6, 8, 2, 7];
      const aged = ages.map((hours, index) => {
        const occurredAtUs = NOW_US - hours * HOUR_US;
        return event(`old-${index}`, { occurredAtUs, observedAtUs: NOW_US });
      });
      await run(async (tx) => {
        await tx.events.insert((await tx.streams.open('eu', 'notification', '')).stream, aged);
        await tx.alerts.put([alert('a')]);
        await tx.alerts.linkEvents(links('a', aged));
      });
      const of = (afterSeq: number, hours: number, lastSeq = 6, alertId = 'a') => ({
        ...{ alertId, afterSeq, lastSeq },
        maxAgeUs: hours * HOUR_US,
      });
      const old = async (...span: Parameters<typeof of>) => (await run.alerts.oldEvents([of(...span)]))[0];
      const span = (lastSeq: number, from: number, to: number) => ({
        lastSeq,
        fromUs: NOW_US - from * HOUR_US,
        toUs: NOW_US - to * HOUR_US,
      });
      expect(await old(0, 5)).toEqual(span(4, 9, 6));
      expect(await old(2, 5)).toEqual(span(4, 8, 6));
      // Exactly as old is not older.
      expect(await old(0, 6)).toEqual(span(2, 9, 7));
      expect(await old(4, 5)).toBeUndefined();
      expect(await old(5, 5)).toEqual(span(6, 7, 7));
      expect(await old(0, 1)).toEqual(span(6, 9, 2));
      expect(await old(6, 1)).toBeUndefined();
      // What is linked after the last one waits with the alert, and has not been notified yet.
      expect(await old(0, 5, 2)).toEqual(span(2, 9, 7));
      expect(await old(2, 5, 2)).toBeUndefined();
      expect(await old(0, 1, 6, 'unknown')).toBeUndefined();
      const several = [of(4, 5), of(0, 5), of(0, 1, 6, 'unknown'), of(5, 5), of(0, 6)];
      expect(await run.alerts.oldEvents(several)).toEqual([
        ...[undefined, span(4, 9, 6), undefined],
        ...[span(6, 7, 7), span(2, 9, 7)],
      ]);
      expect(await run.alerts.oldEvents([])).toEqual([]);
    });

    test('are deleted with the alert, which may come again with others', async () => {
      await run(async (tx) => {
        await tx.events.insert((await tx.streams.open('eu', 'notification', '')).stream, events);
        await tx.alerts.put([alert('b', { dueAtUs: NOW_US }), alert('a')]);
        await tx.alerts.linkEvents([...link('a', [1, 2]), ...link('b', [1])]);
        await tx.groups.put([group('g')]);
        await tx.groups.putMembers([
          { groupKey: 'g', sort: 'route', alertId: 'a', notifiedSeq: 0, notifiedState: 'none' },
        ]);
      });
      await run.alerts.delete(['a', 'unknown']);
      await run.alerts.delete([]);
      expect(ids(await run.alerts.ofScopes(['eu/bird/148890']))).toEqual(['b']);
      expect(await run.groups.membersOfAlerts(['a'])).toEqual([]);
      await run.alerts.put([alert('a')]);
      expect(await seqs('a', 0, 10)).toEqual([]);
      expect(await seqs('b', 0, 10)).toEqual([1]);
      expect(await run.events.find(events[0]!.key)).toEqual(events[0]);
    });
  });
}
