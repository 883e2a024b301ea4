/** Deadlines at 12:04 and 12:06 with the whole daemon, for Flights that started at most 100 s before. */
import { expect, test } from 'vitest';
import { createTimeInterval } from '../../src/domain/muting/muting.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

const RULE = rule('FlightOverdue', { landedBy: '4,6 12 * * *', withinMs: 100_000 });
const POLL = { intervalMs: 1_000, minIntervalMs: 500, maxIntervalMs: 5_000, inventoryIntervalMs: 2_000 };
const QUICK = {
  nests: { Marketing: ['Nightly export'] },
  poll: POLL,
  route: { groupWaitMs: 1_000, groupBy: ['alertname', 'bird'] },
};

let stage: Stage;
let bird: string;

async function begin(options: StageOptions = {}): Promise<World> {
  stage = await createStage({ regions: ['eu'], rules: [RULE], ...QUICK, ...options });
  bird = stage.bird('Nightly export');
  // The stage begins at noon.
  await stage.secondsPass(150);
  return stage.eu;
}

/** What the hook was told of deadlines: instant within the hour, status, and the text of it. */
const told = () =>
  stage.received().flatMap(({ receivedAtUs, alerts }) =>
    alerts
      .filter(({ labels }) => labels.alertname === 'FlightOverdue')
      .map(({ status, annotations }) => ({
        at: Math.round(receivedAtUs / 1e6) % 3600,
        status,
        text: status === 'firing' ? annotations.description : annotations.resolved_by,
      })),
  );
const outcomes = () => stage.happenings.flatMap((one) => (one.what === 'deadline' ? [one.outcome] : []));

test('1: without a Flight it fires within 15 s of the first reading after it [long]', async () => {
  await begin();
  await stage.secondsPass(120);
  expect(told()).toEqual([
    { at: expect.any(Number), status: 'firing', text: 'Not landed by 12:04 (UTC). It did not start.' },
  ]);
  expect(told()[0]!.at - 240).toBeLessThan(26);
});

test('2: one that succeeds 5 s before and is visible later meets it; one that lands 5 s after is late [long]', async () => {
  const world = await begin();
  const first = world.startFlight(bird);
  await stage.secondsPass(88);
  world.at(world.nowUs() - 3_000_000, () => world.endFlight(first.id, 'succeeded'));
  await stage.secondsPass(92);
  const second = world.startFlight(bird);
  await stage.secondsPass(35);
  world.endFlight(second.id, 'succeeded');
  await stage.secondsPass(60);
  expect(told()).toEqual([]);
  expect(outcomes()).toEqual(['met', 'late']);
});

test('3: one that is in the air fires, and ends when it lands [long]', async () => {
  const world = await begin();
  const flight = world.startFlight(bird);
  await stage.secondsPass(90 + 60);
  world.endFlight(flight.id, 'succeeded');
  await stage.secondsPass(310);
  const [fired, ended] = told();
  expect(fired).toMatchObject({
    status: 'firing',
    text: 'Not landed by 12:04 (UTC). It is in the air since 12:02.',
  });
  expect(ended).toMatchObject({ status: 'resolved', text: 'landed at 12:05, 1 min late' });
});

test('4: one that failed says why [long]', async () => {
  const world = await begin();
  const flight = world.startFlight(bird);
  await stage.secondsPass(60);
  world.endFlight(flight.id, 'failed', { errorMessages: 'boom' });
  await stage.secondsPass(60);
  expect(told().map(({ text }) => text)).toEqual(['Not landed by 12:04 (UTC). It failed at 12:03: boom']);
});

test('5: one that was suspended says by whom [long]', async () => {
  const world = await begin();
  await stage.secondsPass(60);
  world.suspend(bird);
  await stage.secondsPass(60);
  expect(told().map(({ text }) => text)).toEqual([
    expect.stringMatching(/^Not landed by 12:04 \(UTC\)\. It was suspended at 12:03(, by \S+@\S+)?\.$/),
  ]);
});

test('6: while the region is down nothing is said, and what landed meanwhile met it [long]', async () => {
  const world = await begin({
    rules: [rule('FlightOverdue', { landedBy: '4 12 * * *', withinMs: 100_000 })],
  });
  const flight = world.startFlight(bird);
  await stage.secondsPass(80);
  world.goDown();
  world.at(world.nowUs() + 5_000_000, () => world.endFlight(flight.id, 'succeeded'));
  await stage.secondsPass(60);
  world.comeUp();
  await stage.secondsPass(240);
  expect(told()).toEqual([]);
  expect(outcomes()).toEqual(['met']);
});

test('7: one inside an excepted interval is none [long]', async () => {
  await begin({
    rules: [rule('FlightOverdue', { landedBy: '4,6 12 * * *', withinMs: 100_000, except: ['always'] })],
    timeIntervals: new Map([['always', [createTimeInterval({ location: 'UTC' })]]]),
  });
  await stage.minutesPass(10);
  expect([...told(), ...outcomes()]).toEqual([]);
});

test('8: killed at the minute and started after it, it is told once [long]', async () => {
  await begin();
  await stage.secondsPass(90);
  await stage.restart(() => stage.clock.advance(5_000));
  await stage.secondsPass(110);
  expect(told().map(({ text }) => text)).toEqual(['Not landed by 12:04 (UTC). It did not start.']);
});
