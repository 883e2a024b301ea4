import { describe, expect, test } from 'vitest';
import type { OpenChannels, Outcome } from '../../src/channels/channel.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import type { Store } from '../../src/store/store.ts';
import { sleep } from '../../src/time/clock.ts';
import { digestNotification } from '../channels/digest-samples.ts';
import { alert, delivery, email, failedFlight, group, webhook } from '../channels/sample-notifications.ts';
import { countProcessorMs } from '../processor-time.ts';
import {
  accepted,
  before,
  begin,
  channel,
  failing,
  HOUR_MS,
  receiverOf,
  type Send,
  stage,
  world,
} from './outbox-world.ts';

describe('the stage', () => {
  test('records the attempt before it sends, and the result afterwards', async () => {
    const home = await world();
    const seen: Delivery[] = [];
    await home.queue({ id: 'd-1' });
    begin(home, async (one) => {
      seen.push(await home.stateOf(one.id));
      return accepted;
    });
    await home.clock.advance(1);
    expect(seen).toMatchObject([{ state: 'leased', attempts: 1 }]);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', settledAtUs: expect.any(Number) });
  });

  test('reports the time from the oldest event to its acceptance', async () => {
    const home = await world();
    const events = [failedFlight(1), failedFlight(5)];
    await home.store.outbox.enqueue(group({ alerts: [alert({ events })] }), [delivery({ id: 'd-1' })]);
    begin(home, home.accept);
    await home.clock.advance(1);
    expect(home.reported).toEqual([
      {
        what: 'delivery',
        receiver: 'ops',
        integration: 'webhook',
        id: 'd-1',
        outcome: 'delivered',
        attempt: 1,
        latencyMs: 5 * 60_000,
      },
    ]);
  });

  test.each([
    [10, 5 * 60_000],
    [3, 60_000],
    [0, undefined],
  ])('without history: watched since %d minutes', async (minutes, latencyMs) => {
    const home = await world();
    const events = [failedFlight(1), failedFlight(5)];
    const [receiver, id] = ['ops', 'forward-1'];
    await home.store.transaction(async (tx) => {
      await tx.inventory.regionSince(events[0]!.region, home.clock.nowUs() - minutes * 60_000_000);
      await tx.outbox.enqueue({ kind: 'forward', id, receiver, createdAtUs: 0, events }, [
        delivery({ id: 'd-1' }),
      ]);
    });
    begin(home, home.accept);
    await home.clock.advance(1);
    expect(home.reported).toMatchObject([{ what: 'delivery', outcome: 'delivered', isForwarded: true }]);
    expect(home.reported[0]).toHaveProperty('id', 'd-1');
    expect((home.reported[0] as { latencyMs?: number }).latencyMs).toBe(latencyMs);
  });

  test('without history also if the region was known only after the first message', async () => {
    const home = await world();
    const events = [failedFlight(5)];
    const sending = begin(home, home.accept);
    for (const id of ['d-1', 'd-2']) {
      await home.store.outbox.enqueue(group({ id, alerts: [alert({ events })] }), [delivery({ id })]);
      sending.wake();
      await home.clock.advance(1);
      await home.store.inventory.regionSince(events[0]!.region, home.clock.nowUs());
    }
    const latencies = home.reported.map((one) => (one as { latencyMs?: number }).latencyMs);
    expect(latencies).toEqual([5 * 60_000, undefined]);
  });

  test('reports no latency of a digest, which is not about one instant', async () => {
    const home = await world();
    const row = delivery({ id: 'd-1', notificationId: 'digest-1' });
    await home.store.outbox.enqueue(digestNotification(), [row]);
    begin(home, home.accept);
    await home.clock.advance(1);
    expect(home.reported).toMatchObject([{ what: 'delivery', outcome: 'delivered' }]);
    expect(home.reported[0]).not.toHaveProperty('latencyMs');
  });

  test.each([
    ['holds no alerts', { alerts: [5] }],
    ['has none', { alerts: null }],
    ['has events that are none', { alerts: [{ ...alert(), events: [null, 7] }] }],
  ])('sends the others if a message in the store %s', async (_, broken) => {
    const home = await world();
    await home.store.transaction(async (tx) => {
      const whole = group({ id: 'broken' });
      // It fails when it is stored.
      const message = { ...whole, toJSON: () => ({ ...whole, ...(broken as object) }) };
      await tx.outbox.enqueue(message, [delivery({ id: 'd-broken', notificationId: 'broken' })], []);
    });
    await home.queue({ id: 'd-1' }, { id: 'd-2' });
    begin(home, async (one, message) => {
      if (one.id === 'd-broken') throw new TypeError(`no ${typeof message}`);
      return accepted;
    });
    await home.clock.advance(1_000);
    expect(await home.states()).toEqual({ delivered: 2, retry: 1 });
    expect(await home.stateOf('d-broken')).toMatchObject({
      lastError: 'an unforeseen error; the log has it',
    });
  });

  test('sleeps until something is queued, and wakes up at once', async () => {
    const home = await world();
    const one = begin(home, home.accept);
    await home.clock.advance(10);
    await home.queue({ id: 'd-1' });
    await home.clock.advance(10);
    expect(home.sent).toEqual([]);
    one.wake();
    await home.clock.advance(0);
    expect(home.sent).toEqual(['d-1']);
  });

  test('sends what is queued at once while another attempt of its integration hangs', async () => {
    const home = await world();
    const hanging = Promise.withResolvers<Outcome>();
    const sent: string[] = [];
    await home.queue({ id: 'd-1', lane: 'hangs' });
    const one = begin(home, async ({ id }) => {
      sent.push(id);
      return id === 'd-1' ? hanging.promise : accepted;
    });
    await home.clock.advance(10);
    await home.queue({ id: 'd-2' });
    one.wake();
    await home.clock.advance(0);
    expect(sent).toEqual(['d-1', 'd-2']);
    hanging.resolve(accepted);
    await home.clock.advance(100);
    expect(await home.states()).toEqual({ delivered: 2 });
  });

  test('sends what is queued at once just as the work on its integration ends', async () => {
    const home = await world();
    const slow = Promise.withResolvers<void>();
    let one: { wake(): void } | undefined;
    const store: Store = {
      ...home.store,
      async transaction(work) {
        const result = await home.store.transaction(work);
        // The turn that finds nothing more to claim has read the store; its answer is still on its way.
        const isLastTurn = home.sent.length === 1 && Array.isArray(result) && result.length === 0;
        if (isLastTurn && one) {
          const { wake } = one;
          one = undefined;
          await home.queue({ id: 'd-2' });
          wake();
          await slow.promise;
        }
        return result;
      },
    };
    await home.queue({ id: 'd-1' });
    one = begin({ ...home, store }, home.accept);
    await home.clock.advance(10);
    expect(home.sent).toEqual(['d-1']);
    slow.resolve();
    await home.clock.advance(10);
    expect(home.sent).toEqual(['d-1', 'd-2']);
  });

  test('finds what was queued within a minute if the wake-up is lost', async () => {
    const home = await world();
    begin(home, home.accept);
    await home.clock.advance(10);
    await home.queue({ id: 'd-1' });
    await home.clock.advance(60_000);
    expect(home.sent).toEqual(['d-1']);
  });

  test('keeps the order within a lane, even if the first must be retried', async () => {
    const home = await world();
    const tries: string[] = [];
    for (const id of ['a1', 'b1', 'a2', 'b2', 'a3']) await home.queue({ id, lane: id[0]! });
    begin(home, async ({ id, attempts }) => {
      tries.push(id);
      return id === 'a1' && attempts < 3 ? failing('HTTP 503') : accepted;
    });
    await home.clock.advance(60_000);
    expect(tries.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a1', 'a1', 'a2', 'a3']);
    expect(tries.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2']);
    expect(tries.indexOf('b2')).toBeLessThan(tries.lastIndexOf('a1'));
  });

  test.each([
    ['is passed by the next of its lane', 'webhook', true, 20, true],
    ['is reported until it is accepted', 'webhook', true, 60, true],
    ['keeps its order if it opens an incident', 'pagerduty', true, 60, false],
    ['keeps its order if the receiver accepts nothing', 'webhook', false, 120, false],
  ] as const)(
    'one that fails again and again %s [long]',
    async (_, integration, accepts, minutes, isPassed) => {
      const home = await world();
      let isMended = false;
      const faults = () => home.store.faults.list(home.clock.nowUs(), 10);
      const send: Send = async (one, message) => {
        const fails = (one.id === 'poison' && !isMended) || !accepts;
        return fails ? failing('HTTP 500') : home.accept(one, message);
      };
      const receiver = { name: 'ops', integrations: [{ ...webhook(), kind: integration }] };
      const one = begin(home, { [integration]: channel(send) }, [receiver]);
      await home.queue({ id: 'poison', lane: 'L', integration }, { id: 'behind', lane: 'L', integration });
      for (let minute = 0; minute < minutes; minute += 1) {
        await home.queue({ id: `other-${minute}`, lane: `${minute}`, integration });
        one.wake();
        await home.clock.advance(60_000);
        if (minute === 3) expect(home.sent).not.toContain('behind');
      }
      expect(home.sent.includes('behind')).toBe(isPassed);
      expect((await home.stateOf('poison')).state).toBe('retry');
      const why = `ops accepts others by ${integration}, and not this one: HTTP 500`;
      const reported = accepts && minutes > 20 ? [{ sort: 'delivery', name: 'poison', reason: why }] : [];
      expect(await faults()).toEqual(reported.map((fault) => expect.objectContaining(fault)));
      expect(home.reported.filter(({ what }) => what === 'set_aside')).toHaveLength(reported.length);
      isMended = true;
      await home.clock.advance(700_000);
      expect(await faults()).toEqual([]);
    },
  );

  test('a receiver that was down for hours has everything within a minute of its return [long]', async () => {
    const w = await world();
    let isUp = false;
    const attemptsAtMs: number[] = [];
    const startedMs = w.clock.monotonicMs();
    const send: Send = async () => {
      attemptsAtMs.push(w.clock.monotonicMs() - startedMs);
      return isUp ? accepted : failing('503');
    };
    await w.queue(...Array.from({ length: 40 }, (_, at) => ({ id: `d${at}` })));
    begin(w, send);
    await w.clock.advance(3 * HOUR_MS);
    // It was tried each minute, though single deliveries were only tried every ten minutes.
    const lateMs = attemptsAtMs.filter((ms) => ms > HOUR_MS);
    const gaps = lateMs.slice(1).map((ms, at) => ms - lateMs[at]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(61_000);
    expect(lateMs.length).toBeLessThan(40 * 2 * 20);
    isUp = true;
    await w.clock.advance(61_000);
    expect(await w.states()).toEqual({ delivered: 40 });
  });

  test('one full mailbox delays no later message of its group, and only it is retried', async () => {
    const w = await world();
    const sent: string[] = [];
    let isFull = true;
    const one = stage(w, async ({ id, remaining }) => {
      sent.push(`${id} to ${remaining ?? 'all'}`);
      if (!isFull) return accepted;
      return remaining ? failing('452 full') : { ...failing('452 full'), remaining: ['full@x'] };
    });
    await w.queue({ id: 'd-1', lane: 'L' });
    await w.queue({ id: 'd-2', lane: 'L' });
    await one.drain();
    expect(sent.splice(0)).toEqual(['d-1 to all', 'd-2 to all']);
    await w.clock.advance(HOUR_MS);
    await one.drain();
    isFull = false;
    await w.clock.advance(HOUR_MS);
    await one.drain();
    expect(sent.toSorted()).toEqual(['d-1 to full@x', 'd-1 to full@x', 'd-2 to full@x', 'd-2 to full@x']);
    expect(await w.states()).toEqual({ delivered: 2 });
  });

  test('a receiver that hangs delays no other, nor its own other integration', async () => {
    const home = await world();
    const hanging = Promise.withResolvers<Outcome>();
    const sent: string[] = [];
    const receivers: Receiver[] = [{ name: 'slow', integrations: [email(), webhook()] }, receiverOf('quick')];
    for (let index = 0; index < 50; index += 1) {
      await home.queue(
        { id: `hang-${index}`, receiver: 'slow', position: 1 },
        { id: `mail-${index}`, receiver: 'slow', position: 0, integration: 'email' },
        { id: `quick-${index}`, receiver: 'quick' },
      );
    }
    let most = 0;
    let waiting = 0;
    begin(
      home,
      async ({ id }) => {
        if (id.startsWith('hang')) {
          most = Math.max(most, ++waiting);
          return hanging.promise;
        }
        sent.push(id);
        return accepted;
      },
      receivers,
    );
    await home.clock.advance(100);
    expect(sent).toHaveLength(100);
    // Eight requests run at once, and the others wait for their turn.
    expect(most).toBe(8);
    hanging.resolve(accepted);
    await home.clock.advance(100);
    expect(await home.states()).toEqual({ delivered: 150 });
  });

  // More hang than are claimed at once for a webhook, and for a chat.
  test.each([
    [60, 'webhook', 0],
    [700, 'webhook', 10_000],
    [30, 'slack', 10_000],
  ])(
    'sends new messages soon beside %i that hang in every attempt (%s) [long]',
    async (count, kind, mostMs) => {
      const home = await world();
      const acceptedAtMs: number[] = [];
      const send: Send = async ({ id }) => {
        if (id !== 'new') {
          await sleep(home.clock, 10_000);
          return { kind: 'unknown', reason: 'timeout', error: 'no answer' };
        }
        acceptedAtMs.push(home.clock.monotonicMs());
        return accepted;
      };
      const ops = { name: 'ops', integrations: [{ kind, sendResolved: true }] };
      const { wake, abort } = begin(home, { [kind]: channel(send) }, [ops]);
      const hanging = Array.from({ length: count }, (_, at) => ({ id: `hangs-${at}`, lane: `${at}` }));
      await home.queue(...hanging.map((row) => ({ ...row, integration: kind })));
      wake();
      // Each is attempted for the first time.
      await home.clock.advance((count + 20) * 10_000);
      const queuedAtMs = home.clock.monotonicMs();
      await home.queue({ id: 'new', lane: 'new', integration: kind });
      wake();
      await home.clock.advance(120_000);
      abort();
      await home.clock.advance(10_000);
      expect((acceptedAtMs[0] ?? Number.POSITIVE_INFINITY) - queuedAtMs).toBeLessThanOrEqual(mostMs + 500);
      expect((await home.states()).delivered).toBe(1);
    },
  );

  test('never has more than five mails of an integration in flight', async () => {
    const home = await world();
    const open = Promise.withResolvers<Outcome>();
    let inFlight = 0;
    for (let index = 0; index < 20; index += 1)
      await home.queue({ id: `m-${index}`, integration: 'email', position: 0 });
    begin(home, () => {
      inFlight += 1;
      return open.promise;
    }, [{ name: 'ops', integrations: [email()] }]);
    await home.clock.advance(10);
    expect(inFlight).toBe(5);
    open.resolve(accepted);
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ delivered: 20 });
  });

  test('drains 10,000 deliveries of one receiver [long]', async () => {
    const home = await world();
    await home.store.outbox.enqueue(
      group(),
      Array.from({ length: 10_000 }, (_, index) => delivery({ id: `d-${index}` })),
    );
    const processorMs = countProcessorMs();
    await stage(home, home.accept).drain();
    // It takes about a second on a small machine.
    expect(processorMs()).toBeLessThan(10_000);
    expect(new Set(home.sent).size).toBe(10_000);
    expect(await home.states()).toEqual({ delivered: 10_000 });
  });

  test('many share one commit, and a single one is settled at once [long]', async () => {
    const home = await world();
    const ids = Array.from({ length: 400 }, (_, index) => `d-${index}`);
    await home.queue(...ids.map((id) => ({ id })));
    let transactions = 0;
    const counting = before(home, () => {
      transactions += 1;
    });
    const one = begin(counting, home.accept);
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ delivered: 400 });
    expect(transactions).toBeLessThan(25);
    await home.queue({ id: 'single' });
    one.wake();
    await home.clock.advance(0);
    expect((await home.stateOf('single')).state).toBe('delivered');
  });

  test('settles soon what has ended while others hang', async () => {
    const home = await world();
    await home.queue(...Array.from({ length: 5 }, (_, index) => ({ id: `d-${index}` })));
    const open = Promise.withResolvers<Outcome>();
    begin(home, ({ id }) => (id === 'd-0' ? Promise.resolve(accepted) : open.promise));
    await home.clock.advance(49);
    expect(await home.states()).toEqual({ leased: 5 });
    await home.clock.advance(1);
    expect((await home.stateOf('d-0')).state).toBe('delivered');
    open.resolve(accepted);
  });

  test('a message without any remaining recipient is suppressed with the reason', async () => {
    const home = await world();
    await home.queue({ id: 'd-1', receiver: 'gone' }, { id: 'd-2', integration: 'email', position: 3 });
    begin(home, home.accept);
    await home.clock.advance(10);
    for (const [id, reason] of [
      ['d-1', 'receiver gone with webhook is no longer configured'],
      ['d-2', 'receiver ops with email is no longer configured'],
    ] as const) {
      expect(await home.stateOf(id)).toMatchObject({ state: 'suppressed', lastError: reason });
    }
  });

  test('a template that failed is reported once, with the message that was sent without it', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    let tries = 0;
    begin(home, async () => {
      tries += 1;
      return tries === 1
        ? failing('busy')
        : { kind: 'accepted', templateError: 'The template text failed: x' };
    });
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'delivered',
      lastError: 'The template text failed: x',
    });
    expect(home.reported.filter(({ what }) => what === 'template_failed')).toEqual([
      {
        what: 'template_failed',
        receiver: 'ops',
        integration: 'webhook',
        error: 'The template text failed: x',
      },
    ]);
  });

  test('every kind of integration has its own channel', async () => {
    const home = await world();
    const sent: string[] = [];
    const channelOf = (kind: string) => ({
      send: async (integration: { readonly kind: string }) => {
        sent.push(`${integration.kind} by ${kind}`);
        return accepted;
      },
      close: async () => {},
      repeat: async () => accepted,
    });
    const kinds = ['webhook', 'email', 'slack', 'msteamsv2', 'pagerduty', 'alertmanager'] as const;
    const integrations = kinds.map((kind) => ({ ...webhook(), kind })) as unknown as Receiver['integrations'];
    const channels = Object.fromEntries(
      kinds.map((kind) => [kind, channelOf(kind)]),
    ) as unknown as OpenChannels;
    await home.queue(
      ...kinds.map((kind, position) => ({ id: kind, integration: kind, position, lane: kind })),
    );
    begin(home, channels, [{ name: 'ops', integrations }]);
    await home.clock.advance(10);
    expect(sent.sort()).toEqual(kinds.map((kind) => `${kind} by ${kind}`).sort());
  });

  test('a webhook that moved behind a new mail in the configuration still gets its messages', async () => {
    const home = await world();
    const moved: Receiver = { name: 'ops', integrations: [email(), webhook()] };
    await home.queue({ id: 'd-1', integration: 'webhook', position: 1 });
    const kinds: string[] = [];
    const channelOf = (kind: string) =>
      channel(async () => {
        kinds.push(kind);
        return accepted;
      });
    begin(home, { email: channelOf('email'), webhook: channelOf('webhook') }, [moved]);
    await home.clock.advance(10);
    expect(kinds).toEqual(['webhook']);
  });

  test('what another life left leased is attempted again under the same id', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    await home.store.outbox.claim('ops', 1, home.clock.nowUs(), 1);
    const seen: Delivery[] = [];
    begin(home, async (one) => {
      seen.push(one);
      return accepted;
    });
    await home.clock.advance(10);
    expect(seen).toMatchObject([{ id: 'd-1', attempts: 2 }]);
  });

  test('a bug in a channel is reported, and the delivery is retried', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    const bug = new TypeError('oops');
    begin(home, async ({ attempts }) => {
      if (attempts === 1) throw bug;
      return accepted;
    });
    await home.clock.advance(5_000);
    expect(home.reported).toMatchObject([
      { what: 'trouble', stage: 'delivery', error: bug },
      { what: 'delivery', outcome: 'retry', reason: 'bug' },
      { what: 'delivery', outcome: 'delivered', attempt: 2 },
    ]);
  });

  test('a secret that cannot be read is a temporary failure', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    begin(home, async () => {
      throw new NestwatchError('secret_unreadable', 'cannot read /run/secrets/hook');
    });
    await home.clock.advance(10);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'retry' });
    expect(home.reported).toMatchObject([{ what: 'delivery', reason: 'secret_unreadable' }]);
  });
});
