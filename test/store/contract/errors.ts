import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import { ERRORS_KEPT_US } from '../../../src/domain/context/findings.ts';
import { flightFailed } from '../../../src/domain/kinds/failures/flight-failed.ts';
import type { Run } from '../test-store.ts';
import { alert, event, flight, insert, NOW_US, SECOND_US } from './sample-records.ts';

const failure = (hash: string, atUs: number, flightId: string) => ({ hash, atUs, flightId, birdId: '7' });

export function describeErrors(run: Run): void {
  describe('errors', () => {
    test('what was known before is returned, whatever the order of the failures', async () => {
      const note = (...failures: Parameters<typeof failure>[]) =>
        run.errors.note(
          'eu',
          failures.map((one) => failure(...one)),
        );
      expect(await note(['a', NOW_US, 'f2'], ['a', NOW_US - SECOND_US, 'f1'])).toEqual(new Map());
      const seen = { lastUs: NOW_US, flightId: 'f2', bird: 'Bird 7' };
      expect(await note(['a', NOW_US - 9 * SECOND_US, 'f0'], ['b', NOW_US, 'f3'])).toEqual(
        new Map([['a', seen]]),
      );
      expect((await note(['a', NOW_US, 'f4'])).get('a')).toEqual(seen);
      expect(await run.errors.note('us', [failure('a', NOW_US, 'f5')])).toEqual(new Map());
    });

    test('they are noted since the region is watched, and forgotten after their time', async () => {
      expect(await run.errors.remembered('eu')).toBeUndefined();
      await run(async (tx) => {
        await tx.inventory.regionSince('eu', NOW_US);
        await tx.errors.note('eu', [failure('old', NOW_US - ERRORS_KEPT_US - SECOND_US, 'f1')]);
        await tx.errors.note('eu', [failure('new', NOW_US, 'f2'), failure('aged', NOW_US - SECOND_US, 'f3')]);
      });
      expect(await run.errors.remembered('eu')).toEqual({ sinceUs: NOW_US });
      await run.upkeep.prune(NOW_US - SECOND_US, 100);
      const left = await run.errors.note('eu', [failure('old', NOW_US, 'f'), failure('aged', NOW_US, 'f')]);
      expect([...left.keys()]).toEqual(['aged']);
    });

    test('the changes of a Bird are those that put it into production', async () => {
      const keys = await run(async (tx) => {
        const types = ['Published', 'Saved', 'Activated', 'Published', 'Suspended', 'Published'];
        const entries = types.map((type, at) => {
          const about = { feed: 'bird_log', type: `bird_log.${type}`, birdId: '7' } as const;
          return event(`${at}`, { ...about, occurredAtUs: NOW_US - 5 + at });
        });
        await insert(tx, entries, '7');
        return (await tx.birds.changes('eu', '7', NOW_US - 5, NOW_US - 2, 2)).map(({ type }) => type);
      });
      expect(keys).toEqual(['bird_log.Published', 'bird_log.Activated']);
      expect(await run.birds.publishesSince(NOW_US - 2)).toEqual([NOW_US, NOW_US - 2]);
    });

    test('the last ends of a Bird are in order of the starts', async () => {
      const ends = await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'flight', '7');
        const over = { stream, open: false, endedAtUs: NOW_US };
        const ended = (id: string, startedAtUs: number, status: string) =>
          flight(id, { ...over, startedAtUs, status, ends: id === 'b' ? 2 : 1 });
        await tx.flights.put([
          ended('a', NOW_US - 9, 'succeeded'),
          ended('b', NOW_US - 8, 'failed'),
          ended('c', NOW_US - 7, 'cancelled'),
          flight('d', { stream, startedAtUs: NOW_US - 6 }),
          flight('f', { stream, startedAtUs: NOW_US - 5, endedAtUs: NOW_US, ends: 1 }),
        ]);
        const dated = await tx.flights.ends('eu', '7', 9);
        await tx.flights.put([ended('e', 0, 'failed')]);
        expect(await tx.flights.ends('eu', '7', 1)).toEqual([
          dated[0],
          { startedAtUs: 0, endedAtUs: NOW_US, failed: true, again: false },
        ]);
        return dated;
      });
      expect(ends).toEqual([
        { startedAtUs: NOW_US - 5, endedAtUs: NOW_US, failed: false, again: true },
        { startedAtUs: NOW_US - 8, endedAtUs: NOW_US, failed: true, again: true },
        { startedAtUs: NOW_US - 9, endedAtUs: NOW_US, failed: false, again: false },
      ]);
    });

    test('Birds that fail with one error are counted once, in their region', async () => {
      const found = await run(async (tx) => {
        const failing = (id: string, birdId: string, region: string, error: string, changes = {}) =>
          alert(id, {
            alertname: flightFailed.name,
            scope: `${region}/bird/${birdId}`,
            labels: { alertname: flightFailed.name, severity: 'warning', region, bird_id: birdId, error },
            ...changes,
          });
        await tx.alerts.put([
          ...[failing('a', '1', 'eu', 'boom'), failing('b', '1', 'eu', 'boom')],
          ...[failing('c', '2', 'eu', 'boom'), failing('d', '3', 'us', 'boom')],
          ...[failing('e', '4', 'eu', 'bang'), failing('f', '5', 'eu', 'boom', { state: 'resolved' })],
        ]);
        const { birds, latest } = await tx.alerts.failingWith(['eu'], 'boom', 9);
        const all = await tx.alerts.failingWith(['eu', 'us'], 'boom', 2);
        const errors = [
          { region: 'eu', error: 'bang' },
          { region: 'eu', error: 'boom' },
          { region: 'us', error: 'boom' },
        ];
        expect(await tx.alerts.shared(errors, 2)).toEqual([errors[1]]);
        expect(await tx.alerts.shared(errors, 4)).toEqual([]);
        const warnings = await tx.alerts.ofKind(flightFailed.name, 'warning', 'us', 9);
        const idsOf = (alerts: readonly Alert[]) => alerts.map(({ labels }) => labels.bird_id);
        return {
          birds,
          latest: idsOf(latest),
          all: { ...all, latest: idsOf(all.latest) },
          warnings: warnings.length,
        };
      });
      expect(found).toEqual({
        ...{ birds: 2, latest: ['1', '2'], warnings: 1 },
        all: { birds: 3, nests: 2, isAll: true, latest: ['1', '2'] },
      });
    });

    test('Birds that fail with one error are found also if the error is a text that a store keeps in another form', async () => {
      const errors = ['"unended', 'half \ud800'].map((error) => ({ region: 'eu', error }));
      await run.alerts.put(
        errors.flatMap(({ region, error }) =>
          ['1', '2'].map((bird) =>
            alert(`${bird} ${error}`, {
              alertname: flightFailed.name,
              scope: `${region}/bird/${bird}`,
              labels: { alertname: flightFailed.name, region, bird_id: bird, error },
            }),
          ),
        ),
      );
      expect(await run.alerts.shared(errors, 2)).toEqual(errors);
      expect(await run.alerts.failingWith(['eu'], errors[0]!.error, 9)).toMatchObject({ birds: 2 });
    });

    test('alerts that have events of another one are found, with their own last of these', async () => {
      const found = await run(async (tx) => {
        const events = ['e1', 'e2', 'e3'].map((id) => event(id));
        await insert(tx, events);
        await tx.alerts.put([alert('cause'), alert('a'), alert('b'), alert('c')]);
        const link = (alertId: string, seq: number, at: number) => ({ alertId, seq, event: events[at]! });
        await tx.alerts.linkEvents([
          ...[link('cause', 4, 0), link('cause', 5, 1), link('cause', 6, 2)],
          ...[link('a', 1, 0), link('a', 2, 1), link('b', 9, 2), link('c', 1, 0)],
        ]);
        return [await tx.alerts.sharing('cause', 3, 6), await tx.alerts.sharing('cause', 4, 5)];
      });
      expect(found[0]).toEqual([
        ['a', 2],
        ['b', 9],
        ['c', 1],
      ]);
      expect(found[1]).toEqual([['a', 2]]);
    });
  });
}
