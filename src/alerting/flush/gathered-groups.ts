/**
 * Groups that gather what the alerts' groups of sort `route` did not notify of: sorts `held_back` and `catch_up`. What
 * a gathering group has notified of, the others must not notify of again. What it never will notify of, they must.
 */
import type { Receiver } from '../../channels/receiver.ts';
import { continuedElsewhere, type NotifyingFlush } from '../../domain/grouping/flush.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  type GroupSort,
  HAS_LEFT,
} from '../../domain/grouping/group.ts';
import {
  catchUpKey,
  escalate,
  groupAfterSummary,
  heldBackGroup,
  heldBackKey,
  heldBackMember,
  memberAfterSummary,
  SORTS,
} from '../../domain/grouping/sorts.ts';
import { type Route, routeOfGroup } from '../../domain/routing/route.ts';
import type { Lane } from '../../store/outbox-store.ts';
import type { Transaction } from '../../store/store.ts';
import { destinationsOf, keepsIncidents, laneOf } from '../destination.ts';
import { NOTHING, type Step } from '../step-runner.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';

/** The work of letting one alert or group continue after a summary, in the unit of `pauseAfter`. */
const GOING_ON_WORK = 200;

/** Keeps what a flush would have notified of and changed, until the receiver may be notified again. */
export async function holdBack(
  { tx, heldBackFrom }: FlushContext,
  { open, route }: MutedGroup,
  changed: readonly GroupMember[],
  freeAtUs: number,
): Promise<void> {
  const ids = new Set(changed.map((member) => member.alertId));
  const known = await heldBackOf(tx, route.receiver, changed);
  const key = heldBackKey(route.receiver);
  const [group] = await tx.groups.list([key]);
  heldBackFrom.add(route.receiver);
  if (!group) await tx.groups.put([heldBackGroup(route.receiver, freeAtUs)]);
  // It may be waiting for muted alerts rather than for the receiver.
  else if (group.nextFlushAtUs > freeAtUs) await tx.groups.put([{ ...group, nextFlushAtUs: freeAtUs }]);
  const knownIds = new Set(known.map((member) => member.alertId));
  const news = open.filter(({ alert }) => ids.has(alert.id) && !knownIds.has(alert.id));
  const left = news.filter(({ member }) => member.notifiedSeq === HAS_LEFT).map(({ alert }) => alert.id);
  const present = left.length > 0 ? await presentFor(tx, route.receiver, left) : new Set();
  await tx.groups.putMembers(
    // Another group of the receiver goes on with an alert that is present.
    news.filter(({ alert }) => !present.has(alert.id)).map((one) => heldBackMember(route.receiver, one)),
  );
}

/**
 * Makes due what is held back from receivers that are no longer throttled, before all else: their other groups no
 * longer wait for it. To be called when a configuration takes effect.
 */
export async function releaseHeldBack(tx: Transaction, receivers: readonly Receiver[]): Promise<Step> {
  const free = receivers.filter(
    ({ maxNotificationsPerHour, foldStormsMs }) => (maxNotificationsPerHour ?? foldStormsMs) === undefined,
  );
  const groups = await tx.groups.list(free.map(({ name }) => heldBackKey(name)));
  await tx.groups.put(groups.map((group) => ({ ...group, nextFlushAtUs: 0 })));
  return NOTHING;
}

/** The receivers from which something is held back. */
export async function receiversHeldBackFrom(
  tx: Transaction,
  receivers: readonly Receiver[],
): Promise<Set<string>> {
  const groups = await tx.groups.list(receivers.map(({ name }) => heldBackKey(name)));
  return new Set(groups.map(({ receiver }) => receiver));
}

/** Whether anything about one of these alerts is held back from the receiver. */
export async function isAnyHeldBack(
  { tx, heldBackFrom }: FlushContext,
  receiver: string,
  members: readonly GroupMember[],
): Promise<boolean> {
  return heldBackFrom.has(receiver) && (await heldBackOf(tx, receiver, members)).length > 0;
}

/** The members of the same alerts in the receiver's held-back group. */
async function heldBackOf(
  tx: Transaction,
  receiver: string,
  members: readonly GroupMember[],
): Promise<GroupMember[]> {
  const key = heldBackKey(receiver);
  const all = await tx.groups.membersOfAlerts(members.map(({ alertId }) => alertId));
  return all.filter(({ groupKey }) => groupKey === key);
}

/**
 * Treats firing alerts of a gathering group as over that no other group of its receiver has any more: since routes
 * changed, for example. If the receiver believed that such an alert fires, nobody else would notify it of the end.
 */
export async function endOrphans(
  tx: Transaction,
  { receiver }: Group,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): Promise<readonly AlertInGroup[]> {
  const present = await presentFor(
    tx,
    receiver,
    inGroup.map(({ alert }) => alert.id),
  );
  return inGroup.map(({ alert, member }) => {
    const isOrphan = alert.state === 'firing' && !present.has(alert.id);
    return { alert: isOrphan ? continuedElsewhere(alert, nowUs) : alert, member };
  });
}

/** Which of these alerts are in a group of the receiver that gathers nothing. */
async function presentFor(
  tx: Transaction,
  receiver: string,
  alertIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const members = await membersFor(tx, receiver, alertIds, OWN_SORTS);
  return new Set(members.flatMap((one) => (one.notifiedSeq === HAS_LEFT ? [] : [one.alertId])));
}

/**
 * Notes in the receiver's other groups which events a held-back group has notified of. That group notifies of
 * everything up to now, including events, or a resolution, that the others have not come to yet. A group that has not
 * notified of an alert at all still begins with it, or with its end, but repeats none of these events. One that leaves
 * it to a summary does so as before.
 */
export async function noteInOthers(
  tx: Transaction,
  receiver: string,
  notified: readonly GroupMember[],
): Promise<void> {
  const byAlert = new Map(notified.map((member) => [member.alertId, member]));
  const members = (await membersFor(tx, receiver, [...byAlert.keys()], OWN_SORTS)).filter(
    ({ notifiedSeq, notifiedState }) => notifiedSeq !== HAS_LEFT && notifiedState !== 'summary',
  );
  await tx.groups.putMembers(
    members.map((member) => {
      const told = byAlert.get(member.alertId)!;
      const notifiedSeq = Math.max(member.notifiedSeq, told.notifiedSeq);
      return { ...member, notifiedSeq, notifiedState: stateAfter(member, told) };
    }),
  );
}

function stateAfter(member: GroupMember, told: GroupMember): GroupMember['notifiedState'] {
  if (member.notifiedState !== 'none') return told.notifiedState;
  return told.notifiedState === 'firing' ? 'hidden' : 'none';
}

/**
 * Gives back what was gathered for a receiver that is no longer configured. It is news again for the groups that it
 * came from, which notify the receiver that they have now. To be called before any of them is flushed, since a flush
 * gives them that receiver.
 */
export async function giveBack(tx: Transaction, receiver: string): Promise<void> {
  for (const { key } of await tx.groups.list([heldBackKey(receiver), catchUpKey(receiver)])) {
    const gathered = new Map((await tx.groups.members(key)).map(({ member }) => [member.alertId, member]));
    const members = await membersFor(tx, receiver, [...gathered.keys()], ['route']);
    await tx.groups.putMembers(members.map((member) => asBefore(member, gathered.get(member.alertId)!)));
    await tx.groups.delete([key]);
  }
}

/**
 * Lets the alerts' groups of sort `route` continue after a summary was sent, and escalates the alerts that still fire.
 */
export async function continueAfterSummary(
  { tx, config, pauseAfter, nowUs }: FlushContext,
  summary: Group,
  inSummary: readonly AlertInGroup[],
): Promise<void> {
  const root = config.route;
  const alerts = new Map(inSummary.map(({ alert }) => [alert.id, alert]));
  const members = (await tx.groups.membersOfAlerts([...alerts.keys()])).filter(
    ({ sort, notifiedSeq, notifiedState }) =>
      sort === 'route' && notifiedSeq !== HAS_LEFT && notifiedState === 'summary',
  );
  const stored = await tx.groups.list(members.map(({ groupKey }) => groupKey));
  const groups = new Map(stored.map((one) => [one.key, one]));
  const lasting: (AlertInGroup & { readonly own: Group })[] = [];
  for (const member of members) {
    const own = groups.get(member.groupKey);
    const alert = alerts.get(member.alertId);
    if (!own || !alert || receiverOf(root, own) !== summary.receiver) continue;
    await tx.groups.putMembers([memberAfterSummary(member, alert)]);
    if (alert.state === 'firing') lasting.push({ own, member, alert });
    await pauseAfter(GOING_ON_WORK);
  }
  for (const inGroup of Map.groupBy(lasting, ({ own }) => own.key).values()) {
    const { own } = inGroup[0]!;
    await tx.groups.put([groupAfterSummary(own, nowUs)]);
    await pauseAfter(GOING_ON_WORK);
    const notified = inGroup.map(({ member, alert }) => memberAfterSummary(member, alert));
    const escalation = escalate(own, inGroup, notified, routeOfGroup(root, own) ?? root, nowUs);
    if (!escalation) continue;
    await tx.groups.put([escalation.group]);
    await tx.groups.putMembers(escalation.members);
  }
  await tx.groups.deleteMembers(inSummary.map(({ member }) => member));
}

/** The receiver of a group of sort `route` in the present configuration. */
export function receiverOf(root: Route, group: Group): string {
  return routeOfGroup(root, group)?.receiver ?? group.receiver;
}

/** The sorts of groups that gather nothing. What is held back comes from these. */
export const OWN_SORTS: readonly GroupSort[] = ['route', 'escalation'];

/** The members of these alerts in the receiver's groups of these sorts. */
export async function membersFor(
  tx: Transaction,
  receiver: string,
  alertIds: readonly string[],
  sorts: readonly GroupSort[],
): Promise<GroupMember[]> {
  const members = (await tx.groups.membersOfAlerts(alertIds)).filter(({ sort }) => sorts.includes(sort));
  const groups = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const own = new Set(groups.filter((group) => group.receiver === receiver).map(({ key }) => key));
  return members.filter(({ groupKey }) => own.has(groupKey));
}

/** A member as it was before it left something to a gathering group. */
function asBefore(member: GroupMember, gathered: GroupMember): GroupMember {
  const notifiedSeq =
    member.notifiedSeq === HAS_LEFT ? HAS_LEFT : Math.min(member.notifiedSeq, gathered.notifiedSeq);
  if (gathered.sort === 'held_back') return { ...member, notifiedSeq, notifiedState: gathered.notifiedState };
  return {
    ...member,
    notifiedSeq,
    notifiedState: member.notifiedState === 'summary' ? 'none' : member.notifiedState,
  };
}

// Keeps the messages about one alert in order where several groups of a receiver notify of it: a gathering group
// (`gathered-groups.ts`) and the groups that it gathered from. Each group has its own lane in the outbox, so if a message
// of one waits for its next attempt, a later one of another would be sent before it, and the receiver would finally
// believe what no longer holds. So while a gathering group's message about some alerts is not settled, all messages about
// these alerts go into its lane.
//
// An incident has one lane anyway (`../incidents.ts`).

/** The lanes of a flush's messages, by the position of the integration; the group's own where none is given. */
type OtherLanes = ReadonlyMap<number, string>;

const OWN_LANES: OtherLanes = new Map();

/** Lanes looked at between two pauses: a summary may gather from thousands of groups. */
const PAUSE_AFTER = 500;

/**
 * Returns a function that resolves to the receivers to which something of a gathering group is not settled yet. It asks
 * the store when it is first called, since most flushes notify nobody.
 */
export function createUnsettledGatherings(
  tx: Transaction,
  receivers: readonly Receiver[],
): () => Promise<Set<string>> {
  let asked: Promise<Set<string>> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };

  async function ask(): Promise<Set<string>> {
    const lanes = receivers.flatMap(({ name, integrations }) =>
      destinationsOf(integrations).flatMap(([position]) =>
        gatheringKeys(name).map((key) => ({ receiver: name, position, lane: laneOf(position, key) })),
      ),
    );
    return new Set((await tx.outbox.unsettledLanes(lanes)).map(({ receiver }) => receiver));
  }
}

/** Decides in which lanes a receiver is sent the messages of a flush, and joins the lanes that must be one. */
export async function keepOrder(
  { tx, unsettledGatherings }: FlushContext,
  { group, listed }: NotifyingFlush,
  receiver: Receiver,
): Promise<OtherLanes> {
  const { gathers } = SORTS[group.sort];
  const unsettled = await unsettledGatherings();
  if (!gathers && !unsettled.has(receiver.name)) return OWN_LANES;
  if (gathers) unsettled.add(receiver.name);
  const alertIds = listed.map(({ alert }) => alert.id);
  const members = gathers ? await tx.groups.membersOfAlerts(alertIds) : [];
  const keys = new Set([...gatheringKeys(receiver.name), ...members.map(({ groupKey }) => groupKey)]);
  keys.delete(group.key);
  const others = new Map<number, string>();
  for (const [position] of destinationsOf(receiver.integrations).filter((one) => !keepsIncidents(one))) {
    const laneFor = (key: string) => ({ receiver: receiver.name, position, lane: laneOf(position, key) });
    const own = laneFor(group.key);
    const [first, ...more] = await unsettledAmong(tx, [...keys].map(laneFor), alertIds);
    if (!first) continue;
    if (gathers) await tx.outbox.joinLanes([first, ...more], own.lane);
    else {
      await tx.outbox.joinLanes([...more, own], first.lane);
      others.set(position, first.lane);
    }
  }
  return others;
}

async function unsettledAmong(
  tx: Transaction,
  lanes: readonly Lane[],
  alertIds: readonly string[],
): Promise<readonly Lane[]> {
  const found: Lane[] = [];
  for (let from = 0; from < lanes.length; from += PAUSE_AFTER) {
    if (from > 0) await tx.pause();
    found.push(...(await tx.outbox.unsettledLanes(lanes.slice(from, from + PAUSE_AFTER), alertIds)));
  }
  return found;
}

function gatheringKeys(receiver: string): readonly string[] {
  return [catchUpKey(receiver), heldBackKey(receiver)];
}
