/**
 * An escalation: alerts that one flush of a route notified as firing for the first time. It is due `escalate_after`
 * later. What still fires then, unmuted, is sent to the route's second receiver once, and later its end. New events
 * are not sent there. If escalations of several routes lead to the same receiver, the first one notifies it; the
 * others leave that alert out. An alert that ends before its escalation is due leaves it, even if it fires again by
 * then: its new episode is escalated after its own first notification.
 */
import { hash64 } from '../../alert/alert.ts';
import { type Route, routeOfGroup } from '../../routing/route.ts';
import { flush } from '../flush.ts';
import { type AlertInGroup, type Group, type GroupMember, newGroup } from '../group.ts';
import { routeOnce, type Sort } from './sort.ts';

/** The key of an escalation begins with this, followed by a hash, a colon and the key of the escalated group. */
const PREFIX = 'escalation:';

/** States of members whose current episode nobody was notified of. */
const UNNOTIFIED: ReadonlySet<GroupMember['notifiedState']> = new Set(['none', 'resolved', 'summary']);

export const ESCALATION: Sort = {
  isTimed: true,
  routeOf(group, root, isKnown) {
    const { escalation, ...route } = routeOfGroup(root, { ...group, key: followedKey(group) }) ?? root;
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
  const key = `${PREFIX}${hash64([group.key, String(nowUs)])}:${group.key}`;
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

/** Whether only a group that no longer exists has notified of the alert as firing. */
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
  return key.slice(key.indexOf(':', PREFIX.length) + 1);
}

/** Once its receiver was notified of an alert, only the alert's end is news. */
function withoutNewEvents({ member, alert }: AlertInGroup): AlertInGroup {
  if (member.notifiedState === 'none') return { member, alert };
  return { alert, member: { ...member, notifiedSeq: alert.lastSeq } };
}
