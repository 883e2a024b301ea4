import type { Integration, Receiver } from '../channels/receiver.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import type { Delivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { destinationsOf, newDelivery, takesEvents } from './destination.ts';
import { NOTHING, type Step } from './step.ts';

/** Events in one forwarded batch (CloudEvents batches of up to 100). */
const BATCH = 100;

/** Batches queued in one transaction and for each receiver. */
const BATCHES = 10;

/** Turns events that wait to be forwarded into notifications, each event into one for each receiver. */
export async function forwardEvents(
  tx: Transaction,
  receivers: readonly Receiver[],
  nowUs: number,
): Promise<Step> {
  let done = 0;
  let queued = 0;
  for (const name of await tx.forwards.receivers()) {
    const integrations = receivers.find((receiver) => receiver.name === name)?.integrations ?? [];
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const events = await tx.forwards.take(name, BATCH);
      const [first] = events;
      if (!first) break;
      done += events.length;
      // An event is forwarded to a receiver once, so its key makes the id, and makes it the same after a restore.
      const own = [name, first.key, String(first.occurredAtUs), String(events.length)];
      const { id, deliveries } = await batchOf(tx, name, own, integrations, nowUs);
      queued += deliveries.length;
      await tx.outbox.enqueue(
        { kind: 'forward', id, receiver: name, createdAtUs: nowUs, events },
        deliveries,
      );
    }
  }
  return done === 0 ? NOTHING : { done, queued, happenings: [] };
}

/** The id made of `own`, and what goes out under it. Should an event come once more after all, its batch has the next. */
async function batchOf(
  tx: Transaction,
  receiver: string,
  own: readonly string[],
  integrations: readonly Integration[],
  nowUs: number,
): Promise<{ id: string; deliveries: Delivery[] }> {
  for (let again = 0; ; again += 1) {
    const id = `forward-${hash64(again === 0 ? own : [...own, String(again)])}`;
    const deliveries = destinationsOf(integrations)
      .filter(takesEvents)
      .map((destination) => newDelivery({ id, receiver }, destination, nowUs));
    const taken = await Promise.all(deliveries.map((delivery) => tx.outbox.find(delivery.id)));
    if (taken.every((one) => one === undefined)) return { id, deliveries };
  }
}
