import { catchingUpKey } from '../domain/grouping/catching-up.ts';
import { type GroupMember, HAS_LEFT } from '../domain/grouping/group.ts';
import { heldBackKey, isHeldBack } from '../domain/grouping/special-groups.ts';
import { isAside } from '../domain/muting/route.ts';
import type { Transaction } from '../store/store.ts';

/**
 * What was held back is told up to the present moment, with events that the alerts' own groups have not come to yet:
 * to these groups of the same receiver it is told as well, so that none of it is told again. A group that has told
 * nothing of an alert begins with it as always.
 */
export async function passOn(tx: Transaction, receiver: string, told: readonly GroupMember[]): Promise<void> {
  const byAlert = new Map(told.map((member) => [member.alertId, member]));
  const members = (await tx.groups.membersOfAlerts([...byAlert.keys()])).filter(
    ({ groupKey, notifiedSeq, notifiedState }) =>
      !isAside(groupKey) &&
      notifiedSeq !== HAS_LEFT &&
      (notifiedState === 'firing' || notifiedState === 'resolved'),
  );
  const groups = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const own = new Set(groups.filter((group) => group.receiver === receiver).map(({ key }) => key));
  await tx.groups.putMembers(
    members
      .filter(({ groupKey }) => own.has(groupKey))
      .map((member) => {
        const { notifiedSeq, notifiedState } = byAlert.get(member.alertId)!;
        return { ...member, notifiedSeq: Math.max(member.notifiedSeq, notifiedSeq), notifiedState };
      }),
  );
}

/**
 * What a receiver was to be told later, and never will be, since the configuration no longer has it: it is news again for
 * the groups that it comes from, which tell it to the receiver that they have now. To be called before any of these is
 * flushed, since a flush gives it that receiver.
 */
export async function giveBack(tx: Transaction, receiver: string): Promise<void> {
  for (const { key } of await tx.groups.list([heldBackKey(receiver), catchingUpKey(receiver)])) {
    const later = new Map((await tx.groups.members(key)).map(({ member }) => [member.alertId, member]));
    const members = (await tx.groups.membersOfAlerts([...later.keys()])).filter(
      (one) => !isAside(one.groupKey),
    );
    const groups = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
    const own = new Set(groups.filter((group) => group.receiver === receiver).map((group) => group.key));
    await tx.groups.putMembers(
      members
        .filter(({ groupKey }) => own.has(groupKey))
        .map((member) => asBefore(member, later.get(member.alertId)!)),
    );
    await tx.groups.delete([key]);
  }
}

/** A member as it was before it left something to be told later. */
function asBefore(member: GroupMember, later: GroupMember): GroupMember {
  const notifiedSeq =
    member.notifiedSeq === HAS_LEFT ? HAS_LEFT : Math.min(member.notifiedSeq, later.notifiedSeq);
  if (isHeldBack(later.groupKey)) return { ...member, notifiedSeq, notifiedState: later.notifiedState };
  return {
    ...member,
    notifiedSeq,
    notifiedState: member.notifiedState === 'summary' ? 'none' : member.notifiedState,
  };
}
