/** How new an error is, from the failed Flight to the alert. */
import { beforeEach, expect, test } from 'vitest';
import type { Rule } from '../../../src/domain/alert/rule.ts';
import { contextOf, noveltyOf } from '../../../src/domain/context/findings.ts';
import { DEFAULT_RULES } from '../../../src/domain/kinds/kinds.ts';
import { createCommit } from '../../../src/intake/commit.ts';
import { readPast } from '../../../src/store/read-history.ts';
import { bird } from '../../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';
import { flight, rule } from '../world.ts';

const DAY_US = 86_400_000_000;
const BACK_AFTER_MS = 7 * 86_400_000;

let store: TestStore;
beforeEach(async () => {
  store = await openMemory();
  await store.inventory.regionSince('eu', TEST_START_US);
  await store.inventory.putBirds([bird('148890', { name: 'Translate blog', triggerType: 'event' })]);
});

type End = readonly [day: number, status: 'failed' | 'succeeded', message?: string, type?: string];
const ends = (...flights: readonly End[]) => endsUnder(DEFAULT_RULES, ...flights);

/** Commits the ends of Flights on these days after the region was first watched; returns the firing alerts. */
async function endsUnder(rules: readonly Rule[], ...flights: readonly End[]) {
  const clock = createVirtualClock();
  const commit = createCommit({
    ...{ store, rules, forward: [], clock },
    ...{ backAfterMs: BACK_AFTER_MS, report() {}, changed() {} },
  });
  const { stream } = await store.streams.open('eu', 'flight', '148890');
  for (const [day, status, message = 'Quota 7 of DeepL exceeded', type = ''] of flights) {
    const at = TEST_START_US + day * DAY_US;
    const { event, historic } = flight(status, { started: 0, at: 0, message });
    const id = `f-${day}`;
    const told = {
      ...event,
      ...{ key: `eu/flight/${id}/${status}`, occurredAtUs: at, observedAtUs: at },
      attributes: { ...event.attributes, flight_id: id, started_at_us: at - 1_000_000, error_type: type },
    };
    await commit({
      region: 'eu',
      stream: { stream, feed: 'flight' },
      events: [{ event: told, historic: historic || day < 0 }],
    });
  }
  const alerts = await store.alerts.firing(undefined, 9);
  return alerts.map(({ labels, annotations }) => [labels.novelty, annotations.seen_before]);
}

test('a Bird with a hostile name is named on one line, and shortly', () => {
  const seen = { lastUs: 0, flightId: 'f-1', bird: `Sync\u202e\n${'x'.repeat(3000)}` };
  const failed = { region: 'eu', atUs: 12 * DAY_US };
  const remembered = { sinceUs: 0, forgottenBeforeUs: undefined };
  const { words } = noveltyOf(failed, seen, remembered, BACK_AFTER_MS)!;
  expect(words).toMatch(/^back: last seen 12 days ago, in Flight f-1 of Sync x{110,}…$/);
  expect(words.length).toBeLessThan(200);
});

test('nothing is claimed in the first week', async () => {
  expect(await ends([6.9, 'failed'])).toEqual([[undefined, undefined]]);
});

test('after that an error is new, then known, then back', async () => {
  expect(await ends([8.5, 'failed'])).toEqual([
    ['new', 'new: no Bird of EU had this error in the 8 days that nestwatch has watched'],
  ]);
  expect(await ends([8.6, 'succeeded'], [9, 'failed', 'Quota 8 of DeepL exceeded'])).toEqual([
    ['known', undefined],
  ]);
  expect(await ends([9.1, 'succeeded'], [17, 'failed'])).toEqual([
    ['back', 'back: last seen 8 days ago, in Flight f-9 of Translate blog'],
  ]);
});

test('an alert says of its first failure how new it was', async () => {
  expect(await ends([8, 'failed'], [8.1, 'failed'])).toEqual([
    ['new', 'new: no Bird of EU had this error in the 8 days that nestwatch has watched'],
  ]);
});

test('an alert does not say so of another error that is the newest', async () => {
  const isNew = 'new: no Bird of EU had this error in the 9 days that nestwatch has watched';
  await ends([8, 'failed', 'Overloaded'], [8.1, 'succeeded']);
  expect(await ends([9, 'failed'])).toEqual([['new', isNew]]);
  expect(await ends([9.1, 'failed', 'Overloaded'])).toEqual([['new', undefined]]);
  const [alert] = await store.alerts.firing(undefined, 9);
  const why = 'the newest failure has another error than the first';
  expect(
    await store.transaction((tx) => contextOf(alert!, ['novelty', 'also_failing'], readPast(tx))),
  ).toEqual([
    { sort: 'novelty', missing: why },
    { sort: 'also_failing', missing: why },
  ]);
  expect(await ends([9.2, 'failed'])).toEqual([['new', isNew]]);
});

test('one of several failures says of the error of its label how new that was', async () => {
  const rules = [rule('FlightFailed', { threshold: 3, windowMs: 86_400_000 })];
  await endsUnder(rules, [8, 'failed', 'Overloaded']);
  // A day later the first does not count any more.
  await endsUnder(rules, [9.5, 'failed', 'Overloaded'], [9.6, 'failed']);
  expect(await endsUnder(rules, [9.7, 'failed'])).toEqual([
    ['new', 'new: no Bird of EU had this error in the 9 days that nestwatch has watched'],
  ]);
});

test('who can end the first error is not said of another that is the newest', async () => {
  const acts = async () => {
    const [alert] = await store.alerts.firing(undefined, 9);
    return store.transaction((tx) => contextOf(alert!, ['who_acts'], readPast(tx)));
  };
  await ends(
    [8, 'failed', 'No such variable', 'PluginMisconfiguration'],
    [8.1, 'failed', 'No such variable'],
  );
  const text = 'to act: somebody who edits the Bird (configuration error)';
  expect(await acts()).toEqual([{ sort: 'who_acts', text }]);
  await ends([8.2, 'failed', 'Overloaded']);
  const missing = 'the log of the Flight says no type of the error';
  expect(await acts()).toEqual([{ sort: 'who_acts', missing }]);
});

test('what happened before the watch began is not new, nor is a failure without a message', async () => {
  expect(await ends([-1, 'failed'], [8, 'failed'])).toEqual([
    ['back', 'back: last seen 9 days ago, in Flight f--1 of Translate blog'],
  ]);
  expect(await ends([8.1, 'succeeded'], [20, 'failed', ''])).toEqual([[undefined, undefined]]);
});

test('an error counts as not seen for as long as errors are remembered', () => {
  const at = { region: 'eu', atUs: 1000 * DAY_US };
  const words = (forgottenBeforeUs?: number) =>
    noveltyOf(at, undefined, { sinceUs: 0, forgottenBeforeUs }, BACK_AFTER_MS)?.words;
  expect(words()).toBe('new: no Bird of EU had this error in the 400 days that nestwatch has watched');
  expect(words(940 * DAY_US)).toBe('not seen for 60 days');
});
