import type { Labels } from '../../domain/alert/alert.ts';
import { eventJson } from '../../domain/alert/event.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { DEFAULT_RULES } from '../../domain/kinds/kinds.ts';
import type { Explanation, Mention } from '../../operator/explain.ts';
import { sayNoAlert } from '../../operator/no-alert.ts';
import { formatInstant } from '../../time/instant.ts';
import type { NameOf } from '../delivery-messages.ts';
import { actionJson } from './action-json.ts';
import { alertJson, deadlineJson, deliveryJson, findingJson } from './alert-json.ts';

/** The steps, in the order in which an event takes them. */
export function explanationJson(
  explanation: Explanation,
  rules: readonly Rule[],
  externalUrl: string,
  nameOf: NameOf,
) {
  const { event, alerts, suppressions, forwards, waiting } = explanation;
  return {
    event: eventJson(event),
    seen: {
      feed: event.feed,
      occurred_at: event.occurredAt,
      observed_at: formatInstant(event.observedAtUs),
      delay_seconds: Math.max(0, event.observedAtUs - event.occurredAtUs) / 1e6,
      historic: explanation.isHistoric,
    },
    rules: explanation.rules.map(({ kind, rule, name = null }) => ({
      alertname: kind,
      rule,
      name,
      // The default rules follow the configured ones.
      built_in: rule !== null && rule >= rules.length - DEFAULT_RULES.length,
      threshold: rule === null ? null : thresholdOf(rules[rule]),
    })),
    alerts: alerts.map(({ alert, seq, findings }) => ({
      ...alertJson(alert, externalUrl),
      seq,
      findings: findings.map(findingJson),
    })),
    no_alert: explanation.noAlert && sayNoAlert(explanation.noAlert),
    waiting: waiting.map((one) => ({
      alert_id: one.alertId,
      receiver: one.receiver,
      group_key: one.groupKey,
      next_flush: formatInstant(one.nextFlushAtUs),
      muted: one.muted || null,
      unless_acknowledged: one.unlessAcknowledged,
    })),
    notifications: explanation.notifications.map((one) => mentionJson(one, nameOf)),
    suppressions: suppressions.map((one) => ({
      alert_id: one.alertId,
      receiver: one.receiver,
      group_key: one.groupKey,
      reason: one.reason,
      detail: one.detail,
      at: formatInstant(one.atUs),
      notified_later: one.isNotifiedLater,
    })),
    deadlines: explanation.deadlines.map(({ rule, zone, ...one }) => ({
      ...{ rule, timezone: zone },
      ...deadlineJson(one),
    })),
    actions: explanation.actions.map(actionJson),
    forwards: forwards.map(({ receiver, deliveries, isWaiting }) => ({
      receiver,
      state: deliveries[0]?.state ?? (isWaiting ? 'waiting' : 'not_sent'),
      deliveries: deliveries.map((one) => deliveryJson(one, nameOf)),
    })),
  };
}

function mentionJson({ notification, isListed, deliveries }: Mention, nameOf: NameOf) {
  const { id, receiver, groupKey, groupLabels, reason, status, createdAtUs } = notification;
  return {
    id,
    receiver,
    group_key: groupKey,
    group_labels: groupLabels satisfies Labels,
    reason,
    status,
    created_at: formatInstant(createdAtUs),
    listed: isListed,
    deliveries: deliveries.map((one) => deliveryJson(one, nameOf)),
  };
}

/** For kinds that do not count, one fact is enough. */
function thresholdOf(rule: Rule | undefined): number {
  return rule && 'threshold' in rule && typeof rule.threshold === 'number' ? rule.threshold : 1;
}
