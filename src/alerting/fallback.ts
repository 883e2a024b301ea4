import { hash64 } from '../alerts/fingerprint.ts';
import type { GroupNotification } from '../alerts/notification.ts';
import type { Integration, Receiver } from '../config/config.ts';
import type { Happening } from '../report.ts';
import type { ClaimedDelivery } from '../store/record.ts';
import type { Transaction } from '../store/store.ts';
import { lendIncident } from './incidents.ts';
import { newDelivery } from './new-delivery.ts';
import { NOTHING, type Step } from './step.ts';

/** Deliveries given to a fallback in one transaction. */
const BATCH = 50;

/**
 * Gives what a receiver did not accept for too long to its fallback as well, once for each notification, saying so.
 * The original goes on being tried. What a fallback does not accept goes no further.
 */
export async function fallBack(
  tx: Transaction,
  receivers: readonly Receiver[],
  nowUs: number,
): Promise<Step> {
  const due = await tx.takeFallbacks(nowUs, BATCH);
  if (due.length === 0) return NOTHING;
  let queued = 0;
  const happenings: Happening[] = [];
  for (const { delivery, notification } of due) {
    const name = receivers.find((one) => one.name === delivery.receiver)?.fallback;
    const fallback = receivers.find((one) => one.name === name);
    if (!fallback || notification.kind !== 'group') continue;
    const copy = copyFor(fallback, delivery, notification);
    const wanted = fallback.integrations
      .map((integration, position) => newDelivery(copy, [position, integration], nowUs))
      .filter(({ position }) => takes(fallback.integrations[position]!, copy));
    // Another integration of the same receiver may have failed with the same notification.
    if (wanted.length === 0 || (await tx.delivery(wanted[0]!.id))) continue;
    await tx.enqueue(copy, wanted);
    queued += wanted.length;
    if (copy.status === 'firing') queued += await lendIncident(tx, fallback, copy, nowUs);
    const { groupKey, alerts } = notification;
    const told = { receiver: fallback.name, groupKey, alerts: alerts.length };
    happenings.push({ what: 'notified', reason: 'fallback', ...told });
  }
  return { done: due.length, queued, happenings };
}

function takes(integration: Integration, { status }: GroupNotification): boolean {
  // What was not accepted is no longer split by Nest, so members alone are nobody.
  if (integration.kind === 'email' && integration.to.length === 0) return false;
  return integration.sendResolved || status === 'firing';
}

function copyFor(
  { name }: Receiver,
  delivery: ClaimedDelivery['delivery'],
  notification: GroupNotification,
): GroupNotification {
  // Its own addresses, if it had any, are not the fallback's.
  const { to: _, notices = [], ...rest } = notification;
  const notice = `This was meant for receiver ${delivery.receiver}, ${whyNot(delivery)}`;
  const id = `fallback-${hash64([notification.id, name])}`;
  return { ...rest, id, receiver: name, thread: id, notices: [...notices, notice] };
}

function whyNot({ state, lastError }: ClaimedDelivery['delivery']): string {
  if (state === 'suppressed') return `which told nobody: ${lastError}.`;
  const why = lastError === '' ? 'which has not accepted it yet' : `which has not accepted it: ${lastError}`;
  return state === 'dead' ? `${why}.` : `${why}. It is still being tried there.`;
}
