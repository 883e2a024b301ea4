/** A replica that was considered dead has joined again, and gets what it is still sending. */
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { accepted, OPS, stage, start, world } from './outbox-world.ts';

test('it waits for the attempt in flight to end, and that result counts', async () => {
  const home = await world();
  const join = () => home.store.transaction((tx) => tx.ownership.join('one', '1', 3_600_000));
  let holder = await join();
  const answers: ((outcome: Outcome) => void)[] = [];
  const send = () => new Promise<Outcome>((resolve) => void answers.push(resolve));
  const senders = { holder: () => holder, mayBegin: () => true, hasOthers: () => true };
  start(stage(home, send, [OPS], { senders }));
  await home.queue({ id: 'd-1' });
  await home.clock.advance(1_000);
  holder = await join();
  await home.store.transaction((tx) => tx.outbox.recoverLeases(home.clock.nowUs(), [holder]));
  await home.clock.advance(60_000);
  expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased', attempts: 2 });
  expect(answers).toHaveLength(1);
  answers[0]!(accepted);
  await home.clock.advance(60_000);
  expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered' });
  expect(answers).toHaveLength(1);
});
