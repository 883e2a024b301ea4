/** What the receivers of a cause that many Birds share are told of each failure, and when. */
import { expect, test } from 'vitest';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import { type Node, node, tree } from '../domain/route-tree.ts';
import { type Desk, hook, openDesk } from './desk.ts';

const SHARED = 'the provider answered 429';
const OTHER = 'disk full on host alpha';

const openCause = (...routes: readonly Node[]) =>
  openDesk({
    receivers: [hook('ops'), hook('other')],
    rules: DEFAULT_RULES.filter(({ kind }) => kind === 'SharedCause'),
    inhibitRules: BUILT_IN_INHIBITIONS,
    route: tree(node('', { groupBy: ['bird'] }, routes)),
  });

/** The numbers of the failures that a receiver was told of, in the order in which they were seen. */
function told({ received }: Desk, receiver = 'ops'): string[] {
  const own = received.filter((one) => one.receiver === receiver);
  const events = own.flatMap(({ body }) => body.alerts.flatMap((alert) => alert.events));
  return events.map(({ key }) => key.replace(/^eu\/flight\/f-0+|\/failed$/g, '')).toSorted();
}

test('a failure with another error is told although the Bird fails with the shared one again', async () => {
  const desk = await openCause();
  await desk.story('fails A B C D E, 8');
  await desk.failsWith(OTHER, ['A']);
  await desk.story('0.2, fails A, 60');
  expect(told(desk)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
});

test('a Bird that shares the error again brings no failure that the cause has', async () => {
  const slow = node('alertname="FlightFailed"', {
    receiver: 'other',
    groupBy: ['bird'],
    groupWaitMs: 3_600_000,
  });
  const desk = await openCause({ ...slow, continue: true }, node('', { groupBy: ['bird'] }));
  await desk.story('fails A B C D E, 8');
  await desk.failsWith(OTHER, ['A']);
  await desk.story('0.2, fails A, 60');
  expect(told(desk)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
});

test('a failure that is seen late is told once to a quick receiver, and to a slow one', async () => {
  const desk = await openCause(
    node('', { groupBy: ['alertname'], continue: true }),
    node('', { receiver: 'other', groupBy: ['alertname'], groupWaitMs: 600_000 }),
  );
  await desk.story('fails A B C D E, 2, fails G, 4');
  await desk.failsWith(SHARED, ['F'], 5);
  await desk.pass(30);
  expect(told(desk, 'ops')).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  expect(told(desk, 'other')).toEqual(['1', '2', '3', '4', '5', '6', '7']);
});
