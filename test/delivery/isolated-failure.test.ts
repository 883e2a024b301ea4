/** One message that a receiver does not accept, although it accepts all others. */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { createIsolatedFailures } from '../../src/delivery/isolated-failure.ts';
import { createLearned } from '../../src/delivery/outbox.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import { accepted, HOUR_MS, OPS, stage, start, type World, world } from './outbox-world.ts';

const MINUTE_MS = 60_000;
const FAILED: Outcome = { kind: 'failed', reason: 'unavailable', error: 'HTTP 500' };

/** A receiver that accepts what `accepts` says, and one more message in another lane each minute. */
async function receiver(
  accepts: (id: string, atMs: number) => boolean,
  { receivers = [OPS], ...changes }: Partial<Delivery> & { readonly receivers?: readonly Receiver[] } = {},
) {
  const home = await world();
  const beganMs = home.clock.monotonicMs();
  const acceptedAtMs = new Map<string, number>();
  const send = async ({ id }: Delivery) => {
    const atMs = home.clock.monotonicMs() - beganMs;
    if (!accepts(id, atMs)) return FAILED;
    acceptedAtMs.set(id, atMs);
    return accepted;
  };
  const channels = Object.fromEntries(
    ['webhook', 'pagerduty'].map((kind) => [
      kind,
      { send: (_: unknown, one: Delivery) => send(one), close: async () => {} },
    ]),
  );
  const delivery = stage(home, channels, receivers);
  start(delivery);
  await home.queue({ id: 'poison', lane: 'L', ...changes });
  await home.queue({ id: 'behind', lane: 'L', ...changes });
  return {
    home,
    acceptedAtMs,
    async minutesPass(minutes: number): Promise<void> {
      for (let minute = 0; minute < minutes; minute += 1) {
        await home.queue({
          id: `other-${home.clock.nowUs()}`,
          lane: `other ${home.clock.nowUs()}`,
          ...changes,
        });
        delivery.wake();
        await home.clock.advance(MINUTE_MS);
      }
    },
  };
}

const setAside = ({ store, clock }: World) =>
  store.transaction(async (tx) =>
    (await tx.faults.list(clock.nowUs(), 10)).map(({ sort, name, reason }) => `${sort} ${name}: ${reason}`),
  );

describe('a message that only this receiver does not accept', () => {
  test('delays later ones for some minutes, and is reported as set aside until it is accepted', async () => {
    const mendedMs = 4 * HOUR_MS;
    const { home, acceptedAtMs, minutesPass } = await receiver(
      (id, atMs) => id !== 'poison' || atMs >= mendedMs,
    );
    await minutesPass(4);
    expect(acceptedAtMs.has('behind')).toBe(false);
    expect(await setAside(home)).toEqual([]);
    await minutesPass(21);
    expect(acceptedAtMs.get('behind')).toBeLessThan(25 * MINUTE_MS);
    const fault = 'delivery poison: ops accepts others by webhook, and not this one: HTTP 500';
    expect(await setAside(home)).toEqual([fault]);
    expect(home.reported.filter(({ what }) => what === 'set_aside')).toHaveLength(1);
    await minutesPass(170);
    expect(await setAside(home)).toEqual([fault]);
    await minutesPass(60);
    expect(acceptedAtMs.get('poison')).toBeGreaterThanOrEqual(mendedMs);
    expect(await setAside(home)).toEqual([]);
  });

  test('is recognised although the configuration is read again and again', async () => {
    const home = await world();
    const learned = createLearned();
    const acceptedIds = new Set<string>();
    const send = async ({ id }: Delivery) => {
      if (id === 'poison') return FAILED;
      acceptedIds.add(id);
      return accepted;
    };
    await home.queue({ id: 'poison', lane: 'L' });
    await home.queue({ id: 'behind', lane: 'L' });
    for (let minute = 0; minute < 25; minute += 1) {
      const delivery = stage(home, send, [OPS], { learned });
      const { stop } = start(delivery);
      await home.queue({ id: `other-${minute}`, lane: `other ${minute}` });
      delivery.wake();
      await home.clock.advance(MINUTE_MS);
      await stop();
    }
    expect(acceptedIds).toContain('behind');
    expect(await setAside(home)).toHaveLength(1);
  });

  test('keeps its order if it opens an incident, and is still reported as set aside', async () => {
    const pager = { name: 'ops', integrations: [{ kind: 'pagerduty', sendResolved: true }] };
    const { home, acceptedAtMs, minutesPass } = await receiver((id) => id !== 'poison', {
      receivers: [pager],
      integration: 'pagerduty',
    });
    await minutesPass(30);
    expect(acceptedAtMs.has('behind')).toBe(false);
    expect(await setAside(home)).toHaveLength(1);
  });

  test('keeps its order if the receiver accepts nothing for hours', async () => {
    const { home, acceptedAtMs, minutesPass } = await receiver((_, atMs) => atMs >= 2 * HOUR_MS);
    await minutesPass(150);
    expect([...acceptedAtMs.keys()].filter((id) => id === 'poison' || id === 'behind')).toEqual([
      'poison',
      'behind',
    ]);
    expect(await setAside(home)).toEqual([]);
  });

  test('keeps its order if the receiver still fails now and then when it is back', async () => {
    let backs = 0;
    const { acceptedAtMs, minutesPass } = await receiver((id, atMs) => {
      if (atMs < 2 * HOUR_MS) return false;
      if (id === 'poison') backs += 1;
      return id !== 'poison' || backs > 1;
    });
    await minutesPass(160);
    expect([...acceptedAtMs.keys()].filter((id) => id === 'poison' || id === 'behind')).toEqual([
      'poison',
      'behind',
    ]);
  });

  test('is not assumed for random failures, even if most attempts fail', async () => {
    const random = seededRandom(1);
    const { home, acceptedAtMs, minutesPass } = await receiver(
      (_, atMs) => atMs > 10 * HOUR_MS || random() < 0.3,
    );
    await minutesPass(500);
    expect(home.reported.filter(({ what }) => what === 'set_aside')).toEqual([]);
    expect(acceptedAtMs.size).toBeGreaterThan(250);
  });
});

test.each([
  ['few others were tried, which says little', 6, false],
  ['many others were accepted', 20, true],
])('twelve failures in a row while %s', (_, others, isIsolated) => {
  const failures = createIsolatedFailures();
  const delivery = (id: string) => ({ id, receiver: 'ops', position: 0, attempts: 1 }) as Delivery;
  const settled = { nextAttemptAtUs: 0, lastError: '' };
  const said: unknown[] = [];
  for (let attempt = 0; attempt < 12; attempt += 1) {
    const nowUs = attempt * 60e6;
    said.push(
      failures.hear(delivery('poison'), { ...settled, id: 'poison', state: 'retry', failed: true }, nowUs),
    );
    for (let other = 0; other < others; other += 1) {
      if (other % 11 !== attempt % 11) continue;
      const id = `other ${attempt} ${other}`;
      failures.hear(delivery(id), { ...settled, id, state: 'delivered' }, nowUs + 1);
    }
  }
  expect(said.includes('isolated')).toBe(isIsolated);
});
