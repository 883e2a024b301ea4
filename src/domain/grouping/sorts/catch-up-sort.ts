/**
 * News that was old when it was read, for example after an outage of hours, goes into one summary per receiver
 * instead of a flood of notifications:
 *
 *   joins its groups ──its oldest new events were old when read──► left to the receiver's summary
 *                    ──no more of it for a while──► one notification with counts ──► groups continue
 *
 * For the alert's group of sort `route`, what was left to the summary counts as notified. That group does not notify
 * of the alert before the summary did (`notifiedState: 'summary'`), with two exceptions: fresh events, and the end of
 * what it had notified as firing before the outage. After the summary it continues with fresh events, the end and
 * repetitions. So no event is in both, and an alert that came and went in the past is only counted.
 */
import { type Alert, hash64 } from '../../alert/alert.ts';
import type { Suppression } from '../../muting/suppression.ts';
import type { Route } from '../../routing/route.ts';
import type { Flush, Listed } from '../flush.ts';
import { type AlertInGroup, type Group, type GroupMember, HAS_LEFT, newGroup } from '../group.ts';
import type { KindCount, Summary } from '../notification.ts';
import { GATHERING_INTERVAL_MS, routeOnce, type Sort, selectAll } from './sort.ts';

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

export const CATCH_UP: Sort = {
  gathers: true,
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
