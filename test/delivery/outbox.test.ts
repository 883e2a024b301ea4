import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Notification } from '../../src/alerts/group.ts';
import type { Receiver } from '../../src/config/config.ts';
import type { Outcome } from '../../src/delivery/channels/channel.ts';
import { openWebhookChannel } from '../../src/delivery/channels/webhook.ts';
import { type Channels, createDelivery } from '../../src/delivery/outbox.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import type { Delivery } from '../../src/store/record.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { HttpRequest, HttpResponse } from '../../src/transport.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { digestNotification } from './digest-samples.ts';
import { NO_SERVICES } from './no-services.ts';
import { alert, delivery, email, failedFlight, group, NOW_US, webhook } from './samples.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Send = (delivery: Delivery, notification: Notification) => Promise<Outcome>;
const accepted: Outcome = { kind: 'accepted' };
const HOUR_MS = 3_600_000;

interface World {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly told: Happening[];
  queue(...deliveries: Partial<Delivery>[]): Promise<void>;
  stateOf(id: string): Promise<Delivery>;
  states(): Promise<Record<string, number>>;
}

async function world(): Promise<World> {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  cleanups.push(() => store.close());
  let notifications = 0;
  return {
    clock,
    store,
    told: [],
    async queue(...deliveries) {
      const id = `n-${++notifications}`;
      const createdAtUs = clock.nowUs();
      const rows = deliveries.map((changes) =>
        delivery({ notificationId: id, createdAtUs, nextAttemptAtUs: createdAtUs, ...changes }),
      );
      await store.transaction((tx) => tx.enqueue(group({ id }), rows));
    },
    async stateOf(id) {
      const found = await store.transaction((tx) => tx.delivery(id));
      return found!.delivery;
    },
    async states() {
      const counts = await store.transaction((tx) => tx.countDeliveries());
      const sums: Record<string, number> = {};
      for (const { state, count } of counts) sums[state] = (sums[state] ?? 0) + count;
      return sums;
    },
  };
}

const OPS: Receiver = { name: 'ops', integrations: [webhook()] };
const receiverOf = (name: string): Receiver => ({ name, integrations: [webhook()] });

/** The stage over channels that do as `send` says. */
function stage(
  { store, clock, told }: World,
  channels: Send | Pick<Channels, 'webhook' | 'email'>,
  receivers: readonly Receiver[] = [OPS],
) {
  const channel = (send: Send) => ({
    send: (_: unknown, one: Delivery, notification: Notification) => send(one, notification),
    close: async () => {},
  });
  return createDelivery({
    store,
    receivers,
    channels:
      typeof channels === 'function'
        ? { ...NO_SERVICES, webhook: channel(channels), email: channel(channels) }
        : { ...NO_SERVICES, ...channels },
    clock,
    random: () => 0.5,
    report: (happening) => told.push(happening),
    externalUrl: 'http://nestwatch.example',
  });
}

/** Starts the stage; `stop` ends it and waits. */
function start(one: ReturnType<typeof createDelivery>) {
  const stopping = new AbortController();
  const running = one.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  cleanups.push(stop);
  return { stop, abort: () => stopping.abort(), running };
}

/** A promise that a test settles. */
function gate<T>() {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe('a receiver with moods', () => {
  /** The real webhook channel over a transport that answers as `answer` says. */
  function moody(clock: VirtualClock, answer: (nowUs: number, tries: number) => number | 'timeout') {
    const requests: (HttpRequest & { readonly atUs: number })[] = [];
    const webhookChannel = openWebhookChannel({
      clock,
      version: '1',
      openTransport: () => ({
        async send(request): Promise<HttpResponse> {
          requests.push({ ...request, atUs: clock.nowUs() });
          const status = answer(clock.nowUs(), requests.length);
          if (status === 'timeout') throw new NestwatchError('timeout', 'no answer within 10000 ms');
          return { status, headers: {}, body: '' };
        },
        close: async () => {},
      }),
    });
    const noMail = { send: async () => accepted, close: async () => {} };
    return { requests, channels: { webhook: webhookChannel, email: noMail } };
  }

  const KEY = 'whsec_bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw==';
  const SIGNED: Receiver = { name: 'ops', integrations: [webhook({ secret: secret(KEY) })] };

  test('that is down for two hours is told when it is back, always under the same signed id', async () => {
    const home = await world();
    const backAtUs = NOW_US + 2 * HOUR_MS * 1000;
    const { requests, channels } = moody(home.clock, (nowUs) => (nowUs < backAtUs ? 503 : 204));
    await home.queue({ id: 'd-1' });
    start(stage(home, channels, [SIGNED]));
    await home.clock.advance(3 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'delivered',
      attempts: requests.length,
      lastError: '',
    });
    expect(requests.length).toBeGreaterThan(15);
    expect(requests.at(-1)!.atUs - backAtUs).toBeLessThan(600_000_000);
    const verifier = new Webhook(KEY);
    for (const { atUs, headers, body } of requests) {
      expect(headers['webhook-id']).toBe('d-1');
      vi.useFakeTimers({ now: atUs / 1000, toFake: ['Date'] });
      expect(verifier.verify(body!, headers)).toMatchObject({ version: '4' });
    }
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
  });

  test('that answers 410 after an outage is given up after three slow refusals', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, (nowUs) =>
      nowUs < NOW_US + 2 * HOUR_MS * 1000 ? 503 : 410,
    );
    await home.queue({ id: 'd-1' });
    start(stage(home, channels));
    await home.clock.advance(3 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'dead',
      lastError: 'HTTP 410 (refusal 3 of 3)',
    });
    const [first, second, third] = requests.slice(-3).map(({ atUs }) => atUs / 1_000_000);
    expect([second! - first!, third! - second!]).toEqual([60, 300]);
    expect(home.told.at(-1)).toMatchObject({ what: 'delivery', outcome: 'dead', reason: 'rejected' });
  });

  test('that accepts but does not answer in time gets the same id again', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, (_, tries) => (tries === 1 ? 'timeout' : 200));
    await home.queue({ id: 'd-1' });
    start(stage(home, channels));
    await home.clock.advance(100);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'ambiguous', attempts: 1 });
    await home.clock.advance(1_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', attempts: 2 });
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(['d-1', 'd-1']);
  });

  test('that never comes back is given up after 72 h', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, () => 503);
    await home.queue({ id: 'd-1' });
    start(stage(home, channels));
    await home.clock.advance(71 * HOUR_MS);
    expect((await home.stateOf('d-1')).state).toBe('retry');
    await home.clock.advance(2 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'dead',
      lastError: expect.stringContaining('72 h'),
    });
    expect(requests.at(-1)!.atUs).toBe(NOW_US + 72 * HOUR_MS * 1000);
  });
});

describe('the stage', () => {
  test('records the attempt before it sends, and what came of it after', async () => {
    const home = await world();
    const seen: Delivery[] = [];
    await home.queue({ id: 'd-1' });
    start(
      stage(home, async (one) => {
        seen.push(await home.stateOf(one.id));
        return accepted;
      }),
    );
    await home.clock.advance(1);
    expect(seen).toMatchObject([{ state: 'leased', attempts: 1 }]);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', settledAtUs: expect.any(Number) });
  });

  test('tells how long it took from the oldest event to its acceptance', async () => {
    const home = await world();
    const events = [failedFlight(1), failedFlight(5)];
    await home.store.transaction((tx) =>
      tx.enqueue(group({ alerts: [alert({ events })] }), [delivery({ id: 'd-1' })]),
    );
    start(stage(home, async () => accepted));
    await home.clock.advance(1);
    expect(home.told).toEqual([
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

  test('tells no latency of a digest, which is about no one instant', async () => {
    const home = await world();
    const row = delivery({ id: 'd-1', notificationId: 'digest-1' });
    await home.store.transaction((tx) => tx.enqueue(digestNotification(), [row]));
    start(stage(home, async () => accepted));
    await home.clock.advance(1);
    expect(home.told).toMatchObject([{ what: 'delivery', outcome: 'delivered' }]);
    expect(home.told[0]).not.toHaveProperty('latencyMs');
  });

  test('sleeps until something is queued, and is woken at once', async () => {
    const home = await world();
    const sent: string[] = [];
    const one = stage(home, async ({ id }) => {
      sent.push(id);
      return accepted;
    });
    start(one);
    await home.clock.advance(10);
    await home.queue({ id: 'd-1' });
    await home.clock.advance(10);
    expect(sent).toEqual([]);
    one.wake();
    await home.clock.advance(0);
    expect(sent).toEqual(['d-1']);
  });

  test('sends at once what is queued while another try of its integration hangs', async () => {
    const home = await world();
    const hanging = gate<Outcome>();
    const sent: string[] = [];
    await home.queue({ id: 'd-1', lane: 'hangs' });
    const one = stage(home, async ({ id }) => {
      sent.push(id);
      return id === 'd-1' ? hanging.promise : accepted;
    });
    start(one);
    await home.clock.advance(10);
    await home.queue({ id: 'd-2' });
    one.wake();
    await home.clock.advance(0);
    expect(sent).toEqual(['d-1', 'd-2']);
    hanging.open(accepted);
    await home.clock.advance(100);
    expect(await home.states()).toEqual({ delivered: 2 });
  });

  test('sends at once what is queued just as the work on its integration ends', async () => {
    const home = await world();
    const sent: string[] = [];
    const slow = gate<void>();
    let one: ReturnType<typeof createDelivery> | undefined;
    const store: Store = {
      ...home.store,
      async transaction(work) {
        const result = await home.store.transaction(work);
        // The turn that finds nothing more to claim has read the store; its answer is still on the way.
        const isLastTurn = sent.length === 1 && Array.isArray(result) && result.length === 0;
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
    one = stage({ ...home, store }, async ({ id }) => {
      sent.push(id);
      return accepted;
    });
    start(one);
    await home.clock.advance(10);
    expect(sent).toEqual(['d-1']);
    slow.open();
    await home.clock.advance(10);
    expect(sent).toEqual(['d-1', 'd-2']);
  });

  test('finds what was queued within a minute when the wake is lost', async () => {
    const home = await world();
    const sent: string[] = [];
    start(
      stage(home, async ({ id }) => {
        sent.push(id);
        return accepted;
      }),
    );
    await home.clock.advance(10);
    await home.queue({ id: 'd-1' });
    await home.clock.advance(60_000);
    expect(sent).toEqual(['d-1']);
  });

  test('keeps the order within a lane, also when the first has to be tried again', async () => {
    const home = await world();
    const tries: string[] = [];
    for (const id of ['a1', 'b1', 'a2', 'b2', 'a3']) await home.queue({ id, lane: id[0]! });
    start(
      stage(home, async ({ id, attempts }) => {
        tries.push(id);
        return id === 'a1' && attempts < 3
          ? { kind: 'failed', reason: 'unavailable', error: 'HTTP 503' }
          : accepted;
      }),
    );
    await home.clock.advance(60_000);
    expect(tries.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a1', 'a1', 'a2', 'a3']);
    expect(tries.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2']);
    expect(tries.indexOf('b2')).toBeLessThan(tries.lastIndexOf('a1'));
  });

  test('a receiver that hangs delays no other, nor the other integration of its own', async () => {
    const home = await world();
    const hanging = gate<Outcome>();
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
    start(
      stage(
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
      ),
    );
    await home.clock.advance(100);
    expect(sent).toHaveLength(100);
    // It is asked by eight at once, and the others of it wait their turn.
    expect(most).toBe(8);
    hanging.open(accepted);
    await home.clock.advance(100);
    expect(await home.states()).toEqual({ delivered: 150 });
  });

  test('never has more than five mails of an integration in flight', async () => {
    const home = await world();
    const open = gate<Outcome>();
    let inFlight = 0;
    for (let index = 0; index < 20; index += 1) await home.queue({ id: `m-${index}`, integration: 'email' });
    start(
      stage(home, () => {
        inFlight += 1;
        return open.promise;
      }, [{ name: 'ops', integrations: [email()] }]),
    );
    await home.clock.advance(10);
    expect(inFlight).toBe(5);
    open.open(accepted);
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ delivered: 20 });
  });

  test('drains 10,000 deliveries of one receiver', async () => {
    const home = await world();
    const ids = new Set<string>();
    await home.store.transaction((tx) =>
      tx.enqueue(
        group(),
        Array.from({ length: 10_000 }, (_, index) => delivery({ id: `d-${index}` })),
      ),
    );
    const startedMs = performance.now();
    await stage(home, async ({ id }) => {
      ids.add(id);
      return accepted;
    }).drain();
    // A second or so on a small machine; the bound is for a crowded one.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(ids.size).toBe(10_000);
    expect(await home.states()).toEqual({ delivered: 10_000 });
  });

  test('shares a commit among many, and settles a single one at once', async () => {
    const home = await world();
    const ids = Array.from({ length: 400 }, (_, index) => `d-${index}`);
    await home.queue(...ids.map((id) => ({ id })));
    let transactions = 0;
    const store: Store = {
      ...home.store,
      transaction(work) {
        transactions += 1;
        return home.store.transaction(work);
      },
    };
    const one = stage({ ...home, store }, async () => accepted);
    start(one);
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ delivered: 400 });
    expect(transactions).toBeLessThan(25);
    await home.queue({ id: 'single' });
    one.wake();
    await home.clock.advance(0);
    expect((await home.stateOf('single')).state).toBe('delivered');
  });

  test('settles within a moment what has ended while others hang', async () => {
    const home = await world();
    await home.queue(...Array.from({ length: 5 }, (_, index) => ({ id: `d-${index}` })));
    const open = gate<Outcome>();
    start(stage(home, ({ id }) => (id === 'd-0' ? Promise.resolve(accepted) : open.promise)));
    await home.clock.advance(49);
    expect(await home.states()).toEqual({ leased: 5 });
    await home.clock.advance(1);
    expect((await home.stateOf('d-0')).state).toBe('delivered');
    open.open(accepted);
  });

  test('a message that nobody is left to get is suppressed with the reason', async () => {
    const home = await world();
    await home.queue({ id: 'd-1', receiver: 'gone' }, { id: 'd-2', integration: 'email', position: 3 });
    start(stage(home, async () => accepted));
    await home.clock.advance(10);
    for (const [id, reason] of [
      ['d-1', 'receiver gone with webhook is no longer configured'],
      ['d-2', 'receiver ops with email is no longer configured'],
    ] as const) {
      expect(await home.stateOf(id)).toMatchObject({ state: 'suppressed', lastError: reason });
    }
  });

  test('a template that failed is told once, with the message that went without it', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    let tries = 0;
    start(
      stage(home, async () => {
        tries += 1;
        if (tries === 1) return { kind: 'failed', reason: 'unavailable', error: 'busy' };
        return { kind: 'accepted', templateError: 'The template text failed: x' };
      }),
    );
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'delivered',
      lastError: 'The template text failed: x',
    });
    expect(home.told.filter(({ what }) => what === 'template_failed')).toEqual([
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
    const channels = Object.fromEntries(kinds.map((kind) => [kind, channelOf(kind)])) as unknown as Channels;
    await home.queue(
      ...kinds.map((kind, position) => ({ id: kind, integration: kind, position, lane: kind })),
    );
    start(stage(home, channels, [{ name: 'ops', integrations }]));
    await home.clock.advance(10);
    expect(sent.sort()).toEqual(kinds.map((kind) => `${kind} by ${kind}`).sort());
  });

  test('a webhook that moved behind a new email in the configuration still gets its messages', async () => {
    const home = await world();
    const moved: Receiver = { name: 'ops', integrations: [email(), webhook()] };
    await home.queue({ id: 'd-1', integration: 'webhook', position: 0 });
    const kinds: string[] = [];
    const channelOf = (kind: string) => ({
      send: async () => {
        kinds.push(kind);
        return accepted;
      },
      close: async () => {},
    });
    start(stage(home, { email: channelOf('email'), webhook: channelOf('webhook') }, [moved]));
    await home.clock.advance(10);
    expect(kinds).toEqual(['webhook']);
  });

  test('what another life left leased is tried again under the same id', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    await home.store.transaction((tx) => tx.claim('ops', 0, home.clock.nowUs(), 1));
    const seen: Delivery[] = [];
    start(
      stage(home, async (one) => {
        seen.push(one);
        return accepted;
      }),
    );
    await home.clock.advance(10);
    expect(seen).toMatchObject([{ id: 'd-1', attempts: 2 }]);
  });

  test('a bug in a channel is reported, and the delivery is tried again', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    const bug = new TypeError('oops');
    start(
      stage(home, async ({ attempts }) => {
        if (attempts === 1) throw bug;
        return accepted;
      }),
    );
    await home.clock.advance(5_000);
    expect(home.told).toMatchObject([
      { what: 'trouble', stage: 'delivery', error: bug },
      { what: 'delivery', outcome: 'retry', reason: 'bug' },
      { what: 'delivery', outcome: 'delivered', attempt: 2 },
    ]);
  });

  test('a secret that cannot be read is a failure that may pass', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    start(
      stage(home, async () => {
        throw new NestwatchError('secret_unreadable', 'cannot read /run/secrets/hook');
      }),
    );
    await home.clock.advance(10);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'retry' });
    expect(home.told).toMatchObject([{ what: 'delivery', reason: 'secret_unreadable' }]);
  });
});

describe('stopping', () => {
  test('finishes what is in flight and frees what was claimed but not begun', async () => {
    const home = await world();
    const open = gate<Outcome>();
    for (let index = 0; index < 30; index += 1) await home.queue({ id: `d-${index}` });
    const { abort, running } = start(stage(home, () => open.promise));
    await home.clock.advance(10);
    expect((await home.states()).leased).toBe(30);
    abort();
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ leased: 8, retry: 22 });
    open.open(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 8, retry: 22 });
    expect(home.clock.pending()).toBe(0);
  });

  test('asks nothing of the store while what is in flight goes on', async () => {
    const home = await world();
    const open = gate<Outcome>();
    let transactions = 0;
    const store: Store = {
      ...home.store,
      transaction(work) {
        transactions += 1;
        return home.store.transaction(work);
      },
    };
    await home.queue({ id: 'd-1' });
    const { abort, running } = start(stage({ ...home, store }, () => open.promise));
    await home.clock.advance(10);
    transactions = 0;
    abort();
    await home.clock.advance(60_000);
    expect(transactions).toBe(0);
    open.open(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 1 });
  });

  test('in the moment of a look at what is due claims nothing of it', async () => {
    const home = await world();
    const look = gate<void>();
    const store: Store = {
      ...home.store,
      async transaction(work) {
        const result = await home.store.transaction(work);
        if (result !== undefined) await look.promise;
        return result;
      },
    };
    await home.queue({ id: 'd-1' });
    const { abort, running } = start(stage({ ...home, store }, async () => accepted));
    await home.clock.advance(10);
    abort();
    look.open();
    await running;
    expect(await home.states()).toEqual({ pending: 1 });
  });

  test('is at once when nothing is in flight', async () => {
    const home = await world();
    const { stop } = start(stage(home, async () => accepted));
    await home.clock.advance(10);
    await stop();
    expect(home.clock.pending()).toBe(0);
  });
});

describe('draining', () => {
  test('tries everything that is due once, whole lanes in order, and leaves what must wait', async () => {
    const home = await world();
    const tries: string[] = [];
    for (const id of ['a1', 'a2', 'x']) await home.queue({ id, lane: id[0]! });
    await stage(home, async ({ id }) => {
      tries.push(id);
      return id === 'x' ? { kind: 'failed', reason: 'unavailable', error: 'HTTP 503' } : accepted;
    }).drain();
    expect(tries.toSorted()).toEqual(['a1', 'a2', 'x']);
    expect(await home.states()).toEqual({ delivered: 2, retry: 1 });
  });

  test('resolves at once when nothing is due', async () => {
    const home = await world();
    await stage(home, async () => accepted).drain();
    expect(await home.states()).toEqual({});
  });
});

describe('a store that fails for a while', () => {
  /** The real store, whose transactions are refused while `isBroken` says so. */
  function breaking(home: World, isBroken: () => boolean): World {
    const store: Store = {
      ...home.store,
      async transaction(work) {
        if (isBroken()) throw new NestwatchError('disk_full', 'no space left for the store');
        return home.store.transaction(work);
      },
    };
    return { ...home, store };
  }

  test('loses no end of a try: it is settled when the store works again, and not sent twice', async () => {
    const home = await world();
    let isBroken = false;
    let tries = 0;
    await home.queue({ id: 'd-1' });
    start(
      stage(
        breaking(home, () => isBroken),
        async () => {
          tries += 1;
          isBroken = true;
          return accepted;
        },
      ),
    );
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased' });
    expect(home.told).toContainEqual(expect.objectContaining({ what: 'trouble', stage: 'delivery' }));
    isBroken = false;
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered' });
    expect(tries).toBe(1);
  });

  test('is looked at again each second, and what is due is sent as soon as it works', async () => {
    const home = await world();
    let isBroken = true;
    await home.queue({ id: 'd-1' });
    start(
      stage(
        breaking(home, () => isBroken),
        async () => accepted,
      ),
    );
    await home.clock.advance(2_500);
    expect(home.told.map(({ what }) => what)).toEqual(['trouble', 'trouble', 'trouble']);
    isBroken = false;
    await home.clock.advance(1_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('holds up no stop: what is not settled by then is sent again by the next life', async () => {
    const home = await world();
    let isBroken = false;
    const seen: Delivery[] = [];
    await home.queue({ id: 'd-1' });
    const send: Send = async (one) => {
      seen.push(one);
      isBroken = seen.length === 1;
      return accepted;
    };
    const broken = breaking(home, () => isBroken);
    const { stop } = start(stage(broken, send));
    await home.clock.advance(10);
    await stop();
    expect(home.clock.pending()).toBe(0);
    isBroken = false;
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased', attempts: 1 });
    start(stage(broken, send));
    await home.clock.advance(10);
    expect(seen.map(({ id, attempts }) => `${id} ${attempts}`)).toEqual(['d-1 1', 'd-1 2']);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered' });
  });

  test('is tried again each second by a stop that waits for a try anyway', async () => {
    const home = await world();
    const slow = gate<Outcome>();
    let isBroken = false;
    let refused = 0;
    await home.queue({ id: 'quick' }, { id: 'slow', lane: 'slow' });
    const { abort, running } = start(
      stage(
        breaking(home, () => {
          if (isBroken) refused += 1;
          // A stop that takes no rest would else never let this test go on.
          return isBroken && refused < 10;
        }),
        async ({ id }) => {
          if (id === 'slow') return slow.promise;
          isBroken = true;
          return accepted;
        },
      ),
    );
    await home.clock.advance(10);
    abort();
    await home.clock.advance(3_500);
    expect(refused).toBe(5);
    isBroken = false;
    await home.clock.advance(1_000);
    expect(await home.states()).toEqual({ delivered: 1, leased: 1 });
    slow.open(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 2 });
  });

  test('makes a drain reject also after a try, which the next life repeats', async () => {
    const home = await world();
    let isBroken = false;
    await home.queue({ id: 'd-1' });
    const one = stage(
      breaking(home, () => isBroken),
      async () => {
        isBroken = true;
        return accepted;
      },
    );
    await expect(one.drain()).rejects.toThrow('no space left');
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased', attempts: 1 });
  });

  test('makes a drain reject rather than wait', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    const one = stage(
      breaking(home, () => true),
      async () => accepted,
    );
    await expect(one.drain()).rejects.toThrow('no space left');
  });
});
