import { describe, expect, test } from 'vitest';
import { createMatcher } from '../../../src/domain/matchers/matcher.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import { countTurns } from '../../count-turns.ts';
import type { Run } from '../test-store.ts';
import { HOSTILE_TEXTS, NOW_US, SECOND_US, silence as sample } from './sample-records.ts';
import type { Subject } from './subject.ts';

const silence = (id: string, changes: Partial<Silence> = {}) =>
  sample(id, {
    matchers: [createMatcher('alertname', '=', 'FlightFailed'), createMatcher('nest', '!~', 'Prod.*')],
    ...{ endsAtUs: NOW_US + 60 * SECOND_US, createdBy: 'ann', comment: 'maintenance' },
    ...changes,
  });

/** A silence without the functions of its matchers. */
function plain({ matchers, ...rest }: Silence): unknown {
  return { ...rest, matchers: matchers.map(({ name, op, value }) => [name, op, value]) };
}

export function describeSilences(subject: () => Subject, run: Run): void {
  describe('silences', () => {
    const all = async (endsAfterUs?: number) => (await run.silences.list(endsAfterUs)).map(plain);

    test('are stored completely, changed by their id, and listed by their end', async () => {
      const recurrence = { cron: '0 22 * * *', timezone: 'Europe/Amsterdam', durationMs: 3_600_000 };
      const a = silence('a', { recurrence });
      const b = silence('b', { endsAtUs: NOW_US + SECOND_US, alertId: 'x', alertStartsAtUs: 7 });
      await run.silences.put([a, b]);
      expect(await all()).toEqual([plain(b), plain(a)]);
      const expired = { ...a, endsAtUs: NOW_US, updatedAtUs: NOW_US + 1 };
      await run.silences.put([expired]);
      expect(await all()).toEqual([plain(expired), plain(b)]);
    });

    test('are returned without expired ones if asked for', async () => {
      const over = silence('over', { endsAtUs: NOW_US });
      await run.silences.put([over, silence('lasts', { endsAtUs: NOW_US + 1 })]);
      expect((await run.silences.list(NOW_US)).map(({ id }) => id)).toEqual(['lasts']);
    });

    test('are listed in turns if there are thousands, in their order', async () => {
      // Many end at the same instant, so that pages end among them.
      const many = Array.from({ length: 2_000 }, (_, at) =>
        silence(`s${String(at).padStart(4, '0')}`, { endsAtUs: NOW_US + Math.floor(at / 700) }),
      );
      await run.silences.put(many.toReversed());
      const { listed, turned } = await run(async (tx) => {
        const turns = countTurns();
        return { listed: await tx.silences.list(), turned: turns() };
      });
      expect(listed.map(({ id }) => id)).toEqual(many.map(({ id }) => id));
      expect(turned).toBeGreaterThanOrEqual(subject().reopen ? 10 : 0);
      const later = await run.silences.list(NOW_US + 1);
      expect(later.map(({ id }) => id)).toEqual(many.slice(1_400).map(({ id }) => id));
    });

    test('match as they did before they were stored', async () => {
      await run.silences.put([silence('a')]);
      const [stored] = await run.silences.list();
      const matches = (nest: string) =>
        stored!.matchers.every((matcher) => matcher.matches({ alertname: 'FlightFailed', nest }));
      expect(matches('Sandbox')).toBe(true);
      expect(matches('Production')).toBe(false);
    });

    test('keep every text exactly', async () => {
      const list = HOSTILE_TEXTS.map((text, index) =>
        silence(String(index).padStart(2, '0'), {
          comment: text,
          matchers: [createMatcher('nest', '=', text)],
        }),
      );
      await run.silences.put(list);
      expect(await all()).toEqual(list.map(plain));
    });

    test('are deleted when they have been expired for the retention', async () => {
      await run.silences.put([
        silence('old', { endsAtUs: NOW_US - 1 }),
        silence('over', { endsAtUs: NOW_US }),
      ]);
      expect(await run.upkeep.prune(NOW_US, 10)).toBe(1);
      expect((await run.silences.list()).map(({ id }) => id)).toEqual(['over']);
    });
  });
}
