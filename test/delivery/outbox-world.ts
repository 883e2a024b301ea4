/**
 * Delivery alone with a real store and a virtual clock, and channels that behave as a test says. Nothing here decides
 * what to send: tests queue deliveries as they need them, in states that alerting would take days to reach.
 */
import { onTestFinished } from 'vitest';
import type { OpenChannels, Outcome } from '../../src/channels/channel.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { createDelivery, type DeliveryOptions } from '../../src/delivery/outbox.ts';
import type { Notification } from '../../src/domain/grouping/notification.ts';
import type { Happening } from '../../src/report.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import type { Store } from '../../src/store/store.ts';
import { delivery, group, webhook } from '../channels/sample-notifications.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

export type Send = (delivery: Delivery, notification: Notification) => Promise<Outcome>;
export const accepted: Outcome = { kind: 'accepted' };
export const failing = (error: string): Outcome => ({ kind: 'failed', reason: 'unavailable', error });
export const HOUR_MS = 3_600_000;

export interface World {
  readonly clock: VirtualClock;
  readonly store: TestStore;
  readonly reported: Happening[];
  /** Accepts everything, and notes the ids in `sent`. */
  readonly accept: Send;
  readonly sent: string[];
  queue(...deliveries: Partial<Delivery>[]): Promise<void>;
  stateOf(id: string): Promise<Delivery>;
  states(): Promise<Record<string, number>>;
}

export async function world(): Promise<World> {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  let notifications = 0;
  const sent: string[] = [];
  return {
    clock,
    store,
    reported: [],
    sent,
    async accept({ id }) {
      sent.push(id);
      return accepted;
    },
    async queue(...deliveries) {
      const id = `n-${++notifications}`;
      const createdAtUs = clock.nowUs();
      const rows = deliveries.map((changes) =>
        delivery({ notificationId: id, createdAtUs, nextAttemptAtUs: createdAtUs, ...changes }),
      );
      await store.outbox.enqueue(group({ id }), rows);
    },
    stateOf: async (id) => (await store.outbox.find(id))!.delivery,
    async states() {
      const counts = await store.outbox.count();
      const sums: Record<string, number> = {};
      for (const { state, count } of counts) sums[state] = (sums[state] ?? 0) + count;
      return sums;
    },
  };
}

export const OPS: Receiver = { name: 'ops', integrations: [webhook()] };
export const receiverOf = (name: string): Receiver => ({ name, integrations: [webhook()] });

/** The same world, whose store does this before each transaction. */
export function before(home: World, each: () => void): Pick<World, 'clock' | 'reported'> & { store: Store } {
  const transaction: Store['transaction'] = async (work) => {
    each();
    return home.store.transaction(work);
  };
  return { ...home, store: { ...home.store, transaction } };
}

export const channel = (send: Send) => ({
  send: (_: unknown, one: Delivery, notification: Notification) => send(one, notification),
  close: async () => {},
});

/** The stage with channels that behave as `send` says. */
export function stage(
  { store, clock, reported }: Pick<World, 'clock' | 'reported'> & { readonly store: Store },
  channels: Send | OpenChannels,
  receivers: readonly Receiver[] = [OPS],
  more: Pick<DeliveryOptions, 'senders' | 'leftOver' | 'recovery' | 'experience'> = {},
) {
  return createDelivery({
    store,
    receivers,
    channels:
      typeof channels === 'function'
        ? { webhook: channel(channels), email: channel(channels) }
        : { ...channels },
    clock,
    random: () => 0.5,
    report: (happening) => reported.push(happening),
    externalUrl: 'http://nestwatch.example',
    ...more,
  });
}

/** Starts such a stage; `stop` ends it and waits. */
export function begin(...of: Parameters<typeof stage>) {
  const one = stage(...of);
  return { wake: () => one.wake(), ...start(one) };
}

/** `ending`: when the process ends; by default at the same time as the stage. */
export function start(one: ReturnType<typeof createDelivery>, ending?: AbortSignal) {
  const stopping = new AbortController();
  const running = one.run(stopping.signal, ending);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop, abort: () => stopping.abort(), running };
}
