import { hash64 } from '../alerts/fingerprint.ts';
import type { GroupNotification, NotifiedAlert } from '../alerts/notification.ts';
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
 * Gives what a receiver did not accept for too long to its fallback as well, saying so. The original goes on being
 * tried. What a fallback does not accept goes no further.
 *
 * One flush may make several notifications, for those who hear of ends and those who do not, or in parts: of all of
 * them together the fallback is told each alert and each event once.
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
  const copies = new Map<string, GroupNotification[]>();
  for (const { delivery, notification } of due) {
    const name = receivers.find((one) => one.name === delivery.receiver)?.fallback;
    const fallback = receivers.find((one) => one.name === name);
    if (!fallback || notification.kind !== 'group') continue;
    const base = baseOf(fallback, notification);
    const told = copies.get(base) ?? (await toldBefore(tx, fallback, base));
    copies.set(base, told);
    const alerts = notTold(notification.alerts, told);
    // Another integration of the same receiver may have failed with it.
    if (told.length > 0 && alerts.length === 0) continue;
    const id = copyId(base, told.length);
    const copy = copyFor(fallback, delivery, { ...notification, id, alerts });
    const wanted = fallback.integrations
      .map((integration, position) => newDelivery(copy, [position, integration], nowUs))
      .filter(({ position }) => takes(fallback.integrations[position]!, copy));
    if (wanted.length === 0) continue;
    await tx.enqueue(copy, wanted);
    told.push(copy);
    queued += wanted.length;
    if (copy.status === 'firing') queued += await lendIncident(tx, fallback, copy, nowUs);
    const { groupKey } = notification;
    const happening = { receiver: fallback.name, groupKey, alerts: alerts.length };
    happenings.push({ what: 'notified', reason: 'fallback', ...happening });
  }
  return { done: due.length, queued, happenings };
}

function takes(integration: Integration, { status }: GroupNotification): boolean {
  // What was not accepted is no longer split by Nest, so members alone are nobody.
  if (integration.kind === 'email' && integration.to.length === 0) return false;
  return integration.sendResolved || status === 'firing';
}

/** The copies that the fallback has been told, in their order. */
async function toldBefore(
  tx: Transaction,
  { integrations }: Receiver,
  base: string,
): Promise<GroupNotification[]> {
  const told: GroupNotification[] = [];
  for (;;) {
    let copy: GroupNotification | undefined;
    for (const position of integrations.keys()) {
      const found = (await tx.delivery(`${copyId(base, told.length)}-${position}`))?.notification;
      if (found?.kind === 'group') copy = found;
    }
    if (!copy) return told;
    told.push(copy);
  }
}

/** The alerts, with the events, that none of these has told; one that counts events has told them all. */
function notTold(alerts: readonly NotifiedAlert[], told: readonly GroupNotification[]): NotifiedAlert[] {
  const before = Map.groupBy(
    told.flatMap((copy) => copy.alerts),
    ({ id }) => id,
  );
  return alerts.flatMap((alert) => {
    const known = before.get(alert.id);
    if (!known) return [alert];
    const keys = new Set(known.flatMap(({ events }) => events.map(({ key }) => key)));
    const isAllTold = known.some(({ eventsOmitted }) => eventsOmitted > 0);
    const events = isAllTold ? [] : alert.events.filter(({ key }) => !keys.has(key));
    return events.length > 0 ? [{ ...alert, events }] : [];
  });
}

function copyFor(
  { name }: Receiver,
  delivery: ClaimedDelivery['delivery'],
  notification: GroupNotification,
): GroupNotification {
  // Its own addresses, if it had any, are not the fallback's.
  const { to: _, notices = [], ...rest } = notification;
  const notice = `This was meant for receiver ${delivery.receiver}, ${whyNot(delivery)}`;
  return { ...rest, receiver: name, thread: rest.id, notices: [...notices, notice] };
}

/** The same for all notifications that one flush makes of one group. */
function baseOf({ name }: Receiver, { id, flushId = id, groupKey }: GroupNotification): string {
  return `fallback-${hash64([flushId, groupKey, name])}`;
}

function copyId(base: string, index: number): string {
  return index === 0 ? base : `${base}-${index + 1}`;
}

function whyNot({ state, lastError }: ClaimedDelivery['delivery']): string {
  if (state === 'suppressed') return `which told nobody: ${lastError}.`;
  const why = lastError === '' ? 'which has not accepted it yet' : `which has not accepted it: ${lastError}`;
  return state === 'dead' ? `${why}.` : `${why}. It is still being tried there.`;
}
