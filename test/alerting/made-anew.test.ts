/** A group that was deleted and made anew tells what its receiver was told before once more, under ids of its own. */
import { expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { email } from '../channels/sample-notifications.ts';
import { type Desk, hook, openDesk } from './desk.ts';

let desk: Desk;

const RECEIVERS: readonly (readonly [string, Receiver['integrations']])[] = [
  ['a webhook', hook('ops').integrations],
  ['the members of Nests', [email({ to: [], toNestMembers: true })]],
];

test.each(RECEIVERS)('by way of %s [long]', async (_, integrations) => {
  desk = await openDesk({ receivers: [{ name: 'ops', integrations }, hook('other')] });
  await desk.store.inventory.putNestMembers([
    { region: 'eu', nestId: 'nest-Marketing', addresses: ['anna@example.com'] },
  ]);
  const told = async () => {
    const queued = await desk.store.outbox
      .page({ receiver: 'ops', limit: 100 })
      .then((one) => one.deliveries);
    return queued.map(({ state }) => state);
  };
  await desk.story('fails A, 10');
  await desk.restart({ receiver: 'other' });
  await desk.pass(10);
  const before = await told();
  await desk.restart({ receiver: 'ops' });
  await desk.pass(10);
  expect(await told()).toEqual([...before, 'delivered']);
});
