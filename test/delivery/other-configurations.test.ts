/** Replicas read a new configuration one after another: a replica may not know yet what another one has queued. */
import { expect, test } from 'vitest';
import { identitiesOf, positioned } from '../../src/channels/integration-identity.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { secret } from '../../src/secret.ts';
import { delivery, group, webhook } from '../channels/sample-notifications.ts';
import { accepted, begin, OPS, receiverOf, type Send, type World, world } from './outbox-world.ts';

const PAGER = receiverOf('pager');
const MINUTE_MS = 60_000;

/** A replica that sends to these receivers. */
async function replica(home: World, receivers: readonly Receiver[], send = home.accept) {
  const holder = await home.store.ownership.join('one', '1', 3_600_000);
  const senders = { holder: () => holder, mayBegin: () => true, hasOthers: () => true };
  begin(home, send, receivers, { senders });
}

const silently: Send = async () => accepted;

test('messages for a receiver that a replica does not know yet wait for one that does', async () => {
  const home = await world();
  await replica(home, [OPS], silently);
  await home.queue({ id: 'd-1', receiver: 'pager' });
  await home.clock.advance(MINUTE_MS);
  expect((await home.stateOf('d-1')).state).toBe('retry');
  await replica(home, [OPS, PAGER]);
  await home.clock.advance(2 * MINUTE_MS);
  expect(home.sent).toEqual(['d-1']);
  expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', lastError: '' });
});

test('so do messages for a new integration of a receiver', async () => {
  const home = await world();
  const more = { name: 'ops', integrations: [webhook(), webhook({ url: secret('https://new.example/') })] };
  await replica(home, [OPS], silently);
  const rows = positioned(more.integrations).map(([position], index) =>
    delivery({ id: `d-${index}`, notificationId: 'n', position }),
  );
  await home.store.outbox.enqueue(group({ id: 'n', identities: identitiesOf(more.integrations) }), rows);
  await home.clock.advance(MINUTE_MS);
  expect((await home.stateOf('d-0')).state).toBe('delivered');
  expect((await home.stateOf('d-1')).state).toBe('retry');
  await replica(home, [more]);
  await home.clock.advance(2 * MINUTE_MS);
  expect(home.sent).toEqual(['d-1']);
});

test('what nobody knows any more is suppressed after a while, with the reason', async () => {
  const home = await world();
  await replica(home, [OPS], silently);
  await replica(home, [OPS], silently);
  await home.queue({ id: 'd-1', receiver: 'gone' });
  await home.clock.advance(9 * MINUTE_MS);
  expect((await home.stateOf('d-1')).state).toBe('retry');
  await home.clock.advance(3 * MINUTE_MS);
  expect(await home.stateOf('d-1')).toMatchObject({
    state: 'suppressed',
    lastError: 'receiver gone with webhook is no longer configured',
  });
});
