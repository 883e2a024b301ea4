/** What a region is judged by: each reading once, and only rules that fit. */
import { beforeEach, expect, test } from 'vitest';
import { createRegionJudging } from '../../src/alerting/judge-regions.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { InventoryRead } from '../../src/region-progress.ts';
import { rule } from '../domain/world.ts';
import { changed } from '../store/changed-transaction.ts';
import { bird, nest } from '../store/contract/sample-records.ts';
import { openMemory, runTwice, type TestStore } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const clock = createVirtualClock();
let store: TestStore;
let reads: Map<string, InventoryRead>;
beforeEach(async () => {
  store = runTwice(await openMemory(clock));
  reads = new Map([['eu', { atUs: 1, unread: [] }]]);
  await store.inventory.putNests([nest('1', 'Prod'), nest('2', 'Test')]);
});

const put = (birdId: string, nestId: string, status: string) =>
  store.inventory.putBirds([bird(birdId, { nestId, status, triggerType: 'manual' })]);

const active = { ...rule('BirdNotAsDeclared', { state: 'active' }), match: parseMatchers('nest="Prod"') };
const declares = (nestName: string) =>
  rule('BirdNotAsDeclared', { declared: [{ region: 'eu', nest: nestName, bird: 'Missing' }] });

function judging(...rules: Rule[]) {
  const judged = createRegionJudging({
    ...{ rules, clock, inventoryReads: () => reads, flightsReadUs: () => undefined },
    ...{ timeIntervals: new Map(), lookbackMs: 0 },
  });
  return {
    ...judged,
    async look() {
      (await store.transaction(judged.judge)).remember?.();
      const firing = await store.alerts.firing(undefined, 10);
      return firing.map(({ labels }) => labels.bird).toSorted();
    },
  };
}

test('only Birds that the rule matches are told, and each reading is judged once', async () => {
  const { look } = judging(active);
  await put('1', '1', 'suspended');
  await put('2', '2', 'suspended');
  expect(await look()).toEqual(['Bird 1']);
  await put('3', '1', 'suspended');
  expect(await look()).toEqual(['Bird 1']);
  reads.set('eu', { atUs: 2, unread: [] });
  expect(await look()).toEqual(['Bird 1', 'Bird 3']);
  await put('1', '1', 'active');
  reads.set('eu', { atUs: 3, unread: [] });
  expect(await look()).toEqual(['Bird 3']);
});

test.each([
  ['of a Nest that was read', 'Prod', ['2'], ['Missing']],
  ['of one that was not', 'Prod', ['1'], []],
  ['of one that does not exist', 'None', [], ['Missing']],
  ['of one that may be among those that could not be listed', 'None', [''], []],
])('a declared Bird is missing %s', async (_, nestName, unread, expected) => {
  reads.set('eu', { atUs: 1, unread });
  expect(await judging(declares(nestName)).look()).toEqual(expected);
});

test('while no rule has anything to say, alerts of other kinds are not read', async () => {
  const { judge } = judging(active);
  await store.transaction((tx) =>
    judge(changed(tx, { alerts: { ofScopes: () => Promise.reject(new Error('not to be read')) } })),
  );
});

test('without such a rule it never looks, and before a reading it waits', async () => {
  expect(judging(rule('FlightFailed')).nextMs()).toBe(Number.POSITIVE_INFINITY);
  reads.clear();
  expect(await judging(declares('Prod')).look()).toEqual([]);
});
