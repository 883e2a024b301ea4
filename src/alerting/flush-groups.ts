/**
 * Flushes groups: decides whether one notifies now, has it told (`notify.ts`) and keeps what has been told, all in
 * the transaction of the caller.
 */

import type { Config } from '../config/config.ts';
import { assignGroups, groupKeysFor } from '../domain/grouping/assign-groups.ts';
import { isCatchingUp } from '../domain/grouping/catching-up.ts';
import { flush } from '../domain/grouping/flush.ts';
import { type Group, HAS_LEFT, isSettled, type Standing } from '../domain/grouping/group.ts';
import { asideRoute, asideStandings, isTimed } from '../domain/grouping/special-groups.ts';
import { groupKey, isAside, type Route, routeAt } from '../domain/muting/route.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import type { Happening } from '../report.ts';
import { loadMuting, type MutingConfig } from '../store/load-muting.ts';
import type { Transaction } from '../store/store.ts';
import { flushSummary, goOn } from './catch-up.ts';
import { giveBack } from './held-back.ts';
import { abandonIncident, settleIncidents } from './incidents.ts';
import { keepMuted } from './mute-members.ts';
import { tell } from './notify.ts';
import { NOTHING, type Step } from './step.ts';

/** Groups flushed in one transaction, and alerts after which no other group is begun in it. */
const BATCH = 200;
const BATCH_ALERTS = 1_000;

/** How long a resolved alert that was told everywhere can still be seen. */
const SETTLED_FOR_US = 3_600_000_000;

export async function flushDue(
  tx: Transaction,
  config: MutingConfig & Pick<Config, 'route' | 'receivers'>,
  recurrences: Recurrences,
  nowUs: number,
  everyGroup: boolean,
): Promise<Step> {
  const due = await tx.groups.due(
    everyGroup ? Number.MAX_SAFE_INTEGER : nowUs,
    everyGroup ? Number.MAX_SAFE_INTEGER : BATCH,
  );
  if (due.length === 0) return NOTHING;
  let done = 0;
  let alerts = 0;
  let queued = 0;
  const happenings: Happening[] = [];
  const muting = await loadMuting(tx, config, recurrences, nowUs);
  for (const group of due) {
    if (alerts >= BATCH_ALERTS && !everyGroup) break;
    done += 1;
    // A hurry does not change what these wait for.
    if (isTimed(group.key) && group.nextFlushAtUs > nowUs) continue;
    if (!config.receivers.some(({ name }) => name === group.receiver)) await giveBack(tx, group.receiver);
    const stored = await withoutSettled(tx, await tx.groups.members(group.key), nowUs);
    alerts += stored.length;
    const { standings, route } = await present(tx, config.route, group, stored);
    if (standings.length === 0 || (!route && isAside(group.key))) {
      queued += await abandonIncident(tx, config.receivers, group, standings, nowUs);
      await tx.groups.delete([group.key]);
      continue;
    }
    if (!route) {
      queued += await abandonIncident(tx, config.receivers, group, standings, nowUs);
      await moveOut(tx, config.route, group, standings, nowUs);
      continue;
    }
    const { open, waiting, suppressed } = await keepMuted(tx, muting, { group, standings, route }, nowUs);
    happenings.push(...suppressed);
    const isSummary = isCatchingUp(group.key);
    const result = isSummary
      ? await flushSummary(tx, group, open, nowUs)
      : flush(group, open, route, nowUs, waiting);
    const lasts = result.firingTotal === 0 && waiting.some(({ alert }) => alert.state === 'firing');
    const flushed = group.acknowledged && lasts ? { ...result, incidentLasts: true as const } : result;
    const told = await tell(tx, config, { group, standings: open, route, flushed }, nowUs);
    queued += told.queued;
    happenings.push(...told.happenings);
    // Not where the receiver's cap puts the summary off.
    if (isSummary && told.group.notifiedAtUs === nowUs) await goOn(tx, config.route, group, open, nowUs);
    if (told.isOver && waiting.length === 0) {
      await tx.groups.delete([group.key]);
      continue;
    }
    const incident = { group: told.group, before: standings, flushed, waiting };
    const settled = await settleIncidents(tx, config.receivers, incident, nowUs);
    queued += settled.queued;
    await tx.groups.put([settled.group]);
    // Only what is still muted keeps a group that is over.
    if (told.isOver) await tx.groups.deleteMembers(open.map(({ member }) => member));
    else await tx.groups.putMembers(told.members);
  }
  return { done: everyGroup ? 0 : done, queued, happenings };
}

/** What a flush decides on: the members that count, and the route; without one in the present configuration. */
async function present(
  tx: Transaction,
  root: Route,
  group: Group,
  stored: readonly Standing[],
): Promise<{ standings: readonly Standing[]; route: Route | undefined }> {
  if (!isAside(group.key)) return { standings: stored, route: presentRoute(root, group) };
  const { staying, leaving } = asideStandings(group, stored);
  await tx.groups.deleteMembers(leaving);
  return { standings: staying, route: asideRoute(root, group) };
}

/** Lets go of alerts that are over and told everywhere, once they have been on the page for a while. */
async function withoutSettled(
  tx: Transaction,
  standings: readonly Standing[],
  nowUs: number,
): Promise<readonly Standing[]> {
  const old = standings.filter(
    ({ alert }) => alert.state === 'resolved' && alert.updatedAtUs < nowUs - SETTLED_FOR_US,
  );
  if (old.length === 0) return standings;
  const members = Map.groupBy(
    await tx.groups.membersOfAlerts(old.map(({ alert }) => alert.id)),
    (member) => member.alertId,
  );
  const gone = old.map(({ alert }) => alert).filter((alert) => isSettled(alert, members.get(alert.id) ?? []));
  const ids = new Set(gone.map((alert) => alert.id));
  await tx.groups.deleteMembers([...ids].flatMap((id) => members.get(id) ?? []));
  await tx.alerts.delete([...ids]);
  return standings.filter(({ alert }) => !ids.has(alert.id));
}

/** The group's route in the present configuration; undefined when that no longer has it. */
function presentRoute(root: Route, group: Group): Route | undefined {
  const route = routeAt(root, group.route);
  return route && groupKey(root, route, group.labels) === group.key ? route : undefined;
}

/** Moves a group's alerts to the groups of the present routes; what was told stays told. */
async function moveOut(
  tx: Transaction,
  root: Route,
  group: Group,
  standings: readonly Standing[],
  nowUs: number,
): Promise<void> {
  for (const { alert, member } of standings) {
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
  }
  await tx.groups.deleteMembers(standings.map(({ member }) => member));
  await tx.groups.delete([group.key]);
}
