import type { Config } from '../config/config.ts';
import type { Alert } from '../domain/alert/alert.ts';
import {
  assignGroups,
  type Group,
  type GroupMember,
  groupKeysFor,
  HAS_LEFT,
  isSettled,
} from '../domain/grouping/group.ts';
import { awaitSummary, catchUpKey, leaveToSummary } from '../domain/grouping/sorts.ts';
import { flightFailed } from '../domain/kinds/failures/flight-failed.ts';
import { isPart, scopesOfCause, sharedCause } from '../domain/kinds/failures/shared-cause.ts';
import type { IsTold } from '../domain/muting/muting.ts';
import { isAcknowledgementOver } from '../domain/muting/silence.ts';
import { ended } from '../domain/muting/silence-change.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { Route } from '../domain/routing/route.ts';
import { toldBy } from '../store/load-muting.ts';
import type { Transaction } from '../store/store.ts';
import type { Acting } from './act-by-rule.ts';
import { hasIncidents } from './destination.ts';
import { receiverOf } from './flush/gathered-groups.ts';
import { acknowledgeIncidents } from './incidents.ts';
import { NOTHING, type Step, setAlertAside, type Tally } from './step-runner.ts';

/** Alerts joined in one transaction. */
const BATCH = 200;

interface Joined extends Step {
  /**
   * All alerts that changed before this instant have joined; Infinity if all have. Only the last change of an alert is
   * known: if every alert of a batch changed again while it waited, some that changed little earlier are still waiting.
   */
  readonly untilUs: number;
}

interface JoinConfig extends Pick<Config, 'route' | 'receivers'> {
  readonly acting?: Acting | undefined;
}

/** How many alerts joined each group, by the group's key. */
export type Growth = Map<string, number>;

/**
 * Puts changed alerts into the groups of their routes, and wakes the groups that have to notify that they resolved.
 * Events that were older than `maxAgeUs` of their region when they were observed are left to a summary. Adds to
 * `growth`.
 */
export async function joinGroups(
  tx: Transaction,
  config: JoinConfig,
  maxAgeUs: (region: string) => number,
  growth: Growth,
  nowUs: number,
): Promise<Joined> {
  const alerts = await tx.alerts.changed(BATCH);
  if (alerts.length === 0) return { ...NOTHING, untilUs: Number.POSITIVE_INFINITY };
  // A batch that is not full ends the step: in a storm alerts change with every page, and the groups that are due must
  // not wait for a moment without any.
  const isAll = alerts.length < BATCH;
  // They join in the order in which they first changed, so the earliest of their last changes is close to that.
  const changedUs = Math.min(...alerts.map(({ updatedAtUs }) => updatedAtUs));
  const taken = { done: alerts.length, isAll, untilUs: isAll ? Number.POSITIVE_INFINITY : changedUs };
  const tryJoin = async (some: readonly Alert[]) => {
    const gained: string[] = [];
    const outcome = await tx.attempt(() => join(tx, some, config, maxAgeUs, gained, nowUs));
    for (const key of outcome.ok ? gained : []) growth.set(key, (growth.get(key) ?? 0) + 1);
    return outcome;
  };
  const all = await tryJoin(alerts);
  if (all.ok) return { ...taken, ...all.value };
  // If one of them fails, it alone is set aside.
  const tally: Tally = { queued: 0, happenings: [] };
  for (const alert of alerts) {
    const one = await tryJoin([alert]);
    const happenings = one.ok ? one.value.happenings : await setAlertAside(tx, alert.id, one.error, nowUs);
    tally.happenings.push(...happenings);
    if (one.ok) tally.queued += one.value.queued;
  }
  return { ...taken, ...tally };
}

async function join(
  tx: Transaction,
  alerts: readonly Alert[],
  { route: root, receivers, acting }: JoinConfig,
  maxAgeUs: (region: string) => number,
  gained: string[],
  nowUs: number,
): Promise<Tally> {
  await acting?.plan(tx, alerts, nowUs);
  const ids = alerts.map((alert) => alert.id);
  const notPending = alerts.filter((alert) => alert.state !== 'pending');
  const members = Map.groupBy(await tx.groups.membersOfAlerts(ids), (member) => member.alertId);
  const keys = new Set(notPending.flatMap((alert) => groupKeysFor(root, alert)));
  for (const list of members.values()) for (const member of list) keys.add(member.groupKey);
  const groups = new Map((await tx.groups.list([...keys])).map((group) => [group.key, group]));

  const changedGroups = new Map<string, Group>();
  const changedMembers: GroupMember[] = [];
  const joining: JoinedAlert[] = [];
  for (const alert of notPending) {
    const known = members.get(alert.id) ?? [];
    const result = assignGroups(alert, root, { members: known, groups }, nowUs);
    for (const group of result.groups) {
      groups.set(group.key, group);
      changedGroups.set(group.key, group);
    }
    changedMembers.push(...result.members);
    for (const { groupKey, notifiedSeq } of result.members) {
      if (notifiedSeq !== HAS_LEFT) gained.push(groupKey);
    }
    const present = new Map([...known, ...result.members].map((member) => [member.groupKey, member]));
    joining.push({ alert, members: present });
  }
  const old = await leaveOldToSummary(tx, joining, groups, root, maxAgeUs, nowUs);
  for (const group of old.groups) changedGroups.set(group.key, group);
  changedMembers.push(...old.members);
  const { suppressions } = old;
  const isTold = toldBy({ route: root, receivers });
  await tx.groups.put([...changedGroups.values()]);
  await tx.groups.putMembers(changedMembers);
  const ofOld = Map.groupBy(old.members, ({ alertId }) => alertId);
  const present = joining.map(({ alert, members }) => {
    const later = (ofOld.get(alert.id) ?? []).map((member) => [member.groupKey, member] as const);
    return { alert, members: new Map([...members, ...later]) };
  });
  await tx.groups.putMembers(await handOver(tx, present, groups, isTold));
  await tx.suppressions.add(suppressions);
  // An alert that was never in a group, such as a count that expired, is deleted.
  const joined = new Set(changedMembers.map((member) => member.alertId));
  const settled = alerts.filter(
    (alert) => !joined.has(alert.id) && !members.has(alert.id) && isSettled(alert, []),
  );
  await tx.alerts.delete(settled.map((alert) => alert.id));
  await endAcknowledgements(tx, alerts, nowUs);
  const queued = receivers.some(hasIncidents) ? await acknowledgeIncidents(tx, receivers, alerts, nowUs) : 0;
  await tx.alerts.markRouted(ids);
  const happenings = suppressions.map(({ reason }) => ({ what: 'suppressed' as const, reason, count: 1 }));
  return { queued, happenings };
}

/** Expires the silences that acknowledged an episode of these alerts that is over. */
async function endAcknowledgements(tx: Transaction, alerts: readonly Alert[], nowUs: number): Promise<void> {
  const byId = new Map(alerts.map((alert) => [alert.id, alert]));
  const over = (await tx.silences.list(nowUs)).filter((silence) => {
    const alert = silence.alertId === null ? undefined : byId.get(silence.alertId);
    return alert !== undefined && isAcknowledgementOver(silence, alert);
  });
  await tx.silences.put(over.flatMap((silence) => ended(silence, nowUs)));
}

/** What is to be written. */
interface LeftToSummary {
  readonly groups: readonly Group[];
  readonly members: readonly GroupMember[];
  readonly suppressions: readonly Suppression[];
}

/**
 * Leaves those new events of alerts to summaries that were old when they were read: older than `maxAgeUs` of their
 * region. `groups` are the groups of all members, by key, as they are about to be stored; the summaries are added.
 */
async function leaveOldToSummary(
  tx: Transaction,
  joined: readonly JoinedAlert[],
  groups: Map<string, Group>,
  root: Route,
  maxAgeUs: (region: string) => number,
  nowUs: number,
): Promise<LeftToSummary> {
  const news = joined.flatMap(({ alert, members }) =>
    [...members.values()]
      .filter((member) => member.sort === 'route' && member.notifiedSeq < alert.lastSeq)
      .map((member) => ({ alert, members, member })),
  );
  // Once for all groups, since the number of an event that one of them has told must not change.
  for (const [alert, members] of new Map(news.map((one) => [one.alert, one.members]))) {
    if (alert.alertname === sharedCause.name) await sortEvents(tx, alert, toldToAny(members));
  }
  // Read together, since on a server each read costs a request.
  const olds = await tx.alerts.oldEvents(
    news.map(({ alert, member }) => ({
      alertId: alert.id,
      afterSeq: member.notifiedSeq,
      lastSeq: alert.lastSeq,
      maxAgeUs: maxAgeUs(alert.labels.region ?? ''),
    })),
  );
  /** By alert and group key. */
  const changed = new Map<string, Map<string, GroupMember>>();
  const summaries = new Map<string, Group>();
  const suppressions: Suppression[] = [];
  for (const [index, { alert, members, member }] of news.entries()) {
    const old = olds[index];
    const own = groups.get(member.groupKey);
    if (!old || !own) continue;
    const ofAlert = changed.getOrInsertComputed(alert.id, () => new Map<string, GroupMember>());
    ofAlert.set(member.groupKey, leaveToSummary(member, alert, old));
    // Its events are those of other alerts, with which they are counted.
    if (alert.alertname === sharedCause.name) continue;
    const receiver = receiverOf(root, own);
    const key = catchUpKey(receiver);
    const stored = groups.get(key) ?? (await tx.groups.list([key]))[0];
    const summary = awaitSummary(stored, receiver, old, root, nowUs);
    groups.set(key, summary);
    summaries.set(key, summary);
    const before = ofAlert.get(key) ?? members.get(key);
    const notifiedSeq = Math.min(before?.notifiedSeq ?? member.notifiedSeq, member.notifiedSeq);
    ofAlert.set(key, {
      groupKey: key,
      sort: 'catch_up',
      alertId: alert.id,
      notifiedSeq,
      notifiedState: 'none',
    });
    suppressions.push({
      alertId: alert.id,
      afterSeq: member.notifiedSeq,
      lastSeq: old.lastSeq,
      groupKey: member.groupKey,
      receiver,
      reason: 'too_old',
      detail: 'counted in a summary, since it was old when it could be read',
      atUs: nowUs,
    });
  }
  return {
    groups: [...summaries.values()],
    members: [...changed.values()].flatMap((ofAlert) => [...ofAlert.values()]),
    suppressions,
  };
}

/** The newest events that are sorted. */
const MOST_SORTED = 500;

/** Up to where any of the groups that the alert's routes made has told its events. */
function toldToAny(members: ReadonlyMap<string, GroupMember>): number {
  const own = [...members.values()].filter(
    ({ sort, notifiedSeq }) => sort === 'route' && notifiedSeq !== HAS_LEFT,
  );
  return Math.max(...own.map(({ notifiedSeq }) => notifiedSeq));
}

/**
 * Sorts the events of a cause after `afterSeq`, which nobody was told, by when they occurred. They come Bird by Bird, and
 * old ones are left out as the first.
 */
async function sortEvents(tx: Transaction, { id }: Alert, afterSeq: number): Promise<void> {
  const links = (await tx.alerts.events(id, afterSeq, MOST_SORTED)).toReversed();
  const sorted = links.map(({ event }) => event).toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const moved = links.flatMap((link, index) =>
    sorted[index] === link.event ? [] : [{ ...link, event: sorted[index]! }],
  );
  if (moved.length > 0) await tx.alerts.linkEvents(moved);
}

// What an alert about a shared cause tells is not told again with the alerts for which it stands in: they are marked as if
// they had told the events that are its own, for the receivers that are told of it.

/** An alert with its members, by group key, as they are about to be stored. */
interface JoinedAlert {
  readonly alert: Alert;
  readonly members: ReadonlyMap<string, GroupMember>;
}

/**
 * The first events of a cause, among which are those of all alerts that joined their groups before it began: it begins
 * with at most 100 failures of each of about 20 Birds.
 */
const FIRST_EVENTS = 2_000;

/** The members that change; `groups` are the groups of all members, by key. */
async function handOver(
  tx: Transaction,
  joined: readonly JoinedAlert[],
  groups: ReadonlyMap<string, Group>,
  isTold: IsTold,
): Promise<GroupMember[]> {
  const parts = joined.filter(({ alert }) => alert.alertname === flightFailed.name && isPart(alert));
  const begun = joined.filter(
    ({ alert }) => alert.alertname === sharedCause.name && alert.state === 'firing',
  );
  const scopes = new Set(parts.flatMap(({ alert }) => scopesOfCause(alert.labels)));
  const causes = new Map<string, Alert>();
  for (const cause of scopes.size > 0 ? await tx.alerts.ofScopes([...scopes]) : []) {
    if (cause.state === 'firing') causes.set(cause.scope, cause);
  }
  const changed: GroupMember[] = [];
  const mark = (member: GroupMember, seq: number, cause: Alert, receiver: string | undefined) => {
    const isOpen = member.sort === 'route' && member.notifiedSeq !== HAS_LEFT && member.notifiedSeq < seq;
    if (isOpen && receiver !== undefined && isTold(cause.labels, receiver))
      changed.push({ ...member, notifiedSeq: seq });
  };
  for (const { alert, members } of causes.size > 0 ? parts : []) {
    const cause = scopesOfCause(alert.labels).flatMap((scope) => causes.get(scope) ?? [])[0];
    if (!cause) continue;
    for (const member of members.values()) {
      mark(member, alert.lastSeq, cause, groups.get(member.groupKey)?.receiver);
    }
  }
  for (const { alert: cause, members } of begun) {
    const before = cause.lastSeq - cause.eventsTotal;
    const told = [...members.values()].map(({ notifiedSeq }) => notifiedSeq);
    const afterSeq = Math.max(before, Math.min(...told));
    const lastSeq = Math.min(before + FIRST_EVENTS, cause.lastSeq);
    if (afterSeq < lastSeq) await markParts(cause, afterSeq, lastSeq);
  }
  return changed;

  /** Those that joined their groups before the cause began. */
  async function markParts(cause: Alert, afterSeq: number, lastSeq: number): Promise<void> {
    const seqs = new Map(await tx.alerts.sharing(cause.id, afterSeq, lastSeq));
    const members = await tx.groups.membersOfAlerts([...seqs.keys()]);
    const unknown = [...new Set(members.map(({ groupKey }) => groupKey))].filter((key) => !groups.has(key));
    const others = new Map((await tx.groups.list(unknown)).map((group) => [group.key, group]));
    for (const member of members) {
      const { receiver } = groups.get(member.groupKey) ?? others.get(member.groupKey) ?? {};
      mark(member, seqs.get(member.alertId) ?? 0, cause, receiver);
    }
  }
}
