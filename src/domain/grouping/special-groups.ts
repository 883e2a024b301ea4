/**
 * Groups beside those of the route tree: their keys begin with a word where those of the tree begin with `{}`. The
 * alerts in them stay members of their own groups, which know nothing of it.
 *
 * - An *escalation* holds the alerts that one flush told as firing for the first time. It is due `escalate_after`
 *   later; what still fires then, and is not muted, is told to the second receiver once, and so is its end.
 * - *Held back* holds what a receiver with a cap was not told. It is due when the receiver may be told again, tells
 *   all of it as one, and is gone. Where the configuration no longer has that receiver, the alerts' own groups tell it.
 * - *Catching up* holds what is to be told in a summary (`catching-up.ts`).
 */

import { hash64 } from '../alert/fingerprint.ts';
import { isAside, type Route, routeAt } from '../muting/route.ts';
import { isCatchingUp } from './catching-up.ts';
import type { Group, GroupMember, Standing } from './group.ts';

const ESCALATION = 'escalation:';
const HELD_BACK = 'held-back:';
/** How often a held-back group that could not be told is looked at. */
const HELD_BACK_INTERVAL_MS = 60_000;

/** True for a group whose instant is the point of it: it is never told before. */
export function isTimed(groupKey: string): boolean {
  return groupKey.startsWith(ESCALATION) || isHeldBack(groupKey);
}

export function isEscalation(groupKey: string): boolean {
  return groupKey.startsWith(ESCALATION);
}

export function isHeldBack(groupKey: string): boolean {
  return groupKey.startsWith(HELD_BACK);
}

export function heldBackKey(receiver: string): string {
  return `${HELD_BACK}${receiver}`;
}

/** A new group for what this receiver is not told before `freeAtUs`. */
export function heldBackGroup(receiver: string, freeAtUs: number): Group {
  return {
    key: heldBackKey(receiver),
    route: '',
    receiver,
    labels: {},
    nextFlushAtUs: freeAtUs,
    notifiedAtUs: 0,
    thread: '',
    notifications: 0,
  };
}

/**
 * The group and members that will tell the second receiver of what a flush tells as firing for the first time;
 * undefined where that is nothing, or the route escalates nothing. `told` are the members as the flush leaves them.
 */
export function escalate(
  group: Group,
  standings: readonly Standing[],
  told: readonly GroupMember[],
  route: Route,
  nowUs: number,
): { group: Group; members: GroupMember[] } | undefined {
  if (!route.escalation || isAside(group.key)) return undefined;
  const before = new Map(standings.map(({ member }) => [member.alertId, member]));
  const fresh = told.flatMap((member) => {
    const known = before.get(member.alertId);
    const isFirst = known?.notifiedState === 'none' || known?.notifiedState === 'resolved';
    return isFirst && member.notifiedState === 'firing' ? [known] : [];
  });
  if (fresh.length === 0) return undefined;
  const key = `${ESCALATION}${hash64([group.key, String(nowUs)])}:${group.key}`;
  return {
    group: {
      ...heldBackGroup(route.escalation.receiver, nowUs + route.escalation.afterMs * 1000),
      key,
      route: group.route,
      labels: group.labels,
    },
    members: fresh.map((member) => ({ ...member, groupKey: key, notifiedState: 'none' })),
  };
}

/** The route by which a group aside is told; undefined when the present configuration has none for it. */
export function asideRoute(root: Route, group: Group): Route | undefined {
  const own = { matchers: [], continue: false, routes: [], repeatIntervalMs: Number.POSITIVE_INFINITY };
  if (isHeldBack(group.key) || isCatchingUp(group.key)) {
    return { ...root, ...own, receiver: group.receiver, groupIntervalMs: HELD_BACK_INTERVAL_MS };
  }
  const { escalation, ...route } = routeAt(root, group.route) ?? root;
  return escalation && { ...route, ...own, receiver: escalation.receiver };
}

/**
 * What a group aside still has to do with: an escalation forgets what was over before it was told, and what it told
 * of the end; new events of what it has told are not news there. The second list is to be deleted.
 */
export function asideStandings(
  group: Group,
  standings: readonly Standing[],
): { staying: Standing[]; leaving: GroupMember[] } {
  if (isHeldBack(group.key) || isCatchingUp(group.key)) return { staying: [...standings], leaving: [] };
  const isOver = ({ member, alert }: Standing) =>
    member.notifiedState === 'resolved' || (member.notifiedState === 'none' && alert.state !== 'firing');
  return {
    staying: standings
      .filter((one) => !isOver(one))
      .map(({ member, alert }) => ({
        alert,
        member: member.notifiedState === 'none' ? member : { ...member, notifiedSeq: alert.lastSeq },
      })),
    leaving: standings.filter(isOver).map(({ member }) => member),
  };
}
