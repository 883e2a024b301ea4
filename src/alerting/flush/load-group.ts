import { assignGroups, groupKeysFor } from '../../domain/grouping/assign-groups.ts';
import { type AlertInGroup, type Group, HAS_LEFT, isSettled } from '../../domain/grouping/group.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Route } from '../../domain/routing/route.ts';
import type { Transaction } from '../../store/store.ts';
import { abandonIncident } from '../incidents.ts';
import type { FlushContext, LoadedGroup } from './flush-context.ts';
import { giveBack } from './gathered-groups.ts';

/** How long a resolved alert of which every receiver was notified can still be seen on the page. */
const SETTLED_FOR_US = 3_600_000_000;

/** What it is to move one alert to other groups, beside comparisons with silences. */
const MOVING_WORK = 500;

const NONE: ReadonlySet<string> = new Set();

/**
 * Loads a group's alerts and its route. A group without alerts, or without a route in the present configuration, is
 * dissolved and comes back without a route; its alerts move to the groups of the routes that they reach now.
 */
export async function loadGroup(
  context: FlushContext,
  group: Group,
): Promise<LoadedGroup | (Omit<LoadedGroup, 'route'> & { readonly route: undefined })> {
  const { tx, config, tally, nowUs } = context;
  const sort = SORTS[group.sort];
  if (!config.receivers.some(({ name }) => name === group.receiver)) await giveBack(tx, group.receiver);
  const stored = await withoutSettled(tx, await tx.groups.members(group.key), nowUs);
  const { staying: selected, leaving } = sort.select(stored);
  const repeated = group.sort === 'escalation' ? await escalatedElsewhere(tx, group, selected) : NONE;
  const staying = selected.filter(({ alert }) => !repeated.has(alert.id));
  const dropped = selected.flatMap(({ alert, member }) => (repeated.has(alert.id) ? [member] : []));
  await tx.groups.deleteMembers([...leaving, ...dropped]);
  const route = sort.routeOf(group, config.route);
  if (route && staying.length > 0) return { group: placed(group, route), inGroup: staying, route };
  tally.queued += await abandonIncident(tx, config.receivers, group, staying, nowUs);
  if (group.sort === 'route') await moveOut(context, group, staying);
  await tx.groups.delete([group.key]);
  return { group, inGroup: stored, route: undefined };
}

/** The group of a route at the place where that stands now: the next flush finds it there. */
function placed(group: Group, { path }: Route): Group {
  return SORTS[group.sort].gathers || group.route === path ? group : { ...group, route: path };
}

/**
 * Of the alerts that an escalation has not notified of, those of which its receiver was notified by the escalation of
 * another route: several routes may lead an alert there, and the first to come is enough.
 */
async function escalatedElsewhere(
  tx: Transaction,
  group: Group,
  inGroup: readonly AlertInGroup[],
): Promise<ReadonlySet<string>> {
  const waiting = inGroup.filter(({ member }) => member.notifiedState === 'none');
  const members = (await tx.groups.membersOfAlerts(waiting.map(({ alert }) => alert.id))).filter(
    ({ sort, groupKey, notifiedState }) =>
      sort === 'escalation' && groupKey !== group.key && notifiedState !== 'none',
  );
  const others = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const keys = new Set(others.flatMap(({ key, receiver }) => (receiver === group.receiver ? [key] : [])));
  return new Set(members.flatMap(({ alertId, groupKey }) => (keys.has(groupKey) ? [alertId] : [])));
}

/** Deletes alerts that are over, and of which nobody is to be notified any more, once they were seen for a while. */
async function withoutSettled(
  tx: Transaction,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): Promise<readonly AlertInGroup[]> {
  const old = inGroup.filter(
    ({ alert }) => alert.state === 'resolved' && alert.updatedAtUs < nowUs - SETTLED_FOR_US,
  );
  if (old.length === 0) return inGroup;
  const members = Map.groupBy(
    await tx.groups.membersOfAlerts(old.map(({ alert }) => alert.id)),
    (member) => member.alertId,
  );
  const gone = old.map(({ alert }) => alert).filter((alert) => isSettled(alert, members.get(alert.id) ?? []));
  const ids = new Set(gone.map((alert) => alert.id));
  await tx.groups.deleteMembers([...ids].flatMap((id) => members.get(id) ?? []));
  await tx.alerts.delete([...ids]);
  return inGroup.filter(({ alert }) => !ids.has(alert.id));
}

/** Moves a group's alerts to the groups of the present routes, which do not notify of the same events again. */
async function moveOut(
  { tx, config, pauseAfter, nowUs }: FlushContext,
  group: Group,
  inGroup: readonly AlertInGroup[],
): Promise<void> {
  const root = config.route;
  for (const { alert, member } of inGroup) {
    const all = await tx.groups.membersOfAlerts([alert.id]);
    const members = all.filter((one) => one.groupKey !== group.key);
    const keys = [...groupKeysFor(root, alert), ...members.map((one) => one.groupKey)];
    const groups = new Map((await tx.groups.list(keys)).map((one) => [one.key, one]));
    const result = assignGroups(alert, root, { members, groups }, nowUs);
    const notifiedSeq = member.notifiedSeq === HAS_LEFT ? alert.lastSeq : member.notifiedSeq;
    await tx.groups.put(result.groups);
    await tx.groups.putMembers(
      result.members.map((one) => ({ ...one, notifiedSeq: Math.max(one.notifiedSeq, notifiedSeq) })),
    );
    await pauseAfter(MOVING_WORK);
  }
  await tx.groups.deleteMembers(inGroup.map(({ member }) => member));
}
