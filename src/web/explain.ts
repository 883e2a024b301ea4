/** One event's way through nestwatch, step by step, with the reason where a step ends it. */
import type { Alert } from '../alerts/alert.ts';
import { rulesConcerning } from '../alerts/decide.ts';
import type { Event } from '../alerts/event.ts';
import { type Fact, scopeOf } from '../alerts/fact.ts';
import { HAS_LEFT } from '../alerts/group.ts';
import { eventLabels } from '../alerts/labels.ts';
import { matchesAll } from '../alerts/matcher.ts';
import type { Muting } from '../alerts/muting.ts';
import type { GroupNotification } from '../alerts/notification.ts';
import { routeAt } from '../alerts/route.ts';
import type { Suppression } from '../alerts/suppression.ts';
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
  readonly suppressions: readonly Suppression[];
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
  return {
    event,
    isHistoric,
    rules,
    alerts,
    noAlert: isKnown ? null : whyNoAlert(event, isHistoric, rules, await tx.alertsOfScopes([scopeOf(fact)])),
    waiting: await waitingGroups(tx, alerts, config, muting),
    notifications,
    suppressions,
    forwards: await forwardsOf(tx, event, found, config),
  };
}

function lists({ alerts }: GroupNotification, key: string): boolean {
  return alerts.some(({ events }) => events.some((event) => event.key === key));
}

function whyNoAlert(
  event: Event,
  isHistoric: boolean,
  rules: Explanation['rules'],
  ofScope: readonly Alert[],
): string {
  if (rules.length === 0) return `No kind of alert is raised by ${event.type}.`;
  const decided = rules.filter(({ rule }) => rule !== null);
  if (decided.length === 0) {
    return `No rule for ${rules.map(({ kind }) => kind).join(', ')} matches it.`;
  }
  if (isHistoric) {
    return 'It happened before nestwatch first watched the region: what is past raises no alert.';
  }
  const counting = ofScope.find(
    ({ alertname, memory }) => memory !== null && decided.some(({ kind }) => kind === alertname),
  );
  if (counting) {
    return `It is counted for ${counting.alertname}, which fires when the threshold of its rule is reached.`;
  }
  return `It did not reach the threshold of ${decided.map(({ kind }) => kind).join(', ')}, or what came later had ended it already.`;
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
