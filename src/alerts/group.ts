/**
 * Groups: what is told together, when, and what was told already.
 *
 * A member says what a group has told of one alert. Of an alert that fires there is news when it was not told as
 * firing, or has events beyond `toldSeq`; of one that is over, when it was told as firing (its end is news), or has
 * events that were never told (it fired and was resolved between two flushes: it is told once, as resolved).
 *
 * `enrol` puts a changed alert into its groups. `flush`, at a group's `nextFlushAtUs`, decides from these numbers
 * alone whether to notify and why, and what will then have been told; `notificationOf` writes the notification once
 * the events are loaded. Both are to be committed together.
 *
 * Members stay as long as their alert is stored, also when all is told: an alert that fires anew is then compared
 * with what the group knows of it, and no event is told twice. `isSettled` says when both may be deleted. A group
 * whose alerts are all over and told is at rest (it was flushed, and `notifications` is 0): what fires in it next
 * waits for `group_wait` and opens a new thread, as in a new group. It is deleted when a flush finds it empty.
 */
import type { Alert, Ending, Labels } from './alert.ts';
import type { Digest } from './digest.ts';
import { isForgettable } from './episode.ts';
import type { Event } from './event.ts';
import { fingerprint, hash64 } from './fingerprint.ts';
import { groupKey, groupLabels, isAside, type Route, routeAt, routesFor } from './route.ts';
import type { Summary } from './summary.ts';

/** Alerts of one route with the same values of its `group_by` labels: what one notification speaks of. */
export interface Group {
  /** Alertmanager's form: the route's path of matchers, a colon, the group labels: `{}/{severity="critical"}:{alertname="FlightFailed"}`. */
  readonly key: string;
  /** Position of the route in the tree, e.g. `0.1`: the receiver and the timers come from the present configuration. */
  readonly route: string;
  readonly receiver: string;
  readonly labels: Labels;
  /** When it is looked at next. */
  readonly nextFlushAtUs: number;
  /** When the last notification was queued, or the group came to rest; 0 before the first of this thread. */
  readonly notifiedAtUs: number;
  /** Begins anew when a group that was resolved fires again: one thread of mails. */
  readonly thread: string;
  /** Notifications queued in this thread; 0 also at rest. */
  readonly notifications: number;
  /** How often the last news was repeated; absent for never. */
  readonly repeats?: number;
  /** Of a summary of old news: when it began to wait, and when the first and the last of its events occurred. */
  readonly awaited?: { readonly sinceUs: number; readonly fromUs: number; readonly toUs: number };
}

/** What a group has told of one of its alerts. */
export interface GroupMember {
  readonly groupKey: string;
  readonly alertId: string;
  /** Events up to this `seq` are in a notification already; `HAS_LEFT` for an alert that is no longer of this group. */
  readonly toldSeq: number;
  /**
   * The alert's state in the last notification; `none` before the first, `hidden` when it was told as firing and the
   * group has notified since without it, because it was muted: it is told anew when that ends; `summary` while a
   * summary of old news is to tell of it (`catching-up.ts`).
   */
  readonly toldState: 'none' | 'firing' | 'resolved' | 'hidden' | 'summary';
}

/** Why a group notifies now. */
export type FlushReason = 'first' | 'new_alerts' | 'new_events' | 'resolved' | 'repeat';

/** An alert as it stands in a notification. */
export interface NotifiedAlert {
  readonly id: string;
  readonly status: 'firing' | 'resolved';
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAtUs: number;
  /** 0 while firing. */
  readonly endsAtUs: number;
  /** How it ended; absent while firing. */
  readonly ending?: Ending;
  readonly fingerprint: string;
  /** Events new since the last notification to this receiver: the newest 20, newest first. */
  readonly events: readonly Event[];
  /** All events of this firing episode. */
  readonly eventsTotal: number;
  /** New events that are counted but not listed. */
  readonly eventsOmitted: number;
  /** How the Bird's last Flights ended, the oldest first; absent where none has, or it was not looked up. */
  readonly history?: readonly FlightOutcome[];
}

/** How a Flight ended. */
export type FlightOutcome = 'succeeded' | 'failed' | 'cancelled';

/** What a receiver is told, fixed when it is queued. */
export type Notification =
  | {
      readonly kind: 'group';
      readonly id: string;
      readonly receiver: string;
      readonly createdAtUs: number;
      readonly reason: FlushReason;
      readonly groupKey: string;
      readonly groupLabels: Labels;
      readonly status: 'firing' | 'resolved';
      /** The changed ones first; capped. */
      readonly alerts: readonly NotifiedAlert[];
      /** Alerts that neither this notification nor another part of it carries. */
      readonly truncatedAlerts: number;
      readonly firingTotal: number;
      readonly resolvedTotal: number;
      readonly thread: string;
      /** 0 for the first of its thread. */
      readonly threadPosition: number;
      /** Which part of a big notification this is, from 1; absent where it is whole. */
      readonly part?: { readonly number: number; readonly of: number };
      /** What else people should know of it, a sentence each. */
      readonly notices?: readonly string[];
      /** What it sums up, if that is what it does; its alerts then list no events. */
      readonly summary?: Summary;
      /** Mail addresses that stand in the place of the integration's own. */
      readonly to?: readonly string[];
      /** Where the only alert that fires can be acknowledged; it is there while the notification is sent. */
      readonly acknowledgeUrl?: string;
    }
  | {
      readonly kind: 'digest';
      readonly id: string;
      readonly receiver: string;
      readonly createdAtUs: number;
      readonly digest: Digest;
    }
  | {
      readonly kind: 'forward';
      readonly id: string;
      readonly receiver: string;
      readonly createdAtUs: number;
      /** 1 to 100. */
      readonly events: readonly Event[];
    };

/** Alerts in a notification that has less news; a message that is not told in parts lists no more. */
export const MAX_ALERTS = 100;
/** New events listed for one alert at the most. */
export const MAX_EVENTS = 20;
/** `toldSeq` of an alert whose labels took it to another group: only its end may still be told here. */
export const HAS_LEFT = Number.MAX_SAFE_INTEGER;

/** A member with its alert as it is now. */
export interface Standing {
  readonly member: GroupMember;
  readonly alert: Alert;
}

/**
 * Puts an alert that changed into the groups of its routes and returns the groups and members to write; both are
 * empty where nothing changes. `known` are the alert's present members, and by key the stored groups of those
 * members and of `groupKeysFor`. A group that is new or at rest is flushed `group_wait` from now; any other tells the
 * news at its next flush.
 */
export function enrol(
  alert: Alert,
  root: Route,
  known: { readonly members: readonly GroupMember[]; readonly groups: ReadonlyMap<string, Group> },
  nowUs: number,
): { groups: Group[]; members: GroupMember[] } {
  const { groups: stored } = known;
  const present = known.members.filter((member) => !isAside(member.groupKey));
  // An alert that is over stays where it was told; one that no group knows yet may have something to tell.
  const joins = alert.state === 'firing' || (present.length === 0 && alert.lastSeq > 0);
  const routes = joins ? routesFor(root, alert.labels) : [];
  const routeByKey = new Map(routes.map((route) => [groupKey(root, route, alert.labels), route]));
  const left = joins ? present.filter((member) => !routeByKey.has(member.groupKey)) : [];
  const groups: Group[] = [];
  const members: GroupMember[] = left
    .filter((member) => member.toldSeq !== HAS_LEFT)
    .map((member) => ({ ...member, toldSeq: HAS_LEFT }));

  for (const [key, route] of routeByKey) {
    const member = present.find((one) => one.groupKey === key);
    if (!member || member.toldSeq === HAS_LEFT) {
      // What an earlier group of the same route has not told its receiver yet is told here.
      const before = left.find((one) => isSameWay(stored.get(one.groupKey), route));
      const isFollowed = before !== undefined && before.toldSeq !== HAS_LEFT;
      const beforeEpisode = present.length === 0 ? 0 : alert.lastSeq - alert.eventsTotal;
      const toldSeq = isFollowed ? before.toldSeq : beforeEpisode;
      members.push({ groupKey: key, alertId: alert.id, toldSeq, toldState: member?.toldState ?? 'none' });
    }
    const group = stored.get(key);
    if (!group) groups.push(newGroup(key, route, alert.labels, nowUs));
    else if (isAtRest(group)) groups.push({ ...roused(group, route, nowUs), route: route.path });
    // After a change of the configuration the same group may belong to another place in the tree.
    else if (group.route !== route.path) groups.push({ ...group, route: route.path });
  }
  // One that fired and was resolved since its end was told has news for a group that may be at rest by now.
  for (const member of joins ? [] : present) {
    const group = stored.get(member.groupKey);
    if (!group || !isAtRest(group) || !hasNews(viewOf({ member, alert }))) continue;
    groups.push(roused(group, routeAt(root, group.route), nowUs));
  }
  return { groups, members };
}

/** The keys of the groups that an alert belongs to by its present labels. */
export function groupKeysFor(root: Route, alert: Alert): string[] {
  return routesFor(root, alert.labels).map((route) => groupKey(root, route, alert.labels));
}

/** What a flush comes to: the state to commit, and what its notification lists. */
export interface Flush {
  /** Null: there is nothing to tell, and no notification. */
  readonly reason: FlushReason | null;
  /** Without members it is to be deleted instead. */
  readonly group: Group;
  readonly thread: string;
  /** Notifications of the thread before this one. */
  readonly threadPosition: number;
  /** The members that change. */
  readonly members: readonly GroupMember[];
  /** What the notification lists: all alerts with news, then others that fire as far as there is room. */
  readonly listed: readonly Listed[];
  readonly truncatedAlerts: number;
  readonly firingTotal: number;
  readonly resolvedTotal: number;
  /** Only counts are told of the events. */
  readonly summary?: Summary;
}

/** An alert in a notification. Its events to load are the newest `MAX_EVENTS` with `afterSeq < seq`. */
export interface Listed {
  readonly alert: Alert;
  readonly status: 'firing' | 'resolved';
  /** Events to tell; with 0 none need be loaded. */
  readonly untold: number;
  readonly afterSeq: number;
}

/**
 * Decides whether a group notifies now. `standings` are its members but for the muted ones; `waiting` those of them
 * that fire (`withhold.ts`). All news is told, and a repetition tells of all that fires, in as many parts as it takes
 * (`part.ts`). The order of the reasons is Alertmanager's (`needsUpdate`), with new events between what was resolved
 * and what is repeated.
 */
export function flush(
  group: Group,
  standings: readonly Standing[],
  route: Route,
  nowUs: number,
  waiting: readonly Standing[] = [],
): Flush {
  const views = standings.map(viewOf);
  const news = views.filter(hasNews);
  const shown = waiting.filter(({ member }) => member.toldState === 'firing');
  const reason = reasonOf({ group, views, news, isShown: shown.length > 0, route, nowUs });
  const firing = views.filter((view) => view.firing);
  const candidates = [
    ...news.toSorted(byUrgency),
    ...firing.filter((view) => !hasNews(view)).toSorted(byUrgency),
  ];
  const room = reason === 'repeat' ? candidates.length : Math.max(news.length, MAX_ALERTS);
  const listed = reason === null ? [] : candidates.slice(0, room);
  const told = listed.filter(hasNews);
  const rests = firing.length === 0 && waiting.length === 0;
  // What was held back may go on with news, in a group that begins with it.
  const begins = reason === 'first' || group.thread === '';
  // The time comes first, so that ids made from it arrive in order: random ones would cost the store a page each.
  const thread = begins ? `${nowUs.toString(36)}-${hash64([group.key])}` : group.thread;
  const threadPosition = begins ? 0 : group.notifications;
  return {
    reason,
    group: {
      ...group,
      receiver: route.receiver,
      nextFlushAtUs: nowUs + route.groupIntervalMs * 1000,
      notifiedAtUs: reason !== null || rests ? nowUs : group.notifiedAtUs,
      thread,
      notifications: rests ? 0 : threadPosition + (reason === null ? 0 : 1),
      repeats: reason === null ? (group.repeats ?? 0) : reason === 'repeat' ? (group.repeats ?? 0) + 1 : 0,
    },
    thread,
    threadPosition,
    members: [
      ...told.map(({ member, alert, firing: fires }) => ({
        ...member,
        toldSeq: member.toldSeq === HAS_LEFT ? HAS_LEFT : alert.lastSeq,
        toldState: fires ? ('firing' as const) : ('resolved' as const),
      })),
      ...(reason === null ? [] : shown.map(({ member }) => ({ ...member, toldState: 'hidden' as const }))),
    ],
    listed: listed.map(({ alert, member, firing: fires, untold }) => ({
      alert: member.toldSeq === HAS_LEFT ? gone(alert, group, nowUs) : alert,
      status: fires ? 'firing' : 'resolved',
      untold,
      afterSeq: member.toldSeq,
    })),
    truncatedAlerts: reason === null ? 0 : candidates.length - listed.length,
    firingTotal: firing.length,
    resolvedTotal: news.filter((view) => !view.firing).length,
  };
}

/** The notification of a flush with a reason. `events`: for each listed alert with untold ones, newest first. */
export function notificationOf(
  flushed: Flush & { readonly reason: FlushReason },
  events: ReadonlyMap<string, readonly Event[]>,
  id: string,
): Extract<Notification, { kind: 'group' }> {
  const { group, firingTotal } = flushed;
  return {
    kind: 'group',
    id,
    receiver: group.receiver,
    createdAtUs: group.notifiedAtUs,
    reason: flushed.reason,
    groupKey: group.key,
    groupLabels: group.labels,
    status: firingTotal > 0 ? 'firing' : 'resolved',
    alerts: flushed.listed.map((one) => notifiedAlert(one, events.get(one.alert.id) ?? [])),
    truncatedAlerts: flushed.truncatedAlerts,
    firingTotal,
    resolvedTotal: flushed.resolvedTotal,
    thread: flushed.thread,
    threadPosition: flushed.threadPosition,
  };
}

/** True when an alert with all its members may be deleted: it is over, told everywhere, and nothing is remembered. */
export function isSettled(alert: Alert, members: readonly GroupMember[]): boolean {
  if (!isForgettable(alert) || (members.length === 0 && alert.lastSeq > 0)) return false;
  return members.every((member) => !hasNews(viewOf({ member, alert })));
}

/** True when a member has something to tell. */
export function isNews(standing: Standing): boolean {
  return hasNews(viewOf(standing));
}

/** A member and its alert as the group sees them. */
interface View extends Standing {
  /** False also for an alert that has left the group, or of which a summary is to tell. */
  readonly firing: boolean;
  readonly untold: number;
}

function viewOf({ member, alert }: Standing): View {
  const isSummedUp = member.toldState === 'summary' && alert.lastSeq <= member.toldSeq;
  const isHere = member.toldSeq !== HAS_LEFT && !isSummedUp;
  return {
    member,
    alert,
    firing: isHere && alert.state === 'firing',
    untold: isHere ? Math.max(0, alert.lastSeq - member.toldSeq) : 0,
  };
}

function hasNews({ member, firing, untold }: View): boolean {
  return untold > 0 || member.toldState === 'hidden' || firing !== (member.toldState === 'firing');
}

function reasonOf(of: {
  group: Group;
  views: readonly View[];
  news: readonly View[];
  /** Whether one that is muted now was told as firing by the last notification. */
  isShown: boolean;
  route: Route;
  nowUs: number;
}): FlushReason | null {
  const { group, views, news, route, nowUs } = of;
  const wasTold = (view: View) => view.member.toldState === 'firing';
  const isNew = (view: View) => !wasTold(view) && (view.firing || view.member.toldState !== 'hidden');
  if (news.some(isNew)) return views.some(wasTold) || of.isShown ? 'new_alerts' : 'first';
  if (news.some((view) => !view.firing)) return 'resolved';
  if (news.length > 0) return 'new_events';
  const waitMs = route.repeatIntervalMs * (route.repeatBackoff ?? 1) ** (group.repeats ?? 0);
  const repeatAtUs = group.notifiedAtUs + waitMs * 1000;
  return views.some((view) => view.firing) && repeatAtUs <= nowUs ? 'repeat' : null;
}

/** What fires before what is over, the oldest first. */
function byUrgency(a: View, b: View): number {
  return (
    Number(b.firing) - Number(a.firing) ||
    a.alert.startsAtUs - b.alert.startsAtUs ||
    (a.alert.id < b.alert.id ? -1 : 1)
  );
}

function newGroup(key: string, route: Route, labels: Labels, nowUs: number): Group {
  return {
    key,
    route: route.path,
    receiver: route.receiver,
    labels: groupLabels(route, labels),
    nextFlushAtUs: nowUs + route.groupWaitMs * 1000,
    notifiedAtUs: 0,
    thread: '',
    notifications: 0,
  };
}

function isSameWay(group: Group | undefined, route: Route): boolean {
  return group?.route === route.path && group.receiver === route.receiver;
}

function isAtRest(group: Group): boolean {
  return group.notifications === 0 && group.notifiedAtUs > 0;
}

function roused(group: Group, route: Route | undefined, nowUs: number): Group {
  return { ...group, nextFlushAtUs: nowUs + (route?.groupWaitMs ?? 0) * 1000, notifiedAtUs: 0 };
}

/** An alert as the group that it left knows it: over, under the labels that brought it there. */
function gone(alert: Alert, group: Group, nowUs: number): Alert {
  const annotations = { ...alert.annotations, resolved_by: 'it goes on under other labels' };
  const labels = { ...alert.labels, ...group.labels };
  return { ...alert, labels, annotations, endsAtUs: nowUs, ending: 'moved' };
}

function notifiedAlert({ alert, status, untold }: Listed, events: readonly Event[]): NotifiedAlert {
  const listed = untold === 0 ? [] : events.slice(0, MAX_EVENTS);
  return {
    id: alert.id,
    status,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAtUs: alert.startsAtUs,
    endsAtUs: status === 'firing' ? 0 : alert.endsAtUs,
    ...(status === 'resolved' && alert.ending && { ending: alert.ending }),
    fingerprint: fingerprint(alert.labels),
    events: listed,
    eventsTotal: alert.eventsTotal,
    eventsOmitted: untold - listed.length,
  };
}
