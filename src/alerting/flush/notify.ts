/**
 * Notifies of what a flush decided: the route's receiver, unless it is throttled; others in its place, if the alert
 * says that this receiver accepts nothing; and later the second receiver, if the route escalates.
 */
import { takesAlerts } from '../../channels/integration-identity.ts';
import type { Receiver } from '../../channels/receiver.ts';
import { hash64 } from '../../domain/alert/alert.ts';
import { commonLabels, tidyLabels } from '../../domain/alert/labels.ts';
import type { Flush, NotifyingFlush } from '../../domain/grouping/flush.ts';
import type { Group, GroupMember } from '../../domain/grouping/group.ts';
import { escalate, keyForReceiver, SORTS } from '../../domain/grouping/sorts.ts';
import { foldEnds, throttle } from '../../domain/grouping/throttle.ts';
import { deliveryFailing } from '../../domain/kinds/delivery-failing.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import type { Suppression, SuppressionReason } from '../../domain/muting/suppression.ts';
import { type Route, routesFor } from '../../domain/routing/route.ts';
import type { Transaction } from '../../store/store.ts';
import { destinationsOf, isForPeople } from '../destination.ts';
import { noteKnown } from '../fallback.ts';
import { type Draft, draftMessages, narrowed, reachesNobody } from './draft-messages.ts';
import { enqueueMessages } from './enqueue.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';
import { holdBack, isAnyHeldBack, noteInOthers } from './gathered-groups.ts';

const ESCALATED = 'Nobody has acknowledged this yet, so you are notified as well.';

/** What settling writes of the group. */
export interface Notified {
  readonly group: Group;
  readonly members: readonly GroupMember[];
  /** True: the receiver is throttled or folds ends, so the group waits and is flushed again. */
  readonly isPostponed: boolean;
}

export async function notify(context: FlushContext, muted: MutedGroup, flushed: Flush): Promise<Notified> {
  const { tx, config, tally, nowUs } = context;
  const { group, open, route } = muted;
  const done: Notified = { group: flushed.group, members: flushed.members, isPostponed: false };
  const { reason } = flushed;
  if (reason === null) return done;
  const notifying: NotifyingFlush = { ...flushed, reason, ...routeLabelsOf(route, flushed) };

  const escalation = escalate(group, open, flushed.members, route, nowUs);
  if (escalation) {
    await tx.groups.put([escalation.group]);
    await tx.groups.putMembers(escalation.members);
  }
  const receiver = config.receivers.find((one) => one.name === route.receiver);
  if (group.sort === 'fallback') {
    const known = { ...notifying, group: { ...notifying.group, key: keyForReceiver(group) } };
    await enqueueFor(context, group, [[withoutFallback(receiver), known]], []);
    return done;
  }
  const mayWithhold = group.sort === 'route' || group.sort === 'held_back';
  const worse = mayWithhold && (await toldAsWorse(tx, notifying, config.route, route.receiver));
  const isForNobody = worse && destinationsOf(receiver?.integrations).every(isForPeople);
  const what: NotifyingFlush = { ...notifying, ...(worse && { isForPrograms: true }) };
  // A gathering group's messages depend on what is noted below, and it gathers only what its receiver is to be told.
  const isGathered = SORTS[group.sort].gathers === true;
  const drafts = isGathered ? undefined : await draftMessages(tx, what, receiver, group.receiver, nowUs);
  // Such as the end, if no integration has `send_resolved`. It waits for nothing, and is not counted as sent.
  const isUnheard = isForNobody || drafts?.every(reachesNobody) === true;
  const togetherAtUs = isUnheard || worse ? null : await endsTogetherAtUs(context, receiver, notifying);
  if (togetherAtUs !== null && togetherAtUs > nowUs) {
    const nextFlushAtUs = Math.min(flushed.group.nextFlushAtUs, togetherAtUs);
    return { group: { ...group, nextFlushAtUs }, members: [], isPostponed: true };
  }
  if (togetherAtUs !== null) {
    await holdBack(context, muted, flushed.members, nowUs);
    return done;
  }
  const others = standIns(config.receivers, notifying);
  const { freeAtUs, notices } = await admit(context, isUnheard ? undefined : receiver, flushed);
  if (freeAtUs !== null && isGathered) {
    return { group: { ...group, nextFlushAtUs: freeAtUs }, members: [], isPostponed: true };
  }
  if (freeAtUs !== null) {
    await holdBack(context, muted, flushed.members, freeAtUs);
    await suppress(context, muted, flushed, 'receiver_cap', 'a later notification lists it');
    tally.happenings.push({ what: 'suppressed', reason: 'receiver_cap', count: 1 });
    await enqueueForStandIns(context, group, others);
    return done;
  }
  if (group.sort === 'held_back') await noteInOthers(tx, route.receiver, flushed.members);
  if (worse) {
    await suppress(context, muted, flushed, 'inhibited', `people are told of ${worse} instead`);
    tally.happenings.push({ what: 'suppressed', reason: 'inhibited', count: 1 });
    if (isForNobody) return done;
  }
  if (!receiver?.integrations.length) {
    await suppress(context, muted, flushed, 'no_integration', 'the receiver has no integration');
  }
  const isEscalated = group.sort === 'escalation' && flushed.firingTotal > 0;
  // Stand-ins need not get the same once more as its fallback.
  const isCovered = others.length > 0 && others[0]![1].listed.length === notifying.listed.length;
  const own = isCovered ? withoutFallback(receiver) : receiver;
  await enqueueFor(context, group, [[own, what, drafts]], isEscalated ? [ESCALATED, ...notices] : notices);
  // They were notified when it was held back.
  if (group.sort !== 'held_back') await enqueueForStandIns(context, group, others);
  return done;
}

function routeLabelsOf({ writeLabels }: Route, { group, listed }: Flush): Pick<Flush, 'routeLabels'> {
  if (!writeLabels) return {};
  const labels = commonLabels(listed.map(({ alert }) => alert.labels));
  return { routeLabels: writeLabels({ groupLabels: group.labels, commonLabels: labels }) };
}

/** When a receiver that folds ends is told of a flush that has nothing else, together with others; null for now, alone. */
async function endsTogetherAtUs(
  { tx, nowUs, isAtOnce }: FlushContext,
  receiver: Receiver | undefined,
  { group, reason }: NotifyingFlush,
): Promise<number | null> {
  const isUrgent = reason !== 'resolved' && reason !== 'new_events';
  if (receiver?.foldEndsMs === undefined || isUrgent || isAtOnce || SORTS[group.sort].gathers) return null;
  const before = await tx.receivers.pace(receiver.name);
  const { pace, untilUs } = foldEnds(receiver.foldEndsMs, before, group.key, nowUs);
  await tx.receivers.putPace(pace);
  return untilUs;
}

/** Asks whether the receiver may be notified now, and counts it if it is throttled. */
async function admit(
  context: FlushContext,
  receiver: Receiver | undefined,
  { group, members }: Flush,
): Promise<{ readonly freeAtUs: number | null; readonly notices: readonly string[] }> {
  if (!receiver) return { freeAtUs: null, notices: [] };
  const { tx, nowUs } = context;
  const isHeldBack = group.sort === 'held_back';
  // Something may wait because it is muted, after the rest was sent, or even after the receiver's cap was removed.
  const isBehind = !isHeldBack && (await isAnyHeldBack(context, receiver.name, members));
  const { maxNotificationsPerHour, foldStormsMs, foldEndsMs } = receiver;
  const isThrottled = (maxNotificationsPerHour ?? foldStormsMs ?? foldEndsMs) !== undefined;
  if (!isThrottled && !isHeldBack) return { freeAtUs: isBehind ? nowUs : null, notices: [] };
  const before = await tx.receivers.pace(receiver.name);
  const throttled = throttle(receiver, before, isHeldBack, nowUs, isBehind);
  // A gathering group waits itself: nothing more is held back.
  if (throttled.freeAtUs === null || !SORTS[group.sort].gathers) await tx.receivers.putPace(throttled.pace);
  return throttled;
}

/** Notifies those that stand in for a receiver that accepts nothing. What throttles that receiver does not concern them. */
async function enqueueForStandIns(
  context: FlushContext,
  group: Group,
  others: readonly (readonly [receiver: Receiver, what: NotifyingFlush])[],
): Promise<void> {
  const { tx, config, tally, nowUs } = context;
  await enqueueFor(context, group, others, []);
  // By the end another configuration may name others.
  for (const [to, { listed, thread }] of others) {
    const alerts = listed.map(({ alert: { id }, status }) => ({ id, status }));
    const known = { alerts, groupKey: group.key, groupLabels: group.labels, thread: `${thread}-end` };
    tally.queued += await noteKnown(tx, to, known, config.route, nowUs);
  }
}

async function enqueueFor(
  context: FlushContext,
  group: Group,
  all: readonly (readonly [
    receiver: Receiver | undefined,
    what: NotifyingFlush,
    drafts?: readonly Draft[] | undefined,
  ])[],
  notices: readonly string[],
): Promise<void> {
  const { tally } = context;
  for (const [to, what, drafts] of all) {
    const { queued, suppressed } = await enqueueMessages(context, what, to, group.receiver, notices, drafts);
    tally.queued += queued;
    if (queued > 0) {
      tally.happenings.push({
        what: 'notified',
        receiver: what.group.receiver,
        groupKey: group.key,
        reason: what.reason,
        alerts: what.listed.length,
      });
    }
    const count = queued === 0 ? Math.max(1, suppressed) : suppressed;
    if (count > 0) tally.happenings.push({ what: 'suppressed', reason: 'no_integration', count });
  }
}

/** Records for each alert why nobody is notified of what the flush decided. */
async function suppress(
  { tx, nowUs }: FlushContext,
  { group, open, route }: MutedGroup,
  flushed: Flush,
  reason: SuppressionReason,
  detail: string,
): Promise<void> {
  const before = new Map(open.map((one) => [one.alert.id, one]));
  const suppressions = flushed.members.flatMap(({ alertId }): Suppression[] => {
    const known = before.get(alertId);
    // A member that changed only because it is muted has no part in the notification.
    if (!known) return [];
    const { lastSeq } = known.alert;
    const afterSeq = Math.min(known.member.notifiedSeq, lastSeq);
    const { receiver } = route;
    return [{ alertId, afterSeq, lastSeq, groupKey: group.key, receiver, reason, detail, atUs: nowUs }];
  });
  await tx.suppressions.add(suppressions);
}

/**
 * The receivers notified besides the route's own, if the alert says that this one accepts nothing: its fallback, or
 * else every receiver that takes alerts.
 */
function standIns(
  receivers: readonly Receiver[],
  flushed: NotifyingFlush,
): [receiver: Receiver, what: NotifyingFlush][] {
  const own = flushed.group.receiver;
  // Labels are tidied, names are not.
  const named = tidyLabels({ receiver: own }).receiver;
  const about = flushed.listed.filter(
    ({ alert }) => alert.alertname === deliveryFailing.name && alert.labels.receiver === named,
  );
  if (about.length === 0) return [];
  const fallback = receivers.find((one) => one.name === own)?.fallback;
  const others = receivers.filter((one) =>
    fallback === undefined ? one.name !== own && takesAlerts(one) : one.name === fallback,
  );
  return others.map((receiver) => {
    const thread = hash64([flushed.thread, receiver.name]);
    const group = { ...flushed.group, receiver: receiver.name };
    return [receiver, { ...narrowed(flushed, about), thread, group }];
  });
}

function withoutFallback(receiver: Receiver | undefined): Receiver | undefined {
  if (!receiver) return undefined;
  const { fallback: _, ...rest } = receiver;
  return rest;
}

// Keeps people from being told one fact twice: that a trigger failed until the Bird was deactivated ends one alert, of
// which another says more. Programs and services that keep incidents are told the end all the same.

/** With more alerts the message says more than their ends. */
const MOST_ALERTS = 20;

/** The alerts of other kinds by which the receiver is told all that the flush tells; undefined if it is told more. */
async function toldAsWorse(
  tx: Transaction,
  { firingTotal, listed }: NotifyingFlush,
  root: Route,
  receiver: string,
): Promise<string | undefined> {
  if (firingTotal > 0 || listed.length > MOST_ALERTS) return undefined;
  const names = new Set<string>();
  for (const { alert } of listed) {
    const worse = alert.ending === 'superseded' ? kindOf(alert.alertname)?.supersededBy : undefined;
    if (worse === undefined) return undefined;
    const became = (await tx.alerts.ofScopes([alert.scope])).find(
      (one) => one.alertname === worse && one.state === 'firing',
    );
    const isTold = became && routesFor(root, became.labels).some((route) => route.receiver === receiver);
    if (!isTold) return undefined;
    names.add(worse);
  }
  return [...names].join(', ');
}
