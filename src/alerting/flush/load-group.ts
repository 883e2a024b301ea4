import type { Alert } from '../../domain/alert/alert.ts';
import { alertAsKnown, applyMutes, isToBeMuted } from '../../domain/grouping/flush.ts';
import {
  type AlertInGroup,
  assignGroups,
  beginAnew,
  type Group,
  type GroupMember,
  groupKeysFor,
  HAS_LEFT,
  isSettled,
} from '../../domain/grouping/group.ts';
import { SORTS, timedRoute } from '../../domain/grouping/sorts.ts';
import type { Mute } from '../../domain/muting/muting.ts';
import type { Route } from '../../domain/routing/route.ts';
import type { Transaction } from '../../store/store.ts';
import { resolveIncident } from '../incidents.ts';
import type { FlushContext, LoadedGroup, MutedGroup } from './flush-context.ts';
import { endOrphans, giveBack } from './gathered-groups.ts';

/**
 * A resolved alert stays visible on the page for at least this long after its last change, and until nobody is to be
 * notified of it any more.
 */
const SETTLED_FOR_US = 3_600_000_000;

/** The work of moving one alert to other groups, in the unit of `pauseAfter`. */
const MOVING_WORK = 500;

const NONE: ReadonlySet<string> = new Set();

/**
 * Loads a group's alerts and its route. A group without alerts, or without a route in the present configuration, is
 * dissolved and returned without a route; its alerts move to the groups of the routes that they reach now. A group
 * whose route has another receiver begins anew.
 */
export async function loadGroup(
  context: FlushContext,
  group: Group,
): Promise<LoadedGroup | (Omit<LoadedGroup, 'route'> & { readonly route: undefined })> {
  const { tx, config, tally, nowUs } = context;
  const sort = SORTS[group.sort];
  const isConfigured = config.receivers.some(({ name }) => name === group.receiver);
  if (!isConfigured) await giveBack(tx, group.receiver);
  const stored = await withoutSettled(tx, await tx.groups.members(group.key), nowUs);
  const { staying: selected, leaving } = sort.select(stored);
  const repeated = group.sort === 'escalation' ? await escalatedElsewhere(tx, group, selected) : NONE;
  const staying = selected.filter(({ alert }) => !repeated.has(alert.id));
  const dropped = selected.flatMap(({ alert, member }) => (repeated.has(alert.id) ? [member] : []));
  await tx.groups.deleteMembers([...leaving, ...dropped]);
  const route = sort.routeOf(group, config.route, isConfigured);
  const isItsReceivers = group.sort !== 'route' || route?.receiver === group.receiver;
  if (route && staying.length > 0 && isItsReceivers) {
    const inGroup = sort.gathers ? await endOrphans(tx, group, staying, nowUs) : staying;
    return { group: placed(group, route), inGroup, route };
  }
  tally.queued += await resolveIncident(tx, config.receivers, group, staying, nowUs);
  if (route && staying.length > 0) {
    const begun = beginAnew(placed(group, route), staying, route);
    await tx.groups.putMembers(begun.inGroup.map(({ member }) => member));
    return { ...begun, route };
  }
  if (group.sort === 'route') await moveOut(context, group, staying);
  await tx.groups.delete([group.key]);
  return { group, inGroup: stored, route: undefined };
}

/** The group with the present place of its route, where the next flush finds it. */
function placed(group: Group, { path }: Route): Group {
  return SORTS[group.sort].gathers || group.route === path ? group : { ...group, route: path };
}

/**
 * The alerts that this escalation has not notified of, but the escalation of another route has, to the same receiver.
 * Several routes may escalate an alert to one receiver, and the first to do so is enough.
 */
async function escalatedElsewhere(
  tx: Transaction,
  group: Group,
  inGroup: readonly AlertInGroup[],
): Promise<ReadonlySet<string>> {
  const waiting = inGroup.filter(({ member }) => member.notifiedState === 'none');
  const members = (await tx.groups.membersOfAlerts(waiting.map(({ alert }) => alert.id))).filter(
    ({ sort, groupKey, notifiedState }) =>
      sort === 'escalation' && groupKey !== group.key && notifiedState !== 'none',
  );
  const others = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const keys = new Set(others.flatMap(({ key, receiver }) => (receiver === group.receiver ? [key] : [])));
  return new Set(members.flatMap(({ alertId, groupKey }) => (keys.has(groupKey) ? [alertId] : [])));
}

/** Deletes alerts that resolved a while ago and that nobody is to be notified of any more; returns the others. */
async function withoutSettled(
  tx: Transaction,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): Promise<readonly AlertInGroup[]> {
  const old = inGroup.filter(
    ({ alert }) => alert.state === 'resolved' && alert.updatedAtUs < nowUs - SETTLED_FOR_US,
  );
  if (old.length === 0) return inGroup;
  const members = Map.groupBy(
    await tx.groups.membersOfAlerts(old.map(({ alert }) => alert.id)),
    (member) => member.alertId,
  );
  const gone = old.map(({ alert }) => alert).filter((alert) => isSettled(alert, members.get(alert.id) ?? []));
  const ids = new Set(gone.map((alert) => alert.id));
  await tx.groups.deleteMembers([...ids].flatMap((id) => members.get(id) ?? []));
  await tx.alerts.delete([...ids]);
  return inGroup.filter(({ alert }) => !ids.has(alert.id));
}

/**
 * The alert's member in another group of the same receiver. It notifies of what the former one did not, of no event
 * again, and of the end, even if nothing comes before that. Old news stays left to the summary.
 */
function continueMember(place: GroupMember, former: GroupMember, alert: Alert): GroupMember {
  const seq = former.notifiedSeq === HAS_LEFT ? alert.lastSeq : former.notifiedSeq;
  const wasFiring = former.notifiedState === 'firing' || former.notifiedState === 'hidden';
  const isFresh = place.notifiedState === 'none' && alert.state === 'firing' && wasFiring;
  const notifiedState = former.notifiedState === 'summary' ? 'summary' : place.notifiedState;
  return { ...place, notifiedSeq: seq, notifiedState: isFresh ? 'hidden' : notifiedState };
}

/**
 * The alert's member in a group of another receiver, which is notified of the present episode, and of what nobody was
 * notified of.
 */
function beginMember(place: GroupMember, former: GroupMember, alert: Alert): GroupMember {
  const { lastSeq, eventsTotal } = alert;
  if (alert.state === 'firing')
    return { ...place, notifiedSeq: Math.min(former.notifiedSeq, lastSeq - eventsTotal) };
  return { ...place, notifiedSeq: Math.max(place.notifiedSeq, Math.min(former.notifiedSeq, lastSeq)) };
}

/** Moves a group's alerts to the groups of the present routes. */
async function moveOut(
  { tx, config, pauseAfter, nowUs }: FlushContext,
  group: Group,
  inGroup: readonly AlertInGroup[],
): Promise<void> {
  const root = config.route;
  for (const { alert, member } of inGroup) {
    const all = await tx.groups.membersOfAlerts([alert.id]);
    const members = all.filter((one) => one.groupKey !== group.key);
    const keys = [...groupKeysFor(root, alert), ...members.map((one) => one.groupKey)];
    const groups = new Map((await tx.groups.list(keys)).map((one) => [one.key, one]));
    const result = assignGroups(alert, root, { members, groups }, nowUs);
    for (const one of result.groups) groups.set(one.key, one);
    await tx.groups.put(result.groups);
    await tx.groups.putMembers(
      result.members.map((one) => {
        if (one.notifiedSeq === HAS_LEFT) return one;
        const isSameReceiver = groups.get(one.groupKey)?.receiver === group.receiver;
        return isSameReceiver ? continueMember(one, member, alert) : beginMember(one, member, alert);
      }),
    );
    await pauseAfter(MOVING_WORK);
  }
  await tx.groups.deleteMembers(inGroup.map(({ member }) => member));
}

/**
 * Separates muted alerts from the others. What will never be notified of is recorded as suppressed, with the reason.
 */
export async function muteAlerts(
  { tx, config, muting, pauseAfter, tally, nowUs }: FlushContext,
  loaded: LoadedGroup,
): Promise<MutedGroup> {
  const { group, inGroup, route } = loaded;
  const mutes = new Map<string, Mute>();
  for (const standing of inGroup) {
    if (!isToBeMuted(standing)) continue;
    const alert = alertAsKnown(group, standing);
    const timed = timedRoute(group, route, alert.labels, config.route, muting);
    const mute = await muting.why(alert, timed, pauseAfter);
    // A summary counts what is old, of which the alert that inhibits it says nothing.
    if (mute && !(mute.standsIn && SORTS[group.sort].sumsUp)) mutes.set(standing.alert.id, mute);
  }
  const { open, waiting, members, suppressions } = applyMutes(
    group,
    inGroup,
    ({ id }) => mutes.get(id) ?? null,
    nowUs,
  );
  await tx.suppressions.add(suppressions);
  await tx.groups.putMembers(members);
  for (const [reason, list] of Map.groupBy(suppressions, (one) => one.reason)) {
    tally.happenings.push({ what: 'suppressed', reason, count: list.length });
  }
  return { ...loaded, open, waiting };
}
