/** A receiver refuses a batch of forwarded events because of one of them. */
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { createExperience } from '../../src/delivery/outbox.ts';
import type { Notification } from '../../src/domain/grouping/notification.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import { delivery, webhook } from '../channels/sample-notifications.ts';
import { event } from '../store/contract/sample-records.ts';
import { accepted, begin, world } from './outbox-world.ts';

const MINUTE_MS = 60_000;
const LAKE: Receiver = { name: 'lake', integrations: [webhook({ format: 'cloudevents' })] };
const REFUSED: Outcome = { kind: 'refused', reason: 'rejected', error: 'HTTP 400' };
const FAILED: Outcome = { kind: 'failed', reason: 'unavailable', error: 'HTTP 500' };

/** A lake with this outcome for what it does not accept, and another batch each minute. */
async function lake(outcome: Outcome | (() => Outcome), accepts: (keys: readonly string[]) => boolean) {
  const home = await world();
  const took: string[] = [];
  const slow = { answers: Promise.resolve() };
  const send = async (_: Delivery, message: Notification) => {
    await slow.answers;
    const keys = message.kind === 'forward' ? message.events.map(({ key }) => key) : [];
    if (!accepts(keys)) return typeof outcome === 'function' ? outcome() : outcome;
    took.push(...keys);
    return accepted;
  };
  let experience = createExperience();
  let one = begin(home, send, [LAKE], { experience });
  const reload = async () => {
    await one.stop();
    one = begin(home, send, [LAKE], { experience });
  };
  const restart = () => {
    experience = createExperience();
    return reload();
  };
  const forward = async (id: string, ...keys: readonly string[]) => {
    const createdAtUs = home.clock.nowUs();
    const rest = { receiver: 'lake', createdAtUs };
    const row = delivery({
      id: `${id}-0`,
      notificationId: id,
      nextAttemptAtUs: createdAtUs,
      lane: '',
      ...rest,
    });
    const events = keys.map((key) => event(key));
    await home.store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'notification', '');
      await tx.events.insert(stream, events);
      await tx.outbox.enqueue({ kind: 'forward', id, events, ...rest }, [row]);
    });
    one.wake();
  };
  const minutesPass = async (minutes: number, hasOthers = true) => {
    for (let minute = 0; minute < minutes; minute += 1) {
      if (hasOthers) await forward(`other-${home.clock.nowUs()}`, `other ${home.clock.nowUs()}`);
      await home.clock.advance(MINUTE_MS);
    }
  };
  return {
    ...{ home, slow, forward, minutesPass, reload, restart },
    took: () => took.filter((key) => !key.includes('other')),
  };
}

const KEYS = ['a', 'b', 'c', 'd', 'e', 'poison', 'g', 'h'];
const keyOf = (name: string) => event(name).key;
const isWhole = (keys: readonly string[]) => !keys.includes(keyOf('poison'));

test.each([
  ['refuses', REFUSED, 40],
  ['fails at', FAILED, 150],
])(
  'a batch that it %s is sent in halves, until only the refused event is left [long]',
  async (_, outcome, minutes) => {
    const { home, took, forward, minutesPass } = await lake(outcome, isWhole);
    await forward('batch', ...KEYS);
    await minutesPass(minutes);
    expect(took().toSorted()).toEqual(
      KEYS.filter((key) => key !== 'poison')
        .map(keyOf)
        .toSorted(),
    );
    const { dead = 0, retry = 0, suppressed } = await home.states();
    expect([dead + retry, suppressed]).toEqual([1, 3]);
    const sent = await home.store.outbox.notificationsOfEvent(keyOf('a'));
    expect(sent.flatMap(({ deliveries }) => deliveries.map(({ state }) => state))).toContain('delivered');
  },
);

test.each([
  ['refused', 'reload', REFUSED, 40],
  ['refused', 'restart', REFUSED, 40],
  ['failed', 'reload', FAILED, 150],
] as const)('so is one that was %s before a %s [long]', async (_, again, outcome, minutes) => {
  const its = await lake(outcome, isWhole);
  await its.forward('batch', ...KEYS);
  await its.minutesPass(2);
  await its[again]();
  await its.minutesPass(minutes);
  expect(its.took()).toHaveLength(KEYS.length - 1);
});

test('so is one that was claimed before a reload, and not begun [long]', async () => {
  const { slow, took, forward, minutesPass, reload } = await lake(REFUSED, isWhole);
  const { promise, resolve } = Promise.withResolvers<void>();
  slow.answers = promise;
  const others = Array.from({ length: 8 }, (_, index) => `other ${index}`);
  await Promise.all([...others.map((key) => forward(key, key)), forward('batch', ...KEYS)]);
  await minutesPass(1, false);
  const reloaded = reload();
  resolve();
  await reloaded;
  await minutesPass(40);
  expect(took()).toHaveLength(KEYS.length - 1);
});

test('a receiver that refuses everything gets no halves', async () => {
  const { home, forward, minutesPass } = await lake(REFUSED, () => false);
  await forward('batch', ...KEYS);
  await minutesPass(40, false);
  expect(await home.states()).toEqual({ dead: 1 });
});

test('what may have arrived without an answer is not sent again under other ids [long]', async () => {
  const unanswered: Outcome = { kind: 'unknown', reason: 'timeout', error: 'no answer in time' };
  let tries = 0;
  const outcome = () => {
    tries += 1;
    return tries === 1 ? unanswered : FAILED;
  };
  const { home, took, forward, minutesPass } = await lake(outcome, isWhole);
  await forward('batch', ...KEYS);
  await minutesPass(60);
  expect(took()).toEqual([]);
  const { suppressed = 0 } = await home.states();
  expect(suppressed).toBe(0);
});
