/** Whether a group notifies at its instant, of what, and why. */
import type { Alert, Labels } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { fingerprint, hash64 } from '../alert/fingerprint.ts';
import type { Route } from '../routing/route.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  HAS_LEFT,
  hasNews,
  type View,
  viewOf,
} from './group.ts';
import type { FlushReason, GroupNotification, NotifiedAlert } from './notification.ts';
import type { Summary } from './summary.ts';

/** Alerts in a notification that has less news; a message that does not go out in parts lists no more. */
export const MAX_ALERTS = 100;

/** A group that gained as many alerts at once, a whole page of the service, is taken to gain more at once. */
const FLOOD_ALERTS = 100;
/** For so long past its instant a group waits while it is flooded. */
const FLOOD_US = 2_000_000;

/** What a flush comes to: the state to commit, and what its notification lists. */
export interface Flush {
  /** Null: there is no news, and no notification. */
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
  /** Of those that fire, the ones that the group did not notify of as firing last. */
  readonly newTotal: number;
  readonly resolvedTotal: number;
  /** The notification counts events instead of listing them. */
  readonly summary?: Summary;
  /** What still fires of it is muted and acknowledged: its incident is not over. */
  readonly incidentLasts?: true;
  /** What the labels of its route say of it; absent where the route has none. */
  readonly routeLabels?: Labels;
}

export interface FlushOf {
  readonly group: Group;
  /** The alerts that nothing mutes. */
  readonly open: readonly AlertInGroup[];
  /** Muted alerts of which it notifies once nothing mutes them (`apply-mutes.ts`). */
  readonly waiting: readonly AlertInGroup[];
  readonly route: Route;
  readonly nowUs: number;
}

/** A flush that notifies. */
export type NotifyingFlush = Flush & { readonly reason: FlushReason };

/** An alert in a notification. Its events to load are the newest ones with `afterSeq < seq <= afterSeq + newEvents`. */
export interface Listed {
  readonly alert: Alert;
  readonly status: 'firing' | 'resolved';
  /** It fires, and the group did not notify of that last. */
  readonly isNew?: true;
  /** With 0 no events need be loaded. */
  readonly newEvents: number;
  readonly afterSeq: number;
}

/**
 * Whether a group that is due waits for more, having just gained `gained` alerts. A notification now would have the
 * first of a flood a moment sooner, and all others a whole `group_interval` later.
 */
export function isFlooded({ nextFlushAtUs }: Group, gained: number, nowUs: number): boolean {
  return gained >= FLOOD_ALERTS && nowUs - nextFlushAtUs < FLOOD_US;
}

/**
 * Decides whether a group notifies now. A notification has all news, and a repetition all that fires, in as many parts
 * as it takes (`split-notification.ts`). The order of the reasons is Alertmanager's (`needsUpdate`), with new events
 * between what was resolved and what is repeated.
 */
export function flush({ group, open, waiting, route, nowUs }: FlushOf): Flush {
  const views = open.map(viewOf);
  const news = views.filter(hasNews);
  const shown = waiting.filter(({ member }) => member.notifiedState === 'firing');
  const reason = reasonOf({ group, views, news, isShown: shown.length > 0, route, nowUs });
  const firing = views.filter((view) => view.firing);
  const candidates = [
    ...news.toSorted(byUrgency),
    ...firing.filter((view) => !hasNews(view)).toSorted(byUrgency),
  ];
  const room = reason === 'repeat' ? candidates.length : Math.max(news.length, MAX_ALERTS);
  const listed = reason === null ? [] : candidates.slice(0, room);
  const notified = listed.filter(hasNews);
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
      ...notified.map(({ member, alert, firing: fires }) => ({
        ...member,
        notifiedSeq: member.notifiedSeq === HAS_LEFT ? HAS_LEFT : alert.lastSeq,
        notifiedState: fires ? ('firing' as const) : ('resolved' as const),
      })),
      ...(reason === null
        ? []
        : shown.map(({ member }) => ({ ...member, notifiedState: 'hidden' as const }))),
    ],
    listed: listed.map((view) => ({
      alert: view.member.notifiedSeq === HAS_LEFT ? gone(view.alert, group, nowUs) : view.alert,
      status: view.firing ? 'firing' : 'resolved',
      ...(isNewlyFiring(view) && { isNew: true as const }),
      newEvents: view.newEvents,
      afterSeq: view.member.notifiedSeq,
    })),
    truncatedAlerts: reason === null ? 0 : candidates.length - listed.length,
    firingTotal: firing.length,
    newTotal: firing.filter(isNewlyFiring).length,
    resolvedTotal: news.filter((view) => !view.firing).length,
  };
}

/** The notification of a flush. `events`: those to list of each alert with new ones, newest first. */
export function notificationOf(
  flushed: NotifyingFlush,
  events: ReadonlyMap<string, readonly Event[]>,
  id: string,
): GroupNotification {
  const { group, firingTotal } = flushed;
  return {
    kind: 'group',
    id,
    receiver: group.receiver,
    createdAtUs: group.notifiedAtUs,
    reason: flushed.reason,
    groupKey: group.key,
    groupSort: group.sort,
    groupLabels: group.labels,
    ...(flushed.routeLabels && { routeLabels: flushed.routeLabels }),
    status: firingTotal > 0 ? 'firing' : 'resolved',
    alerts: flushed.listed.map((one) => notifiedAlert(one, events.get(one.alert.id) ?? [])),
    truncatedAlerts: flushed.truncatedAlerts,
    firingTotal,
    newTotal: flushed.newTotal,
    resolvedTotal: flushed.resolvedTotal,
    thread: flushed.thread,
    threadPosition: flushed.threadPosition,
  };
}

function reasonOf(of: {
  group: Group;
  views: readonly View[];
  news: readonly View[];
  /** Whether an alert that is muted now was notified as firing last. */
  isShown: boolean;
  route: Route;
  nowUs: number;
}): FlushReason | null {
  const { group, views, news, route, nowUs } = of;
  const wasFiring = (view: View) => view.member.notifiedState === 'firing';
  const isNew = (view: View) => !wasFiring(view) && (view.firing || view.member.notifiedState !== 'hidden');
  if (news.some(isNew)) return views.some(wasFiring) || of.isShown ? 'new_alerts' : 'first';
  if (news.some((view) => !view.firing)) return 'resolved';
  if (news.length > 0) return 'new_events';
  const waitMs = route.repeatIntervalMs * (route.repeatBackoff ?? 1) ** (group.repeats ?? 0);
  const repeatAtUs = group.notifiedAtUs + waitMs * 1000;
  return views.some((view) => view.firing) && repeatAtUs <= nowUs ? 'repeat' : null;
}

function isNewlyFiring({ firing, member }: View): boolean {
  return firing && member.notifiedState !== 'firing';
}

/** What fires before what is over, the oldest first. */
function byUrgency(a: View, b: View): number {
  return (
    Number(b.firing) - Number(a.firing) ||
    a.alert.startsAtUs - b.alert.startsAtUs ||
    (a.alert.id < b.alert.id ? -1 : 1)
  );
}

/** An alert as the group that it left knows it: over, under the labels that brought it there. */
function gone(alert: Alert, group: Group, nowUs: number): Alert {
  const annotations = {
    ...alert.annotations,
    resolved_by: 'it continues under other labels or another route',
  };
  const labels = { ...alert.labels, ...group.labels };
  return { ...alert, labels, annotations, endsAtUs: nowUs, ending: 'moved' };
}

function notifiedAlert({ alert, status, isNew, newEvents }: Listed, events: readonly Event[]): NotifiedAlert {
  const listed = newEvents === 0 ? [] : events;
  return {
    id: alert.id,
    status,
    ...(isNew && { isNew }),
    labels: alert.labels,
    annotations: alert.annotations,
    startsAtUs: alert.startsAtUs,
    endsAtUs: status === 'firing' ? 0 : alert.endsAtUs,
    ...(status === 'resolved' && alert.ending && { ending: alert.ending }),
    fingerprint: fingerprint(alert.labels),
    events: listed,
    eventsTotal: alert.eventsTotal,
    eventsOmitted: newEvents - listed.length,
  };
}
