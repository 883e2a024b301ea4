import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Settlement } from '../../src/store/outbox-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { delivery, NOW_US, notification, SECOND_US } from './contract/sample-records.ts';

const RUNS = 60;

type Action =
  | { readonly does: 'enqueue'; readonly lane: string; readonly suppressed: boolean }
  | { readonly does: 'claim'; readonly limit: number }
  | {
      readonly does: 'settle';
      readonly of: number;
      readonly state: Settlement['state'];
      readonly some: boolean;
    }
  | { readonly does: 'die' | 'redrive' | 'fallback' | 'throw' | 'prune' };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('enqueue' as const),
      lane: fc.constantFrom('', 'a', 'b'),
      suppressed: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('claim' as const), limit: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('settle' as const),
      of: fc.nat({ max: 20 }),
      state: fc.constantFrom('delivered', 'retry', 'ambiguous', 'dead', 'suppressed'),
      some: fc.boolean(),
    }),
  },
  fc.constantFrom('die', 'redrive', 'fallback', 'throw', 'prune').map((does) => ({ does }) as Action),
);

test('whatever happens, the states add up to what was queued, and no lane sends two at once [long]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: 'max' }), async (actions) => {
      const store = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
      let kept = 0;
      let nowUs = NOW_US;
      let leased: string[] = [];
      try {
        for (const [index, one] of actions.entries()) {
          nowUs += SECOND_US;
          await store
            .transaction(async (tx) => {
              switch (one.does) {
                case 'enqueue': {
                  const settled = one.suppressed
                    ? ({ state: 'suppressed', settledAtUs: nowUs } as const)
                    : {};
                  const fallbackAtUs = nowUs + 5 * SECOND_US;
                  const row = delivery(`d${index}`, { lane: one.lane, fallbackAtUs, ...settled });
                  await tx.outbox.enqueue(notification(row.notificationId), [row]);
                  kept += 1;
                  break;
                }
                case 'claim': {
                  const claimed = await tx.outbox.claim('ops', 0, nowUs, one.limit);
                  leased.push(...claimed.map(({ delivery: { id } }) => id));
                  break;
                }
                case 'settle': {
                  const [id] = leased.splice(one.of % Math.max(1, leased.length), 1);
                  if (id === undefined) break;
                  const settlement = { id, state: one.state, nextAttemptAtUs: nowUs, lastError: 'no' };
                  const failed = one.state !== 'delivered';
                  const remaining = failed && one.some && { remaining: ['full@x'] };
                  await tx.outbox.settle([{ ...settlement, failed, ...remaining }], nowUs);
                  break;
                }
                case 'die':
                  expect(await tx.outbox.recoverLeases(nowUs)).toBe(leased.length);
                  leased = [];
                  break;
                case 'redrive': {
                  const dead = await tx.outbox
                    .page({ state: 'dead', limit: 100 })
                    .then((one) => one.deliveries);
                  const ids = dead.map(({ id }) => id);
                  expect(await tx.outbox.redrive(ids, nowUs)).toEqual(ids);
                  break;
                }
                case 'fallback':
                  await tx.outbox.takeFallbacks(nowUs, 3);
                  break;
                case 'throw':
                  await tx.outbox.enqueue(notification(`n${index}`), [delivery(`undone${index}`)]);
                  throw new Error('taken back');
                case 'prune':
                  kept -= await tx.upkeep.prune(nowUs - 3 * SECOND_US, 2);
              }
            })
            .catch((error: Error) => expect(error.message).toBe('taken back'));
          const all = await store.transaction((tx) =>
            tx.outbox.page({ limit: 1000 }).then((one) => one.deliveries),
          );
          const counts = await store.transaction((tx) => tx.outbox.count());
          const byState = Map.groupBy(all, ({ state }) => state);
          expect(all).toHaveLength(kept);
          expect(Object.fromEntries(counts.map(({ state, count }) => [state, count]))).toEqual(
            Object.fromEntries([...byState].map(([state, list]) => [state, list.length])),
          );
          const underWay = (byState.get('leased') ?? []).filter(({ lane }) => lane !== '');
          expect(new Set(underWay.map(({ lane }) => lane)).size).toBe(underWay.length);
        }
      } finally {
        await store.close();
      }
    }),
    { numRuns: RUNS },
  );
});
