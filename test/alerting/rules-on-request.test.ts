/** Several rules of a kind on request that fit the same Bird, and what becomes of an alert whose rule is gone. */
import { beforeEach, expect, test } from 'vitest';
import { endRemovedRules } from '../../src/alerting/new-configuration.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { applyFacts } from '../../src/store/change-alerts.ts';
import { deadlineMissed, minute, regionHealth, rule, sharedError } from '../domain/world.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';

const named = (id: string, match = '{}'): Rule => ({
  ...rule('FlightOverdue', { landedBy: '0 7 * * *' }),
  id,
  match: parseMatchers(match),
});
const [early, late, other] = [named('early'), named('late'), named('other', 'bird="Another"')];

let store: TestStore;
beforeEach(async () => {
  store = await openMemory();
});

const apply = (facts: Parameters<typeof applyFacts>[1], rules: readonly Rule[]) =>
  store.transaction((tx) => applyFacts(tx, facts, rules, minute(600)));
const ended = (rules: readonly Rule[]) =>
  store.transaction((tx) => endRemovedRules(tx, [...rules, ...DEFAULT_RULES], minute(601)));
const list = (state: 'firing' | 'resolved') =>
  store.alerts.page({ order: 'newest', nowUs: 0, state, limit: 10 }).then((one) => one.alerts);
const names = async (state: 'firing' | 'resolved') =>
  (await list(state)).map(({ labels }) => `${labels.alertname} ${labels.rule}`).toSorted();

test('every rule that fits makes an alert of its own', async () => {
  await apply([deadlineMissed(500)], [early, late, other]);
  expect(await names('firing')).toEqual(['FlightOverdue early', 'FlightOverdue late']);
});

test('what one rule was asked about concerns no other', async () => {
  await apply([{ ...deadlineMissed(500), rule: 'late' }], [early, late, other]);
  expect(await names('firing')).toEqual(['FlightOverdue late']);
  await apply([{ ...deadlineMissed(510), rule: 'early' }], [early, late, other]);
  expect(await names('firing')).toEqual(['FlightOverdue early', 'FlightOverdue late']);
});

test('a label of the rule itself stays', async () => {
  await apply([deadlineMissed(500)], [{ ...early, labels: { rule: 'mine' } }]);
  expect(await names('firing')).toEqual(['FlightOverdue mine']);
});

test('an alert ends when its rule is removed, and those of other rules and kinds stay', async () => {
  await apply([deadlineMissed(500), regionHealth('down', 0)], [early, late, ...DEFAULT_RULES]);
  await ended([early, late]);
  expect(await names('firing')).toHaveLength(3);
  await ended([late]);
  expect(await names('firing')).toEqual(['FlightOverdue late', 'RegionDown undefined']);
  const [gone] = await list('resolved');
  expect(gone).toMatchObject({
    ending: 'gone',
    annotations: { resolved_by: 'its rule early was removed from the configuration' },
  });
});

test('an alert ends when its rule no longer fits', async () => {
  await apply([deadlineMissed(500)], [early]);
  await ended([{ ...early, match: other.match }]);
  const [gone] = await list('resolved');
  expect(gone?.annotations.resolved_by).toBe('its rule early no longer fits it');
});

test('a cause that Birds share ends when such alerts are turned off', async () => {
  await apply([{ ...sharedError(500, 5), events: [] }], DEFAULT_RULES);
  await ended([]);
  expect(await names('firing')).toEqual(['SharedCause undefined']);
  await ended([rule('SharedCause', { id: 'off', birds: 0 })]);
  expect(await names('firing')).toEqual([]);
});

test.each([
  ['eu', 'region', 'all'],
  ['all', 'all', 'region'],
] as const)('a cause of %s ends when `across` is no longer %s but %s', async (region, before, after) => {
  await apply([{ ...sharedError(500, 5), region, events: [] }], [rule('SharedCause', { across: before })]);
  await ended([rule('SharedCause', { across: before })]);
  expect(await names('firing')).toEqual(['SharedCause undefined']);
  await ended([rule('SharedCause', { across: after })]);
  expect(await names('firing')).toEqual([]);
});
