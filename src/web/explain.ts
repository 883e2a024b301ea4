/** One event's way through nestwatch, step by step, with the reason where a step ends it. */
import type { Alert } from '../alerts/alert.ts';
import { asKindSees } from '../alerts/damping.ts';
import { dayAndTime } from '../alerts/day-and-time.ts';
import { rulesConcerning } from '../alerts/decide.ts';
import { type Event, NEST_EXCLUDED } from '../alerts/event.ts';
import { type Fact, scopeOf } from '../alerts/fact.ts';
import { HAS_LEFT } from '../alerts/group.ts';
import { eventLabels, exactDuration } from '../alerts/labels.ts';
import { matchesAll } from '../alerts/matcher.ts';
import type { Muting } from '../alerts/muting.ts';
import type { GroupNotification } from '../alerts/notification.ts';
import { routeAt } from '../alerts/route.ts';
import type { Rule } from '../alerts/rule.ts';
import { isPutOff, type Suppression } from '../alerts/suppression.ts';
import type { Config } from '../config/config.ts';
import type { Delivery } from '../store/record.ts';
import type { Transaction } from '../store/store.ts';

export type ExplainConfig = Pick<Config, 'rules' | 'route' | 'forward'>;

export interface Explanation {
  readonly event: Event;
  /** It happened before nestwatch first watched the region. */
  readonly isHistoric: boolean;
  /** The kinds of alerts that it can raise, with the index of the rule that decides on it now; null for none. */
  readonly rules: ReturnType<typeof rulesConcerning>;
  /** The alerts that it is part of. One that was over long ago is no longer kept: its notifications still are. */
  readonly alerts: readonly { readonly alert: Alert; readonly seq: number }[];
  /** Why it is part of none, a sentence; null when it is, or was told. */
  readonly noAlert: string | null;
  /** Groups that have not told it yet. */
  readonly waiting: readonly Waiting[];
  readonly notifications: readonly Telling[];
  readonly suppressions: readonly Withheld[];
  readonly forwards: readonly Forwarding[];
}

export interface Waiting {
  readonly alertId: string;
  readonly groupKey: string;
  readonly receiver: string;
  readonly nextFlushAtUs: number;
  /** Why it is not told now, for people; empty when it will be. */
  readonly muted: string;
}

export interface Telling {
  readonly notification: GroupNotification;
  /** False when it only counts the event. */
  readonly isListed: boolean;
  readonly deliveries: readonly Delivery[];
}

export interface Withheld extends Suppression {
  /** It was told to the receiver afterwards, or waits to be. */
  readonly isToldLater: boolean;
}

export interface Forwarding {
  readonly receiver: string;
  /** Without any it waits, or the receiver takes no events. */
  readonly deliveries: readonly Delivery[];
  readonly isWaiting: boolean;
}

/** Undefined for an event that is not kept. */
export async function explain(
  tx: Transaction,
  key: string,
  config: ExplainConfig,
  muting: Muting,
  nowUs: number,
): Promise<Explanation | undefined> {
  const event = await tx.event(key);
  if (!event) return undefined;
  const isHistoric = event.occurredAtUs < (await tx.regionSince(event.region, nowUs));
  // As if it were new: that it is not is a reason of its own.
  const fact: Fact = { fact: 'event', event, historic: false };
  const rules = rulesConcerning(fact, config.rules);
  const alerts = await tx.alertsOfEvent(key);
  const found = await tx.notificationsOfEvent(key);
  const notifications = found.flatMap(({ notification, deliveries }) =>
    notification.kind === 'group' ? [{ notification, deliveries, isListed: lists(notification, key) }] : [],
  );
  const suppressions = await tx.suppressionsOfEvent(key);
  const isKnown = alerts.length + notifications.length + suppressions.length > 0;
  const waiting = await waitingGroups(tx, alerts, config, muting);
  return {
    event,
    isHistoric,
    rules,
    alerts,
    noAlert: isKnown
      ? null
      : whyNoAlert(event, isHistoric, rules, await tx.alertsOfScopes([scopeOf(fact)]), config.rules),
    waiting,
    notifications,
    suppressions: suppressions.map((one) => ({
      ...one,
      isToldLater: isPutOff(one) && isToldLater(one, notifications, waiting),
    })),
    forwards: await forwardsOf(tx, event, found, config),
  };
}

function lists({ alerts }: GroupNotification, key: string): boolean {
  return alerts.some(({ events }) => events.some((event) => event.key === key));
}

function isToldLater(
  { receiver, atUs }: Suppression,
  notifications: readonly Telling[],
  waiting: readonly Waiting[],
): boolean {
  return (
    waiting.some((one) => one.receiver === receiver) ||
    notifications.some(({ notification: told }) => told.receiver === receiver && told.createdAtUs >= atUs)
  );
}

function whyNoAlert(
  event: Event,
  isHistoric: boolean,
  decisions: Explanation['rules'],
  ofScope: readonly Alert[],
  rules: readonly Rule[],
): string {
  if (event.attributes[NEST_EXCLUDED] === true) {
    return 'Its Nest is not watched: `nests.include` and `exclude` of the region leave it out.';
  }
  if (decisions.length === 0) return `No kind of alert is raised by ${event.type}.`;
  const decided = decisions.flatMap(({ rule }) => (rule === null ? [] : [rules[rule]!]));
  if (decided.length === 0) {
    return `No rule for ${decisions.map(({ kind }) => kind).join(', ')} matches it.`;
  }
  if (isHistoric) return whyNotListed(event, decisions, ofScope);
  return decided.map((rule) => whyNotFired(event, rule, ofScope)).join(' ');
}

/** What is past is no news; but a state that lasted until the watch began raises its alert. */
function whyNotListed(
  { occurredAtUs }: Event,
  decisions: Explanation['rules'],
  ofScope: readonly Alert[],
): string {
  const past = 'It happened before nestwatch first watched the region';
  const lasting = ofScope.find(
    ({ alertname, startsAtUs, endsAtUs }) =>
      decisions.some(({ kind }) => kind === alertname) &&
      startsAtUs > 0 &&
      startsAtUs <= occurredAtUs &&
      (endsAtUs === 0 || endsAtUs >= occurredAtUs),
  );
  if (!lasting) return `${past}: what is past raises no alert.`;
  return `${past}, so no alert lists it; but what it says still held then, and ${lasting.alertname} tells that (${lasting.id}).`;
}

/** Why an alert of this rule's kind has not taken up the event. */
function whyNotFired({ key }: Event, rule: Rule, ofScope: readonly Alert[]): string {
  const { kind, forMs } = rule;
  const holds = (events: readonly Event[] = []) => events.some((one) => one.key === key);
  const own = ofScope.filter(({ alertname }) => alertname === kind);
  const awaits = own.map(({ damping }) => damping?.awaits).find((one) => holds(one?.events));
  const lasted = `lasted for ${exactDuration(forMs)}, as \`for\` of its rule asks`;
  if (awaits) {
    const firesAt = dayAndTime(awaits.sinceUs + forMs * 1000);
    return `${kind} fires on ${firesAt}, when this has ${lasted}, unless it is over before.`;
  }
  // What a kind counts below its threshold.
  const isCounted = own.some(
    (alert) =>
      asKindSees(alert).state !== 'firing' &&
      holds((alert.memory as { waiting?: readonly Event[] } | null)?.waiting),
  );
  if (isCounted) {
    const also = forMs > 0 ? ` and it has ${lasted}` : '';
    return `It is counted for ${kind}, which fires when the threshold of its rule is reached${also}.`;
  }
  const reasons = [
    ...(asksForSeveral(rule) ? ['the threshold of its rule was not reached'] : []),
    forMs > 0 ? `it was over before it had ${lasted}` : 'what came later had ended it already',
  ];
  return `${kind} did not fire for it: ${reasons.join(', or ')}.`;
}

function asksForSeveral({ threshold, consecutive = 1, ratio }: Rule): boolean {
  return ratio !== undefined || Math.max(threshold, consecutive) > 1;
}

async function waitingGroups(
  tx: Transaction,
  alerts: Explanation['alerts'],
  { route: root }: ExplainConfig,
  muting: Muting,
): Promise<Waiting[]> {
  const waiting: Waiting[] = [];
  for (const { alert, seq } of alerts) {
    const members = (await tx.groupsOfAlerts([alert.id])).filter(
      ({ toldSeq }) => toldSeq < seq && toldSeq !== HAS_LEFT,
    );
    for (const group of await tx.groups(members.map((one) => one.groupKey))) {
      const route = routeAt(root, group.route);
      const mute = route && muting.why(alert, route);
      waiting.push({
        alertId: alert.id,
        groupKey: group.key,
        receiver: route?.receiver ?? group.receiver,
        nextFlushAtUs: group.nextFlushAtUs,
        muted: mute ? `${mute.reason}: ${mute.detail}` : '',
      });
    }
  }
  return waiting;
}

async function forwardsOf(
  tx: Transaction,
  event: Event,
  found: Awaited<ReturnType<Transaction['notificationsOfEvent']>>,
  { forward }: ExplainConfig,
): Promise<Forwarding[]> {
  const done = found.flatMap(({ notification, deliveries }) =>
    notification.kind === 'forward'
      ? [{ receiver: notification.receiver, deliveries, isWaiting: false }]
      : [],
  );
  const labels = eventLabels(event);
  const wanted = forward.filter(({ matchers }) => matchesAll(matchers, labels)).map((one) => one.receiver);
  const queued = await tx.forwardReceivers();
  const missing = [...new Set(wanted)].filter((name) => !done.some(({ receiver }) => receiver === name));
  return [
    ...done,
    ...missing.map((receiver) => ({ receiver, deliveries: [], isWaiting: queued.includes(receiver) })),
  ];
}
