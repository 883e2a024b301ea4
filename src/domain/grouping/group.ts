/**
 * Defines groups: alerts that a receiver is notified of together, and what it was notified of so far.
 *
 * A member records the latter for one alert. A firing alert is news for a group that has not notified of it as
 * firing, or not of all its events (those beyond `notifiedSeq`). A resolved alert is news if the group notified of it
 * as firing (its end is news), or has events left (it fired and resolved between two flushes, and is notified once,
 * as resolved).
 *
 * `assignGroups` puts a changed alert into its groups. At a group's `nextFlushAtUs`, `flush`
 * (`flush.ts`) decides from these numbers alone whether to notify and why, and how the members change.
 * `notificationOf` builds the notification once the events are loaded. Both results must be committed together.
 *
 * Members stay as long as their alert is stored: when it fires again it is compared with what they record, so that no
 * event is in two notifications. `isSettled` says when both may be deleted. A group in which nothing fires and
 * everything was notified is at rest (it was flushed, and `notifications` is 0): what fires in it next waits for
 * `group_wait` and opens a new thread, as in a new group. A group is deleted when a flush finds it empty.
 */
import { type Alert, isForgettable, type Labels, severityRank } from '../alert/alert.ts';
import { isMoment } from '../kinds/kinds.ts';
import { groupKey, groupLabels, type Route, routeOfGroup, routesFor } from '../routing/route.ts';

/**
 * Why a group exists (`sorts.ts`):
 *
 * - `route`: alerts of one route with the same values of its `group_by` labels.
 * - `escalation`: alerts that one flush notified as firing for the first time, for the route's second receiver.
 * - `fallback`: alerts of which a fallback was notified as firing in place of another receiver.
 * - `held_back`: alerts of which a throttled receiver is notified later, all in one.
 * - `catch_up`: alerts whose news was old when it was read, for one summary per receiver.
 *
 * The alerts of the last four also stay members of their groups of sort `route`.
 */
export type GroupSort = 'route' | 'escalation' | 'fallback' | 'held_back' | 'catch_up';

/** What one notification is about. */
export interface Group {
  readonly sort: GroupSort;
  /**
   * For a route in Alertmanager's form: its matchers, a colon, the group labels:
   * `{}/{severity="critical"}:{alertname="FlightFailed"}`.
   */
  readonly key: string;
  /** The position of its route when last looked up, such as `0.1`. `routeOfGroup` finds where that route is now. */
  readonly route: string;
  readonly receiver: string;
  readonly labels: Labels;
  /** The labels by which its route is found, if it tells of several groups: `labels` are then those that all share. */
  readonly routedBy?: Labels;
  /** When it is flushed next. */
  readonly nextFlushAtUs: number;
  /** When the last notification was queued, or the group came to rest; 0 before the first of this thread. */
  readonly notifiedAtUs: number;
  /** Identifies a thread of mails; a new one begins when a resolved group fires again. */
  readonly thread: string;
  /** Notifications queued in this thread; 0 also at rest. */
  readonly notifications: number;
  /** The worst severity that the thread told as firing (`severityRank`); absent at rest, and before the first flush. */
  readonly toldRank?: number;
  /** How often the last news was repeated; absent for never. */
  readonly repeats?: number;
  /** The ids of alerts of which it told that something will be done that then was not; absent for none. */
  readonly toCorrect?: readonly string[];
  /** For a summary of old news: when it began to wait, and when the first and last of its events occurred. */
  readonly awaited?: { readonly sinceUs: number; readonly fromUs: number; readonly toUs: number };
  /** Set if its incident was acknowledged, because everything that fires in the group is (`incident.ts`). */
  readonly acknowledged?: true;
}

/** What a group has notified of one of its alerts. */
export interface GroupMember {
  readonly groupKey: string;
  /** The sort of its group. */
  readonly sort: GroupSort;
  readonly alertId: string;
  /**
   * Events up to this `seq` are already in a notification; `HAS_LEFT` for an alert that no longer belongs to this
   * group.
   */
  readonly notifiedSeq: number;
  /**
   * The alert's state in the last notification. `none`: there was none. `hidden`: it was shown as firing, but the
   * group has since notified without it, because it was muted, or it was shown by another group whose route is gone;
   * it is notified again once nothing mutes it. `summary`: the summary of old news will be the first to contain it
   * (`CATCH_UP` in `sorts.ts`).
   */
  readonly notifiedState: 'none' | 'firing' | 'resolved' | 'hidden' | 'summary';
}

/** A group of which nobody was notified yet. */
export function newGroup(
  own: Pick<Group, 'sort' | 'key' | 'route' | 'receiver' | 'labels' | 'nextFlushAtUs'>,
): Group {
  return { ...own, notifiedAtUs: 0, thread: '', notifications: 0 };
}

/**
 * The group after our own clock was set back by `byUs` to `nowUs`: its flush and reminders come when intended, not
 * `byUs` later. Returns the same object if nothing needs to be moved.
 */
export function rolledBackGroup(group: Group, byUs: number, nowUs: number): Group {
  const { nextFlushAtUs, notifiedAtUs } = group;
  if (nextFlushAtUs <= nowUs && notifiedAtUs <= nowUs) return group;
  const moved = (us: number) => (us > nowUs ? us - byUs : us);
  return { ...group, nextFlushAtUs: moved(nextFlushAtUs), notifiedAtUs: moved(notifiedAtUs) };
}

/** The `notifiedSeq` of an alert whose labels took it to another group: only its end may still be notified here. */
export const HAS_LEFT = Number.MAX_SAFE_INTEGER;

/** A member with its alert's current state. */
export interface AlertInGroup {
  readonly member: GroupMember;
  readonly alert: Alert;
}

/** True if nothing fires in the group and everything was notified. */
export function isAtRest(group: Group): boolean {
  return group.notifications === 0 && group.notifiedAtUs > 0;
}

/** True if an alert and its members may be deleted: it is over, no group has news of it, and it remembers nothing. */
export function isSettled(alert: Alert, members: readonly GroupMember[]): boolean {
  if (!isForgettable(alert) || (members.length === 0 && alert.lastSeq > 0)) return false;
  return members.every((member) => !isNews({ member, alert }));
}

/** True if the group has news of the alert. */
export function isNews(standing: AlertInGroup): boolean {
  return hasNews(viewOf(standing));
}

/** A member and its alert as the group sees them. */
export interface View extends AlertInGroup {
  /** Also false for an alert that has left the group, or that waits for a summary. */
  readonly firing: boolean;
  readonly newEvents: number;
}

export function viewOf({ member, alert }: AlertInGroup): View {
  const isSummedUp = member.notifiedState === 'summary' && alert.lastSeq <= member.notifiedSeq;
  const isHere = member.notifiedSeq !== HAS_LEFT && !isSummedUp;
  const newEvents = isHere ? Math.max(0, alert.lastSeq - member.notifiedSeq) : 0;
  // What happened at an instant is told as such, even if it counts as over by now.
  const firing = isHere && (alert.state === 'firing' || (newEvents > 0 && isMoment(alert)));
  return { member, alert, firing, newEvents };
}

export function hasNews({ member, firing, newEvents }: View): boolean {
  return newEvents > 0 || member.notifiedState === 'hidden' || firing !== (member.notifiedState === 'firing');
}

/**
 * Restarts the group of a route whose receiver changed with the configuration: it notifies of what fires in it, with
 * the events of the current episode. Alerts that are over, with their end notified, are not news for the new
 * receiver.
 */
export function beginAnew(
  group: Group,
  inGroup: readonly AlertInGroup[],
  { receiver }: Route,
): { readonly group: Group; readonly inGroup: readonly AlertInGroup[] } {
  const { sort, key, route, labels, nextFlushAtUs } = group;
  const begun = newGroup({ sort, key, route, receiver, labels, nextFlushAtUs });
  return { group: begun, inGroup: inGroup.map(asUnnoticed) };
}

function asUnnoticed({ member, alert }: AlertInGroup): AlertInGroup {
  if (member.notifiedSeq === HAS_LEFT) return { alert, member: { ...member, notifiedState: 'resolved' } };
  if (alert.state !== 'firing') return { alert, member };
  const notifiedSeq = Math.min(member.notifiedSeq, alert.lastSeq - alert.eventsTotal);
  return { alert, member: { ...member, notifiedSeq, notifiedState: 'none' } };
}

// Puts a changed alert into its groups, and takes it out of those that its labels no longer lead to.

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
