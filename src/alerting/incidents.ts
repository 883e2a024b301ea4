/**
 * Keeps incidents in step with their groups (`domain/grouping/incident.ts`): acknowledges an incident once everything
 * that fires in it is acknowledged, and resolves it if no notification does. Both are ordinary deliveries in the group's
 * lane, so that nothing overtakes and a restart repeats nothing.
 */
import type { Integration, Receiver } from '../channels/receiver.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { type Flush, MAX_ALERTS, notificationOf } from '../domain/grouping/flush.ts';
import type { AlertInGroup, Group } from '../domain/grouping/group.ts';
import { asIncident, hasIncident, isAcknowledged, isInIncident } from '../domain/grouping/incident.ts';
import { keyForReceiver, SORTS } from '../domain/grouping/sorts.ts';
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
    const known = inGroup.filter(isInIncident);
    queued += await notifyIncident(tx, receivers, group, known, nowUs);
    await tx.groups.put([{ ...group, acknowledged: true }]);
  }
  return queued;
}

/**
 * Resolves the incident of a group, which nothing else would ever do: the end of its alerts is muted, so that no
 * notification does, or the group is about to be deleted, and the alerts that it still has go on in other groups.
 * Resolving it alerts nobody.
 */
export async function resolveIncident(
  tx: Transaction,
  receivers: readonly Receiver[],
  group: Group,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): Promise<number> {
  // The last notification left out what was acknowledged and muted by then (`incidentLasts`).
  const lasts =
    group.acknowledged === true && inGroup.some(({ member }) => member.notifiedState === 'hidden');
  const isOpen = (lasts || hasIncident(inGroup)) && !SORTS[group.sort].gathers;
  return isOpen ? notifyIncident(tx, receivers, group, [], nowUs) : 0;
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
 * Queues deliveries to the services of the group's receiver that keep incidents, and to no other integration. They say
 * that all that fires, the alerts of `known`, is acknowledged; if `known` is empty, that nothing fires any more.
 */
async function notifyIncident(
  tx: Transaction,
  receivers: readonly Receiver[],
  group: Group,
  known: readonly AlertInGroup[],
  nowUs: number,
): Promise<number> {
  const isOver = known.length === 0;
  const change = isOver ? 'over' : 'acknowledged';
  const { integrations = [] } = receivers.find(({ name }) => name === group.receiver) ?? {};
  const destinations = incidentsOf(integrations, isOver);
  const id = `${group.thread}-${change}-${nowUs.toString(36)}`;
  if (destinations.length === 0 || (await tx.outbox.find(`${id}-${destinations[0]![0]}`))) return 0;
  const listed = known
    .slice(0, MAX_ALERTS)
    .map(({ alert }) => ({ alert, status: 'firing', newEvents: 0, afterSeq: alert.lastSeq }) as const);
  const plain = notificationOf(
    {
      reason: isOver ? 'resolved' : 'repeat',
      group: { ...group, key: keyForReceiver(group), notifiedAtUs: nowUs },
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
  // Without a fallback, which has no such incident.
  const deliveries = destinations.map((destination) => newDelivery(notification, destination, nowUs));
  await queue(tx, notification, integrations, deliveries);
  return deliveries.length;
}
