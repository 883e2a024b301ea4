/**
 * News that was old when it was read, as after an outage of hours, goes into one summary per receiver rather than into
 * a flood of notifications:
 *
 *   joins its groups ──its oldest new events were old when read──► left to the receiver's summary
 *                               ──no more of it for a while──► one notification with counts ──► groups go on
 *
 * For the alert's group of sort `route`, what was left to the summary counts as notified. That group does not notify of
 * the alert until the summary did (`notifiedState: 'summary'`), unless fresh events come: of those it notifies as always,
 * and of the end of what it had notified as firing before the outage. After the summary it goes on from there with fresh
 * events, the end and repetitions. So no event is in both, and an alert that came and went in the past is only counted.
 */
import type { Alert } from '../../alert/alert.ts';
import { hash64 } from '../../alert/fingerprint.ts';
import type { Suppression } from '../../muting/suppression.ts';
import type { Route } from '../../routing/route.ts';
import type { Flush, Listed } from '../flush.ts';
import { type AlertInGroup, type Group, type GroupMember, HAS_LEFT, newGroup } from '../group.ts';
import type { KindCount, Summary } from '../summary.ts';
import { GATHERING_INTERVAL_MS, routeOnce, type Sort, selectAll } from './sort.ts';

/** The summary waits until no old news came for that long, and at least the root's `group_wait`. */
const QUIET_US = 120_000_000;
/** It does not wait for longer after the first. */
const LONGEST_WAIT_US = 15 * 60_000_000;

/** Events that nobody was notified of, and that were all old when they were observed: those up to `lastSeq`. */
export interface OldEvents {
  readonly lastSeq: number;
  /** When the first and the last of them occurred. */
  readonly fromUs: number;
  readonly toUs: number;
}

export const CATCH_UP: Sort = {
  isTimed: false,
  gathers: true,
  isSpentOnceNotified: false,
  sumsUp: true,
  routeOf: (group, root) => ({
    ...routeOnce(root, group.receiver),
    groupIntervalMs: GATHERING_INTERVAL_MS,
  }),
  select: selectAll,
  flush: ({ group, open, toSumUp, nowUs }) => summarize(group, open, toSumUp, nowUs),
};

export function catchUpKey(receiver: string): string {
  return `catching-up:${receiver}`;
}

/** A member of the alert's own group whose old events are left to the summary. */
export function leaveToSummary(member: GroupMember, alert: Alert, { lastSeq }: OldEvents): GroupMember {
  const isAll = lastSeq >= alert.lastSeq;
  const isUnnoticed = member.notifiedState === 'none' || member.notifiedState === 'resolved';
  return {
    ...member,
    notifiedSeq: lastSeq,
    notifiedState: isAll && isUnnoticed ? 'summary' : member.notifiedState,
  };
}

/** The receiver's summary with more old events; `group` is what is stored of it. */
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

/** How many events of an alert were left to a receiver's summary after `afterSeq`, by whichever of its groups. */
export function countLeftToSummary(
  suppressions: readonly Suppression[],
  receiver: string,
  afterSeq: number,
): number {
  const runs = leftToSummary(suppressions, receiver, afterSeq);
  return runs.reduce((count, run) => count + run.lastSeq - run.afterSeq, 0);
}

/** Which ones these are, with `afterSeq < seq <= lastSeq`: runs that do not touch, in their order. */
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
 * The notification that sums up. `counts` are the events left to it by alert; one without any has no part in it.
 * What fires comes first, then what has most events. All is listed: how much of it has room is the sender's matter.
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

/** The alert's member of sort `route` once the summary was sent; unchanged where its group did not wait for that. */
export function afterSummary(member: GroupMember, alert: Alert): GroupMember {
  if (member.notifiedState !== 'summary') return member;
  return { ...member, notifiedState: alert.state === 'firing' ? 'firing' : 'resolved' };
}

/** An alert's own group that goes on from the summary: that counts as the first notification of its thread. */
export function wentOn(group: Group, nowUs: number): Group {
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
