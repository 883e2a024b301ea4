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

/** An alert with its members and their groups, by group key, as they are about to be stored. */
interface JoinedAlert {
  readonly alert: Alert;
  readonly members: ReadonlyMap<string, GroupMember>;
  readonly groups: Map<string, Group>;
}

/** What is to be written. */
interface LeftToSummary {
  readonly groups: readonly Group[];
  readonly members: readonly GroupMember[];
  readonly suppressions: readonly Suppression[];
}

/**
 * Leaves those new events of an alert to summaries that were old when they were read. Adds the summaries to `groups`.
 */
export async function leaveOldToSummary(
  tx: Transaction,
  { alert, members, groups }: JoinedAlert,
  root: Route,
  maxAgeUs: number,
  nowUs: number,
): Promise<LeftToSummary> {
  const changed = new Map<string, GroupMember>();
  const summaries = new Map<string, Group>();
  const suppressions: Suppression[] = [];
  for (const member of members.values()) {
    if (member.sort !== 'route' || member.notifiedSeq >= alert.lastSeq) continue;
    const old = await tx.alerts.oldEvents(alert.id, member.notifiedSeq, maxAgeUs, alert.lastSeq);
    const own = groups.get(member.groupKey);
    if (!old || !own) continue;
    const receiver = receiverOf(root, own);
    const key = catchUpKey(receiver);
    const stored = groups.get(key) ?? (await tx.groups.list([key]))[0];
    const summary = awaitSummary(stored, receiver, old, root, nowUs);
    groups.set(key, summary);
    summaries.set(key, summary);
    const before = changed.get(key) ?? members.get(key);
    const notifiedSeq = Math.min(before?.notifiedSeq ?? member.notifiedSeq, member.notifiedSeq);
    changed.set(key, {
      groupKey: key,
      sort: 'catch_up',
      alertId: alert.id,
      notifiedSeq,
      notifiedState: 'none',
    });
    changed.set(member.groupKey, leaveToSummary(member, alert, old));
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
  return { groups: [...summaries.values()], members: [...changed.values()], suppressions };
}
