/**
 * What a fallback was notified of as firing in place of another receiver. Soon after such an alert ended, the fallback
 * is notified of the end, once: the receiver itself may accept again by then, so that nothing else would go to the
 * fallback. New events are not sent there.
 *
 * A member that is `resolved` records that the fallback knows the end, so that it is not given the receiver's own
 * notification of it as well. It stays until its alert fires again or is deleted.
 */
import { type Alert, hash64 } from '../../alert/alert.ts';
import { type Route, routeOfGroup } from '../../routing/route.ts';
import { flush } from '../flush.ts';
import { type AlertInGroup, type Group, type GroupMember, isAtRest, newGroup } from '../group.ts';
import type { GroupNotification } from '../notification.ts';
import { routeOnce, type Sort } from './sort.ts';

/** The key begins with this, followed by a hash, a colon and the key of the group that the receiver was notified of. */
const PREFIX = 'fallback:';

/** An end is notified after the next flush of the receiver's own group at the earliest, and not much later. */
const LONGEST_INTERVAL_MS = 300_000;

export const FALLBACK: Sort = {
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
  return `${PREFIX}${hash64([fallback])}:${groupKey}`;
}

/** The key of a group as its receiver knows it: a fallback knows that of the group whose receiver it stands in for. */
export function keyForReceiver({ key }: Pick<Group, 'key'>): string {
  return key.startsWith(PREFIX) ? key.slice(key.indexOf(':', PREFIX.length) + 1) : key;
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
