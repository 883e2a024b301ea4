/**
 * Flushes groups: decides whether one notifies now, queues the notification with a delivery for each integration of
 * its receiver, and keeps what has been told, all in the transaction of the caller.
 */
import type { Event } from '../alerts/event.ts';
import {
  enrol,
  type Flush,
  type FlushReason,
  flush,
  type Group,
  groupKeysFor,
  HAS_LEFT,
  isSettled,
  MAX_EVENTS,
  notificationOf,
  type Standing,
} from '../alerts/group.ts';
import { groupKey, type Route, routeAt } from '../alerts/route.ts';
import type { Config, Integration, Receiver } from '../config/config.ts';
import type { Happening } from '../report.ts';
import type { Delivery, Transaction } from '../store/store.ts';
import { NOTHING, type Step } from './step.ts';

/** Groups flushed in one transaction. */
const BATCH = 50;

/** How long a resolved alert that was told everywhere can still be seen. */
const SETTLED_FOR_US = 3_600_000_000;

export async function flushDue(
  tx: Transaction,
  config: Pick<Config, 'route' | 'receivers'>,
  nowUs: number,
  everyGroup: boolean,
): Promise<Step> {
  const due = await tx.groupsDue(
    everyGroup ? Number.MAX_SAFE_INTEGER : nowUs,
    everyGroup ? Number.MAX_SAFE_INTEGER : BATCH,
  );
  if (due.length === 0) return NOTHING;
  let queued = 0;
  const happenings: Happening[] = [];
  for (const group of due) {
    const standings = await withoutSettled(tx, await tx.groupMembers(group.key), nowUs);
    if (standings.length === 0) {
      await tx.deleteGroups([group.key]);
      continue;
    }
    const route = presentRoute(config.route, group);
    if (!route) {
      await moveOut(tx, config.route, group, standings, nowUs);
      continue;
    }
    const result = flush(group, standings, route, nowUs);
    if (result.reason !== null) {
      const flushed = { ...result, reason: result.reason };
      const receiver = config.receivers.find((one) => one.name === route.receiver);
      const deliveries = await queue(tx, flushed, receiver, nowUs);
      queued += deliveries;
      happenings.push(
        deliveries > 0
          ? {
              what: 'notified',
              receiver: route.receiver,
              groupKey: group.key,
              reason: result.reason,
              alerts: result.listed.length,
            }
          : { what: 'suppressed', reason: 'no_integration', count: 1 },
      );
    }
    await tx.putGroups([result.group]);
    await tx.putGroupMembers(result.members);
  }
  return { done: everyGroup ? 0 : due.length, queued, happenings };
}

/** Lets go of alerts that are over and told everywhere, once they have been on the page for a while. */
async function withoutSettled(
  tx: Transaction,
  standings: readonly Standing[],
  nowUs: number,
): Promise<readonly Standing[]> {
  const old = standings.filter(
    ({ alert }) => alert.state === 'resolved' && alert.updatedAtUs < nowUs - SETTLED_FOR_US,
  );
  if (old.length === 0) return standings;
  const members = Map.groupBy(
    await tx.groupsOfAlerts(old.map(({ alert }) => alert.id)),
    (member) => member.alertId,
  );
  const gone = old.map(({ alert }) => alert).filter((alert) => isSettled(alert, members.get(alert.id) ?? []));
  const ids = new Set(gone.map((alert) => alert.id));
  await tx.deleteGroupMembers([...ids].flatMap((id) => members.get(id) ?? []));
  await tx.deleteAlerts([...ids]);
  return standings.filter(({ alert }) => !ids.has(alert.id));
}

/** The group's route in the present configuration; undefined when that no longer has it. */
function presentRoute(root: Route, group: Group): Route | undefined {
  const route = routeAt(root, group.route);
  return route && groupKey(root, route, group.labels) === group.key ? route : undefined;
}

/** Moves a group's alerts to the groups of the present routes; what was told stays told. */
async function moveOut(
  tx: Transaction,
  root: Route,
  group: Group,
  standings: readonly Standing[],
  nowUs: number,
): Promise<void> {
  for (const { alert, member } of standings) {
    const all = await tx.groupsOfAlerts([alert.id]);
    const members = all.filter((one) => one.groupKey !== group.key);
    const keys = [...groupKeysFor(root, alert), ...members.map((one) => one.groupKey)];
    const groups = new Map((await tx.groups(keys)).map((one) => [one.key, one]));
    const result = enrol(alert, root, { members, groups }, nowUs);
    const toldSeq = member.toldSeq === HAS_LEFT ? alert.lastSeq : member.toldSeq;
    await tx.putGroups(result.groups);
    await tx.putGroupMembers(
      result.members.map((one) => ({ ...one, toldSeq: Math.max(one.toldSeq, toldSeq) })),
    );
  }
  await tx.deleteGroupMembers(standings.map(({ member }) => member));
  await tx.deleteGroups([group.key]);
}

/** Queues what was flushed for each integration of the receiver; returns how many deliveries that made. */
async function queue(
  tx: Transaction,
  flushed: Flush & { readonly reason: FlushReason },
  receiver: Receiver | undefined,
  nowUs: number,
): Promise<number> {
  const events = new Map<string, readonly Event[]>();
  for (const { alert, untold, afterSeq } of flushed.listed) {
    if (untold === 0) continue;
    const linked = await tx.alertEvents(alert.id, afterSeq, MAX_EVENTS);
    events.set(
      alert.id,
      linked.map((link) => link.event),
    );
  }
  const { group } = flushed;
  const id = `${flushed.thread}-${flushed.threadPosition}`;
  // Whoever does not want to hear of ends is told the rest: what fires, and what has events not told before.
  const withoutEnds = { ...flushed, listed: flushed.listed.filter(isMoreThanItsEnd), resolvedTotal: 0 };
  const integrations = [...(receiver?.integrations ?? []).entries()];
  let count = 0;
  for (const [wantsEnds, what] of [
    [true, flushed],
    [false, withoutEnds],
  ] as const) {
    const wanted = integrations.filter(([, integration]) => integration.sendResolved === wantsEnds);
    const isOnlyEnds = flushed.reason === 'resolved' && !what.listed.some((one) => one.untold > 0);
    if (wanted.length === 0 || what.listed.length === 0 || (!wantsEnds && isOnlyEnds)) continue;
    const notificationId = wantsEnds ? id : `${id}-open`;
    const deliveries = wanted.map(([position, integration]) =>
      deliveryOf(notificationId, group, position, integration, nowUs),
    );
    await tx.enqueue(notificationOf(what, events, notificationId), deliveries);
    count += deliveries.length;
  }
  return count;
}

function isMoreThanItsEnd({ status, untold }: Flush['listed'][number]): boolean {
  return status === 'firing' || untold > 0;
}

function deliveryOf(
  notificationId: string,
  group: Group,
  position: number,
  integration: Integration,
  nowUs: number,
): Delivery {
  return {
    id: `${notificationId}-${position}`,
    notificationId,
    receiver: group.receiver,
    integration: integration.kind,
    position,
    // Updates of a group must not overtake each other on the way to one integration.
    lane: `${position} ${group.key}`,
    state: 'pending',
    attempts: 0,
    createdAtUs: nowUs,
    nextAttemptAtUs: nowUs,
    settledAtUs: 0,
    lastError: '',
  };
}
