/**
 * Defines groups: alerts that a receiver is notified of together, and what it was notified of so far.
 *
 * A member records the latter for one alert. A firing alert is news for a group that has not notified of it as
 * firing, or not of all its events (those beyond `notifiedSeq`). A resolved alert is news if the group notified of it
 * as firing (its end is news), or has events left (it fired and resolved between two flushes, and is notified once,
 * as resolved).
 *
 * `assignGroups` (`assign-groups.ts`) puts a changed alert into its groups. At a group's `nextFlushAtUs`, `flush`
 * (`flush.ts`) decides from these numbers alone whether to notify and why, and how the members change.
 * `notificationOf` builds the notification once the events are loaded. Both results must be committed together.
 *
 * Members stay as long as their alert is stored: when it fires again it is compared with what they record, so that no
 * event is in two notifications. `isSettled` says when both may be deleted. A group in which nothing fires and
 * everything was notified is at rest (it was flushed, and `notifications` is 0): what fires in it next waits for
 * `group_wait` and opens a new thread, as in a new group. A group is deleted when a flush finds it empty.
 */
import { type Alert, isForgettable, type Labels } from '../alert/alert.ts';
import { kindOf } from '../kinds/kinds.ts';
import type { Route } from '../routing/route.ts';

/**
 * Why a group exists (`sorts/`):
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
   * (`sorts/catch-up-sort.ts`).
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

/** Whether it says what happened at an instant, and goes on for no time. */
export function isMoment({ alertname }: Pick<Alert, 'alertname'>): boolean {
  return kindOf(alertname)?.words.isMoment === true;
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
