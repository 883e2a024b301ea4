import { integrationAt, integrationName } from '../channels/integration-identity.ts';
import type { Receiver } from '../channels/receiver.ts';
import type { Config } from '../config/config.ts';
import { type Alert, hash64 } from '../domain/alert/alert.ts';
import { MAX_ALERTS } from '../domain/grouping/flush.ts';
import type { AlertInGroup, Group, GroupMember } from '../domain/grouping/group.ts';
import { hasIncident } from '../domain/grouping/incident.ts';
import type { GroupNotification, NotifiedAlert } from '../domain/grouping/notification.ts';
import { fallbackGroup, fallbackKey, fallbackMember, keyForReceiver } from '../domain/grouping/sorts.ts';
import type { Route } from '../domain/routing/route.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import {
  besideMembers,
  type Destination,
  destinationsOf,
  keepsIncidents,
  newDelivery,
  queue,
  takesParts,
} from './destination.ts';
import type { FlushContext, MutedGroup } from './flush/flush-context.ts';
import { membersFor, OWN_SORTS } from './flush/gathered-groups.ts';
import { resolveIncident } from './incidents.ts';
import { NOTHING, type Step, setDeliveryAside, type Tally } from './step-runner.ts';

/** Deliveries given to a fallback in one transaction: each may have megabytes, and all are in memory together. */
const BATCH = 10;

/**
 * Gives what a receiver did not accept for too long to its fallback as well, and says so there. The original is still
 * retried. What a fallback does not accept goes no further. A group of sort `fallback` notes what it was told fires, and
 * tells it the end. A delivery that cannot be given to the fallback is tried again later, and holds up no other.
 *
 * One flush may make several notifications: with and without resolved alerts, in parts, or one for each incident. Of
 * all of them together, the fallback's programs get each alert and each event once, its people get one message for what
 * came in parts, and its services that keep incidents get each incident by itself.
 */
export async function fallBack(
  tx: Transaction,
  config: Pick<Config, 'receivers' | 'route'>,
  nowUs: number,
): Promise<Step> {
  const due = await tx.outbox.takeFallbacks(nowUs, BATCH);
  if (due.length === 0) return NOTHING;
  const failed = new Set(await tx.faults.names('delivery'));
  const tally: Tally = { queued: 0, happenings: [] };
  const copies: Copies = new Map();
  for (const one of due) {
    const { id } = one.delivery;
    const given = await tx.attempt(() => fallBackOne(tx, config, one, copies, nowUs));
    if (!given.ok) {
      // What the attempt had queued was rolled back, so these copies may not exist.
      copies.clear();
      tally.happenings.push(...(await setDeliveryAside(tx, id, given.error, nowUs)));
      continue;
    }
    if (failed.has(id)) await tx.faults.mend('delivery', [id]);
    tally.queued += given.value.queued;
    tally.happenings.push(...given.value.happenings);
  }
  return { done: due.length, ...tally };
}

/** The copies that fallbacks already got of a flush, by the base of their ids. Read once in a transaction. */
type Copies = Map<string, GroupNotification[]>;

/** Gives one delivery to its receiver's fallback. */
async function fallBackOne(
  tx: Transaction,
  { receivers, route }: Pick<Config, 'receivers' | 'route'>,
  { delivery, notification }: ClaimedDelivery,
  copies: Copies,
  nowUs: number,
): Promise<Tally> {
  const tally: Tally = { queued: 0, happenings: [] };
  const fallback = fallbackOf(receivers, route.receiver, delivery);
  if (!fallback || notification.kind !== 'group') return tally;
  const news = await withoutKnownEnds(tx, fallback.name, notification);
  if (news.alerts.length === 0 && notification.alerts.length > 0) return tally;
  const through = throughWhat(receivers, delivery, notification);
  const notice = `This was meant for receiver ${delivery.receiver}, ${whyNot(delivery, through)}`;
  const queued = new Map<Audience, GroupNotification>();
  let most = 0;
  for (const [audience, to] of audiencesOf(fallback)) {
    const base = baseOf(fallback, audience, notification);
    const copied = copies.get(base) ?? (await copiesBefore(tx, fallback, base));
    copies.set(base, copied);
    const isBrief = audience !== 'programs';
    const whole = isBrief ? inBrief(news) : news;
    const alerts = withoutCopied(whole.alerts, copied);
    // Another integration of the same receiver may have failed too, and its delivery been given to the fallback before.
    const isCovered = alerts.length === 0 || (isBrief && isCounted(news, copied));
    if (copied.length > 0 && isCovered) continue;
    const id = copyId(base, copied.length);
    const copy = copyFor(fallback, notice, { ...whole, id, alerts });
    const wanted = to
      .filter((one) => takes(one, copy))
      .map((destination) => newDelivery(copy, destination, nowUs));
    if (wanted.length === 0) continue;
    await queue(tx, copy, fallback.integrations, wanted);
    copied.push(copy);
    tally.queued += wanted.length;
    most = Math.max(most, alerts.length);
    queued.set(audience, copy);
  }
  const copy = queued.get('people') ?? queued.values().next().value;
  if (copy) tally.queued += await noteKnown(tx, fallback, { ...copy, alerts: news.alerts }, route, nowUs);
  const { groupKey } = notification;
  const happening = { receiver: fallback.name, groupKey, alerts: most };
  if (most > 0) tally.happenings.push({ what: 'notified', reason: 'fallback', ...happening });
  return tally;
}

/**
 * The receiver that gets what another did not accept: its fallback. Without one, a delivery that reached nobody (as for
 * a Nest without active members) goes to the receiver of the root route, which gets all that no other route takes.
 */
function fallbackOf(
  receivers: readonly Receiver[],
  root: string,
  { receiver, state }: Delivery,
): Receiver | undefined {
  const own = receivers.find((one) => one.name === receiver)?.fallback;
  const name = own ?? (state === 'suppressed' && receiver !== root ? root : undefined);
  return receivers.find((one) => one.name === name);
}

type Audience = 'programs' | 'people' | 'incidents';

/** The integrations by audience: those of one audience get the same copies. */
function audiencesOf({ integrations }: Receiver): ReadonlyMap<Audience, Destination[]> {
  return Map.groupBy(destinationsOf(integrations), (one) => {
    if (keepsIncidents(one)) return 'incidents';
    return takesParts(one) ? 'programs' : 'people';
  });
}

/**
 * The notification shortened for people: the first alerts, the number of the others in all parts, and no events of a
 * summary.
 */
function inBrief({ part, ...whole }: GroupNotification): GroupNotification {
  const alerts = whole.alerts
    .slice(0, MAX_ALERTS)
    .map((one) =>
      whole.summary ? { ...one, events: [], eventsOmitted: one.eventsOmitted + one.events.length } : one,
    );
  const inAll = part ? whole.firingTotal + whole.resolvedTotal : whole.alerts.length + whole.truncatedAlerts;
  return { ...whole, alerts, truncatedAlerts: inAll - alerts.length };
}

/** True for a part of a notification if a copy for people already counts all of that notification. */
function isCounted(
  { part, firingTotal, resolvedTotal }: GroupNotification,
  copied: readonly GroupNotification[],
): boolean {
  if (!part) return false;
  return copied.some((copy) => copy.firingTotal >= firingTotal && copy.resolvedTotal >= resolvedTotal);
}

function takes(destination: Destination, { status, alerts }: GroupNotification): boolean {
  // A copy is not split by Nest, so a destination that notifies members alone has nobody to send it to.
  if (besideMembers(destination)?.length === 0) return false;
  if (destination[1].sendResolved || status === 'firing') return true;
  return (
    !keepsIncidents(destination) &&
    alerts.some(({ events, eventsOmitted }) => events.length + eventsOmitted > 0)
  );
}

/** The copies that the fallback already got, in order. */
async function copiesBefore(
  tx: Transaction,
  { integrations }: Receiver,
  base: string,
): Promise<GroupNotification[]> {
  const copied: GroupNotification[] = [];
  for (;;) {
    let copy: GroupNotification | undefined;
    for (const [position] of destinationsOf(integrations)) {
      const found = (await tx.outbox.find(`${copyId(base, copied.length)}-${position}`))?.notification;
      if (found?.kind === 'group') copy = found;
    }
    if (!copy) return copied;
    copied.push(copy);
  }
}

/**
 * The alerts and events that no copy has yet. A copy that leaves out events of an alert counts them, so it has them
 * all.
 */
function withoutCopied(
  alerts: readonly NotifiedAlert[],
  copied: readonly GroupNotification[],
): NotifiedAlert[] {
  const before = Map.groupBy(
    copied.flatMap((copy) => copy.alerts),
    ({ id }) => id,
  );
  return alerts.flatMap((alert) => {
    const known = before.get(alert.id);
    if (!known) return [alert];
    const keys = new Set(known.flatMap(({ events }) => events.map(({ key }) => key)));
    const hasAll = known.some(({ eventsOmitted }) => eventsOmitted > 0);
    const events = hasAll ? [] : alert.events.filter(({ key }) => !keys.has(key));
    return events.length > 0 ? [{ ...alert, events }] : [];
  });
}

function copyFor({ name }: Receiver, notice: string, notification: GroupNotification): GroupNotification {
  // Addresses of the original, if it has any, are not the fallback's.
  const { to: _, notices = [], ...rest } = notification;
  return { ...rest, receiver: name, thread: rest.id, notices: [...notices, notice] };
}

/**
 * The base of a copy's id: the same for all notifications of one flush, except that each group's incident has its own.
 */
function baseOf(
  { name }: Receiver,
  audience: Audience,
  { id, flushId = id, groupKey }: GroupNotification,
): string {
  return `fallback-${hash64([flushId, audience === 'incidents' ? groupKey : audience, name])}`;
}

function copyId(base: string, index: number): string {
  return index === 0 ? base : `${base}-copy${index + 1}`;
}

/** The receiver may have accepted it through another of its integrations. Empty if it has no other. */
function throughWhat(
  receivers: Config['receivers'],
  { receiver, integration, position }: Delivery,
  { identities = [] }: GroupNotification,
): string {
  const { integrations = [] } = receivers.find((one) => one.name === receiver) ?? {};
  if (integrations.length < 2) return '';
  const present = integrationAt(integrations, position, identities);
  return ` through ${present ? integrationName(integrations, present) : integration}`;
}

function whyNot({ state, lastError }: Delivery, through: string): string {
  if (state === 'suppressed') return `which notified nobody${through}: ${lastError}.`;
  const not = `which has not accepted it${through}`;
  const why = lastError === '' ? `${not} yet` : `${not}: ${lastError}`;
  return state === 'dead' ? `${why}.` : `${why}. It is still being tried there.`;
}

// Keeps what fallbacks know of alerts (`FALLBACK` in `domain/grouping/sorts.ts`) while they are given notifications.

/** The notification without the ends that the fallback knows already. */
async function withoutKnownEnds(
  tx: Transaction,
  fallback: string,
  notification: GroupNotification,
): Promise<GroupNotification> {
  const isEnd = ({ status, events, eventsOmitted }: NotifiedAlert) =>
    status === 'resolved' && events.length + eventsOmitted === 0;
  const ended = notification.alerts.filter(isEnd).map(({ id }) => id);
  const members = ended.length > 0 ? await membersFor(tx, fallback, ended, ['fallback']) : [];
  const known = new Set(
    members.flatMap(({ alertId, notifiedState }) => (notifiedState === 'resolved' ? [alertId] : [])),
  );
  return { ...notification, alerts: notification.alerts.filter((one) => !isEnd(one) || !known.has(one.id)) };
}

/** What a fallback was notified of. */
interface Known extends Pick<GroupNotification, 'groupKey' | 'groupLabels' | 'thread'> {
  readonly alerts: readonly Pick<NotifiedAlert, 'id' | 'status'>[];
}

/**
 * Notes what the fallback now knows as firing, so that it is notified of the end, and which ends it knows now. Returns
 * how many deliveries were queued.
 */
export async function noteKnown(
  tx: Transaction,
  fallback: Receiver,
  notified: Known,
  root: Route,
  nowUs: number,
): Promise<number> {
  const { alerts, groupKey } = notified;
  const key = fallbackKey(fallback.name, groupKey);
  const [before] = await tx.groups.list([key]);
  const group = fallbackGroup(before, { ...notified, receiver: fallback.name }, root, nowUs);
  const members: GroupMember[] = [];
  for (const { id, status } of alerts) {
    const alert = await tx.alerts.find(id);
    if (alert) members.push(fallbackMember(group, alert, status));
  }
  if (members.length === 0) return 0;
  await tx.groups.put([group]);
  await tx.groups.putMembers(members);
  const ended = members.filter(({ notifiedState }) => notifiedState === 'resolved');
  return noteInOtherGroups(tx, fallback, key, ended, nowUs);
}

/**
 * Notes ends in the fallback's other groups, at once: the alerts may fire again before these are flushed. The incidents
 * in which nothing fires any more are resolved. Returns how many deliveries were queued.
 */
async function noteInOtherGroups(
  tx: Transaction,
  fallback: Receiver,
  key: string,
  ended: readonly GroupMember[],
  nowUs: number,
): Promise<number> {
  const byAlert = new Map(ended.map((one) => [one.alertId, one]));
  const others = (await membersFor(tx, fallback.name, [...byAlert.keys()], ['fallback'])).filter(
    ({ groupKey, notifiedState }) => groupKey !== key && notifiedState !== 'resolved',
  );
  let queued = 0;
  for (const group of await tx.groups.list([...new Set(others.map(({ groupKey }) => groupKey))])) {
    const before = await tx.groups.members(group.key);
    const over = others.filter(({ groupKey }) => groupKey === group.key);
    await tx.groups.putMembers(over.map(({ alertId, groupKey }) => ({ ...byAlert.get(alertId)!, groupKey })));
    const isOver = new Set(over.map(({ alertId }) => alertId));
    const rest = before.filter(({ alert }) => !isOver.has(alert.id));
    if (!hasIncident(rest)) queued += await resolveIncident(tx, [fallback], group, before, nowUs);
  }
  return queued;
}

/**
 * Of the ends that a group of sort `fallback` is to notify of (`sorts.ts`), those that have to wait, and none that
 * another such group has notified of.
 */
export async function withoutOtherEnds(context: FlushContext, muted: MutedGroup): Promise<MutedGroup> {
  const { group, open, waiting } = muted;
  const ended = open.filter(
    ({ alert, member }) => alert.state !== 'firing' && member.notifiedState === 'firing',
  );
  const known = await knownEnds(context, group, ended);
  const coming = await comingEnds(
    context,
    group,
    ended.filter((one) => !known.includes(one)),
  );
  return {
    ...muted,
    open: open.filter((one) => !known.includes(one) && !coming.includes(one)),
    waiting: [...waiting, ...coming],
  };
}

/**
 * Ends that the fallback was notified of by another group, or will be: routes changed, it stands in for several
 * receivers, or the alert also reaches it by a route or an escalation of its own.
 */
async function knownEnds(
  { tx }: FlushContext,
  { key, receiver }: Group,
  ended: readonly AlertInGroup[],
): Promise<readonly AlertInGroup[]> {
  const ids = ended.map(({ alert }) => alert.id);
  const members = await membersFor(tx, receiver, ids, ['fallback', ...OWN_SORTS]);
  const others = Map.groupBy(
    members.filter(({ groupKey }) => groupKey !== key),
    ({ alertId }) => alertId,
  );
  const known = ended.filter(({ alert }) => others.get(alert.id)?.some((member) => isTold(member, alert)));
  await tx.groups.putMembers(known.map(({ member }) => ({ ...member, notifiedState: 'resolved' })));
  return known;
}

/** Whether this group has notified of the end of the alert, or will do so because it has shown it as firing. */
function isTold({ sort, notifiedState, notifiedSeq }: GroupMember, { lastSeq }: Alert): boolean {
  if (notifiedState === 'resolved') return notifiedSeq === lastSeq;
  return sort !== 'fallback' && (notifiedState === 'firing' || notifiedState === 'hidden');
}

/**
 * Ends of which the receiver's own group has not notified yet. And those that the receiver has not accepted: the
 * fallback may still be given its notification, which says more.
 */
async function comingEnds(
  { tx, config }: FlushContext,
  group: Group,
  ended: readonly AlertInGroup[],
): Promise<readonly AlertInGroup[]> {
  const members = await tx.groups.membersOfAlerts(ended.map(({ alert }) => alert.id));
  const unsaid = new Set(
    members.flatMap(({ alertId, groupKey, notifiedState }) =>
      groupKey === keyForReceiver(group) && notifiedState !== 'resolved' ? [alertId] : [],
    ),
  );
  const standsInFor = config.receivers.filter(({ fallback }) => fallback === group.receiver);
  const triedUs = await tx.outbox.lastToFallBack(
    ended.map(({ alert }) => alert.id),
    standsInFor.map(({ name }) => name),
  );
  return ended.filter(
    ({ alert: { id, updatedAtUs } }) => unsaid.has(id) || (triedUs.get(id) ?? 0) >= updatedAtUs,
  );
}
