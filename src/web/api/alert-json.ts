/** Formats what several answers of the JSON API share: alerts, deliveries, actions, health and explanations. */
import { type Action, sayAction } from '../../domain/action/action.ts';
import { type Alert, fingerprint, type Labels, type Note } from '../../domain/alert/alert.ts';
import { eventJson, wireText } from '../../domain/alert/event.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { ANNOTATION_OF, type Finding } from '../../domain/context/findings.ts';
import { DEFAULT_RULES } from '../../domain/kinds/kinds.ts';
import type { Suppression } from '../../domain/muting/suppression.ts';
import { type Deadline, lateUs } from '../../domain/statistics/deadlines.ts';
import type { HealthAnswer } from '../../health/health.ts';
import type { Impairment } from '../../health/impairment.ts';
import { alertPath } from '../../http/page-path.ts';
import type { AlertRecord } from '../../operator/alert-record.ts';
import type { Explanation, Mention } from '../../operator/explain.ts';
import { sayNoAlert } from '../../operator/no-alert.ts';
import type { FiringCounts } from '../../operator/read-alerts.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import type { FaultRecord } from '../../store/sql/upkeep/noted-faults.ts';
import { dayAndSecond } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { formatInstant } from '../../time/instant.ts';
import type { NameOf } from '../web-options.ts';

/** An instant for JSON; 0 means none. */
export const instantJson = (us: number) => (us === 0 ? null : formatInstant(us));

/** Go's zero time, with which Alertmanager marks an alert that has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/** Alertmanager's format, with the state and the number of events in addition. */
export function alertJson(alert: Alert, externalUrl: string) {
  return {
    id: alert.id,
    state: alert.state,
    status: alert.state,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAt: alert.startsAtUs === 0 ? null : formatInstant(alert.startsAtUs),
    endsAt: alert.endsAtUs === 0 ? NOT_ENDED : formatInstant(alert.endsAtUs),
    generatorURL: `${externalUrl}/${alertPath(alert.id)}`,
    fingerprint: fingerprint(alert.labels),
    events_total: alert.eventsTotal,
  };
}

/** What was looked for to say why an alert fires now: a text, or why there is none. */
export function findingJson(finding: Finding) {
  const { eventKey = null, alertId = null } = 'text' in finding ? finding : {};
  return {
    sort: finding.sort,
    annotation: ANNOTATION_OF[finding.sort],
    text: 'text' in finding ? finding.text : null,
    missing: 'missing' in finding ? finding.missing : null,
    event_key: eventKey,
    alert_id: alertId,
  };
}

export function noteJson({ id, author, text, isPublic, atUs }: Note) {
  return { id, author, text, public: isPublic, at: formatInstant(atUs) };
}

export function deadlineJson(deadline: Deadline) {
  const { atUs, outcome } = deadline;
  return {
    at: formatInstant(atUs),
    outcome,
    late_seconds: outcome === 'late' ? lateUs(deadline) / 1e6 : null,
  };
}

export function deliveryJson(delivery: Delivery, nameOf: NameOf) {
  return {
    id: delivery.id,
    notification_id: delivery.notificationId,
    receiver: delivery.receiver,
    integration: delivery.integration,
    integration_name: nameOf(delivery),
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: formatInstant(delivery.createdAtUs),
    next_attempt_at: delivery.settledAtUs === 0 ? instantJson(delivery.nextAttemptAtUs) : null,
    settled_at: instantJson(delivery.settledAtUs),
    last_error: delivery.lastError,
  };
}

const MAX_FAULT_LENGTH = 300;

/** A fault that was set aside, for the JSON API. */
export function faultJson({ sort, name, reason, sinceUs }: FaultRecord) {
  return {
    sort,
    name: plainText(name, MAX_FAULT_LENGTH),
    reason: plainText(reason, MAX_FAULT_LENGTH),
    since: formatInstant(sinceUs),
  };
}

/** Who was not notified of an alert, and why. */
export function suppressionJson({ alertId, receiver, groupKey, reason, detail, atUs }: Suppression) {
  return {
    ...{ alert_id: alertId, receiver, group_key: groupKey, reason, detail },
    at: formatInstant(atUs),
  };
}

/** All that is known of one alert. */
export function recordJson(record: AlertRecord, externalUrl: string, nameOf: NameOf) {
  const { alert } = record;
  const ofEpisode = record.events.filter(({ seq }) => seq > alert.lastSeq - alert.eventsTotal);
  return {
    ...alertJson(alert, externalUrl),
    events_omitted: Math.max(0, alert.eventsTotal - ofEpisode.length),
    kept: record.isKept,
    ending: alert.ending ?? null,
    silenced_by: record.silencedBy.map(({ id, alertId, createdBy, comment }) => ({
      id,
      acknowledgement: alertId !== null,
      author: createdBy,
      comment,
    })),
    acknowledgements: record.acknowledgements.map(({ createdBy, comment, startsAtUs }) => ({
      ...{ author: createdBy, comment },
      at: formatInstant(startsAtUs),
    })),
    notes: record.notes.map(noteJson),
    inhibited_by: record.inhibitedBy,
    receivers: record.receivers,
    findings: record.findings.map(findingJson),
    events: record.events.map(({ event, seq }) => ({ seq, ...eventJson(event) })),
    episodes: record.episodes.map((one) => ({
      startsAt: formatInstant(one.startsAtUs),
      endsAt: formatInstant(one.endsAtUs),
      ending: one.ending,
      events_total: one.events,
    })),
    notifications: record.notifications.map((one) => ({
      id: one.id,
      receiver: one.receiver,
      reason: one.reason,
      created_at: formatInstant(one.createdAtUs),
      deliveries: one.deliveries.map((delivery) => deliveryJson(delivery, nameOf)),
    })),
    suppressions: record.suppressions.map(suppressionJson),
  };
}

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
      ...suppressionJson(one),
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

export function actionJson(action: Action) {
  const { id, name, state, region, birdId, bird, by, rule, comment, reason, newFlight } = action;
  return {
    ...{ id, action: name, state, region, bird_id: birdId, bird: wireText(bird) },
    ...{ by: by.map(wireText), rule, comment: wireText(comment), reason: wireText(reason) },
    withheld_by: action.guard ?? null,
    failed_flight_id: action.failedFlightId,
    wanted_at: instantJson(action.wantedAtUs),
    asked_at: instantJson(action.askedAtUs),
    settled_at: instantJson(action.settledAtUs),
    new_flight_id: newFlight?.flightId ?? null,
    is_new_flight_looked_for: action.seeks !== undefined,
    summary: wireText(sayAction(action, dayAndSecond)),
  };
}

/** `alerts` is null while the store does not answer. Then it is unknown whether all is quiet. */
export function healthJson({ impairments, space }: HealthAnswer, alerts: FiringCounts | null) {
  return {
    quiet: impairments.length === 0 && alerts?.unacknowledged === 0,
    impaired: impairments.length > 0,
    impairments: impairments.map(impairmentJson),
    alerts,
    store: space ? { bytes: space.used, free_bytes: space.free ?? null } : null,
  };
}

export function impairmentJson(one: Impairment) {
  return {
    reason: one.reason,
    severity: one.severity,
    since: formatInstant(one.sinceUs),
    ...(one.region !== undefined && { region: one.region }),
    ...(one.feed !== undefined && { feed: one.feed }),
    ...(one.receiver !== undefined && { receiver: one.receiver }),
    ...(one.replica !== undefined && { replica: one.replica }),
    ...(one.path !== undefined && { path: one.path }),
    title: one.title,
    summary: one.summary,
    action: one.action,
    stops_heartbeat: one.stopsHeartbeat,
  };
}
