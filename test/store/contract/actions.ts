import { describe, expect, test } from 'vitest';
import type { Action } from '../../../src/domain/action/action.ts';
import type { Run } from '../test-store.ts';
import { HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

const anAction = (changes: Partial<Action> = {}): Action => ({
  ...{ id: 'a', name: 'fly_again', state: 'wanted', by: ['Ann'], rule: '', comment: '', reason: '' },
  ...{ region: 'eu', nestId: '682', nest: 'Marketing', birdId: '1', bird: 'Translate', failedFlightId: '' },
  ...{ wantedAtUs: NOW_US, askedAtUs: 0, settledAtUs: 0 },
  ...changes,
});

export function describeActions(run: Run): void {
  describe('actions', () => {
    const add = (action: Action) => run.actions.add(action);
    const idsOf = (actions: readonly Action[]) => actions.map(({ id }) => id);

    test('come back exactly', async () => {
      const [comment = '', bird = '', ...by] = HOSTILE_TEXTS;
      const seeks = { afterUs: NOW_US, untilUs: NOW_US + 1 };
      const newFlight = { flightId: 'f', startedAtUs: NOW_US };
      const action = anAction({ comment, bird, by, seeks, newFlight, state: 'done' });
      expect(await add(action)).toBe(true);
      expect(await run.actions.find('a')).toEqual(action);
      expect(await run.actions.find('b')).toBeUndefined();
    });

    test('one is added once, and a Bird has at most one that is open', async () => {
      expect(await add(anAction())).toBe(true);
      expect(await add(anAction({ comment: 'again' }))).toBe(false);
      expect(await add(anAction({ id: 'b' }))).toBe(false);
      expect(await add(anAction({ id: 'c', birdId: '2' }))).toBe(true);
      expect(await add(anAction({ id: 'd', region: 'us' }))).toBe(true);
      await run.actions.put([anAction({ state: 'done' })]);
      expect(await add(anAction({ id: 'b' }))).toBe(true);
      expect((await run.actions.find('a'))!.comment).toBe('');
    });

    test('those of a region that are open are listed in order, also while their Flight is looked for', async () => {
      const seeks = { afterUs: NOW_US, untilUs: NOW_US + 1 };
      await add(anAction({ id: 'late', birdId: '1', wantedAtUs: NOW_US + 1 }));
      await add(anAction({ id: 'early', birdId: '2' }));
      await add(anAction({ id: 'seeking', birdId: '3', state: 'unknown', seeks, wantedAtUs: NOW_US + 2 }));
      await add(anAction({ id: 'over', birdId: '4', state: 'refused' }));
      await add(anAction({ id: 'other', region: 'us' }));
      expect(idsOf(await run.actions.open('eu'))).toEqual(['early', 'late', 'seeking']);
    });

    test('a pause says since when and by whom, until it is over', async () => {
      for (const pause of [{ atUs: NOW_US, by: 'Ann' }, undefined]) {
        await run.actions.putPause(pause);
        expect(await run.actions.paused()).toEqual(pause);
      }
    });

    test('those of a Bird are listed newest first, and are deleted by their age', async () => {
      for (const [index, id] of ['a', 'b', 'c'].entries())
        await add(anAction({ id, state: 'done', wantedAtUs: NOW_US + index }));
      expect(idsOf(await run.actions.ofBird('eu', '1', 2))).toEqual(['c', 'b']);
      expect(await run.upkeep.prune(NOW_US + 1, 10)).toBe(1);
      expect(idsOf(await run.actions.ofBird('eu', '1', 10))).toEqual(['c', 'b']);
    });
  });
}
