import { type Alert, hash64, type Labels } from '../alert/alert.ts';
import type { Muting } from '../muting/muting.ts';
import type { Suppression } from '../muting/suppression.ts';
import { type Route, routeOfGroup, routesFor } from '../routing/route.ts';
import { type Flush, type FlushOf, flush, type Listed } from './flush.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  type GroupSort,
  HAS_LEFT,
  isAtRest,
  newGroup,
} from './group.ts';
import type { GroupNotification, KindCount, Summary } from './notification.ts';

/** How groups of one sort are flushed. */
export interface Sort {
  /** True: a group is never flushed before its instant, even when everything else is flushed at once. */
  readonly isTimed?: true;
  /**
   * True: a group notifies of what the alerts' groups of sort `route` did not. So an incident that its receiver keeps
   * is that of those groups, and if the receiver is throttled the group simply waits.
   */
  readonly gathers?: true;
  /** True: a group is deleted as soon as it has notified. */
  readonly isSpentOnceNotified?: true;
  /** True: `flush` sums up events that were left to it, and needs their number for each alert. */
  readonly sumsUp?: true;
  /**
   * The route by which a group notifies; undefined if it has nobody to notify under the current configuration. `isKnown`:
   * whether that has the group's receiver.
   */
  routeOf(group: Group, root: Route, isKnown: boolean): Route | undefined;
  /** The alerts that a flush decides on, and the members that it deletes. */
  select(inGroup: readonly AlertInGroup[]): Selection;
  /** Whether a group notifies now, of what, and what is stored of it afterwards. */
  flush(input: FlushInput): Flush;
}

interface Selection {
  readonly staying: readonly AlertInGroup[];
  readonly leaving: readonly GroupMember[];
}

interface FlushInput extends FlushOf {
  /** How many events of each alert, by id, were left to the summary. */
  readonly toSumUp: ReadonlyMap<string, number>;
}

/** How soon a gathering group that could not notify is flushed again. */
const GATHERING_INTERVAL_MS = 60_000;

/** The route of a group that notifies its receiver once, without repeating. */
export function routeOnce(route: Route, receiver: string): Route {
  return {
    ...route,
    receiver,
    matchers: [],
    continue: false,
    routes: [],
    repeatIntervalMs: Number.POSITIVE_INFINITY,
  };
}

/** Keeps all members. */
function selectAll(inGroup: readonly AlertInGroup[]): Selection {
  return { staying: inGroup, leaving: [] };
}

// An escalation: alerts that one flush of a route notified as firing for the first time. It is due `escalate_after`
// later. What still fires then, unmuted, is sent to the route's second receiver once, and later its end. New events
// are not sent there. If escalations of several routes lead to the same receiver, the first one notifies it; the
// others leave that alert out. An alert that ends before its escalation is due leaves it, even if it fires again by
// then: its new episode is escalated after its own first notification.

/** The key of an escalation begins with this, followed by a hash, a colon and the key of the escalated group. */
const ESCALATION_PREFIX = 'escalation:';

/** States of members whose current episode nobody was notified of. */
const UNNOTIFIED: ReadonlySet<GroupMember['notifiedState']> = new Set(['none', 'resolved', 'summary']);

const ESCALATION: Sort = {
  isTimed: true,
  routeOf(group, root, isKnown) {
    const { routedBy: labels = group.labels } = group;
    const escalated = { ...group, key: followedKey(group), labels };
    const { escalation, ...route } = routeOfGroup(root, escalated) ?? root;
    // A receiver that was notified is also told of the end, even if the route escalates to another one now, or to none.
    const notified = isKnown && group.notifications > 0 ? group.receiver : undefined;
    const receiver = notified ?? escalation?.receiver;
    return receiver === undefined ? undefined : routeOnce(route, receiver);
  },
  select(inGroup) {
    const isOver = ({ member, alert }: AlertInGroup) =>
      member.notifiedState === 'resolved' || (member.notifiedState === 'none' && alert.state !== 'firing');
    return {
      staying: inGroup.filter((one) => !isOver(one)).map(withoutNewEvents),
      leaving: inGroup.filter(isOver).map(({ member }) => member),
    };
  },
  flush,
};

/**
 * The group that escalates what a flush of a route, or a summary in its place, notified as firing for the first time,
 * with its members; undefined if there is nothing, or the route does not escalate. `notified` are the members after
 * the flush.
 */
export function escalate(
  group: Group,
  inGroup: readonly AlertInGroup[],
  notified: readonly GroupMember[],
  route: Route,
  nowUs: number,
): { group: Group; members: GroupMember[] } | undefined {
  if (!route.escalation || group.sort !== 'route') return undefined;
  const before = new Map(inGroup.map((one) => [one.member.alertId, one]));
  const fresh = notified.flatMap(({ alertId, notifiedState }) => {
    const known = before.get(alertId);
    if (known === undefined || notifiedState !== 'firing') return [];
    if (UNNOTIFIED.has(known.member.notifiedState)) return [known.member];
    return isOfFormerGroup(group, known.member) ? [inThisEpisode(known)] : [];
  });
  if (fresh.length === 0) return undefined;
  const key = `${ESCALATION_PREFIX}${hash64([group.key, String(nowUs)])}:${group.key}`;
  return {
    group: newGroup({
      sort: 'escalation',
      key,
      route: group.route,
      receiver: route.escalation.receiver,
      labels: group.labels,
      nextFlushAtUs: nowUs + route.escalation.afterMs * 1000,
    }),
    members: fresh.map((member) => ({
      ...member,
      groupKey: key,
      sort: 'escalation',
      notifiedState: 'none',
    })),
  };
}

/** Whether it was another group, which this one continues, that notified of the alert as firing. */
function isOfFormerGroup({ notifications }: Group, { notifiedState }: GroupMember): boolean {
  return notifications === 0 && notifiedState === 'hidden';
}

/** The member as if nobody was notified of the alert's current episode. */
function inThisEpisode({ member, alert }: AlertInGroup): GroupMember {
  return { ...member, notifiedSeq: alert.lastSeq - alert.eventsTotal };
}

/** Whether the member waits in an escalation of this group, and its receiver knows nothing of it yet. */
export function isToEscalate({ sort, groupKey, notifiedState }: GroupMember, { key }: Group): boolean {
  return sort === 'escalation' && notifiedState === 'none' && followedKey({ key: groupKey }) === key;
}

/** The key of the group that an escalation belongs to. */
function followedKey({ key }: Pick<Group, 'key'>): string {
  return key.slice(key.indexOf(':', ESCALATION_PREFIX.length) + 1);
}

/** Once its receiver was notified of an alert, only the alert's end is news. */
function withoutNewEvents({ member, alert }: AlertInGroup): AlertInGroup {
  if (member.notifiedState === 'none') return { member, alert };
  return { alert, member: { ...member, notifiedSeq: alert.lastSeq } };
}

// What a fallback was notified of as firing in place of another receiver. Soon after such an alert ended, the fallback
// is notified of the end, once: the receiver itself may accept again by then, so that nothing else would go to the
// fallback. New events are not sent there.
//
// A member that is `resolved` records that the fallback knows the end, so that it is not given the receiver's own
// notification of it as well. It stays until its alert fires again or is deleted.

/** The key begins with this, followed by a hash, a colon and the key of the group that the receiver was notified of. */
const FALLBACK_PREFIX = 'fallback:';

/** A fallback is notified of an end after the `group_interval` of the receiver's group, but not later than this. */
const LONGEST_INTERVAL_MS = 300_000;

const FALLBACK: Sort = {
  routeOf(group, root, isKnown) {
    const route = routeOfGroup(root, { ...group, key: keyForReceiver(group) }) ?? root;
    const groupIntervalMs = Math.min(route.groupIntervalMs, LONGEST_INTERVAL_MS);
    return isKnown ? { ...routeOnce(route, group.receiver), groupIntervalMs } : undefined;
  },
  select(inGroup) {
    const isStale = ({ member, alert }: AlertInGroup) =>
      member.notifiedState === 'resolved' &&
      (alert.state !== 'resolved' || alert.lastSeq > member.notifiedSeq);
    return {
      staying: inGroup.filter((one) => !isStale(one)).map(onlyTheEnd),
      leaving: inGroup.filter(isStale).map(({ member }) => member),
    };
  },
  flush,
};

export function fallbackKey(fallback: string, groupKey: string): string {
  return `${FALLBACK_PREFIX}${hash64([fallback])}:${groupKey}`;
}

/** The key of a group as its receiver knows it: a fallback knows that of the group whose receiver it stands in for. */
export function keyForReceiver({ key }: Pick<Group, 'key'>): string {
  return key.startsWith(FALLBACK_PREFIX) ? key.slice(key.indexOf(':', FALLBACK_PREFIX.length) + 1) : key;
}

/** The group of what a fallback was notified of by `copy`. `before`: the stored one. */
export function fallbackGroup(
  before: Group | undefined,
  copy: Pick<GroupNotification, 'receiver' | 'groupKey' | 'groupLabels' | 'thread'>,
  root: Route,
  nowUs: number,
): Group {
  const { receiver, groupKey, groupLabels: labels, thread } = copy;
  const key = fallbackKey(receiver, groupKey);
  const begun = newGroup({ sort: 'fallback', key, route: '', receiver, labels, nextFlushAtUs: nowUs });
  const { groupIntervalMs } = FALLBACK.routeOf(begun, root, true)!;
  const nextFlushAtUs = nowUs + groupIntervalMs * 1000;
  if (before && !isAtRest(before))
    return { ...before, nextFlushAtUs: Math.min(before.nextFlushAtUs, nextFlushAtUs) };
  return { ...begun, nextFlushAtUs, notifiedAtUs: nowUs, thread, notifications: 1 };
}

/** The member for an alert that the fallback was notified of in this state. */
export function fallbackMember(
  { key: groupKey }: Group,
  { id: alertId, lastSeq: notifiedSeq }: Alert,
  notifiedState: 'firing' | 'resolved',
): GroupMember {
  return { groupKey, sort: 'fallback', alertId, notifiedSeq, notifiedState };
}

function onlyTheEnd({ member, alert }: AlertInGroup): AlertInGroup {
  const notifiedState = member.notifiedState === 'hidden' ? 'firing' : member.notifiedState;
  return { alert, member: { ...member, notifiedSeq: alert.lastSeq, notifiedState } };
}

// News that was old when it was read, for example after an outage of hours, goes into one summary per receiver
// instead of a flood of notifications:
//
//   joins its groups ──its oldest new events were old when read──► left to the receiver's summary
//                    ──no more of it for a while──► one notification with counts ──► groups continue
//
// For the alert's group of sort `route`, what was left to the summary counts as notified. That group does not notify
// of the alert before the summary did (`notifiedState: 'summary'`), with two exceptions: fresh events, and the end of
// what it had notified as firing before the outage. After the summary it continues with fresh events, the end and
// repetitions. So no event is in both, and an alert that came and went in the past is only counted.

/** The summary waits until no old news came for this long, and at least the root's `group_wait`. */
const QUIET_US = 120_000_000;
/** It waits no longer than this after the first old news. */
const LONGEST_WAIT_US = 15 * 60_000_000;

/** Events that nobody was notified of, all of them old when observed: those up to `lastSeq`. */
export interface OldEvents {
  readonly lastSeq: number;
  /** When the first and the last of them occurred. */
  readonly fromUs: number;
  readonly toUs: number;
}

const CATCH_UP: Sort = {
  gathers: true,
  sumsUp: true,
  routeOf: (group, root) => ({
    ...routeOnce(root, group.receiver),
    groupIntervalMs: GATHERING_INTERVAL_MS,
  }),
  select: selectAll,
  flush({ group, open, waiting, toSumUp, nowUs }) {
    const flushed = summarize(group, open, toSumUp, nowUs);
    if (waiting.length > 0) return flushed;
    // What is left to the next summary has its own times.
    const { awaited: _, ...summarized } = flushed.group;
    return { ...flushed, group: summarized };
  },
};

export function catchUpKey(receiver: string): string {
  return `catching-up:${receiver}`;
}

/** The alert's own member after its old events were left to the summary. */
export function leaveToSummary(member: GroupMember, alert: Alert, { lastSeq }: OldEvents): GroupMember {
  const isAll = lastSeq >= alert.lastSeq;
  const isUnnoticed = member.notifiedState === 'none' || member.notifiedState === 'resolved';
  return {
    ...member,
    notifiedSeq: lastSeq,
    notifiedState: isAll && isUnnoticed ? 'summary' : member.notifiedState,
  };
}

/** The receiver's summary with more old events; `group` is its stored state. */
export function awaitSummary(
  group: Group | undefined,
  receiver: string,
  { fromUs, toUs }: OldEvents,
  { groupWaitMs }: Pick<Route, 'groupWaitMs'>,
  nowUs: number,
): Group {
  const waits = group !== undefined && group.notifiedAtUs === 0 ? group.awaited : undefined;
  const sinceUs = Math.min(waits?.sinceUs ?? nowUs, nowUs);
  const quietUs = Math.max(QUIET_US, groupWaitMs * 1000);
  return {
    ...newGroup({
      sort: 'catch_up',
      key: catchUpKey(receiver),
      route: '',
      receiver,
      labels: { summary: 'catching-up' },
      nextFlushAtUs: Math.min(nowUs + quietUs, sinceUs + LONGEST_WAIT_US),
    }),
    awaited: {
      sinceUs,
      fromUs: Math.min(group?.awaited?.fromUs ?? fromUs, fromUs),
      toUs: Math.max(group?.awaited?.toUs ?? toUs, toUs),
    },
  };
}

/** How many events of an alert after `afterSeq` were left to a receiver's summary, by any of its groups. */
export function countLeftToSummary(
  suppressions: readonly Suppression[],
  receiver: string,
  afterSeq: number,
): number {
  const runs = leftToSummary(suppressions, receiver, afterSeq);
  return runs.reduce((count, run) => count + run.lastSeq - run.afterSeq, 0);
}

/** Which events these are, as ranges with `afterSeq < seq <= lastSeq`, in order and not touching each other. */
export function leftToSummary(
  suppressions: readonly Suppression[],
  receiver: string,
  afterSeq: number,
): { readonly afterSeq: number; readonly lastSeq: number }[] {
  const runs: { afterSeq: number; lastSeq: number }[] = [];
  const ranges = suppressions
    .filter((one) => one.reason === 'too_old' && one.receiver === receiver && one.lastSeq > afterSeq)
    .toSorted((a, b) => a.afterSeq - b.afterSeq);
  for (const range of ranges) {
    const last = runs.at(-1);
    if (last && range.afterSeq <= last.lastSeq) last.lastSeq = Math.max(last.lastSeq, range.lastSeq);
    else runs.push({ afterSeq: Math.max(afterSeq, range.afterSeq), lastSeq: range.lastSeq });
  }
  return runs;
}

/**
 * Builds the notification of a summary. `counts` are the events left to it, by alert; alerts without any are not part
 * of it. Firing alerts come first, then those with the most events. Everything is listed; the sender cuts it to what
 * fits.
 */
export function summarize(
  group: Group,
  inGroup: readonly AlertInGroup[],
  counts: ReadonlyMap<string, number>,
  nowUs: number,
): Flush {
  const listed = inGroup
    .flatMap(({ alert, member }): Listed[] => {
      const newEvents = counts.get(alert.id) ?? 0;
      if (newEvents === 0 || member.notifiedSeq === HAS_LEFT) return [];
      return [
        {
          alert,
          status: alert.state === 'firing' ? 'firing' : 'resolved',
          newEvents,
          afterSeq: member.notifiedSeq,
        },
      ];
    })
    .toSorted(byWeight);
  const thread = hash64([group.key, String(nowUs)]);
  const summary = summaryOf(listed, group.awaited?.fromUs ?? nowUs, group.awaited?.toUs ?? nowUs);
  return {
    reason: listed.length === 0 ? null : 'first',
    group: { ...group, nextFlushAtUs: nowUs + GATHERING_INTERVAL_MS * 1000, notifiedAtUs: nowUs },
    thread,
    threadPosition: 0,
    members: [],
    listed,
    truncatedAlerts: 0,
    firingTotal: summary.firing,
    newTotal: 0,
    resolvedTotal: listed.length - summary.firing,
    summary,
  };
}

/** Counts what is listed. */
export function summaryOf(listed: readonly Listed[], fromUs: number, toUs: number): Summary {
  const kinds = [...Map.groupBy(listed, ({ alert }) => alert.alertname)].map(
    ([alertname, all]): KindCount => ({
      alertname,
      events: all.reduce((sum, { newEvents }) => sum + newEvents, 0),
      alerts: all.length,
      firing: all.filter(({ status }) => status === 'firing').length,
    }),
  );
  const total = (of: 'events' | 'alerts' | 'firing') => kinds.reduce((sum, kind) => sum + kind[of], 0);
  return {
    fromUs,
    toUs,
    events: total('events'),
    alerts: total('alerts'),
    firing: total('firing'),
    kinds: kinds.toSorted((a, b) => b.events - a.events || (a.alertname < b.alertname ? -1 : 1)),
  };
}

/** The alert's member of sort `route` after the summary was sent; unchanged if its group did not wait for that. */
export function memberAfterSummary(member: GroupMember, alert: Alert): GroupMember {
  if (member.notifiedState !== 'summary') return member;
  return { ...member, notifiedState: alert.state === 'firing' ? 'firing' : 'resolved' };
}

/** An alert's own group continuing after the summary, which counts as the first notification of its thread. */
export function groupAfterSummary(group: Group, nowUs: number): Group {
  if (group.notifications > 0) return group;
  return { ...group, thread: hash64([group.key, String(nowUs)]), notifications: 1, notifiedAtUs: nowUs };
}

function byWeight(a: Listed, b: Listed): number {
  return (
    Number(b.status === 'firing') - Number(a.status === 'firing') ||
    b.newEvents - a.newEvents ||
    (a.alert.id < b.alert.id ? -1 : 1)
  );
}

const ROUTE: Sort = {
  routeOf: (group, root) => routeOfGroup(root, group),
  select: selectAll,
  flush,
};

// What a throttled receiver was not notified of (`throttle.ts`). One group per receiver becomes due as soon as the
// receiver may be notified again, notifies of everything at once, and is deleted. If the configuration no longer has
// the receiver, the alerts' groups of sort `route` notify of it.

const HELD_BACK: Sort = {
  isTimed: true,
  gathers: true,
  isSpentOnceNotified: true,
  routeOf: (group, root) => ({
    ...routeOnce(root, group.receiver),
    groupIntervalMs: GATHERING_INTERVAL_MS,
  }),
  select: selectAll,
  flush,
};

export function heldBackKey(receiver: string): string {
  return `held-back:${receiver}`;
}

/** A new group for what this receiver is not notified of before `freeAtUs`. */
export function heldBackGroup(receiver: string, freeAtUs: number): Group {
  return newGroup({
    sort: 'held_back',
    key: heldBackKey(receiver),
    route: '',
    receiver,
    labels: {},
    nextFlushAtUs: freeAtUs,
  });
}

/**
 * The member by which the receiver's held-back group takes over what a flush would have notified of an alert: the
 * group's own one before the flush. Of an alert that has left that group only the end is to be notified.
 */
export function heldBackMember(receiver: string, { member, alert }: AlertInGroup): GroupMember {
  const notifiedSeq = member.notifiedSeq === HAS_LEFT ? alert.lastSeq : member.notifiedSeq;
  return { ...member, notifiedSeq, groupKey: heldBackKey(receiver), sort: 'held_back' };
}

/** How groups are flushed, by sort. */
export const SORTS: Readonly<Record<GroupSort, Sort>> = {
  route: ROUTE,
  escalation: ESCALATION,
  fallback: FALLBACK,
  held_back: HELD_BACK,
  catch_up: CATCH_UP,
};

/**
 * The route whose time intervals apply to an alert of a group. A gathering group has none of its own: its alerts came
 * by the routes that lead to its receiver, and wait while all of those are muted.
 */
export function timedRoute(
  group: Group,
  route: Route,
  labels: Labels,
  root: Route,
  muting: Pick<Muting, 'ofRoute'>,
): Route {
  if (!SORTS[group.sort].gathers) return route;
  const own = routesFor(root, labels).filter(({ receiver }) => receiver === group.receiver);
  return own.find((one) => muting.ofRoute(one).length === 0) ?? own[0] ?? route;
}
