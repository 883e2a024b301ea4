/** Messages about one alert arrive in order, even if several groups of a receiver notify of it while it is down. */
import { expect, test } from 'vitest';
import { type Desk, type DeskOptions, hook, openDesk } from './desk.ts';

/** A receiver that is down when a test says so. Each Bird has its own group. */
async function open(options: Partial<DeskOptions> = {}) {
  const receiver = { isDown: false };
  const desk = await openDesk({
    receivers: [hook('ops')],
    route: { groupBy: ['bird'] },
    answer: () => (receiver.isDown ? 503 : 200),
    ...options,
  });
  return { desk, receiver };
}

/** What the receiver was notified of a Bird, in the order in which it accepted it. */
function saidOf(desk: Desk, bird: string): string[] {
  return desk.received.flatMap(({ body, again }) =>
    again ? [] : body.alerts.flatMap(({ labels, status }) => (labels.bird === bird ? [status] : [])),
  );
}

test('the end of an alert waits for the summary that says it fires [long]', async () => {
  const { desk, receiver } = await open();
  receiver.isDown = true;
  await desk.failedLongAgo('A', 'B');
  await desk.pass(9);
  await desk.succeeds('A');
  await desk.pass(2.5);
  receiver.isDown = false;
  await desk.pass(6);
  expect(saidOf(desk, 'A')).toEqual(['firing', 'resolved']);
  expect(saidOf(desk, 'B')).toEqual(['firing']);
});

test('what fires again waits as well [long]', async () => {
  const { desk, receiver } = await open();
  receiver.isDown = true;
  await desk.failedLongAgo('A');
  await desk.pass(9);
  await desk.succeeds('A');
  await desk.pass(4);
  await desk.fails('A');
  await desk.pass(6);
  receiver.isDown = false;
  await desk.pass(6);
  expect(saidOf(desk, 'A')).toEqual(['firing', 'resolved', 'firing']);
});

test('what was held back waits for what its groups notified of before [long]', async () => {
  const { desk, receiver } = await open({ receivers: [hook('ops', { maxNotificationsPerHour: 2 })] });
  await desk.fails('A');
  await desk.pass(1);
  receiver.isDown = true;
  await desk.fails('B');
  await desk.pass(5);
  await desk.succeeds('B');
  await desk.fails('C');
  await desk.pass(54.45);
  receiver.isDown = false;
  await desk.pass(10);
  expect(saidOf(desk, 'B')).toEqual(['firing', 'resolved']);
});

test('other alerts do not wait for a summary [long]', async () => {
  const { desk, receiver } = await open();
  receiver.isDown = true;
  await desk.failedLongAgo('A');
  await desk.pass(20);
  await desk.fails('C');
  receiver.isDown = false;
  await desk.pass(0.6);
  expect(
    desk.received.filter(({ again }) => !again).map(({ body }) => body.alerts[0]!.labels.bird),
  ).toContain('C');
});
