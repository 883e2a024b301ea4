/** Decides what a due group's mutes leave, and whether it notifies, of what, and why. */
import { type Alert, fingerprint, hash64, type Labels, severityRank } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { isMoment, kindOf } from '../kinds/kinds.ts';
import type { Mute } from '../muting/muting.ts';
import type { Suppression } from '../muting/suppression.ts';
import type { Route } from '../routing/route.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  HAS_LEFT,
  hasNews,
  isNews,
  type View,
  viewOf,
} from './group.ts';
import {
  type FlushReason,
  type GroupNotification,
  MAX_EVENTS,
  type NotifiedAlert,
  type Summary,
} from './notification.ts';

/** The most alerts in a notification with less news; a message that is not sent in parts lists no more. */
export const MAX_ALERTS = 100;

/** A group that gained this many alerts at once, a whole page of the service, is expected to gain more soon. */
const FLOOD_ALERTS = 100;
/** How long past its instant a group waits while it is flooded. */
const FLOOD_US = 2_000_000;

/** The result of a flush: the state to commit, and what its notification lists. */
export interface Flush {
  /** Null: there is no news, and no notification. */
  readonly reason: FlushReason | null;
  /** A group without members must be deleted instead. */
  readonly group: Group;
  readonly thread: string;
  /** How many notifications of the thread came before. */
  readonly threadPosition: number;
  /** A digest of what it tells (`nameAfterWhatItTells`); absent if it tells nothing. */
  readonly told?: string;
  /** The events that were read to name it; absent if it lists too many alerts to keep them. */
  readonly read?: ReadEvents;
  /** The members that change. */
  readonly members: readonly GroupMember[];
  /** What the notification lists: all alerts with news, then other firing alerts as far as there is room. */
  readonly listed: readonly Listed[];
  readonly truncatedAlerts: number;
  readonly firingTotal: number;
  /** How many of the firing alerts the group's last notification did not show as firing. */
  readonly newTotal: number;
  readonly resolvedTotal: number;
  /** Set if the notification counts events instead of listing them. */
  readonly summary?: Summary;
  /** What still fires in the group is muted and acknowledged: its incident is not over. */
  readonly incidentLasts?: true;
  /** People are told all of it as another alert (`flush/notify.ts`). */
  readonly isForPrograms?: true;
  /** The values of its route's labels; absent if the route has none. */
  readonly routeLabels?: Labels;
}

/** The newest events of each listed alert, newest first, at most `limit` of each. */
interface ReadEvents {
  readonly limit: number;
  readonly of: ReadonlyMap<Listed, readonly Event[]>;
}

export interface FlushOf {
  readonly group: Group;
  /** The alerts that nothing mutes. */
  readonly open: readonly AlertInGroup[];
  /** Muted alerts of which it will notify once nothing mutes them (`applyMutes`). */
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
  /** It fires, and the group's last notification did not say so. */
  readonly isNew?: true;
  /** If 0, no events need to be loaded. */
  readonly newEvents: number;
  readonly afterSeq: number;
}

/**
 * Whether a due group should wait for more, having just gained `gained` alerts. Notifying now would tell the first of
 * a flood a moment sooner, and all others a whole `group_interval` later.
 */
export function isFlooded({ nextFlushAtUs }: Group, gained: number, nowUs: number): boolean {
  return gained >= FLOOD_ALERTS && nowUs - nextFlushAtUs < FLOOD_US;
}

/**
 * Decides whether a group notifies now. A notification contains all news, and a repetition everything that fires, in
 * as many parts as needed (`partsOf`). The order of reasons is Alertmanager's (`needsUpdate`), with new
 * events between resolved alerts and repetition.
 */
export function flush({ group, open, waiting, route, nowUs }: FlushOf): Flush {
  const views = open.map(viewOf);
  const news = views.filter(hasNews);
  const shown = waiting.filter(({ member }) => member.notifiedState === 'firing');
  const reason = reasonOf({ group, views, news, isShown: shown.length > 0, route, nowUs });
  const lasting = views.filter((view) => view.firing);
  // A moment that was told is neither repeated nor counted.
  const firing = lasting.filter((view) => hasNews(view) || !isMoment(view.alert));
  const candidates = [
    ...news.toSorted(byUrgency),
    ...firing.filter((view) => !hasNews(view)).toSorted(byUrgency),
  ];
  const room = reason === 'repeat' ? candidates.length : Math.max(news.length, MAX_ALERTS);
  const listed = reason === null ? [] : candidates.slice(0, room);
  const notified = listed.filter(hasNews);
  const rests = lasting.length === 0 && waiting.length === 0;
  // Nothing goes on of what happened at an instant.
  const isOfMoments = firing.length > 0 && candidates.every(({ alert }) => isMoment(alert));
  // What was held back may continue with news, in a group that starts with it. A group at rest has ended its thread, and
  // would repeat the ids of its messages.
  const begins =
    reason === 'first' ||
    group.thread === '' ||
    (reason !== null && (group.notifications === 0 || isOfMoments));
  // The receiver is part of it: a group that gets another one notifies both of them in the same instant.
  // The time comes first, so that ids made from it arrive in order: random ones would cost the store a page write
  // each. One that tells events is named after what it tells instead (`nameAfterWhatItTells`).
  const thread = begins ? `${nowUs.toString(36)}-${hash64([group.key, route.receiver])}` : group.thread;
  const threadPosition = begins ? 0 : group.notifications;
  const { toldRank, toCorrect, ...standing } = group;
  const told = reason === null ? [] : firing.map(({ alert }) => severityRank(alert.labels));
  // It never sinks within a thread: a critical alert that comes and goes keeps to `group_interval`.
  const rank = told.reduce((a, b) => Math.max(a, b), toldRank ?? -1);
  return {
    reason,
    group: {
      ...standing,
      ...(rank >= 0 && !rests && { toldRank: rank }),
      ...(toCorrect && reason === null && !rests && { toCorrect }),
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

/** The notification of a flush. `events` are those to list for each alert with new ones, newest first. */
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
    alerts: flushed.listed.map((one) =>
      notifiedAlert(one, events.get(one.alert.id) ?? [], group.notifiedAtUs),
    ),
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
  /** Whether the last notification showed an alert as firing that is muted now. */
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
  const isToRepeat = ({ alert }: View) => repeatAtUs <= nowUs || group.toCorrect?.includes(alert.id);
  return views.some((view) => view.firing && !isMoment(view.alert) && isToRepeat(view)) ? 'repeat' : null;
}

function isNewlyFiring({ firing, member }: View): boolean {
  return firing && member.notifiedState !== 'firing';
}

/** Firing before resolved, oldest first. */
function byUrgency(a: View, b: View): number {
  return (
    Number(b.firing) - Number(a.firing) ||
    a.alert.startsAtUs - b.alert.startsAtUs ||
    (a.alert.id < b.alert.id ? -1 : 1)
  );
}

/** An alert that still fires as a receiver sees it that no longer gets it: over. */
export function continuedElsewhere(alert: Alert, nowUs: number): Alert {
  const annotations = {
    ...alert.annotations,
    resolved_by: 'it continues under other labels or another route',
  };
  return { ...alert, state: 'resolved', annotations, endsAtUs: nowUs, ending: 'moved' };
}

/** An alert as the group that it left knows it: over, under the labels that brought it there. */
function gone(alert: Alert, group: Group, nowUs: number): Alert {
  return { ...continuedElsewhere(alert, nowUs), labels: { ...alert.labels, ...group.labels } };
}

function notifiedAlert(
  { alert, status, isNew, newEvents }: Listed,
  events: readonly Event[],
  nowUs: number,
): NotifiedAlert {
  const listed = newEvents === 0 ? [] : events;
  const still = status === 'firing' && !isNew ? kindOf(alert.alertname)?.still?.(alert, nowUs) : undefined;
  const { description = '' } = alert.annotations;
  return {
    id: alert.id,
    status,
    ...(isNew && { isNew }),
    labels: alert.labels,
    annotations:
      still === undefined
        ? alert.annotations
        : { ...alert.annotations, description: `${still}\n${description}`.trimEnd() },
    startsAtUs: alert.startsAtUs,
    endsAtUs: status === 'firing' ? 0 : alert.endsAtUs,
    ...(status === 'resolved' && alert.ending && { ending: alert.ending }),
    fingerprint: fingerprint(alert.labels),
    events: listed,
    eventsTotal: alert.eventsTotal,
    eventsOmitted: newEvents - listed.length,
  };
}

// Splits a large notification for integrations that take parts: each alert or event is in exactly one part.

/** The most alerts in one part. */
export const PART_ALERTS = 500;
/**
 * The most events listed in one message; a single alert has at most `MAX_EVENTS`, unless its events are told nowhere
 * else. With messages of maximal length these are 16 MB, written, read and sent as one text.
 */
export const PART_EVENTS = 500;

/** How many events to list for each alert if all of these alerts are in one message. */
export function eventsOfEach(listed: readonly Listed[]): number {
  const most = Math.max(MAX_EVENTS, ...listed.map(mostEventsOf));
  const all = listed.reduce((sum, { newEvents }) => sum + Math.min(newEvents, most), 0);
  return all <= PART_EVENTS ? most : Math.max(1, Math.floor(PART_EVENTS / listed.length));
}

/** Whoever is told of a cause that many Birds share is told of no other alert with their failures. */
function mostEventsOf({ alert: { alertname } }: Listed): number {
  return kindOf(alertname)?.words.listsEvents ? PART_EVENTS : MAX_EVENTS;
}

/** The most events in one message for integrations that take only events: the size of a batch of CloudEvents. */
export const BATCH_EVENTS = 100;

/** The parts, in the order of the alerts. */
export function partsOf(listed: readonly Listed[]): Listed[][] {
  const parts: Listed[][] = [];
  let events = 0;
  for (const one of listed) {
    const own = Math.min(one.newEvents, mostEventsOf(one));
    const last = parts.at(-1);
    if (last && last.length < PART_ALERTS && events + own <= PART_EVENTS) {
      last.push(one);
      events += own;
    } else {
      parts.push([one]);
      events = own;
    }
  }
  return parts;
}

/** All new events in parts, in the order of the alerts; an alert with many continues in the next part. */
export function batchesOf(listed: readonly Listed[]): Listed[][] {
  const batches: Listed[][] = [];
  let room = 0;
  for (const one of listed) {
    for (let done = 0; done < one.newEvents; ) {
      if (room === 0) {
        batches.push([]);
        room = BATCH_EVENTS;
      }
      const newEvents = Math.min(room, one.newEvents - done);
      batches.at(-1)!.push({ ...one, newEvents, afterSeq: one.afterSeq + done });
      done += newEvents;
      room -= newEvents;
    }
  }
  return batches;
}

// Decides what happens to a group's alerts while they are muted, as in Alertmanager, with one exception:
//
// - A firing alert waits: the first flush that finds it no longer muted notifies of it, with all its events.
// - The end of an alert is suppressed for good, with the reason. Somebody wanted that, by a silence or a time
//   interval, even if the receiver was notified that the alert fires.
// - The exception: an inhibited end waits. Nobody asked for it, and whoever was notified that the alert fires would
//   believe it fires for ever. If it is inhibited by the alert about a shared cause, it does not wait either.

interface Muted {
  /** Alerts that nothing mutes. */
  readonly open: readonly AlertInGroup[];
  /** Alerts that wait until nothing mutes them. */
  readonly waiting: readonly AlertInGroup[];
  /** Members whose news is suppressed, to be written. */
  readonly members: readonly GroupMember[];
  /** One for each of these members. */
  readonly suppressions: readonly Suppression[];
}

export function applyMutes(
  group: Group,
  inGroup: readonly AlertInGroup[],
  why: (alert: AlertInGroup['alert']) => Mute | null,
  nowUs: number,
): Muted {
  const open: AlertInGroup[] = [];
  const waiting: AlertInGroup[] = [];
  const members: GroupMember[] = [];
  const suppressions: Suppression[] = [];
  for (const standing of inGroup) {
    const { alert, member } = standing;
    const hasLeft = member.notifiedSeq === HAS_LEFT;
    const fires = isFiringHere(standing);
    const mute = isToBeMuted(standing) ? why(alertAsKnown(group, standing)) : null;
    const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
    if (mute === null || (mute.standsIn && wasFiring && !fires)) {
      open.push(standing);
    } else if (fires || (wasFiring && mute.reason === 'inhibited')) {
      waiting.push(standing);
    } else {
      const { groupKey, notifiedSeq, notifiedState } = member;
      members.push({
        ...member,
        notifiedSeq: hasLeft ? HAS_LEFT : alert.lastSeq,
        notifiedState: wasFiring ? 'resolved' : notifiedState,
      });
      suppressions.push({
        alertId: alert.id,
        afterSeq: hasLeft ? alert.lastSeq : notifiedSeq,
        lastSeq: alert.lastSeq,
        groupKey,
        receiver: group.receiver,
        reason: mute.reason,
        detail: mute.detail,
        atUs: nowUs,
      });
    }
  }
  return { open, waiting, members, suppressions };
}

/** An alert that neither fires nor is news need not be checked. */
export function isToBeMuted(standing: AlertInGroup): boolean {
  return isFiringHere(standing) || isNews(standing);
}

function isFiringHere({ alert, member }: AlertInGroup): boolean {
  return member.notifiedSeq !== HAS_LEFT && alert.state === 'firing';
}

/** An alert that left the group for other labels is judged by the labels that brought it there. */
export function alertAsKnown(group: Group, { alert, member }: AlertInGroup): AlertInGroup['alert'] {
  return member.notifiedSeq === HAS_LEFT ? { ...alert, labels: { ...alert.labels, ...group.labels } } : alert;
}
