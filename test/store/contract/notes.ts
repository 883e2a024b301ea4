import { describe, expect, test } from 'vitest';
import type { Note } from '../../../src/domain/alert/alert.ts';
import type { Run } from '../test-store.ts';
import { alert, HOSTILE_TEXTS, NOW_US, SECOND_US } from './sample-records.ts';

export function describeNotes(run: Run): void {
  describe('notes', () => {
    const add = (...notes: readonly Note[]) =>
      run(async (tx) => {
        for (const one of notes) await tx.notes.add(one);
      });
    const textsOf = async (notes: Promise<Note[]>) => (await notes).map(({ text }) => text);
    const publicOf = (nestId = '682') => textsOf(run.notes.publicOf('eu', nestId, 10));

    test('are returned exactly, those of one alert, the newest first', async () => {
      const list = HOSTILE_TEXTS.map((text, index) =>
        note({ author: text, text: `${text}.`, atUs: NOW_US + index, isPublic: index % 2 === 0 }),
      );
      await add(...list, note({ alertId: 'other' }));
      expect(await run.notes.ofAlert('a', 100)).toEqual(list.toReversed());
      expect(await run.notes.ofAlert('a', 2)).toEqual(list.toReversed().slice(0, 2));
    });

    test('are public if they say so, while their episode fires: the last one of each alert', async () => {
      const labels = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', nest_id: '682' };
      const fires = (id: string, more = {}) => alert(id, { labels, startsAtUs: NOW_US, ...more });
      await run.alerts.put([
        fires('a'),
        fires('b'),
        fires('over', { state: 'resolved', endsAtUs: NOW_US }),
        fires('us', { labels: { ...labels, region: 'us' }, scope: 'us/bird/7' }),
        fires('nest', { labels: { ...labels, nest_id: '683' } }),
      ]);
      const all = ['a', 'b', 'over', 'us', 'nest'].map((alertId) =>
        note({ alertId, text: alertId, isPublic: true }),
      );
      await add(
        ...all,
        note({ text: 'later', isPublic: true, atUs: NOW_US + 2 }),
        note({ text: 'own', atUs: NOW_US + 3 }),
      );
      // Written before our clock was set back.
      await add(
        note({ alertId: 'b', text: 'former', isPublic: true, startsAtUs: NOW_US - 1, atUs: NOW_US + 9 }),
      );
      expect(await publicOf()).toEqual(['later', 'b']);
      expect(await publicOf('683')).toEqual(['nest']);
      await run.alerts.put([fires('a', { startsAtUs: NOW_US + SECOND_US })]);
      expect(await publicOf()).toEqual(['b']);
    });

    test('are deleted after the retention, but not before their episode', async () => {
      const old = { atUs: NOW_US - 2, startsAtUs: NOW_US - 3 };
      await run.alerts.put([
        alert('fires', { startsAtUs: old.startsAtUs }),
        alert('ended', { startsAtUs: old.startsAtUs, state: 'resolved', updatedAtUs: NOW_US }),
        alert('again', { startsAtUs: NOW_US }),
      ]);
      await run.alerts.delete(['ended']);
      await add(
        ...['fires', 'ended', 'again', 'gone'].map((alertId) => note({ alertId, ...old })),
        note({ alertId: 'gone', atUs: NOW_US }),
      );
      const left = () =>
        run(async (tx) => {
          const all = [];
          for (const id of ['fires', 'ended', 'again', 'gone']) all.push(await tx.notes.ofAlert(id, 9));
          return all.map(({ length }) => length);
        });
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(2);
      expect(await left()).toEqual([1, 1, 0, 1]);
      // The episode, its note, and the one of what is gone.
      expect(await run.upkeep.prune(NOW_US + 1, 10)).toBe(3);
      expect(await left()).toEqual([1, 0, 0, 0]);
    });
  });
}

let notes = 0;
function note(changes: Partial<Note> = {}): Note {
  notes += 1;
  return {
    id: String(notes).padStart(6, '0'),
    alertId: 'a',
    startsAtUs: NOW_US,
    atUs: NOW_US,
    author: 'anna',
    text: 'The TMS is down.',
    isPublic: false,
    ...changes,
  };
}
