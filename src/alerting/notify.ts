/**
 * Tells what a flush decided: to its receiver, unless that one's cap holds it back; alerts about a receiver that
 * accepts nothing also to those who can be reached; and later to the second receiver, where the route escalates.
 */

import type { Config, Receiver } from '../config/config.ts';
import { takesAlerts } from '../config/takes-alerts.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import { exactDuration } from '../domain/alert/labels.ts';
import { isCatchingUp } from '../domain/grouping/catching-up.ts';
import type { Flush } from '../domain/grouping/flush.ts';
import { type Group, type GroupMember, HAS_LEFT, type Standing } from '../domain/grouping/group.ts';
import {
  escalate,
  heldBackGroup,
  heldBackKey,
  isEscalation,
  isHeldBack,
} from '../domain/grouping/special-groups.ts';
import { admission, afterStormUs } from '../domain/grouping/throttle.ts';
import type { Route } from '../domain/muting/route.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { Happening } from '../report.ts';
import type { Transaction } from '../store/store.ts';
import { narrowed, queueDeliveries, type Tellable } from './enqueue.ts';
import { passOn } from './held-back.ts';

const ESCALATED = 'Nobody has acknowledged this yet, so you are told as well.';

export interface Told {
  readonly queued: number;
  readonly happenings: readonly Happening[];
  /** To be written, unless the group `isOver`. */
  readonly group: Group;
  readonly members: readonly GroupMember[];
  /** The group has done what it was for and is to be deleted. */
  readonly isOver: boolean;
}

export interface Occasion {
  /** As it was before the flush. */
  readonly group: Group;
  readonly standings: readonly Standing[];
  readonly route: Route;
  readonly flushed: Flush;
}

export async function tell(
  tx: Transaction,
  config: Pick<Config, 'receivers'>,
  occasion: Occasion,
  nowUs: number,
): Promise<Told> {
  const { group, standings, route, flushed } = occasion;
  const isOver = isHeldBack(group.key);
  const after = { group: flushed.group, members: flushed.members, isOver };
  const { reason } = flushed;
  if (reason === null) return { queued: 0, happenings: [], ...after };

  const escalation = escalate(group, standings, flushed.members, route, nowUs);
  if (escalation) {
    await tx.groups.put([escalation.group]);
    await tx.groups.putMembers(escalation.members);
  }
  const tellable: Tellable = { ...flushed, reason };
  const receiver = config.receivers.find((one) => one.name === route.receiver);
  const { freeAtUs, notices: heldBack } = await admit(tx, receiver, group, nowUs);
  const isEscalated = isEscalation(group.key) && flushed.firingTotal > 0;
  const notices = [...(isEscalated ? [ESCALATED] : []), ...heldBack];
  if (freeAtUs !== null && (isOver || isCatchingUp(group.key))) {
    const later = { ...group, nextFlushAtUs: freeAtUs };
    return { queued: 0, happenings: [], group: later, members: [], isOver: false };
  }
  if (freeAtUs !== null) {
    await holdBack(tx, occasion, freeAtUs);
    await tx.suppressions.add(suppressed(occasion, 'receiver_cap', 'one notification tells it later', nowUs));
    return { queued: 0, happenings: [{ what: 'suppressed', reason: 'receiver_cap', count: 1 }], ...after };
  }

  if (isOver) await passOn(tx, route.receiver, flushed.members);
  const happenings: Happening[] = [];
  let queued = 0;
  if (!receiver?.integrations.length) {
    await tx.suppressions.add(suppressed(occasion, 'no_integration', 'the receiver tells nobody', nowUs));
  }
  const others = standIns(config, tellable);
  // Who stands in has been told already.
  const isToldBeside = others.length > 0 && others[0]![1].listed.length === tellable.listed.length;
  const own = isToldBeside ? withoutFallback(receiver) : receiver;
  for (const [who, what] of [[own, tellable] as const, ...others]) {
    const deliveries = await queueDeliveries(tx, what, who, notices, nowUs);
    queued += deliveries;
    happenings.push(
      deliveries > 0
        ? {
            what: 'notified',
            receiver: what.group.receiver,
            groupKey: group.key,
            reason,
            alerts: what.listed.length,
          }
        : { what: 'suppressed', reason: 'no_integration', count: 1 },
    );
  }
  return { queued, happenings, ...after };
}

/** Asks the receiver's cap. What is held back is due at the instant that it tells, so it is the first to be told. */
async function admit(
  tx: Transaction,
  receiver: Receiver | undefined,
  group: Group,
  nowUs: number,
): Promise<{ freeAtUs: number | null; notices: readonly string[] }> {
  const { maxNotificationsPerHour: max, foldStormsMs: foldMs } = receiver ?? {};
  if (!receiver || (max === undefined && foldMs === undefined)) return { freeAtUs: null, notices: [] };
  const pace = await tx.receivers.pace(receiver.name);
  const { recentUs, freeAtUs: cappedUs } = admission(pace.queuedAtUs, max ?? Number.POSITIVE_INFINITY, nowUs);
  const stormUs = foldMs === undefined ? null : afterStormUs(recentUs, pace.foldedAtUs ?? 0, foldMs, nowUs);
  const freeAtUs = cappedUs === null && stormUs === null ? null : Math.max(cappedUs ?? 0, stormUs ?? 0);
  if (freeAtUs !== null) {
    // A held-back group that has to wait once more is counted already.
    const heldBack = pace.heldBack + (isHeldBack(group.key) ? 0 : 1);
    await tx.receivers.putPace({ ...pace, queuedAtUs: recentUs, heldBack });
    return { freeAtUs, notices: [] };
  }
  const folded = isHeldBack(group.key) && pace.heldBack > 1 ? { foldedAtUs: nowUs } : {};
  await tx.receivers.putPace({ ...pace, ...folded, queuedAtUs: [...recentUs, nowUs], heldBack: 0 });
  if (pace.heldBack === 0) return { freeAtUs: null, notices: [] };
  const what = pace.heldBack === 1 ? '1 notification was' : `${pace.heldBack} notifications were`;
  const why =
    foldMs === undefined
      ? `at most ${max} an hour are sent`
      : `what comes in a storm is told together, every ${exactDuration(foldMs)}`;
  return { freeAtUs: null, notices: [`${what} held back before this one: ${why}.`] };
}

/** Keeps what a flush would have told for one notification that tells it later with all else that is held back. */
async function holdBack(tx: Transaction, { standings, route, flushed }: Occasion, freeAtUs: number) {
  const key = heldBackKey(route.receiver);
  const changed = new Set(flushed.members.map((member) => member.alertId));
  const kept = await tx.groups.membersOfAlerts([...changed]);
  const known = new Set(kept.flatMap((member) => (member.groupKey === key ? [member.alertId] : [])));
  const members = standings.flatMap(({ member }) => {
    const isNews =
      changed.has(member.alertId) && !known.has(member.alertId) && member.notifiedSeq !== HAS_LEFT;
    return isNews ? [{ ...member, groupKey: key }] : [];
  });
  if ((await tx.groups.list([key])).length === 0)
    await tx.groups.put([heldBackGroup(route.receiver, freeAtUs)]);
  await tx.groups.putMembers(members);
}

/** What this notification would have told, alert by alert. */
function suppressed(
  { group, standings, route, flushed }: Occasion,
  reason: 'receiver_cap' | 'no_integration',
  detail: string,
  nowUs: number,
): Suppression[] {
  const before = new Map(standings.map(({ member, alert }) => [member.alertId, { member, alert }]));
  return flushed.members.flatMap(({ alertId }): Suppression[] => {
    const known = before.get(alertId);
    // A member that only notes that it is muted has nothing in the notification.
    if (!known) return [];
    const { lastSeq } = known.alert;
    const afterSeq = Math.min(known.member.notifiedSeq, lastSeq);
    const { receiver } = route;
    return [{ alertId, afterSeq, lastSeq, groupKey: group.key, receiver, reason, detail, atUs: nowUs }];
  });
}

/**
 * Who is told beside the route's own receiver when the flush says that this one accepts nothing: its fallback, or
 * else everybody who is told of alerts at all.
 */
function standIns(
  config: Pick<Config, 'receivers'>,
  flushed: Tellable,
): [receiver: Receiver, what: Tellable][] {
  const own = flushed.group.receiver;
  const about = flushed.listed.filter(
    ({ alert }) => alert.alertname === 'DeliveryFailing' && alert.labels.receiver === own,
  );
  if (about.length === 0) return [];
  const fallback = config.receivers.find((one) => one.name === own)?.fallback;
  const others = config.receivers.filter((one) =>
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
