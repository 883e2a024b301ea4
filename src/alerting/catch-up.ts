/** Sets old news aside while alerts are joined, and sums it up when the summary is due (`domain/grouping/catching-up.ts`). */
import type { Alert } from '../domain/alert/alert.ts';
import {
  afterSummary,
  awaitSummary,
  catchingUpKey,
  countSetAside,
  setAside,
  summarize,
  wentOn,
} from '../domain/grouping/catching-up.ts';
import type { Flush } from '../domain/grouping/flush.ts';
import { type Group, type GroupMember, HAS_LEFT, type Standing } from '../domain/grouping/group.ts';
import { isAside, type Route, routeAt } from '../domain/muting/route.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { Transaction } from '../store/store.ts';

/** An alert with its members and their groups, each by its key, as they are about to be stored. */
export interface Enrolled {
  readonly alert: Alert;
  readonly members: ReadonlyMap<string, GroupMember>;
  readonly groups: Map<string, Group>;
}

/** What is to be written. */
export interface SetAside {
  readonly groups: readonly Group[];
  readonly members: readonly GroupMember[];
  readonly suppressions: readonly Suppression[];
}

/** Sets aside what is old of the untold events of an alert; the summaries join `groups`. */
export async function setOldAside(
  tx: Transaction,
  { alert, members, groups }: Enrolled,
  root: Route,
  maxAgeUs: number,
  nowUs: number,
): Promise<SetAside> {
  const changed = new Map<string, GroupMember>();
  const summaries = new Map<string, Group>();
  const suppressions: Suppression[] = [];
  for (const member of members.values()) {
    if (isAside(member.groupKey) || member.notifiedSeq >= alert.lastSeq) continue;
    const old = await tx.alerts.oldEvents(alert.id, member.notifiedSeq, maxAgeUs, alert.lastSeq);
    const own = groups.get(member.groupKey);
    if (!old || !own) continue;
    const receiver = receiverOf(root, own);
    const key = catchingUpKey(receiver);
    const stored = groups.get(key) ?? (await tx.groups.list([key]))[0];
    const summary = awaitSummary(stored, receiver, old, root, nowUs);
    groups.set(key, summary);
    summaries.set(key, summary);
    const before = changed.get(key) ?? members.get(key);
    const notifiedSeq = Math.min(before?.notifiedSeq ?? member.notifiedSeq, member.notifiedSeq);
    changed.set(key, { groupKey: key, alertId: alert.id, notifiedSeq, notifiedState: 'none' });
    changed.set(member.groupKey, setAside(member, alert, old));
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

/** Counts what was set aside of each of these alerts, and decides what the summary tells. */
export async function flushSummary(
  tx: Transaction,
  group: Group,
  standings: readonly Standing[],
  nowUs: number,
): Promise<Flush> {
  const counts = new Map<string, number>();
  for (const [index, { alert, member }] of standings.entries()) {
    const suppressions = await tx.suppressions.ofAlert(alert.id);
    counts.set(alert.id, countSetAside(suppressions, group.receiver, member.notifiedSeq));
    if (index % 100 === 99) await tx.pause();
  }
  return summarize(group, standings, counts, nowUs);
}

/** Has the alerts' own groups go on from a summary that was told. */
export async function goOn(
  tx: Transaction,
  root: Route,
  group: Group,
  standings: readonly Standing[],
  nowUs: number,
): Promise<void> {
  const alerts = new Map(standings.map(({ alert }) => [alert.id, alert]));
  const members = (await tx.groups.membersOfAlerts([...alerts.keys()])).filter(
    ({ groupKey, notifiedSeq, notifiedState }) =>
      !isAside(groupKey) && notifiedSeq !== HAS_LEFT && notifiedState === 'summary',
  );
  const groups = new Map(
    (await tx.groups.list(members.map(({ groupKey }) => groupKey))).map((one) => [one.key, one]),
  );
  const going = new Map<string, Group>();
  for (const member of members) {
    const own = groups.get(member.groupKey);
    const alert = alerts.get(member.alertId);
    if (!own || !alert || receiverOf(root, own) !== group.receiver) continue;
    await tx.groups.putMembers([afterSummary(member, alert)]);
    if (alert.state === 'firing') going.set(own.key, wentOn(own, nowUs));
  }
  await tx.groups.put([...going.values()]);
  await tx.groups.deleteMembers(standings.map(({ member }) => member));
}

/** Of an alert's own group, by the present configuration. */
function receiverOf(root: Route, group: Group): string {
  return routeAt(root, group.route)?.receiver ?? group.receiver;
}
