import type { Route } from '../routing/route.ts';
import { type AlertInGroup, type Group, HAS_LEFT, newGroup } from './group.ts';

/**
 * Restarts the group of a route whose receiver changed with the configuration: it notifies of what fires in it, with
 * the events of the current episode. Alerts that are over, with their end notified, are not news for the new
 * receiver.
 */
export function beginAnew(
  group: Group,
  inGroup: readonly AlertInGroup[],
  { receiver }: Route,
): { readonly group: Group; readonly inGroup: readonly AlertInGroup[] } {
  const { sort, key, route, labels, nextFlushAtUs } = group;
  const begun = newGroup({ sort, key, route, receiver, labels, nextFlushAtUs });
  return { group: begun, inGroup: inGroup.map(asUnnoticed) };
}

function asUnnoticed({ member, alert }: AlertInGroup): AlertInGroup {
  if (member.notifiedSeq === HAS_LEFT) return { alert, member: { ...member, notifiedState: 'resolved' } };
  if (alert.state !== 'firing') return { alert, member };
  const notifiedSeq = Math.min(member.notifiedSeq, alert.lastSeq - alert.eventsTotal);
  return { alert, member: { ...member, notifiedSeq, notifiedState: 'none' } };
}
