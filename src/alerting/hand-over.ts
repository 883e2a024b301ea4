/**
 * What an alert about a shared cause tells is not told again with the alerts for which it stands in: they are marked as if
 * they had told the events that are its own, for the receivers that are told of it.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';
import { HAS_LEFT } from '../domain/grouping/group.ts';
import { flightFailed } from '../domain/kinds/failures/flight-failed.ts';
import { isPart, scopesOfCause, sharedCause } from '../domain/kinds/failures/shared-cause.ts';
import type { IsTold } from '../domain/muting/muting.ts';
import type { Transaction } from '../store/store.ts';

/** An alert with its members, by group key, as they are about to be stored. */
export interface JoinedAlert {
  readonly alert: Alert;
  readonly members: ReadonlyMap<string, GroupMember>;
}

/** The first events of a cause, among which are those of all alerts that joined their groups before it began. */
const FIRST_EVENTS = 200;

/** The members that change; `groups` are the groups of all members, by key. */
export async function handOver(
  tx: Transaction,
  joined: readonly JoinedAlert[],
  groups: ReadonlyMap<string, Group>,
  isTold: IsTold,
): Promise<GroupMember[]> {
  const parts = joined.filter(({ alert }) => alert.alertname === flightFailed.name && isPart(alert));
  const begun = joined.filter(
    ({ alert }) => alert.alertname === sharedCause.name && alert.state === 'firing',
  );
  const scopes = new Set(parts.flatMap(({ alert }) => scopesOfCause(alert.labels)));
  const causes = new Map<string, Alert>();
  for (const cause of scopes.size > 0 ? await tx.alerts.ofScopes([...scopes]) : []) {
    if (cause.state === 'firing') causes.set(cause.scope, cause);
  }
  const changed: GroupMember[] = [];
  const mark = (member: GroupMember, seq: number, cause: Alert, receiver: string | undefined) => {
    const isOpen = member.sort === 'route' && member.notifiedSeq !== HAS_LEFT && member.notifiedSeq < seq;
    if (isOpen && receiver !== undefined && isTold(cause.labels, receiver))
      changed.push({ ...member, notifiedSeq: seq });
  };
  for (const { alert, members } of causes.size > 0 ? parts : []) {
    const cause = scopesOfCause(alert.labels).flatMap((scope) => causes.get(scope) ?? [])[0];
    if (!cause) continue;
    for (const member of members.values()) {
      mark(member, alert.lastSeq, cause, groups.get(member.groupKey)?.receiver);
    }
  }
  for (const { alert: cause, members } of begun) {
    const isFirst = [...members.values()].some(({ notifiedSeq }) => notifiedSeq < cause.lastSeq);
    if (isFirst) await markParts(cause);
  }
  return changed;

  /** Those that joined their groups before the cause began. */
  async function markParts(cause: Alert): Promise<void> {
    const before = cause.lastSeq - cause.eventsTotal;
    const seqs = new Map(await tx.alerts.sharing(cause.id, before, before + FIRST_EVENTS));
    const members = await tx.groups.membersOfAlerts([...seqs.keys()]);
    const unknown = [...new Set(members.map(({ groupKey }) => groupKey))].filter((key) => !groups.has(key));
    const others = new Map((await tx.groups.list(unknown)).map((group) => [group.key, group]));
    for (const member of members) {
      const { receiver } = groups.get(member.groupKey) ?? others.get(member.groupKey) ?? {};
      mark(member, seqs.get(member.alertId) ?? 0, cause, receiver);
    }
  }
}
