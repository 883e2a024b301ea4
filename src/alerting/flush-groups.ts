/**
 * Flushes the groups that are due, each in five stages, within the caller's transaction:
 *
 *   load ──► mute ──► decide ──► notify ──► settle
 *
 * - *load*: reads the group's alerts, and its route in the present configuration; without a route the group is
 *   dissolved. A receiver that the group had in an earlier configuration is notified once more before that
 *   (`notifyFormerReceiver`).
 * - *mute*: sets apart the alerts that a silence, an inhibition or a time interval mutes. They wait, or are suppressed
 *   for good.
 * - *decide*: decides whether the group notifies now, and of what, by the pure functions of its sort
 *   (`domain/grouping/sorts.ts`).
 * - *notify*: queues a delivery for each integration concerned, unless the receiver is throttled.
 * - *settle*: writes what the group has notified of, and resolves incidents in which nothing fires any more.
 *
 * A group that a flood of alerts is joining waits for more of them first, for 2 s at most (`isFlooded`).
 *
 * If a stage fails, all that it did for that group is rolled back and the group is set aside for a while. The other
 * groups are flushed.
 */
import { createServiceLinks } from '../config/sections/regions-section.ts';
import { hash64 } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import { commonLabels } from '../domain/alert/labels.ts';
import {
  continuedElsewhere,
  eventsOfEach,
  type Flush,
  isFlooded,
  type Listed,
} from '../domain/grouping/flush.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from '../domain/grouping/group.ts';
import { countLeftToSummary, isToEscalate, routeOnce, SORTS } from '../domain/grouping/sorts.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import { type Route, routeOfGroup, routesFor } from '../domain/routing/route.ts';
import { loadMuting } from '../store/load-muting.ts';
import { readPast } from '../store/read-history.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/clock.ts';
import { withoutOtherEnds } from './fallback.ts';
import { coveredBy } from './flush/draft-messages.ts';
import type { FlushConfig, FlushContext, MutedGroup } from './flush/flush-context.ts';
import {
  continueAfterSummary,
  createUnsettledGatherings,
  holdBack,
  membersFor,
  receiversHeldBackFrom,
} from './flush/gathered-groups.ts';
import { loadGroup, muteAlerts } from './flush/load-group.ts';
import { type Notified, notify } from './flush/notify.ts';
import { resolveIncident } from './incidents.ts';
import type { Growth } from './join-groups.ts';
import { NOTHING, noteFaults, type Step, setGroupAside, type Tally } from './step-runner.ts';

/** Limits of one transaction: the groups flushed, and the alerts after which no further group is begun. */
export const MOST_GROUPS = 400;
const BATCH_ALERTS = 1_000;

/** Which groups are flushed. */
interface Which {
  /** All groups, due or not, except timed ones (`Sort.isTimed`) that are not due. */
  readonly everyGroup: boolean;
  /** How many alerts joined each group since all that were due were last flushed, which clears it. A flooded group waits. */
  readonly growth: Growth;
  /** The most groups flushed. Default: `MOST_GROUPS`. */
  readonly most?: number;
  /**
   * All alerts that changed before this instant have joined (`untilUs` of `joinGroups`); Infinity for all (default). If
   * others wait, a group is flushed only if it was due by then and none of its alerts waits, so it tells all that it was
   * to tell when it was due.
   */
  readonly joinedUntilUs?: number;
}

export async function flushGroups(
  tx: Transaction,
  config: FlushConfig,
  recurrences: Recurrences,
  { everyGroup, growth, most = MOST_GROUPS, joinedUntilUs = Number.POSITIVE_INFINITY }: Which,
  nowUs: number,
): Promise<Step> {
  const [untilUs, limit] = everyGroup
    ? [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
    : [Math.min(nowUs, joinedUntilUs - 1), MOST_GROUPS];
  const areWaiting = joinedUntilUs < Number.POSITIVE_INFINITY;
  const found = await tx.groups.due(untilUs, limit, areWaiting);
  if (found.length === 0) return NOTHING;
  const due = everyGroup ? found : await foldEscalations(tx, found, areWaiting, nowUs);
  const muting = await loadMuting(tx, config, recurrences, nowUs);
  const serviceLinks = createServiceLinks(config.regions);
  const past = readPast(tx);
  const pauseAfter = pausing(tx);
  const heldBackFrom = await receiversHeldBackFrom(tx, config.receivers);
  const unsettledGatherings = createUnsettledGatherings(tx, config.receivers);
  const broken = new Set(await tx.faults.names('group'));
  const shared = {
    tx,
    config,
    muting,
    pauseAfter,
    heldBackFrom,
    unsettledGatherings,
    serviceLinks,
    past,
    isAtOnce: everyGroup,
    nowUs,
  };
  const batch: Batch = {
    due,
    mostGroups: everyGroup ? Number.POSITIVE_INFINITY : most,
    mostAlerts: everyGroup ? Number.POSITIVE_INFINITY : BATCH_ALERTS,
    isLeft: (group) =>
      everyGroup
        ? SORTS[group.sort].isTimed === true && group.nextFlushAtUs > nowUs
        : isFlooded(group, growth.get(group.key) ?? 0, nowUs),
    async flush(group, tally) {
      const alerts = await flushGroup({ ...shared, tally }, group);
      if (broken.has(group.key)) await tx.faults.mend('group', [group.key]);
      return alerts;
    },
  };
  const { done, tally } = (await flushTogether(tx, batch)) ?? (await flushSingly(tx, batch, nowUs));
  const faults = muting.faults();
  if (faults.length > 0) tally.happenings.push(...(await noteFaults(tx, faults, nowUs)));
  // A flooded group waits only until the next flush. Otherwise it would stay due and keep this step running.
  if (done === due.length && !areWaiting) growth.clear();
  return { done, isAll: everyGroup || (done === due.length && found.length < limit), ...tally };
}

interface Batch {
  readonly due: readonly Group[];
  readonly mostGroups: number;
  readonly mostAlerts: number;
  /** Whether a group is skipped for now. */
  isLeft(group: Group): boolean;
  /** Flushes a group; returns how many alerts it has. */
  flush(group: Group, tally: Tally): Promise<number>;
}

interface Flushed {
  /** Groups that were looked at. */
  readonly done: number;
  readonly tally: Tally;
}

/**
 * Flushes all in one savepoint, since one for each would cost as much as the flush itself. Undefined if a group fails.
 */
async function flushTogether(tx: Transaction, batch: Batch): Promise<Flushed | undefined> {
  const tally: Tally = { queued: 0, happenings: [] };
  const outcome = await tx.attempt(() => flushEach(batch, (group) => batch.flush(group, tally)));
  return outcome.ok ? { done: outcome.value, tally } : undefined;
}

/** Flushes each group in its own savepoint, and sets aside those that fail. */
async function flushSingly(tx: Transaction, batch: Batch, nowUs: number): Promise<Flushed> {
  const tally: Tally = { queued: 0, happenings: [] };
  const done = await flushEach(batch, async (group) => {
    const own: Tally = { queued: 0, happenings: [] };
    const outcome = await tx.attempt(() => batch.flush(group, own));
    if (!outcome.ok) {
      tally.happenings.push(...(await setGroupAside(tx, group, outcome.error, nowUs)));
      return 0;
    }
    tally.queued += own.queued;
    tally.happenings.push(...own.happenings);
    return outcome.value;
  });
  return { done, tally };
}

/** Flushes the groups in order until they are enough, or had enough alerts together; returns how many were looked at. */
async function flushEach(
  { due, mostGroups, mostAlerts, isLeft }: Batch,
  flushOne: (group: Group) => Promise<number>,
): Promise<number> {
  let done = 0;
  let groups = 0;
  let alerts = 0;
  for (const group of due) {
    if (groups >= mostGroups || alerts >= mostAlerts) break;
    done += 1;
    if (isLeft(group)) continue;
    groups += 1;
    alerts += await flushOne(group);
  }
  return done;
}

/** Flushes one group; returns how many alerts it has. */
async function flushGroup(context: FlushContext, group: Group): Promise<number> {
  const loaded = await loadGroup(context, await notifyFormerReceiver(context, group));
  if (loaded.route === undefined) return loaded.inGroup.length;
  const open = await muteAlerts(context, loaded);
  const muted = group.sort === 'fallback' ? await withoutOtherEnds(context, open) : open;
  const flushed = await decideFlush(context, muted);
  const notified = await notify(context, muted, flushed);
  await settleGroup(context, muted, flushed, notified);
  return loaded.inGroup.length;
}

/** Alerts handled between two pauses. */
const PAUSE_AFTER = 100;

/** Alerts whose events are read together to name a flush. */
const NAMED_AT_ONCE = 500;

/** Decides whether the group notifies now, and of what. */
async function decideFlush(
  { tx, nowUs }: FlushContext,
  { group, route, open, waiting }: MutedGroup,
): Promise<Flush> {
  const sort = SORTS[group.sort];
  const toSumUp = sort.sumsUp ? await countEvents(tx, group.receiver, open) : new Map();
  const flushed = sort.flush({ group, open, waiting, route, toSumUp, nowUs });
  const named = await nameAfterWhatItTells(tx, flushed);
  const lasts = flushed.firingTotal === 0 && waiting.some(({ alert }) => alert.state === 'firing');
  return group.acknowledged && lasts ? { ...named, incidentLasts: true } : named;
}

/**
 * Names the flush after what it tells: the states and the events that it lists. If the store loses it, because a standby
 * without the last commits took over, the one made again comes under the same ids, by which receivers drop repeats. One
 * that tells anything else must not, since they would drop news. A thread that the store still has keeps its name to
 * itself: a group that was made anew may tell the same once more.
 */
async function nameAfterWhatItTells(tx: Transaction, flushed: Flush): Promise<Flush> {
  const { reason, listed, group, threadPosition } = flushed;
  if (reason === null) return flushed;
  const limit = eventsOfEach(listed.filter(({ newEvents }) => newEvents > 0));
  const of = new Map<Listed, readonly Event[]>();
  const parts: string[] = [];
  let lastUs: number | undefined;
  for (let from = 0; from < listed.length; from += NAMED_AT_ONCE) {
    if (from > 0) await tx.pause();
    const some = listed.slice(from, from + NAMED_AT_ONCE);
    const events = await tx.alerts.eventsOf(coveredBy(some), limit);
    for (const one of some) {
      const { alert, status, afterSeq, newEvents } = one;
      const told = events.get(alert.id) ?? [];
      if (listed.length <= NAMED_AT_ONCE) of.set(one, told);
      parts.push(JSON.stringify([alert.id, status, afterSeq, newEvents, ...told.map(({ key }) => key)]));
      for (const event of told) lastUs = Math.max(lastUs ?? 0, statedUs(event));
    }
  }
  const named = {
    ...flushed,
    told: hash64([group.key, group.receiver, ...parts.toSorted()]),
    ...(of.size > 0 && { read: { limit, of } }),
  };
  if (threadPosition > 0 || lastUs === undefined) return named;
  // The time comes first for the same reason as in other threads: such ids arrive almost in order.
  const thread = `${lastUs.toString(36)}-${named.told}`;
  const isTaken = await tx.outbox.hasIdsOf(thread);
  return isTaken ? named : { ...named, thread, group: { ...group, thread } };
}

/** An instant of the event that every reading finds the same. How exactly a Flight's end is known differs among them. */
function statedUs({ occurredAtUs, attributes }: Event): number {
  return typeof attributes.started_at_us === 'number' ? attributes.started_at_us : occurredAtUs;
}

/** How many events of each alert were left to the receiver's summary. */
async function countEvents(
  tx: Transaction,
  receiver: string,
  open: readonly AlertInGroup[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [index, { alert, member }] of open.entries()) {
    const suppressions = await tx.suppressions.ofPresent(alert.id);
    counts.set(alert.id, countLeftToSummary(suppressions, receiver, member.notifiedSeq));
    if (index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return counts;
}

/** Writes what a flush leaves of the group, and resolves incidents in which nothing fires any more. */
async function settleGroup(
  context: FlushContext,
  muted: MutedGroup,
  flushed: Flush,
  notified: Notified,
): Promise<void> {
  const { tx, config, tally, nowUs } = context;
  const { group, inGroup, open, waiting } = muted;
  // What fires again before its end is told is not news, and so is not escalated anew.
  if (!notified.isPostponed) await leaveEscalations(tx, muted);
  const sort = SORTS[group.sort];
  const isSpent = sort.isSpentOnceNotified && !notified.isPostponed;
  if (sort.sumsUp && !notified.isPostponed) {
    await continueAfterSummary(context, group, open);
  }
  // A spent group is kept only for alerts that are still muted.
  if (isSpent && waiting.length === 0) return tx.groups.delete([group.key]);
  const { acknowledged, ...after } = notified.group;
  const lasts = flushed.firingTotal === 0 && waiting.length > 0;
  // An incident stays acknowledged only while all that fires in it is muted.
  await tx.groups.put([lasts ? notified.group : after]);
  const isOver = flushed.firingTotal === 0 && waiting.length === 0;
  if (isOver && flushed.reason === null) {
    tally.queued += await resolveIncident(tx, config.receivers, notified.group, inGroup, nowUs);
  }
  if (isSpent) await tx.groups.deleteMembers(open.map(({ member }) => member));
  else await tx.groups.putMembers(notified.members);
}

/**
 * Takes alerts that have resolved, and that the group had notified of as firing, out of escalations that are not yet
 * due.
 */
async function leaveEscalations(
  tx: Transaction,
  { group, inGroup, route, waiting }: MutedGroup,
): Promise<void> {
  if (!route.escalation || group.sort !== 'route') return;
  const muted = new Set(waiting.map(({ alert }) => alert.id));
  const over = inGroup.filter((one) => isOver(one) && !muted.has(one.alert.id));
  if (over.length === 0) return;
  const members = await tx.groups.membersOfAlerts(over.map(({ alert }) => alert.id));
  await tx.groups.deleteMembers(members.filter((member) => isToEscalate(member, group)));
}

function isOver({ member, alert }: AlertInGroup): boolean {
  const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
  return wasFiring && (member.notifiedSeq === HAS_LEFT || alert.state !== 'firing');
}

/**
 * Notifies the receiver that a group had before the configuration changed, if its route now has another one or is gone:
 * what the receiver knows as firing is over, or continues without it. Nobody else would notify it of the end. If another
 * group continues to notify it, that group learns what it knows. Returns the group as it is stored then.
 */
async function notifyFormerReceiver(context: FlushContext, group: Group): Promise<Group> {
  const { tx, config, tally, nowUs } = context;
  const { receiver } = group;
  const route = routeOfGroup(config.route, group);
  const isConfigured = config.receivers.some(({ name }) => name === receiver);
  if (group.sort !== 'route' || route?.receiver === receiver || !isConfigured) return group;
  const known = (await tx.groups.members(group.key)).filter(isKnownAsFiring);
  const isToEnd = (one: AlertInGroup) => isEnded(one) || !isReached(config.route, one.alert.labels, receiver);
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
    tally.queued += await resolveIncident(tx, config.receivers, group, muted.waiting, nowUs);
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
function isEnded({ member, alert }: AlertInGroup): boolean {
  return member.notifiedSeq !== HAS_LEFT && alert.state !== 'firing';
}

function isReached(root: Route, labels: AlertInGroup['alert']['labels'], receiver: string): boolean {
  return routesFor(root, labels).some((route) => route.receiver === receiver);
}

/** Escalations that are due up to this long after a flush go with those that it sends. */
const FOLD_US = 30_000_000;

/**
 * Folds escalations by one route to one receiver that are due at about the same time into the first of them, so that one
 * message tells of all. Where the route groups by Nest, they are of one Nest. While alerts are waiting to join
 * (`areWaiting`), groups that have any of these are left alone. Of its labels the first keeps those that all share.
 * Returns the groups that are still due.
 */
async function foldEscalations(
  tx: Transaction,
  due: readonly Group[],
  areWaiting: boolean,
  nowUs: number,
): Promise<readonly Group[]> {
  if (!due.some(isUntold)) return due;
  const soon = await tx.groups.due(nowUs + FOLD_US, MOST_GROUPS, areWaiting);
  const folded: string[] = [];
  const left = new Map(due.map((group) => [group.key, group]));
  for (const alike of Map.groupBy(soon.filter(isUntold), placeOf).values()) {
    const [first, ...others] = alike;
    if (!first || others.length === 0 || !left.has(first.key)) continue;
    for (const { key } of others) {
      const inGroup = await tx.groups.members(key);
      await tx.groups.putMembers(inGroup.map(({ member }) => ({ ...member, groupKey: first.key })));
      folded.push(key);
      left.delete(key);
    }
    const labels = commonLabels(alike.map((one) => one.labels));
    const ofAll = { ...first, labels, routedBy: first.labels };
    await tx.groups.put([ofAll]);
    left.set(first.key, ofAll);
  }
  await tx.groups.delete(folded);
  return [...left.values()];
}

function isUntold({ sort, notifications }: Group): boolean {
  return sort === 'escalation' && notifications === 0;
}

function placeOf({ receiver, route, labels: { region, nest, nest_id } }: Group): string {
  return JSON.stringify([receiver, route, region, nest, nest_id]);
}
