/** Explains what became of one event, step by step, with the reason if a step stopped it. */
import type { Config } from '../config/config.ts';
import type { Action } from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { BEFORE_WATCH, type Event } from '../domain/alert/event.ts';
import type { Fact } from '../domain/alert/fact.ts';
import { eventLabels } from '../domain/alert/labels.ts';
import { nameOfRule } from '../domain/alert/rule.ts';
import { contextOf } from '../domain/context/findings.ts';
import { rulesConcerning, scopesOfEvent } from '../domain/evaluate/choose-rule.ts';
import { lastLinkedSeq } from '../domain/evaluate/flapping.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from '../domain/grouping/group.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';
import { SORTS, timedRoute } from '../domain/grouping/sorts.ts';
import { matchesAll } from '../domain/matchers/matcher.ts';
import type { Muting } from '../domain/muting/muting.ts';
import { isPutOff, type Suppression } from '../domain/muting/suppression.ts';
import { type Route, routeOfGroup } from '../domain/routing/route.ts';
import { MOST_LOOKED_AT } from '../domain/statistics/deadlines.ts';
import type { Delivery } from '../store/outbox-store.ts';
import { type DeadlineConfig, loadDeadlines, readPast } from '../store/read-history.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/clock.ts';
import { findReference, newestEventOf } from './find-reference.ts';
import { alsoCounted, whyNoAlert } from './no-alert.ts';

export type ExplainConfig = Pick<Config, 'rules' | 'route' | 'forward' | 'context'> & DeadlineConfig;

export type Explanation = NonNullable<Awaited<ReturnType<typeof explain>>>;

interface Waiting {
  readonly alertId: string;
  readonly groupKey: string;
  readonly receiver: string;
  readonly nextFlushAtUs: number;
  /** Why it is muted now, for people; empty when it is not muted. */
  readonly muted: string;
  /** Set for an escalation: it notifies only if the alert still fires then and nobody has acknowledged it. */
  readonly unlessAcknowledged: boolean;
}

/** A notification of an alert's group that lists or counts the event. */
export interface Mention {
  readonly notification: GroupNotification;
  /** False when it only counts the event. */
  readonly isListed: boolean;
  readonly deliveries: readonly Delivery[];
}

/** Explains the newest event of what an id of any kind means, or a link to a page; undefined if there is none. */
export async function explainMeant(
  tx: Transaction,
  id: string,
  regions: readonly string[],
  config: ExplainConfig,
  loadMuting: () => Promise<Muting>,
  nowUs: number,
) {
  const meant = await findReference(tx, id, regions);
  const key = meant && (await newestEventOf(tx, meant));
  const explanation =
    key === undefined ? undefined : await explain(tx, key, config, await loadMuting(), nowUs);
  return { meant, explanation };
}

/** Undefined for an event that is not kept. */
export async function explain(
  tx: Transaction,
  key: string,
  config: ExplainConfig,
  muting: Muting,
  nowUs: number,
) {
  const event = await tx.events.find(key);
  if (!event) return undefined;
  const isOfRegionsPast = event.occurredAtUs < ((await tx.inventory.knownSince(event.region)) ?? nowUs);
  const isHistoric = isOfRegionsPast || event.attributes[BEFORE_WATCH] === true;
  // Evaluated as if it were new: that it is historic is reported separately.
  const fact: Fact = { fact: 'event', event, historic: false };
  const rules = rulesConcerning(fact, config.rules);
  const linked = await tx.alerts.ofEvent(key);
  const past = readPast(tx);
  const alerts = await Promise.all(
    linked
      .filter(({ alert, seq }) => seq <= alert.lastSeq)
      .map(async (one) => ({ ...one, findings: await contextOf(one.alert, config.context.show, past) })),
  );
  const awaiting = linked.filter(({ alert, seq }) => seq > alert.lastSeq && seq <= lastLinkedSeq(alert));
  const found = await tx.outbox.notificationsOfEvent(key);
  const notifications = found.flatMap(({ notification, deliveries }) =>
    notification.kind === 'group' ? [{ notification, deliveries, isListed: lists(notification, key) }] : [],
  );
  const suppressions = await tx.suppressions.ofEvent(key);
  const isKnown = alerts.length + notifications.length + suppressions.length > 0;
  const waiting = await waitingGroups(tx, alerts, config, muting);
  return {
    event,
    // Whether it happened before nestwatch first watched the region or the Bird.
    isHistoric,
    // The kinds of alerts that it can raise, each with the rule that now decides; null if none does.
    rules: rules.map((one) => ({
      ...one,
      ...(one.rule !== null && { name: nameOfRule(config.rules[one.rule]!) }),
    })),
    // An alert that ended long ago is no longer kept, but its notifications still are.
    alerts,
    // If it belongs to one, only what rules on request count is said.
    noAlert: (isKnown ? alsoCounted : whyNoAlert)(event, isHistoric, rules, {
      awaiting: awaiting.map(({ alert }) => alert),
      ofScope: await tx.alerts.ofScopes(scopesOfEvent(event, config.rules)),
      rules: config.rules,
    }),
    waiting,
    notifications,
    suppressions: suppressions.map((one) => ({
      ...one,
      // Or will be.
      isNotifiedLater: isPutOff(one) && isNotifiedLater(one, notifications, waiting),
    })),
    forwards: await forwardsOf(tx, event, found, config),
    deadlines: event.feed === 'flight' ? await deadlinesOf(tx, event, config, nowUs) : [],
    actions: await actionsOf(tx, event),
  };
}

/** Of a Bird. For what failed before them it is not known what was open then. */
const MOST_ACTIONS = 1_000;

/**
 * What was done about the Flight of an event, or not, and why. While an action of a Bird is open, no other is planned: what
 * becomes of it then holds for what fails meanwhile.
 */
export async function actionsOf(
  tx: Transaction,
  { region, birdId, type, observedAtUs, attributes }: Event,
): Promise<Action[]> {
  const flightId = String(attributes.flight_id ?? '');
  if (birdId === '' || flightId === '') return [];
  const ofBird = await tx.actions.ofBird(region, birdId, MOST_ACTIONS);
  const own = ofBird.filter((one) => one.failedFlightId === flightId || one.newFlight?.flightId === flightId);
  const isKnown = own.some((one) => one.failedFlightId === flightId) || ofBird.length === MOST_ACTIONS;
  if (type !== 'flight.failed' || isKnown) return own;
  const isOpenThen = ({ plan, settledAtUs }: Action) =>
    plan !== undefined &&
    plan.alertStartsAtUs <= observedAtUs &&
    (settledAtUs === 0 || settledAtUs >= observedAtUs);
  return [...own, ...ofBird.filter(isOpenThen).slice(-1)];
}

async function deadlinesOf(
  tx: Transaction,
  { region, birdId, occurredAtUs, attributes }: Event,
  config: ExplainConfig,
  nowUs: number,
) {
  const bird = await tx.overdue.bird(region, birdId);
  const startedUs = Number(attributes.started_at_us ?? occurredAtUs);
  const span = { afterUs: startedUs - 1, most: MOST_LOOKED_AT };
  const rules = bird ? await loadDeadlines(tx, bird, config, span, nowUs) : [];
  return rules.flatMap(({ rule, zone, last }) =>
    last.filter(({ fromUs }) => startedUs >= fromUs).map((one) => ({ ...one, rule, zone })),
  );
}

function lists({ alerts }: GroupNotification, key: string): boolean {
  return alerts.some(({ events }) => events.some((event) => event.key === key));
}

function isNotifiedLater(
  { receiver, groupKey, atUs }: Suppression,
  notifications: readonly Mention[],
  waiting: readonly Waiting[],
): boolean {
  // The group may have a new receiver since, if the configuration no longer has the old one.
  const isFor = (one: { readonly receiver: string; readonly groupKey: string }) =>
    one.receiver === receiver || one.groupKey === groupKey;
  return (
    waiting.some(isFor) ||
    notifications.some(({ notification: later }) => isFor(later) && later.createdAtUs >= atUs)
  );
}

async function waitingGroups(
  tx: Transaction,
  alerts: readonly { readonly alert: Alert; readonly seq: number }[],
  { route: root }: ExplainConfig,
  muting: Muting,
): Promise<Waiting[]> {
  const waiting: Waiting[] = [];
  const pauseAfter = pausing(tx);
  for (const { alert, seq } of alerts) {
    const members = await tx.groups.membersOfAlerts([alert.id]);
    for (const group of await tx.groups.list(members.map((one) => one.groupKey))) {
      const member = members.find((one) => one.groupKey === group.key)!;
      const { notifiedSeq, route } =
        group.sort !== 'route'
          ? asGathered(root, group, { alert, member })
          : { notifiedSeq: member.notifiedSeq, route: routeOfGroup(root, group) };
      const timed = route && timedRoute(group, route, alert.labels, root, muting);
      const mute = timed && (await muting.why(alert, timed, pauseAfter));
      // What another alert tells in its place counts as told.
      if (notifiedSeq >= seq && !mute?.standsIn) continue;
      waiting.push({
        alertId: alert.id,
        groupKey: group.key,
        receiver: route?.receiver ?? group.receiver,
        nextFlushAtUs: group.nextFlushAtUs,
        muted: mute ? `${mute.reason}: ${mute.detail}` : '',
        unlessAcknowledged: group.sort === 'escalation',
      });
    }
  }
  return waiting;
}

/**
 * What a group other than a route's will do with an alert. If the group drops it at its next flush, it counts as
 * notified.
 */
function asGathered(root: Route, group: Group, alertInGroup: AlertInGroup) {
  const sort = SORTS[group.sort];
  const route = sort.routeOf(group, root, true);
  const [staying] = route ? sort.select([alertInGroup]).staying : [];
  return { notifiedSeq: staying?.member.notifiedSeq ?? HAS_LEFT, route };
}

async function forwardsOf(
  tx: Transaction,
  event: Event,
  found: Awaited<ReturnType<Transaction['outbox']['notificationsOfEvent']>>,
  { forward }: ExplainConfig,
) {
  const done = found.flatMap(({ notification, deliveries }) =>
    notification.kind === 'forward'
      ? [{ receiver: notification.receiver, deliveries, isWaiting: false }]
      : [],
  );
  const labels = eventLabels(event);
  const wanted = forward.filter(({ matchers }) => matchesAll(matchers, labels)).map((one) => one.receiver);
  const queued = await tx.forwards.receivers();
  const missing = [...new Set(wanted)].filter((name) => !done.some(({ receiver }) => receiver === name));
  return [
    ...done,
    ...missing.map((receiver) => ({ receiver, deliveries: [], isWaiting: queued.includes(receiver) })),
  ];
}
