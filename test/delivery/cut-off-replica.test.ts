/** One of several replicas cannot reach a receiver that the others reach, because of its own network. */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { NestwatchError } from '../../src/errors.ts';
import { LOOK_EVERY_MS } from '../../src/replicas/part.ts';
import {
  accepted,
  before,
  begin,
  OPS,
  receiverOf,
  type Send,
  stage,
  start,
  type World,
  world,
} from './outbox-world.ts';

const MINUTE_MS = 60_000;
const cutOff: Outcome = { kind: 'failed', reason: 'unreachable', error: 'connect ENETUNREACH' };
const isCutOff: Send = async () => cutOff;

/** Replicas that send in these ways; each hears the others' wake-ups. */
async function replicas(home: World, sends: readonly Send[]) {
  const stages: ReturnType<typeof stage>[] = [];
  const wakeAll = () => {
    for (const one of stages) one.wake();
  };
  for (const send of sends) {
    const holder = await home.store.ownership.join('one', '1', 3_600_000_000);
    const senders = { holder: () => holder, mayBegin: () => true, hasOthers: () => sends.length > 1 };
    stages.push(stage(home, send, [OPS], { senders, leftOver: wakeAll }));
  }
  for (const one of stages) start(one);
  return { wakeAll };
}

/** How many seconds it takes until these are settled. */
async function settled({ clock, stateOf }: World, ids: readonly string[]): Promise<number> {
  const beganMs = clock.monotonicMs();
  for (;;) {
    const states = await Promise.all(ids.map(stateOf));
    const tookMs = clock.monotonicMs() - beganMs;
    if (states.every(({ settledAtUs }) => settledAtUs > 0) || tookMs > 30 * MINUTE_MS) return tookMs / 1000;
    await clock.advance(1_000);
  }
}

describe.each(['first', 'second'])('where the %s of two replicas is cut off', (which) => {
  const order = (cut: Send, whole: Send) => (which === 'first' ? [cut, whole] : [whole, cut]);

  test('what it cannot send is soon sent by the other one', async () => {
    const home = await world();
    const { wakeAll } = await replicas(home, order(isCutOff, home.accept));
    for (let at = 0; at < 10; at += 1) {
      await home.queue({ id: `d-${at}`, lane: `l-${at}` });
      wakeAll();
      expect(await settled(home, [`d-${at}`])).toBeLessThanOrEqual(5);
      await home.clock.advance(MINUTE_MS);
    }
  });

  test('it does not hold many while it waits for each to end [long]', async () => {
    const home = await world();
    const hang: Send = async () => {
      await new Promise((resolve) => void home.clock.setTimer(10_000, () => resolve(undefined)));
      return cutOff;
    };
    const { wakeAll } = await replicas(home, order(hang, home.accept));
    const ids = Array.from({ length: 400 }, (_, at) => `d-${at}`);
    await home.queue(...ids.map((id) => ({ id })));
    wakeAll();
    expect(await settled(home, ids)).toBeLessThanOrEqual(25);
  });
});

test('a replica sends only as a member, and only what will have ended before another may repeat it', async () => {
  const home = await world();
  const joined = await home.store.ownership.join('one', '1', 3_600_000_000);
  let [holder, mayBegin]: [number | undefined, boolean] = [undefined, false];
  const senders = { holder: () => holder, mayBegin: () => mayBegin, hasOthers: () => false };
  const one = begin(home, home.accept, [OPS], { senders });
  await home.queue({ id: 'd-1' });
  const stateNow = async () => {
    one.wake();
    await home.clock.advance(MINUTE_MS);
    return (await home.stateOf('d-1')).state;
  };
  expect(await stateNow()).toBe('pending');
  const removed = joined + 1;
  holder = removed;
  expect(await stateNow()).toBe('pending');
  holder = joined;
  await stateNow();
  expect(home.sent).toEqual([]);
  mayBegin = true;
  expect(await stateNow()).toBe('delivered');
  expect(home.sent).toEqual(['d-1']);
});

test('a receiver that is away for all is notified soon after it is back', async () => {
  const home = await world();
  let isBack = false;
  const send: Send = async () => (isBack ? accepted : cutOff);
  const { wakeAll } = await replicas(home, [send, send]);
  const ids = Array.from({ length: 50 }, (_, at) => `d-${at}`);
  await home.queue(...ids.map((id) => ({ id })));
  wakeAll();
  await home.clock.advance(10_000);
  isBack = true;
  await home.queue({ id: 'fresh' });
  wakeAll();
  expect(await settled(home, ['fresh'])).toBeLessThanOrEqual(4);
  expect(await settled(home, ids)).toBeLessThanOrEqual(20);
});

test('a replica whose others do nothing checks now and then what it left to them', async () => {
  const home = await world();
  let looks = 0;
  const looking = before(home, () => {
    looks += 1;
    // Something is queued during the look.
    if (looks > 10 && looks < 20) sending.wake();
    if (looks > 1_000) throw new NestwatchError('store_down', 'looked for far too often');
  });
  const both = ['ops', 'lake'].map(receiverOf);
  const senders = { holder: () => 1, mayBegin: () => true, hasOthers: () => true };
  await home.store.ownership.join('one', '1', 3_600_000_000);
  const sending = begin(looking, isCutOff, both, { senders });
  await home.queue({ id: 'd-1', receiver: 'ops' }, { id: 'd-2', receiver: 'lake' });
  await home.clock.advance(LOOK_EVERY_MS);
  expect(looks).toBeLessThan(100);
  expect((await home.stateOf('d-1')).attempts).toBeGreaterThan(2);
});

test('a replica recognizes what fails alone, although others have sent all that failed here before [long]', async () => {
  const home = await world();
  let isDown = false;
  const sending = begin(home, async (one, notification) =>
    isDown || one.id === 'poison' ? cutOff : home.accept(one, notification),
  );
  const queue = async (...some: Parameters<World['queue']>) => {
    await home.queue(...some);
    sending.wake();
    await home.clock.advance(10 * MINUTE_MS);
  };
  await queue({ id: 'first' });
  isDown = true;
  const ids = Array.from({ length: 1_000 }, (_, at) => `d-${at}`);
  await queue(...ids.map((id) => ({ id })));
  const sent = { state: 'delivered', nextAttemptAtUs: 0, lastError: '' } as const;
  await home.store.outbox.settle(
    ids.map((id) => ({ id, ...sent })),
    home.clock.nowUs(),
  );
  isDown = false;
  await home.queue({ id: 'poison', lane: 'l' }, { id: 'next', lane: 'l' });
  for (let at = 0; at < 10; at += 1) await queue({ id: `other-${at}` });
  expect(home.sent).toContain('next');
});

test('a single replica leaves nothing to others', async () => {
  const home = await world();
  const tries: number[] = [];
  const { wakeAll } = await replicas(home, [
    async () => {
      tries.push(home.clock.monotonicMs());
      return tries.length < 5 ? cutOff : accepted;
    },
  ]);
  await home.queue({ id: 'd-1' });
  wakeAll();
  await home.clock.advance(LOOK_EVERY_MS);
  expect(tries.map((ms) => ms - tries[0]!)).toEqual([0, 750, 2250, 5250, 11250]);
});
