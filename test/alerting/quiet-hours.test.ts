/** What is collected for a receiver is not sent while the routes that lead to it are muted by a time interval. */
import { expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { type Node, node, tree } from '../domain/route-tree.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { type Desk, hook, MINUTE_MS, openDesk } from './desk.ts';

let desk: Desk;

const startUs = createVirtualClock().nowUs();
const at = (minute: number) => startUs + minute * MINUTE_MS * 1000;

/** From minute 30 to 120 a time interval mutes one route. */
async function open(settings: Partial<Receiver> = {}, ...others: Node[]): Promise<Desk> {
  const night = { spec: { location: 'UTC' }, contains: (us: number) => us >= at(30) && us < at(120) };
  const quiet = node('region="eu"', { groupBy: ['bird'], muteTimeIntervals: ['night'], continue: true });
  desk = await openDesk({
    receivers: [hook('ops', settings)],
    route: tree(node('', {}, [quiet, ...others])),
    timeIntervals: new Map([['night', [night]]]),
  });
  await desk.store.inventory.regionSince('eu', desk.clock.nowUs());
  await desk.pass(1);
  return desk;
}

test('what a cap held back waits for the morning [long]', async () => {
  await open({ maxNotificationsPerHour: 1 });
  await desk.story('fails A, 5, fails B, 150');
  expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@120 firing: B firing +1']);
});

test('a summary of old news waits for the morning [long]', async () => {
  await open();
  await desk.story('40, failedLongAgo A, 120');
  expect(desk.lines()).toEqual(['ops@120 firing: A firing +0']);
});

test('what also comes by another route, which is not muted, does not wait [long]', async () => {
  const awake = node('region="eu"', { groupBy: ['bird'] });
  await open({ maxNotificationsPerHour: 1 }, awake);
  await desk.story('fails A, 5, fails B, 150');
  expect(desk.lines()[1]).toBe('ops@61 firing: A firing +1; B firing +1');
});

test('a route that speaks once a week tells each week what still fires and nobody has acknowledged [long]', async () => {
  // Weeks of a hundred minutes, the first of which begins after forty; config/README.md has it with days.
  const monday = {
    spec: { location: 'UTC' },
    contains: (us: number) => us >= at(40) && minuteOf(us) % 100 < 10,
  };
  const minuteOf = (us: number) => Math.floor((us - at(40)) / 60_000_000);
  const weekly = node('region="eu"', {
    ...{ receiver: 'leads', groupBy: ['region'], continue: true },
    ...{ activeTimeIntervals: ['monday'], repeatIntervalMs: 80 * MINUTE_MS },
  });
  desk = await openDesk({
    receivers: [hook('ops'), hook('leads')],
    route: tree(node('', {}, [weekly, node('region="eu"', { groupBy: ['bird'] })])),
    timeIntervals: new Map([['monday', [monday]]]),
  });
  await desk.store.inventory.regionSince('eu', desk.clock.nowUs());
  await desk.story('20, fails A, fails B, 180, acknowledges A, 150');
  expect(desk.lines().filter((line) => line.startsWith('leads'))).toEqual([
    'leads@40 firing: A firing +1; B firing +1',
    'leads@140 firing: A firing +0; B firing +0',
    'leads@240 firing: B firing +0',
    'leads@340 firing: B firing +0',
  ]);
});
