import type { Integration, Receiver } from '../channels/receiver.ts';
import { hash64 } from '../domain/alert/alert.ts';
import type { Happening } from '../report.ts';
import type { Delivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { destinationsOf, newDelivery, queue, takesEvents } from './destination.ts';
import { NOTHING, type Step, setReceiverAside } from './step-runner.ts';

/** Events in one forwarded batch (CloudEvents batches of up to 100). */
const BATCH = 100;

/** Batches queued for each receiver in one transaction. */
const BATCHES = 10;

/**
 * Turns events that wait to be forwarded into notifications: each event into exactly one for each receiver. A receiver
 * for which that fails is set aside for a while, and holds up no other.
 */
export async function forwardEvents(
  tx: Transaction,
  receivers: readonly Receiver[],
  nowUs: number,
): Promise<Step> {
  const waiting = await tx.forwards.receivers();
  if (waiting.length === 0) return NOTHING;
  const failed = new Set(await tx.faults.names('receiver'));
  const again = new Set(await tx.faults.names('receiver', nowUs));
  let done = 0;
  let queued = 0;
  const happenings: Happening[] = [];
  for (const name of waiting) {
    if (failed.has(name) && !again.has(name)) continue;
    const forwarded = await tx.attempt(() => forwardTo(tx, name, receivers, nowUs));
    if (!forwarded.ok) {
      happenings.push(...(await setReceiverAside(tx, name, forwarded.error, nowUs)));
      continue;
    }
    if (failed.has(name)) await tx.faults.mend('receiver', [name]);
    done += forwarded.value.done;
    queued += forwarded.value.queued;
  }
  return { done, queued, happenings };
}

/** Queues batches for one receiver, as many as one transaction takes. */
async function forwardTo(
  tx: Transaction,
  name: string,
  receivers: readonly Receiver[],
  nowUs: number,
): Promise<{ done: number; queued: number }> {
  const integrations = receivers.find((receiver) => receiver.name === name)?.integrations ?? [];
  let done = 0;
  let queued = 0;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const events = await tx.forwards.take(name, BATCH);
    if (events.length === 0) break;
    done += events.length;
    // The same events come under the same id after a restore, and any others under another: receivers drop repeats.
    const own = [name, ...events.map(({ key }) => key).toSorted()];
    const { id, deliveries } = await batchOf(tx, name, own, integrations, nowUs);
    queued += deliveries.length;
    const notification = { kind: 'forward', id, receiver: name, createdAtUs: nowUs, events } as const;
    await queue(tx, notification, integrations, deliveries);
  }
  return { done, queued };
}

/**
 * The id made of `own`, with its deliveries. If an event comes once more after all, its batch takes the next free id.
 */
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
