/**
 * Keeps incidents in step with their groups (`domain/grouping/incident.ts`): acknowledges them once all that fires in them is
 * acknowledged, and ends those that a fallback opened. What is told of them goes the way of all deliveries, in the lane
 * of its group, so that nothing overtakes and a restart repeats nothing.
 */

import type { Integration, Receiver } from '../config/config.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import { isCatchingUp } from '../domain/grouping/catching-up.ts';
import { type Flush, MAX_ALERTS, notificationOf } from '../domain/grouping/flush.ts';
import type { Group, Standing } from '../domain/grouping/group.ts';
import {
  afterFlush,
  asIncident,
  hasIncident,
  isAcknowledged,
  isInIncident,
} from '../domain/grouping/incident.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';
import { isHeldBack } from '../domain/grouping/special-groups.ts';
import { isAside } from '../domain/muting/route.ts';
import type { Transaction } from '../store/store.ts';
import { type Destination, newDelivery } from './new-delivery.ts';

/** Groups looked at in a row. */
const PAUSE_AFTER = 100;

/** Whether this service keeps an incident open until it is told that it is over. */
export function keepsIncidents({ kind }: Integration): boolean {
  return kind === 'pagerduty';
}

/** True for a group that tells the alerts of others, whose incidents they belong to. */
export function isGathered(groupKey: string): boolean {
  return isHeldBack(groupKey) || isCatchingUp(groupKey);
}

/** What a flush of a gathered group tells, for the incident of each group of its receiver that it touches. */
export async function byIncident<F extends Flush>(
  tx: Transaction,
  flushed: F,
  nowUs: number,
): Promise<readonly F[]> {
  const members = await tx.groups.membersOfAlerts(flushed.listed.map(({ alert }) => alert.id));
  const keys = new Set(members.map(({ groupKey }) => groupKey).filter((key) => !isAside(key)));
  // Who stands in for the receiver has no groups of its own here.
  const owner = flushed.group.key.slice(flushed.group.key.indexOf(':') + 1);
  const own = (await tx.groups.list([...keys])).filter(({ receiver }) => receiver === owner);
  const incidents: F[] = [];
  for (const [index, group] of own.entries()) {
    const incident = asIncident(flushed, group, await tx.groups.members(group.key), nowUs);
    if (incident) incidents.push(incident);
    if (index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return incidents;
}

/** Acknowledges the incidents of groups with one of these alerts, which changed; returns how many deliveries that made. */
export async function acknowledgeIncidents(
  tx: Transaction,
  receivers: readonly Receiver[],
  changed: readonly Alert[],
  nowUs: number,
): Promise<number> {
  if (!receivers.some(({ integrations }) => integrations.some(keepsIncidents))) return 0;
  const silences = (await tx.silences.list(nowUs)).filter(({ alertId }) => alertId !== null);
  if (silences.length === 0) return 0;
  const acknowledged = await tx.groups.membersOfAlerts(silences.map(({ alertId }) => alertId!));
  const concerned = new Set(acknowledged.map(({ groupKey }) => groupKey));
  const touched = await tx.groups.membersOfAlerts(changed.map(({ id }) => id));
  const keys = new Set(touched.map(({ groupKey }) => groupKey).filter((key) => concerned.has(key)));
  let queued = 0;
  for (const group of await tx.groups.list([...keys])) {
    if (group.acknowledged || isGathered(group.key)) continue;
    const standings = await tx.groups.members(group.key);
    if (!isAcknowledged(standings, silences, nowUs)) continue;
    const who = [group.receiver, ...(group.elsewhere ?? [])];
    const known = standings.filter(isInIncident);
    queued += await tellIncident(tx, receivers, who, group, known, nowUs);
    await tx.groups.put([{ ...group, acknowledged: true }]);
  }
  return queued;
}

/**
 * The group as it is to be written after a flush. Where that leaves nothing open, those who opened an incident in the
 * place of its receiver are told so; and the receiver's own incident, where the end is muted and nobody is told: it
 * calls nobody, and nothing else would ever end it.
 */
export async function settleIncidents(
  tx: Transaction,
  receivers: readonly Receiver[],
  { group, before, flushed, waiting }: Flushed,
  nowUs: number,
): Promise<{ readonly group: Group; readonly queued: number }> {
  const after = afterFlush(group, flushed, waiting);
  if (flushed.firingTotal > 0 || waiting.length > 0) return { group: after, queued: 0 };
  const isUntold = flushed.reason === null && hasIncident(before) && !isGathered(group.key);
  const who = [...(isUntold ? [group.receiver] : []), ...(group.elsewhere ?? [])];
  return { group: after, queued: await tellIncident(tx, receivers, who, group, [], nowUs) };
}

interface Flushed {
  readonly group: Group;
  /** What the group had told, muted or not. */
  readonly before: readonly Standing[];
  readonly flushed: Flush;
  readonly waiting: readonly Standing[];
}

/** Ends the incidents of a group that is about to be deleted: what it still holds goes on in others. */
export async function abandonIncident(
  tx: Transaction,
  receivers: readonly Receiver[],
  group: Group,
  standings: readonly Standing[],
  nowUs: number,
): Promise<number> {
  const isOpen = hasIncident(standings) && !isGathered(group.key);
  const who = [...(isOpen ? [group.receiver] : []), ...(group.elsewhere ?? [])];
  return tellIncident(tx, receivers, who, group, [], nowUs);
}

/**
 * Notes that a fallback opened an incident for a group, whose next flush that leaves nothing open ends it. Where the
 * group is gone the incident is told at once that it is over, behind what opened it.
 */
export async function lendIncident(
  tx: Transaction,
  receiver: Receiver,
  opened: GroupNotification,
  nowUs: number,
): Promise<number> {
  if (destinationsOf(receiver.integrations, true).length === 0) return 0;
  const [group] = await tx.groups.list([opened.groupKey]);
  if (group) {
    await tx.groups.put([{ ...group, elsewhere: [...new Set([...(group.elsewhere ?? []), receiver.name])] }]);
    return 0;
  }
  const id = `${opened.id}-over`;
  const over = { ...opened, id, status: 'resolved', alerts: [], firingTotal: 0 } as const;
  const deliveries = deliveriesOf(over, destinationsOf(receiver.integrations, true), nowUs);
  await tx.outbox.enqueue(over, deliveries);
  return deliveries.length;
}

/** Where incidents are kept; those that do not want to hear of ends are ended by hand. */
function destinationsOf(integrations: readonly Integration[], isOver: boolean): Destination[] {
  return [...integrations.entries()].filter(
    ([, one]) => keepsIncidents(one) && (one.sendResolved || !isOver),
  );
}

/**
 * Queues for the incidents of these receivers, and for nothing else that they have: that all is `known` which fires, or
 * that nothing does.
 */
async function tellIncident(
  tx: Transaction,
  receivers: readonly Receiver[],
  names: readonly string[],
  group: Group,
  known: readonly Standing[],
  nowUs: number,
): Promise<number> {
  const isOver = known.length === 0;
  const change = isOver ? 'over' : 'acknowledged';
  const listed = known
    .slice(0, MAX_ALERTS)
    .map(({ alert }) => ({ alert, status: 'firing', untold: 0, afterSeq: alert.lastSeq }) as const);
  let queued = 0;
  for (const { name, integrations } of receivers.filter((one) => names.includes(one.name))) {
    const destinations = destinationsOf(integrations, isOver);
    const id = `${group.thread}-${change}-${nowUs.toString(36)}${name === group.receiver ? '' : `-${hash64([name])}`}`;
    if (destinations.length === 0 || (await tx.outbox.find(`${id}-${destinations[0]![0]}`))) continue;
    const plain = notificationOf(
      {
        reason: isOver ? 'resolved' : 'repeat',
        group: { ...group, receiver: name, notifiedAtUs: nowUs },
        thread: group.thread,
        threadPosition: group.notifications,
        members: [],
        listed,
        truncatedAlerts: 0,
        firingTotal: listed.length,
        resolvedTotal: 0,
      },
      new Map(),
      id,
    );
    const notification = { ...plain, ...(!isOver && { acknowledged: true as const }) };
    await tx.outbox.enqueue(notification, deliveriesOf(notification, destinations, nowUs));
    queued += destinations.length;
  }
  return queued;
}

/** Without a fallback: whoever would get them there has no such incident. */
function deliveriesOf(
  notification: Parameters<typeof newDelivery>[0],
  destinations: readonly Destination[],
  nowUs: number,
) {
  return destinations.map((destination) => newDelivery(notification, destination, nowUs));
}
