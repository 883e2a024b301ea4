/**
 * Keeps incidents in step with their groups (`domain/grouping/incident.ts`): acknowledges an incident once everything
 * that fires in it is acknowledged, and resolves those that a fallback opened. Both are ordinary deliveries in the
 * group's lane, so that nothing overtakes and a restart repeats nothing.
 */

import type { Integration, Receiver } from '../channels/receiver.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import { type Flush, MAX_ALERTS, notificationOf } from '../domain/grouping/flush.ts';
import type { AlertInGroup, Group } from '../domain/grouping/group.ts';
import {
  afterFlush,
  asIncident,
  hasIncident,
  isAcknowledged,
  isInIncident,
} from '../domain/grouping/incident.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';
import { SORTS } from '../domain/grouping/sorts/sorts.ts';
import { acknowledgementsByAlert } from '../domain/muting/silence.ts';
import type { Transaction } from '../store/store.ts';
import { type Destination, destinationsOf, keepsIncidents, newDelivery, queue } from './destination.ts';

/** Groups handled between two pauses. */
const PAUSE_AFTER = 100;

/**
 * Splits the flush of a gathering group by incident: one part for each group of sort `route` that it touches. `owner`:
 * the receiver of those groups.
 */
export async function byIncident<F extends Flush>(
  tx: Transaction,
  flushed: F,
  owner: string,
  nowUs: number,
): Promise<readonly F[]> {
  const members = await tx.groups.membersOfAlerts(flushed.listed.map(({ alert }) => alert.id));
  const keys = new Set(members.flatMap(({ sort, groupKey }) => (sort === 'route' ? [groupKey] : [])));
  const own = (await tx.groups.list([...keys])).filter(({ receiver }) => receiver === owner);
  const incidents: F[] = [];
  for (const [index, group] of own.entries()) {
    const incident = asIncident(flushed, group, await tx.groups.members(group.key), nowUs);
    if (incident) incidents.push(incident);
    if (index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return incidents;
}

/** Acknowledges the incidents of groups with one of the `changed` alerts. Returns how many deliveries were queued. */
export async function acknowledgeIncidents(
  tx: Transaction,
  receivers: readonly Receiver[],
  changed: readonly Alert[],
  nowUs: number,
): Promise<number> {
  if (!receivers.some(({ integrations }) => destinationsOf(integrations).some(keepsIncidents))) return 0;
  const acknowledgements = acknowledgementsByAlert(await tx.silences.list(nowUs));
  if (acknowledgements.size === 0) return 0;
  const acknowledged = await tx.groups.membersOfAlerts([...acknowledgements.keys()]);
  const concerned = new Set(acknowledged.map(({ groupKey }) => groupKey));
  const touched = await tx.groups.membersOfAlerts(changed.map(({ id }) => id));
  const keys = new Set(touched.map(({ groupKey }) => groupKey).filter((key) => concerned.has(key)));
  let queued = 0;
  for (const group of await tx.groups.list([...keys])) {
    if (group.acknowledged || SORTS[group.sort].gathers) continue;
    const inGroup = await tx.groups.members(group.key);
    if (!isAcknowledged(inGroup, acknowledgements, nowUs)) continue;
    const who = [group.receiver, ...(group.elsewhere ?? [])];
    const known = inGroup.filter(isInIncident);
    queued += await notifyIncidents(tx, receivers, who, group, known, nowUs);
    await tx.groups.put([{ ...group, acknowledged: true }]);
  }
  return queued;
}

/**
 * Returns the group as it is to be written after a flush. If nothing fires in it any more, this resolves the incidents
 * that other receivers opened in place of its own. It also resolves the own receiver's incident if the end of its
 * alerts is muted, so that no notification resolves it: resolving it alerts nobody, and nothing else would ever do so.
 */
export async function settleIncidents(
  tx: Transaction,
  receivers: readonly Receiver[],
  { group, before, flushed, waiting }: Flushed,
  nowUs: number,
): Promise<{ readonly group: Group; readonly queued: number }> {
  const after = afterFlush(group, flushed, waiting);
  if (flushed.firingTotal > 0 || waiting.length > 0) return { group: after, queued: 0 };
  const isUnnoticed = flushed.reason === null && hasIncident(before) && !SORTS[group.sort].gathers;
  const who = [...(isUnnoticed ? [group.receiver] : []), ...(group.elsewhere ?? [])];
  return { group: after, queued: await notifyIncidents(tx, receivers, who, group, [], nowUs) };
}

interface Flushed {
  readonly group: Group;
  /** The group's alerts before the flush, muted ones included. */
  readonly before: readonly AlertInGroup[];
  readonly flushed: Flush;
  readonly waiting: readonly AlertInGroup[];
}

/**
 * Resolves the incidents of a group that is about to be deleted: the alerts that it still has go on in other groups.
 */
export async function abandonIncident(
  tx: Transaction,
  receivers: readonly Receiver[],
  group: Group,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): Promise<number> {
  const isOpen = hasIncident(inGroup) && !SORTS[group.sort].gathers;
  const who = [...(isOpen ? [group.receiver] : []), ...(group.elsewhere ?? [])];
  return notifyIncidents(tx, receivers, who, group, [], nowUs);
}

/**
 * Notes that a fallback opened an incident for a group: the first flush that leaves nothing firing in the group
 * resolves it. If the group no longer exists, the resolving delivery is queued at once, behind the one that opened the
 * incident.
 */
export async function lendIncident(
  tx: Transaction,
  receiver: Receiver,
  opened: GroupNotification,
  nowUs: number,
): Promise<number> {
  if (incidentsOf(receiver.integrations, true).length === 0) return 0;
  const [group] = await tx.groups.list([opened.groupKey]);
  if (group) {
    await tx.groups.put([{ ...group, elsewhere: [...new Set([...(group.elsewhere ?? []), receiver.name])] }]);
    return 0;
  }
  const id = `${opened.id}-over`;
  const over = { ...opened, id, status: 'resolved', alerts: [], firingTotal: 0 } as const;
  const deliveries = deliveriesOf(over, incidentsOf(receiver.integrations, true), nowUs);
  await queue(tx, over, receiver.integrations, deliveries);
  return deliveries.length;
}

/**
 * The destinations that keep incidents. With `isOver` only those with `send_resolved`: a person resolves the others.
 */
function incidentsOf(integrations: readonly Integration[], isOver: boolean): Destination[] {
  return destinationsOf(integrations).filter(
    (one) => keepsIncidents(one) && (one[1].sendResolved || !isOver),
  );
}

/**
 * Queues deliveries to these receivers' services that keep incidents, and to no other integration. They say that all
 * that fires, the alerts of `known`, is acknowledged; if `known` is empty, that nothing fires any more.
 */
async function notifyIncidents(
  tx: Transaction,
  receivers: readonly Receiver[],
  names: readonly string[],
  group: Group,
  known: readonly AlertInGroup[],
  nowUs: number,
): Promise<number> {
  const isOver = known.length === 0;
  const change = isOver ? 'over' : 'acknowledged';
  const listed = known
    .slice(0, MAX_ALERTS)
    .map(({ alert }) => ({ alert, status: 'firing', newEvents: 0, afterSeq: alert.lastSeq }) as const);
  let queued = 0;
  for (const { name, integrations } of receivers.filter((one) => names.includes(one.name))) {
    const destinations = incidentsOf(integrations, isOver);
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
        newTotal: 0,
        resolvedTotal: 0,
      },
      new Map(),
      id,
    );
    const notification = { ...plain, ...(!isOver && { acknowledged: true as const }) };
    await queue(tx, notification, integrations, deliveriesOf(notification, destinations, nowUs));
    queued += destinations.length;
  }
  return queued;
}

/** Deliveries without a fallback, since a fallback has no such incident. */
function deliveriesOf(
  notification: Parameters<typeof newDelivery>[0],
  destinations: readonly Destination[],
  nowUs: number,
) {
  return destinations.map((destination) => newDelivery(notification, destination, nowUs));
}
