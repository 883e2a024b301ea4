import { routeOfGroup } from '../../routing/route.ts';
import { flush } from '../flush.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  type GroupSort,
  HAS_LEFT,
  newGroup,
} from '../group.ts';
import { CATCH_UP } from './catch-up-sort.ts';
import { ESCALATION } from './escalation-sort.ts';
import { FALLBACK } from './fallback-sort.ts';
import { GATHERING_INTERVAL_MS, routeOnce, type Sort, selectAll } from './sort.ts';

const ROUTE: Sort = {
  routeOf: (group, root) => routeOfGroup(root, group),
  select: selectAll,
  flush,
};

// What a throttled receiver was not notified of (`throttle.ts`). One group per receiver becomes due as soon as the
// receiver may be notified again, notifies of everything at once, and is deleted. If the configuration no longer has
// the receiver, the alerts' groups of sort `route` notify of it.

const HELD_BACK: Sort = {
  isTimed: true,
  gathers: true,
  isSpentOnceNotified: true,
  routeOf: (group, root) => ({
    ...routeOnce(root, group.receiver),
    groupIntervalMs: GATHERING_INTERVAL_MS,
  }),
  select: selectAll,
  flush,
};

export function heldBackKey(receiver: string): string {
  return `held-back:${receiver}`;
}

/** A new group for what this receiver is not notified of before `freeAtUs`. */
export function heldBackGroup(receiver: string, freeAtUs: number): Group {
  return newGroup({
    sort: 'held_back',
    key: heldBackKey(receiver),
    route: '',
    receiver,
    labels: {},
    nextFlushAtUs: freeAtUs,
  });
}

/**
 * The member by which the receiver's held-back group takes over what a flush would have notified of an alert: the
 * group's own one before the flush. Of an alert that has left that group only the end is to be notified.
 */
export function heldBackMember(receiver: string, { member, alert }: AlertInGroup): GroupMember {
  const notifiedSeq = member.notifiedSeq === HAS_LEFT ? alert.lastSeq : member.notifiedSeq;
  return { ...member, notifiedSeq, groupKey: heldBackKey(receiver), sort: 'held_back' };
}

/** How groups are flushed, by sort. */
export const SORTS: Readonly<Record<GroupSort, Sort>> = {
  route: ROUTE,
  escalation: ESCALATION,
  fallback: FALLBACK,
  held_back: HELD_BACK,
  catch_up: CATCH_UP,
};
