/** What a machine does to a process: its clock is set, it is suspended, its store is restored from an old copy. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rule } from '../domain/world.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

const HOUR_S = 3_600;

/** A Bird whose Flights fail when the test says so. */
async function opened(options: StageOptions = {}) {
  stage = await createStage({
    ...{ regions: ['eu'], nests: { Production: ['Publish'] }, route: { groupBy: ['alertname', 'bird'] } },
    ...options,
  });
  const world = stage.eu;
  const fails = () => void world.startFlight(stage.bird('Publish'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(2);
  return { world, fails };
}

/** Every event reached the lake, and without `mayRepeat` under one id each. */
function expectNothingLost({ mayRepeat = false } = {}): void {
  const ids = new Map<string, Set<string>>();
  for (const call of stage.calls) {
    if (!call.headers['content-type']?.startsWith('application/cloudevents-batch+json')) continue;
    for (const { id } of JSON.parse(call.body) as { id: string }[]) {
      ids.set(id, (ids.get(id) ?? new Set()).add(call.id));
    }
  }
  const truth = stage.eu.truth().events.map(({ key }) => key);
  expect(truth.filter((key) => !ids.has(key))).toEqual([]);
  if (!mayRepeat) expect([...ids].filter(([, own]) => own.size > 1)).toEqual([]);
}

/** A receiver that drops repetitions by `source` and `id` has each event once, whatever batch it came in. */
function expectEachEventOnceById(): void {
  const events = new Map<
    string,
    { readonly type: string; readonly subject: string; readonly time: string }
  >();
  let repeated = 0;
  for (const call of stage.calls) {
    if (!call.headers['content-type']?.startsWith('application/cloudevents-batch+json')) continue;
    for (const { source, id, type, subject, time } of JSON.parse(call.body)) {
      const before = events.get(`${source} ${id}`);
      if (before) repeated += 1;
      expect(before ?? { type, subject, time }).toEqual({ type, subject, time });
      events.set(`${source} ${id}`, { type, subject, time });
    }
  }
  const truth = stage.eu.truth().events.map(({ key }) => `/regions/eu ${key}`);
  expect([...events.keys()].sort()).toEqual(truth.sort());
  expect(repeated).toBeGreaterThan(0);
}

/** How many failures the receiver of alerts was notified of. */
const failuresNotified = () =>
  new Set(
    stage
      .alerts()
      .flatMap(({ events }) => events.filter(({ type }) => type === 'flight.failed'))
      .map(({ key }) => key),
  ).size;

test.each([
  ['ahead by an hour', HOUR_S],
  ['back by an hour', -HOUR_S],
])('our clock is set %s: failures before, then and after are notified in time [long]', async (_, seconds) => {
  const { fails } = await opened();
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(1);
  stage.ourClockSteps(seconds);
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(2);
  stage.ourClockSteps(-seconds);
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(3);
  expectNothingLost();
});

test('our clock is set ahead by an hour while a failure has to last for ten minutes: it is notified after ten minutes [long]', async () => {
  const { fails } = await opened({ rules: [rule('FlightFailed', { forMs: 600_000 })] });
  fails();
  await stage.minutesPass(3);
  stage.ourClockSteps(HOUR_S);
  await stage.minutesPass(5);
  expect(failuresNotified()).toBe(0);
  await stage.minutesPass(5);
  expect(failuresNotified()).toBe(1);
  expectNothingLost();
});

test('our clock is ahead by the hours that make events old: failures are notified in time, by themselves', async () => {
  const { fails } = await opened();
  stage.ourClockSteps(8 * HOUR_S);
  await stage.minutesPass(3);
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(1);
  expectNothingLost();
});

test('the process is suspended for ten minutes: failures meanwhile are notified soon after', async () => {
  const { world, fails } = await opened();
  for (const minute of [1, 5, 9]) world.at(world.nowUs() + minute * 60e6, fails);
  stage.clock.stall(10 * 60_000);
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(3);
  expectNothingLost();
  const names = stage.alerts().map(({ labels }) => labels.alertname);
  expect(new Set(names)).toEqual(new Set(['FlightFailed']));
});

test('a store that is full when the daemon starts does not end it: everything is read once there is space [long]', async () => {
  let isFull = true;
  const { fails } = await opened({ isStoreFull: () => isFull });
  fails();
  await stage.minutesPass(3);
  expect(stage.calls).toEqual([]);
  isFull = false;
  await stage.minutesPass(2);
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(2);
  expectNothingLost();
});

test('the store is an hour old: nothing is lost, and each failure stays one event [long]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-backup-'));
  const storePath = join(folder, 'store.db');
  try {
    const { fails } = await opened({ storePath });
    fails();
    await stage.minutesPass(3);
    await stage.restart(() => copyFileSync(storePath, join(folder, 'backup.db')));
    for (let flights = 0; flights < 6; flights += 1) {
      fails();
      await stage.minutesPass(10);
    }
    expect(failuresNotified()).toBe(7);
    await stage.restart(() => copyFileSync(join(folder, 'backup.db'), storePath));
    fails();
    await stage.minutesPass(5);
    // A failure that is sent again is the same event. As it is read at once, it may come in another batch.
    expect(failuresNotified()).toBe(8);
    expectNothingLost({ mayRepeat: true });
    expectEachEventOnceById();
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true });
  }
});
