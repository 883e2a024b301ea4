/** Events, alerts and notifications as the earlier stages would pass them on. */

import type { EmailIntegration } from '../../src/channels/email/email-config.ts';
import type { WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import type {
  ForwardNotification,
  GroupNotification,
  NotifiedAlert,
} from '../../src/domain/grouping/notification.ts';
import { secret } from '../../src/secret.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import { event, delivery as queued } from '../store/contract/sample-records.ts';
import { TEST_START_US } from '../virtual-clock.ts';

export const MINUTE_US = 60_000_000;
export const NOW_US = TEST_START_US;

export function failedFlight(number: number, changes: Partial<Event> = {}): Event {
  const occurredAtUs = changes.occurredAtUs ?? NOW_US - number * MINUTE_US;
  const flightId = `5f0c9a52-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return event(`${flightId}/failed`, {
    ...{ feed: 'flight', type: 'flight.failed', occurredAtUs, observedAtUs: occurredAtUs + 1_500_000 },
    message: 'Translation failed: the provider answered 429 Too Many Requests',
    attributes: {
      flight_id: flightId,
      status: 'failed',
      started_at: '2026-07-02T11:41:07.118204Z',
      scope: 'Main',
    },
    ...changes,
  });
}

export function alert(changes: Partial<NotifiedAlert> = {}): NotifiedAlert {
  return {
    id: 'FlightFailed/93f7e433/eu/bird/148890',
    status: 'firing',
    labels: {
      alertname: 'FlightFailed',
      severity: 'critical',
      region: 'eu',
      nest_id: '682',
      nest: 'Marketing',
      bird_id: '148890',
      bird: 'Translate blog',
      error: 'Translation failed: the provider answered <n> Too Many Requests',
    },
    annotations: {
      summary: 'Flight of Translate blog failed in Marketing (EU)',
      description: 'Translation failed: the provider answered 429 Too Many Requests',
    },
    startsAtUs: NOW_US - 4 * MINUTE_US,
    endsAtUs: 0,
    fingerprint: '0123456789abcdef',
    events: [failedFlight(4)],
    eventsTotal: 1,
    eventsOmitted: 0,
    ...changes,
  };
}

/** Such an alert with some other labels. */
export function labelled(
  labels: NotifiedAlert['labels'],
  changes: Partial<NotifiedAlert> = {},
): NotifiedAlert {
  return alert({ ...changes, labels: { ...alert().labels, ...labels } });
}

/** Such an alert that is resolved. */
export function resolved(changes: Partial<NotifiedAlert> = {}): NotifiedAlert {
  return alert({ status: 'resolved', endsAtUs: NOW_US, ...changes });
}

/** A notification of these alerts. */
export function about(...alerts: NotifiedAlert[]): GroupNotification {
  return group({ alerts });
}

export function group(changes: Partial<GroupNotification> = {}): GroupNotification {
  const alerts = changes.alerts ?? [alert()];
  const resolvedTotal = alerts.filter((one) => one.status === 'resolved').length;
  return {
    kind: 'group',
    id: 'n-1',
    receiver: 'ops',
    createdAtUs: NOW_US,
    reason: 'first',
    groupKey: '{}:{alertname="FlightFailed", nest="Marketing", region="eu"}',
    groupSort: 'route',
    groupLabels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' },
    status: resolvedTotal === alerts.length ? 'resolved' : 'firing',
    alerts,
    truncatedAlerts: 0,
    firingTotal: alerts.length - resolvedTotal,
    resolvedTotal,
    thread: 'thread-1',
    threadPosition: 0,
    ...changes,
  };
}

export function forward(events: readonly Event[]): ForwardNotification {
  return { kind: 'forward', id: 'n-1', receiver: 'lake', createdAtUs: NOW_US, events };
}

export function delivery(changes: Partial<Delivery> = {}): Delivery {
  return queued('d-1', { notificationId: 'n-1', position: 1, ...changes });
}

export function webhook(changes: Partial<WebhookIntegration> = {}): WebhookIntegration {
  return {
    kind: 'webhook',
    url: secret('http://receiver.example/hook'),
    format: 'alertmanager',
    secret: null,
    timeoutMs: 10_000,
    sendResolved: true,
    maxAlerts: 0,
    ...changes,
  };
}

export function email(changes: Partial<EmailIntegration> = {}): EmailIntegration {
  return {
    kind: 'email',
    to: ['ops@example.com'],
    from: 'nestwatch@example.com',
    smarthost: { host: '127.0.0.1', port: 25 },
    requireTls: false,
    username: '',
    password: null,
    hello: '',
    isImplicitTls: false,
    sendResolved: true,
    ...changes,
  };
}

/** 200 Birds of one Nest fail at once with three causes; the notification contains 100 of them. */
export function storm(): GroupNotification {
  const causes = [
    'Translation failed: the provider answered <n> Too Many Requests',
    'Request timed out after <n> seconds',
    "Connection 'Contentful' is no longer authorized",
  ];
  const alerts = Array.from({ length: 100 }, (_, index) => {
    const error = causes[index % 10 < 6 ? 0 : index % 10 < 9 ? 1 : 2]!;
    const bird = `Translate page ${index + 1}`;
    const event = failedFlight(index, { bird, birdId: String(index), message: error.replace('<n>', '429') });
    return alert({
      id: `FlightFailed/93f7e433/eu/bird/${index}`,
      labels: { ...alert().labels, bird, bird_id: String(index), error },
      startsAtUs: event.occurredAtUs,
      events: [event],
    });
  });
  return group({ alerts, truncatedAlerts: 100, firingTotal: 200, resolvedTotal: 0, reason: 'new_alerts' });
}
