import { continuedElsewhere } from '../../domain/grouping/flush.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from '../../domain/grouping/group.ts';
import { routeOnce } from '../../domain/grouping/sorts/sort.ts';
import { type Route, routeOfGroup, routesFor } from '../../domain/routing/route.ts';
import { abandonIncident } from '../incidents.ts';
import { decideFlush } from './decide-flush.ts';
import type { FlushContext } from './flush-context.ts';
import { holdBack } from './gathered-groups.ts';
import { muteAlerts } from './mute-alerts.ts';
import { notify } from './notify.ts';
import { settleGroup } from './settle-group.ts';

/**
 * Notifies the receiver that a group had before the configuration changed, if its route now has another one or is gone:
 * what the receiver knows as firing is over, or continues without it. Nobody else would notify it of the end. Returns
 * the group as it is stored then.
 */
export async function notifyFormerReceiver(context: FlushContext, group: Group): Promise<Group> {
  const { tx, config, tally, nowUs } = context;
  const { receiver } = group;
  const route = routeOfGroup(config.route, group);
  const isConfigured = config.receivers.some(({ name }) => name === receiver);
  if (group.sort !== 'route' || route?.receiver === receiver || !isConfigured) return group;
  const known = (await tx.groups.members(group.key)).filter(isKnownAsFiring);
  const inGroup = known
    .filter(({ alert }) => alert.state !== 'firing' || !isReached(config.route, alert.labels, receiver))
    .map(({ alert, member }) => ({
      member,
      alert: alert.state === 'firing' ? continuedElsewhere(alert, nowUs) : alert,
    }));
  if (inGroup.length === 0) return group;
  const loaded = { group, inGroup, route: routeOnce(route ?? config.route, receiver) };
  const muted = await muteAlerts(context, loaded);
  const flushed = await decideFlush(context, muted);
  const notified = await notify(context, muted, flushed);
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

function isKnownAsFiring({ member }: AlertInGroup): boolean {
  const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
  return wasFiring && member.notifiedSeq !== HAS_LEFT;
}

function isReached(root: Route, labels: AlertInGroup['alert']['labels'], receiver: string): boolean {
  return routesFor(root, labels).some((route) => route.receiver === receiver);
}
