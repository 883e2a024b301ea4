import { continuedElsewhere } from '../../domain/grouping/flush.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from '../../domain/grouping/group.ts';
import { routeOnce } from '../../domain/grouping/sorts/sort.ts';
import { type Route, routeOfGroup, routesFor } from '../../domain/routing/route.ts';
import type { Transaction } from '../../store/store.ts';
import { abandonIncident } from '../incidents.ts';
import { decideFlush } from './decide-flush.ts';
import type { FlushContext } from './flush-context.ts';
import { holdBack, membersFor } from './gathered-groups.ts';
import { muteAlerts } from './load-group.ts';
import { notify } from './notify.ts';
import { settleGroup } from './settle-group.ts';

/**
 * Notifies the receiver that a group had before the configuration changed, if its route now has another one or is gone:
 * what the receiver knows as firing is over, or continues without it. Nobody else would notify it of the end. If another
 * group continues to notify it, that group learns what it knows. Returns the group as it is stored then.
 */
export async function notifyFormerReceiver(context: FlushContext, group: Group): Promise<Group> {
  const { tx, config, tally, nowUs } = context;
  const { receiver } = group;
  const route = routeOfGroup(config.route, group);
  const isConfigured = config.receivers.some(({ name }) => name === receiver);
  if (group.sort !== 'route' || route?.receiver === receiver || !isConfigured) return group;
  const known = (await tx.groups.members(group.key)).filter(isKnownAsFiring);
  const isToEnd = (one: AlertInGroup) => isOver(one) || !isReached(config.route, one.alert.labels, receiver);
  const going = known.filter((one) => !isToEnd(one));
  await passOn(tx, group, going);
  const inGroup = known.filter(isToEnd).map(({ alert, member }) => ({
    member,
    alert: alert.state === 'firing' ? continuedElsewhere(alert, nowUs) : alert,
  }));
  if (inGroup.length === 0) return group;
  const loaded = { group, inGroup, route: routeOnce(route ?? config.route, receiver) };
  const muted = await muteAlerts(context, loaded);
  const flushed = await decideFlush(context, muted);
  // The group may be gone by the time when other ends are told.
  const notified = await notify({ ...context, isAtOnce: true }, muted, flushed);
  await settleGroup(context, muted, flushed, notified);
  // The group itself continues without the receiver and waits no longer for an inhibited end.
  if (muted.waiting.length > 0) {
    tally.queued += await abandonIncident(tx, config.receivers, group, muted.waiting, nowUs);
    const waiting = muted.waiting.map(({ member }) => member);
    await holdBack(context, { ...muted, open: muted.waiting }, waiting, nowUs);
    await tx.groups.putMembers(waiting.map((member) => ({ ...member, notifiedState: 'resolved' })));
  }
  return (await tx.groups.list([group.key]))[0] ?? group;
}

/** Notes in the receiver's other groups which alerts it knows as firing, with which events. */
async function passOn(tx: Transaction, group: Group, going: readonly AlertInGroup[]): Promise<void> {
  if (going.length === 0) return;
  const before = new Map(going.map(({ member }) => [member.alertId, member]));
  const members = await membersFor(tx, group.receiver, [...before.keys()], ['route']);
  const beginning = members.filter(
    ({ groupKey, notifiedState }) => groupKey !== group.key && notifiedState === 'none',
  );
  await tx.groups.putMembers(
    beginning.map((member) => {
      const known = before.get(member.alertId)!.notifiedSeq;
      const notifiedSeq = known === HAS_LEFT ? member.notifiedSeq : Math.max(member.notifiedSeq, known);
      return { ...member, notifiedSeq, notifiedState: 'hidden' };
    }),
  );
}

function isKnownAsFiring({ member }: AlertInGroup): boolean {
  return member.notifiedState === 'firing' || member.notifiedState === 'hidden';
}

/** Another group may notify of the end of an alert that has left this one. */
function isOver({ member, alert }: AlertInGroup): boolean {
  return member.notifiedSeq !== HAS_LEFT && alert.state !== 'firing';
}

function isReached(root: Route, labels: AlertInGroup['alert']['labels'], receiver: string): boolean {
  return routesFor(root, labels).some((route) => route.receiver === receiver);
}
