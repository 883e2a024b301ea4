import { type GroupMember, HAS_LEFT } from '../alerts/group.ts';
import { isAside } from '../alerts/route.ts';
import type { Transaction } from '../store/store.ts';

/**
 * What was held back is told up to the present moment, with events that the alerts' own groups have not come to yet:
 * to these groups of the same receiver it is told as well, so that none of it is told again. A group that has told
 * nothing of an alert begins with it as always.
 */
export async function passOn(tx: Transaction, receiver: string, told: readonly GroupMember[]): Promise<void> {
  const byAlert = new Map(told.map((member) => [member.alertId, member]));
  const members = (await tx.groupsOfAlerts([...byAlert.keys()])).filter(
    ({ groupKey, toldSeq, toldState }) =>
      !isAside(groupKey) && toldSeq !== HAS_LEFT && (toldState === 'firing' || toldState === 'resolved'),
  );
  const groups = await tx.groups([...new Set(members.map(({ groupKey }) => groupKey))]);
  const own = new Set(groups.filter((group) => group.receiver === receiver).map(({ key }) => key));
  await tx.putGroupMembers(
    members
      .filter(({ groupKey }) => own.has(groupKey))
      .map((member) => {
        const { toldSeq, toldState } = byAlert.get(member.alertId)!;
        return { ...member, toldSeq: Math.max(member.toldSeq, toldSeq), toldState };
      }),
  );
}
