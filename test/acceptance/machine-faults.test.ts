/** What a machine does to a process: its clock is set, it is suspended, its store is full. */
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

/** How many failures the receiver of alerts was notified of. */
const failuresNotified = () =>
  new Set(
    stage
      .alerts()
      .flatMap(({ events }) => events.filter(({ type }) => type === 'flight.failed'))
      .map(({ key }) => key),
  ).size;

test('our clock is set ahead by an hour while a failure has to last for ten minutes: it is notified after ten minutes [long]', async () => {
  const { fails } = await opened({ rules: [rule('FlightFailed', { forMs: 600_000 })] });
  fails();
  await stage.minutesPass(3);
  stage.ourClockSteps(HOUR_S);
  await stage.minutesPass(5);
  expect(failuresNotified()).toBe(0);
  await stage.minutesPass(5);
  expect(failuresNotified()).toBe(1);
  expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
});

test('our clock is ahead by the hours that make events old: failures are notified in time, by themselves', async () => {
  const { fails } = await opened();
  stage.ourClockSteps(8 * HOUR_S);
  await stage.minutesPass(3);
  fails();
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(1);
  expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
});

test('the process is suspended for ten minutes: failures meanwhile are notified soon after', async () => {
  const { world, fails } = await opened();
  for (const minute of [1, 5, 9]) world.at(world.nowUs() + minute * 60e6, fails);
  stage.clock.stall(10 * 60_000);
  await stage.minutesPass(3);
  expect(failuresNotified()).toBe(3);
  expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
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
  expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
});
