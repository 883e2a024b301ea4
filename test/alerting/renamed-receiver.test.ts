/** What waits for a receiver that the configuration of the next life no longer has. */
import { describe, expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import { createMuting } from '../../src/domain/muting/muting.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import { explain } from '../../src/operator/explain.ts';
import { email } from '../channels/sample-notifications.ts';
import { node, tree } from '../domain/route-tree.ts';
import { type Desk, hook, MINUTE_MS, openDesk } from './desk.ts';

let desk: Desk;

/** The desk with a receiver `ops`, and its next life, in which the receiver is called `ops2`. */
async function openRenaming(settings: Partial<Receiver> = {}) {
  const receivers = [hook('ops', settings)];
  desk = await openDesk({ receivers, route: { groupBy: ['bird'] } });
  await desk.store.inventory.regionSince('eu', desk.clock.nowUs());
  await desk.pass(1);
  return async (next: Partial<Receiver> = {}) => {
    receivers.splice(0, 1, hook('ops2', next));
    await desk.restart({ receiver: 'ops2' });
  };
}

async function explained(flight: number) {
  const mutedByNothing = {
    silences: [],
    inhibitRules: [],
    firing: [],
    timeIntervals: new Map(),
    recurrences: createRecurrences(),
    nowUs: desk.clock.nowUs(),
  };
  const muting = await createMuting(mutedByNothing, () => undefined);
  const config = {
    rules: [defaultRule('FlightFailed')],
    route: tree(node('', { receiver: 'ops2', groupBy: ['bird'] })),
    forward: [],
    context: { show: [], backAfterMs: 0 },
    timeIntervals: new Map(),
    poll: { initialLookbackMs: 0 },
    store: { retentionMs: 0 },
  };
  const key = `eu/flight/f-${String(flight).padStart(6, '0')}/failed`;
  const found = await desk.store.transaction((tx) => explain(tx, key, config, muting, desk.clock.nowUs()));
  return {
    received: found!.notifications.map(({ notification }) => notification.receiver),
    putOff: found!.suppressions.map(({ reason, isNotifiedLater }) => `${reason} ${isNotifiedLater}`),
  };
}

test('a question about an event does not start watching its region', async () => {
  desk = await openDesk({ receivers: [hook('ops')] });
  await desk.fails('A');
  await explained(1);
  expect(await desk.store.inventory.knownSince('eu')).toBeUndefined();
});

describe('what is held back for a receiver that is renamed', () => {
  test('by its cap goes to the new one by its own group, and its end once [long]', async () => {
    const rename = await openRenaming({ maxNotificationsPerHour: 1 });
    await desk.story('fails A, 2, fails B B, 2');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1']);
    await rename();
    await desk.pass(20);
    expect(desk.lines('ops2')).toEqual(['ops2@5 firing: A firing +1', 'ops2@5 firing: B firing +2']);
    expect(await explained(2)).toEqual({ received: ['ops2'], putOff: ['receiver_cap true'] });
    await desk.story('succeeds B, 100');
    expect(desk.lines('ops2').slice(2)).toEqual(['ops2@30 resolved: B resolved +0']);
    expect(await desk.states()).toEqual({ delivered: 4 });
  });

  test('is notified once even if it goes to one with a cap, and was over by then [long]', async () => {
    const rename = await openRenaming({ maxNotificationsPerHour: 1 });
    await desk.story('fails A, 2, fails B, fails C, 2, succeeds C');
    await rename({ maxNotificationsPerHour: 1 });
    await desk.pass(100);
    const received = desk.received
      .filter(({ receiver }) => receiver === 'ops2')
      .flatMap(({ body }) => body.alerts);
    expect(
      received.map(({ labels, status, events }) => `${labels.bird} ${status} +${events.length}`),
    ).toEqual(['A firing +1', 'B firing +1', 'C resolved +1']);
  });

  test('by a storm, and due before its own groups are, waits for none of them', async () => {
    const rename = await openRenaming({ foldStormsMs: MINUTE_MS });
    await desk.story('fails A B C D E, 0.6');
    expect(desk.lines()).toHaveLength(3);
    await rename();
    await desk.pass(15);
    const received = desk.received.flatMap(({ receiver, body }) =>
      body.alerts.map((one) => `${receiver}: ${one.labels.bird} +${one.events.length}`),
    );
    expect(received.toSorted()).toEqual([
      ...['A', 'B', 'C', 'D', 'E'].map((bird) => `ops2: ${bird} +1`),
      ...['ops: A +1', 'ops: B +1', 'ops: C +1'],
    ]);
  });

  test('as old news, for a summary, goes to the new one instead of to nobody', async () => {
    const rename = await openRenaming();
    await desk.story('failedLongAgo A, fails B, 1');
    expect(desk.lines()).toEqual(['ops@1 firing: B firing +1']);
    await rename();
    await desk.pass(15);
    expect(desk.lines('ops2')).toEqual(['ops2@2 firing: A firing +1', 'ops2@2 firing: B firing +1']);
    expect(await explained(1)).toEqual({ received: ['ops2'], putOff: ['too_old true'] });
  });

  test('stays with one that is only no longer the receiver of the route [long]', async () => {
    const receivers = [hook('ops', { maxNotificationsPerHour: 1 }), hook('ops2')];
    desk = await openDesk({ receivers, route: { groupBy: ['bird'] } });
    await desk.story('1, fails A, 2, fails B, 2');
    await desk.restart({ receiver: 'ops2' });
    await desk.pass(100);
    expect(desk.lines('ops')).toEqual([
      'ops@1 firing: A firing +1',
      'ops@61 resolved: A resolved +0; B resolved +1',
    ]);
    expect(desk.lines('ops2')).toEqual(['ops2@5 firing: A firing +1', 'ops2@5 firing: B firing +1']);
  });
});

test('deliveries of an integration stay in order when one of another kind is added before it [long]', async () => {
  const [own] = hook('ops').integrations;
  const receivers: Receiver[] = [hook('ops')];
  // The retries of the first message are minutes apart by then.
  desk = await openDesk({ receivers, answer: (_, minute) => (minute < 59.5 ? 503 : 200) });
  await desk.story('fails A, 55');
  receivers.splice(0, 1, { name: 'ops', integrations: [email(), own!] });
  await desk.story('restart, succeeds A, 30');
  const ofA = desk.lines().filter((line) => line.includes('A '));
  expect(ofA.map((line) => line.replace(/@\d+/, ''))).toEqual([
    'ops firing: A firing +1',
    'ops resolved: A resolved +0',
  ]);
});
