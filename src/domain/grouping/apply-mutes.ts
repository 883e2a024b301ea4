/**
 * Decides what happens to a group's alerts while they are muted, as in Alertmanager, with one exception:
 *
 * - A firing alert waits: the first flush that finds it no longer muted notifies of it, with all its events.
 * - The end of an alert is suppressed for good, with the reason. Somebody wanted that, by a silence or a time
 *   interval, even if the receiver was notified that the alert fires.
 * - The exception: an inhibited end waits. Nobody asked for it, and whoever was notified that the alert fires would
 *   believe it fires for ever. If it is inhibited by the alert about a shared cause, it does not wait either.
 */

import type { Labels } from '../alert/alert.ts';
import type { Mute, Muting } from '../muting/muting.ts';
import type { Suppression } from '../muting/suppression.ts';
import { type Route, routesFor } from '../routing/route.ts';
import { type AlertInGroup, type Group, type GroupMember, HAS_LEFT, isNews } from './group.ts';
import { SORTS } from './sorts.ts';

interface Muted {
  /** Alerts that nothing mutes. */
  readonly open: readonly AlertInGroup[];
  /** Alerts that wait until nothing mutes them. */
  readonly waiting: readonly AlertInGroup[];
  /** Members whose news is suppressed, to be written. */
  readonly members: readonly GroupMember[];
  /** One for each of these members. */
  readonly suppressions: readonly Suppression[];
}

export function applyMutes(
  group: Group,
  inGroup: readonly AlertInGroup[],
  why: (alert: AlertInGroup['alert']) => Mute | null,
  nowUs: number,
): Muted {
  const open: AlertInGroup[] = [];
  const waiting: AlertInGroup[] = [];
  const members: GroupMember[] = [];
  const suppressions: Suppression[] = [];
  for (const standing of inGroup) {
    const { alert, member } = standing;
    const hasLeft = member.notifiedSeq === HAS_LEFT;
    const fires = isFiringHere(standing);
    const mute = isToBeMuted(standing) ? why(alertAsKnown(group, standing)) : null;
    const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
    if (mute === null || (mute.standsIn && wasFiring && !fires)) {
      open.push(standing);
    } else if (fires || (wasFiring && mute.reason === 'inhibited')) {
      waiting.push(standing);
    } else {
      const { groupKey, notifiedSeq, notifiedState } = member;
      members.push({
        ...member,
        notifiedSeq: hasLeft ? HAS_LEFT : alert.lastSeq,
        notifiedState: wasFiring ? 'resolved' : notifiedState,
      });
      suppressions.push({
        alertId: alert.id,
        afterSeq: hasLeft ? alert.lastSeq : notifiedSeq,
        lastSeq: alert.lastSeq,
        groupKey,
        receiver: group.receiver,
        reason: mute.reason,
        detail: mute.detail,
        atUs: nowUs,
      });
    }
  }
  return { open, waiting, members, suppressions };
}

/** An alert that neither fires nor is news need not be checked. */
export function isToBeMuted(standing: AlertInGroup): boolean {
  return isFiringHere(standing) || isNews(standing);
}

function isFiringHere({ alert, member }: AlertInGroup): boolean {
  return member.notifiedSeq !== HAS_LEFT && alert.state === 'firing';
}

/** An alert that left the group for other labels is judged by the labels that brought it there. */
export function alertAsKnown(group: Group, { alert, member }: AlertInGroup): AlertInGroup['alert'] {
  return member.notifiedSeq === HAS_LEFT ? { ...alert, labels: { ...alert.labels, ...group.labels } } : alert;
}

/**
 * The route whose time intervals apply to an alert of a group. A gathering group has none of its own: its alerts came
 * by the routes that lead to its receiver, and wait while all of those are muted.
 */
export function timedRoute(
  group: Group,
  route: Route,
  labels: Labels,
  root: Route,
  muting: Pick<Muting, 'ofRoute'>,
): Route {
  if (!SORTS[group.sort].gathers) return route;
  const own = routesFor(root, labels).filter(({ receiver }) => receiver === group.receiver);
  return own.find((one) => muting.ofRoute(one).length === 0) ?? own[0] ?? route;
}
