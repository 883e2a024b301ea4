/**
 * Leaves old events to the receiver's summary while an alert joins its groups
 * (`domain/grouping/sorts/catch-up-sort.ts`).
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';
import { awaitSummary, catchUpKey, leaveToSummary } from '../domain/grouping/sorts/catch-up-sort.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { Route } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import { receiverOf } from './flush/gathered-groups.ts';

/** An alert with its members, by group key, as they are about to be stored. */
export interface JoinedAlert {
  readonly alert: Alert;
  readonly members: ReadonlyMap<string, GroupMember>;
}

/** What is to be written. */
interface LeftToSummary {
  readonly groups: readonly Group[];
  readonly members: readonly GroupMember[];
  readonly suppressions: readonly Suppression[];
}

/**
 * Leaves those new events of alerts to summaries that were old when they were read: older than `maxAgeUs` of their
 * region. `groups` are the groups of all members, by key, as they are about to be stored; the summaries are added.
 */
export async function leaveOldToSummary(
  tx: Transaction,
  joined: readonly JoinedAlert[],
  groups: Map<string, Group>,
  root: Route,
  maxAgeUs: (region: string) => number,
  nowUs: number,
): Promise<LeftToSummary> {
  const news = joined.flatMap(({ alert, members }) =>
    [...members.values()]
      .filter((member) => member.sort === 'route' && member.notifiedSeq < alert.lastSeq)
      .map((member) => ({ alert, members, member })),
  );
  // Read together, since on a server each read costs a request.
  const olds = await tx.alerts.oldEvents(
    news.map(({ alert, member }) => ({
      alertId: alert.id,
      afterSeq: member.notifiedSeq,
      lastSeq: alert.lastSeq,
      maxAgeUs: maxAgeUs(alert.labels.region ?? ''),
    })),
  );
  /** By alert and group key. */
  const changed = new Map<string, Map<string, GroupMember>>();
  const summaries = new Map<string, Group>();
  const suppressions: Suppression[] = [];
  for (const [index, { alert, members, member }] of news.entries()) {
    const old = olds[index];
    const own = groups.get(member.groupKey);
    if (!old || !own) continue;
    const receiver = receiverOf(root, own);
    const key = catchUpKey(receiver);
    const stored = groups.get(key) ?? (await tx.groups.list([key]))[0];
    const summary = awaitSummary(stored, receiver, old, root, nowUs);
    groups.set(key, summary);
    summaries.set(key, summary);
    const ofAlert = changed.get(alert.id) ?? new Map<string, GroupMember>();
    changed.set(alert.id, ofAlert);
    const before = ofAlert.get(key) ?? members.get(key);
    const notifiedSeq = Math.min(before?.notifiedSeq ?? member.notifiedSeq, member.notifiedSeq);
    ofAlert.set(key, {
      groupKey: key,
      sort: 'catch_up',
      alertId: alert.id,
      notifiedSeq,
      notifiedState: 'none',
    });
    ofAlert.set(member.groupKey, leaveToSummary(member, alert, old));
    suppressions.push({
      alertId: alert.id,
      afterSeq: member.notifiedSeq,
      lastSeq: old.lastSeq,
      groupKey: member.groupKey,
      receiver,
      reason: 'too_old',
      detail: 'counted in a summary, since it was old when it could be read',
      atUs: nowUs,
    });
  }
  return {
    groups: [...summaries.values()],
    members: [...changed.values()].flatMap((ofAlert) => [...ofAlert.values()]),
    suppressions,
  };
}
