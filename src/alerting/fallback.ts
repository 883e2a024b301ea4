import type { Receiver } from '../config/config.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import { MAX_ALERTS } from '../domain/grouping/flush.ts';
import type { GroupNotification, NotifiedAlert } from '../domain/grouping/notification.ts';
import type { Happening } from '../report.ts';
import type { ClaimedDelivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import {
  type Destination,
  destinationsOf,
  hasNoAddress,
  keepsIncidents,
  newDelivery,
  takesParts,
} from './destination.ts';
import { lendIncident } from './incidents.ts';
import { NOTHING, type Step } from './step.ts';

/** Deliveries given to a fallback in one transaction. */
const BATCH = 50;

/**
 * Gives what a receiver did not accept for too long to its fallback as well, saying so. The original goes on being
 * tried. What a fallback does not accept goes no further.
 *
 * One flush may make several notifications, for those who hear of ends and those who do not, in parts, or by incident:
 * of all of them together the fallback's programs are told each alert and each event once, its people in one message
 * of what came in parts, and its services that keep incidents of each incident by itself.
 */
export async function fallBack(
  tx: Transaction,
  receivers: readonly Receiver[],
  nowUs: number,
): Promise<Step> {
  const due = await tx.outbox.takeFallbacks(nowUs, BATCH);
  if (due.length === 0) return NOTHING;
  let queued = 0;
  const happenings: Happening[] = [];
  const copies = new Map<string, GroupNotification[]>();
  for (const { delivery, notification } of due) {
    const name = receivers.find((one) => one.name === delivery.receiver)?.fallback;
    const fallback = receivers.find((one) => one.name === name);
    if (!fallback || notification.kind !== 'group') continue;
    let most = 0;
    for (const [audience, to] of audiencesOf(fallback)) {
      const base = baseOf(fallback, audience, notification);
      const told = copies.get(base) ?? (await copiesBefore(tx, fallback, base));
      copies.set(base, told);
      const isBrief = audience !== 'programs';
      const whole = isBrief ? inBrief(notification) : notification;
      const alerts = withoutCopied(whole.alerts, told);
      // Another integration of the same receiver may have failed with it.
      const isCovered = alerts.length === 0 || (isBrief && isCounted(notification, told));
      if (told.length > 0 && isCovered) continue;
      const id = copyId(base, told.length);
      const copy = copyFor(fallback, delivery, { ...whole, id, alerts });
      const wanted = to
        .filter((one) => takes(one, copy))
        .map((destination) => newDelivery(copy, destination, nowUs));
      if (wanted.length === 0) continue;
      await tx.outbox.enqueue(copy, wanted);
      told.push(copy);
      queued += wanted.length;
      most = Math.max(most, alerts.length);
      const isOpened = audience === 'incidents' && copy.status === 'firing';
      if (isOpened) queued += await lendIncident(tx, fallback, copy, nowUs);
    }
    if (most === 0) continue;
    const { groupKey } = notification;
    const happening = { receiver: fallback.name, groupKey, alerts: most };
    happenings.push({ what: 'notified', reason: 'fallback', ...happening });
  }
  return { done: due.length, queued, happenings };
}

type Audience = 'programs' | 'people' | 'incidents';

/** Integrations that are told the same. */
function audiencesOf({ integrations }: Receiver): ReadonlyMap<Audience, Destination[]> {
  return Map.groupBy(destinationsOf(integrations), (one) => {
    if (keepsIncidents(one)) return 'incidents';
    return takesParts(one) ? 'programs' : 'people';
  });
}

/** As people are told: the first alerts, how many more there are in all parts, and of a summary no events. */
function inBrief({ part, ...whole }: GroupNotification): GroupNotification {
  const alerts = whole.alerts
    .slice(0, MAX_ALERTS)
    .map((one) =>
      whole.summary ? { ...one, events: [], eventsOmitted: one.eventsOmitted + one.events.length } : one,
    );
  const inAll = part ? whole.firingTotal + whole.resolvedTotal : whole.alerts.length + whole.truncatedAlerts;
  return { ...whole, alerts, truncatedAlerts: inAll - alerts.length };
}

/** Whether this is a part of what was told in brief before, with the count of all. */
function isCounted(
  { part, firingTotal, resolvedTotal }: GroupNotification,
  told: readonly GroupNotification[],
): boolean {
  if (!part) return false;
  return told.some((copy) => copy.firingTotal >= firingTotal && copy.resolvedTotal >= resolvedTotal);
}

function takes(destination: Destination, { status, alerts }: GroupNotification): boolean {
  // What was not accepted is no longer split by Nest, so members alone are nobody.
  if (hasNoAddress(destination)) return false;
  if (destination[1].sendResolved || status === 'firing') return true;
  return (
    !keepsIncidents(destination) &&
    alerts.some(({ events, eventsOmitted }) => events.length + eventsOmitted > 0)
  );
}

/** The copies that the fallback has been told, in their order. */
async function copiesBefore(
  tx: Transaction,
  { integrations }: Receiver,
  base: string,
): Promise<GroupNotification[]> {
  const told: GroupNotification[] = [];
  for (;;) {
    let copy: GroupNotification | undefined;
    for (const position of integrations.keys()) {
      const found = (await tx.outbox.find(`${copyId(base, told.length)}-${position}`))?.notification;
      if (found?.kind === 'group') copy = found;
    }
    if (!copy) return told;
    told.push(copy);
  }
}

/** The alerts, with the events, that none of these has told; one that counts events has told them all. */
function withoutCopied(
  alerts: readonly NotifiedAlert[],
  told: readonly GroupNotification[],
): NotifiedAlert[] {
  const before = Map.groupBy(
    told.flatMap((copy) => copy.alerts),
    ({ id }) => id,
  );
  return alerts.flatMap((alert) => {
    const known = before.get(alert.id);
    if (!known) return [alert];
    const keys = new Set(known.flatMap(({ events }) => events.map(({ key }) => key)));
    const hasAll = known.some(({ eventsOmitted }) => eventsOmitted > 0);
    const events = hasAll ? [] : alert.events.filter(({ key }) => !keys.has(key));
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

/** The same for all that one flush tells; but each incident is a group's own. */
function baseOf(
  { name }: Receiver,
  audience: Audience,
  { id, flushId = id, groupKey }: GroupNotification,
): string {
  return `fallback-${hash64([flushId, audience === 'incidents' ? groupKey : audience, name])}`;
}

function copyId(base: string, index: number): string {
  return index === 0 ? base : `${base}-${index + 1}`;
}

function whyNot({ state, lastError }: ClaimedDelivery['delivery']): string {
  if (state === 'suppressed') return `which told nobody: ${lastError}.`;
  const why = lastError === '' ? 'which has not accepted it yet' : `which has not accepted it: ${lastError}`;
  return state === 'dead' ? `${why}.` : `${why}. It is still being tried there.`;
}
