/**
 * What a group does not tell while it is muted, as Alertmanager has it but for one thing:
 *
 * - What fires waits: it is told, with all of its events, by the first flush that finds it no longer muted.
 * - What is over is never told: that is kept as a suppression, with the reason. Somebody wanted it so, by a silence or
 *   a time interval, even where the beginning was told.
 * - But the end of what was told waits where it is inhibited. Nobody wanted that, and whoever heard of the beginning
 *   would take it for open for ever.
 */

import type { Mute } from '../muting/muting.ts';
import type { Suppression } from '../muting/suppression.ts';
import { type AlertInGroup, type Group, type GroupMember, HAS_LEFT, isNews } from './group.ts';

export interface Withheld {
  /** What may be told. */
  readonly open: readonly AlertInGroup[];
  /** What waits for the end of its muting. */
  readonly waiting: readonly AlertInGroup[];
  /** Members whose news is never told any more, as they are to be written. */
  readonly members: readonly GroupMember[];
  /** One for each of these members. */
  readonly suppressions: readonly Suppression[];
}

export function applyMutes(
  group: Group,
  inGroup: readonly AlertInGroup[],
  why: (alert: AlertInGroup['alert']) => Mute | null,
  nowUs: number,
): Withheld {
  const open: AlertInGroup[] = [];
  const waiting: AlertInGroup[] = [];
  const members: GroupMember[] = [];
  const suppressions: Suppression[] = [];
  for (const standing of inGroup) {
    const { alert, member } = standing;
    const hasLeft = member.notifiedSeq === HAS_LEFT;
    const fires = !hasLeft && alert.state === 'firing';
    // What is neither firing nor news is nothing to mute.
    const mute = fires || isNews(standing) ? why(alertAsKnown(group, standing)) : null;
    const isTold = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
    if (mute === null) {
      open.push(standing);
    } else if (fires || (isTold && mute.reason === 'inhibited')) {
      waiting.push(standing);
    } else {
      const { groupKey, notifiedSeq, notifiedState } = member;
      members.push({
        ...member,
        notifiedSeq: hasLeft ? HAS_LEFT : alert.lastSeq,
        notifiedState: isTold ? 'resolved' : notifiedState,
      });
      suppressions.push({
        alertId: alert.id,
        afterSeq: hasLeft ? alert.lastSeq : notifiedSeq,
        lastSeq: alert.lastSeq,
        groupKey,
        receiver: group.receiver,
        ...mute,
        atUs: nowUs,
      });
    }
  }
  return { open, waiting, members, suppressions };
}

/** One that left the group for other labels is judged by those that brought it there. */
function alertAsKnown(group: Group, { alert, member }: AlertInGroup): AlertInGroup['alert'] {
  return member.notifiedSeq === HAS_LEFT ? { ...alert, labels: { ...alert.labels, ...group.labels } } : alert;
}
