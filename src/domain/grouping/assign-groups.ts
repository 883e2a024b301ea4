/** Puts a changed alert into its groups, and takes it out of those that its labels no longer lead to. */
import { type Alert, type Labels, severityRank } from '../alert/alert.ts';
import { groupKey, groupLabels, type Route, routeOfGroup, routesFor } from '../routing/route.ts';
import { type Group, type GroupMember, HAS_LEFT, isAtRest, isNews, newGroup } from './group.ts';

/**
 * Puts a changed alert into the groups of its routes, and returns the groups and members to write; both are empty if
 * nothing changes. `known` are the alert's current members, and, by key, the stored groups of those members and of
 * `groupKeysFor`. A group that is new or at rest is flushed after `group_wait`, and so is one that told of nothing as
 * severe in its thread; any other notifies of the news at its next flush.
 */
export function assignGroups(
  alert: Alert,
  root: Route,
  known: { readonly members: readonly GroupMember[]; readonly groups: ReadonlyMap<string, Group> },
  nowUs: number,
): { groups: Group[]; members: GroupMember[] } {
  const { groups: stored } = known;
  const present = known.members.filter((member) => member.sort === 'route');
  // A resolved alert stays in its groups; one that is in none may still have events to notify of.
  const isInNone = present.every(({ notifiedSeq }) => notifiedSeq === HAS_LEFT);
  const joins = alert.state === 'firing' || (isInNone && alert.lastSeq > 0);
  const routes = joins ? routesFor(root, alert.labels) : [];
  const routeByKey = new Map(routes.map((route) => [groupKey(root, route, alert.labels), route]));
  const left = joins ? present.filter((member) => !routeByKey.has(member.groupKey)) : [];
  const groups: Group[] = [];
  const members: GroupMember[] = left
    .filter((member) => member.notifiedSeq !== HAS_LEFT)
    .map((member) => ({ ...member, notifiedSeq: HAS_LEFT }));

  for (const [key, route] of routeByKey) {
    const member = present.find((one) => one.groupKey === key);
    if (!member || member.notifiedSeq === HAS_LEFT) {
      // The group it leaves may still owe the receiver events; this one notifies of those, and repeats no others.
      const before = leftFor(root, route, left, stored);
      const beforeEpisode = present.length === 0 ? 0 : alert.lastSeq - alert.eventsTotal;
      // Of an earlier episode that no group notified of, no other group will.
      const notifiedSeq =
        before?.notifiedSeq ?? Math.min(beforeEpisode, ...left.map((one) => one.notifiedSeq));
      members.push({
        groupKey: key,
        sort: 'route',
        alertId: alert.id,
        notifiedSeq,
        // Old news stays left to the summary.
        notifiedState: before?.notifiedState === 'summary' ? 'summary' : (member?.notifiedState ?? 'none'),
      });
    }
    const group = stored.get(key);
    if (!group) groups.push(groupOfRoute(key, route, alert.labels, nowUs));
    else if (isAtRest(group)) groups.push({ ...roused(group, route, nowUs), route: route.path });
    else {
      const nextFlushAtUs = isRise(alert, group)
        ? Math.min(group.nextFlushAtUs, nowUs + route.groupWaitMs * 1000)
        : group.nextFlushAtUs;
      // After a change of the configuration the same group may belong to another place in the tree.
      if (group.route !== route.path || group.nextFlushAtUs !== nextFlushAtUs)
        groups.push({ ...group, route: route.path, nextFlushAtUs });
    }
  }
  // If the alert fired and ended again in between, that is news for a group that may be at rest by now.
  for (const member of joins ? [] : present) {
    const group = stored.get(member.groupKey);
    if (!group || !isAtRest(group) || !isNews({ member, alert })) continue;
    groups.push(roused(group, routeOfGroup(root, group), nowUs));
  }
  return { groups, members };
}

/** The keys of the groups that an alert belongs to by its current labels. */
export function groupKeysFor(root: Route, alert: Alert): string[] {
  return routesFor(root, alert.labels).map((route) => groupKey(root, route, alert.labels));
}

/** True if the alert is more severe than all that the group's thread told. One not flushed yet has no interval to wait. */
function isRise({ state, labels }: Alert, { toldRank }: Group): boolean {
  return state === 'firing' && toldRank !== undefined && severityRank(labels) > toldRank;
}

function groupOfRoute(key: string, route: Route, labels: Labels, nowUs: number): Group {
  return newGroup({
    sort: 'route',
    key,
    route: route.path,
    receiver: route.receiver,
    labels: groupLabels(route, labels),
    nextFlushAtUs: nowUs + route.groupWaitMs * 1000,
  });
}

/** Among the members that the alert leaves, the one of this route, or else one with the same receiver. */
function leftFor(
  root: Route,
  route: Route,
  left: readonly GroupMember[],
  stored: ReadonlyMap<string, Group>,
): GroupMember | undefined {
  const own = left.flatMap((member) => {
    const group = stored.get(member.groupKey);
    return member.notifiedSeq === HAS_LEFT || group?.receiver !== route.receiver ? [] : [{ member, group }];
  });
  return (own.find(({ group }) => routeOfGroup(root, group) === route) ?? own[0])?.member;
}

function roused(group: Group, route: Route | undefined, nowUs: number): Group {
  return { ...group, nextFlushAtUs: nowUs + (route?.groupWaitMs ?? 0) * 1000, notifiedAtUs: 0 };
}
