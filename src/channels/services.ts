/**
 * The ways to services whose form of message is fixed: Slack, Microsoft Teams, PagerDuty and another Alertmanager. Each
 * is a body that a format writes, posted to one address; retries are those of every delivery.
 */
import type {
  AlertmanagerIntegration,
  Integration,
  PagerdutyIntegration,
  SlackIntegration,
  TeamsIntegration,
} from '../config/config.ts';
import { type Pushable, pushedAlerts } from './alertmanager/alertmanager-push.ts';
import { type Channel, NO_DIGEST, ONLY_CLOUDEVENTS, type Outcome } from './channel.ts';
import type { Readable } from './message/digest-view.ts';
import { type Filled, filled } from './message/filled.ts';
import { pagerdutyChange, pagerdutyEvent } from './pagerduty/pagerduty-event.ts';
import { openSender, type Sender, type SenderOptions } from './post.ts';
import { slackBody } from './slack/slack-body.ts';
import { teamsBody } from './teams/teams-body.ts';

export interface ServiceChannels {
  readonly slack: Channel<SlackIntegration>;
  readonly msteamsv2: Channel<TeamsIntegration>;
  readonly pagerduty: Channel<PagerdutyIntegration>;
  readonly alertmanager: AlertmanagerChannel;
}

export interface AlertmanagerChannel extends Channel<AlertmanagerIntegration> {
  /** Tells once more what still fires. */
  repeat(
    integration: AlertmanagerIntegration,
    alerts: readonly Pushable[],
    externalUrl: string,
  ): Promise<Outcome>;
}

export type ServiceIntegration = Exclude<Integration, { kind: 'email' | 'webhook' }>;

export function openServiceChannels(options: SenderOptions): ServiceChannels {
  const sender = openSender(options);
  const { nowUs } = options.clock;
  const channel = <I extends ServiceIntegration>() => serviceChannel<I>(sender, nowUs);
  return {
    slack: channel(),
    msteamsv2: channel(),
    pagerduty: channel(),
    alertmanager: {
      ...channel<AlertmanagerIntegration>(),
      repeat: ({ url, timeoutMs }, alerts, externalUrl) =>
        sender.post({
          url: alertsUrl(url.reveal()),
          contentType: 'application/json',
          body: JSON.stringify(pushedAlerts(alerts, externalUrl, nowUs())),
          timeoutMs,
        }),
    },
  };
}

function alertsUrl(base: string): string {
  return `${base}/api/v2/alerts`;
}

function serviceChannel<I extends ServiceIntegration>(sender: Sender, nowUs: () => number): Channel<I> {
  return {
    async send(integration, _delivery, notification, externalUrl) {
      if (notification.kind === 'forward') return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      const request = serviceRequest(integration, notification, externalUrl, nowUs());
      if (typeof request === 'string') return { kind: 'nothing', why: request };
      const { url, body, secrets, templateError } = request;
      const outcome = await sender.post({
        url,
        contentType: 'application/json',
        body: JSON.stringify(body),
        timeoutMs: integration.timeoutMs,
        secrets,
      });
      return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
    },
    close: sender.close,
  };
}

export interface ServiceRequest {
  /** A secret. */
  readonly url: string;
  readonly body: unknown;
  readonly secrets: readonly string[];
  readonly templateError?: string;
}

/** What is posted where, or why nothing is. Throws a `NestwatchError` for a secret file that cannot be read. */
export function serviceRequest(
  integration: ServiceIntegration,
  notification: Readable,
  externalUrl: string,
  nowUs: number,
): ServiceRequest | string {
  const url = integration.url.reveal();
  switch (integration.kind) {
    case 'slack': {
      const { title, text } = integration;
      const custom = filled({ title, text }, notification, externalUrl);
      const body = slackBody(notification, externalUrl, integration, custom.texts, custom.notes);
      return { url, body, secrets: [], ...failureOf(custom) };
    }
    case 'msteamsv2': {
      const { title, text } = integration;
      const custom = filled({ title, text }, notification, externalUrl);
      const body = teamsBody(notification, externalUrl, custom.texts, custom.notes);
      return { url, body, secrets: [], ...failureOf(custom) };
    }
    case 'pagerduty': {
      if (notification.kind === 'digest') return NO_DIGEST;
      const routingKey = integration.routingKey.reveal();
      const change = pagerdutyChange(notification, { routingKey });
      if (change) return { url, body: change, secrets: [routingKey] };
      const custom = filled({ description: integration.description }, notification, externalUrl);
      const style = { routingKey, severity: integration.severity };
      const body = pagerdutyEvent(notification, externalUrl, style, custom.texts.description, custom.notes);
      return { url, body, secrets: [routingKey], ...failureOf(custom) };
    }
    case 'alertmanager': {
      if (notification.kind === 'digest') return NO_DIGEST;
      const body = pushedAlerts(notification.alerts, externalUrl, nowUs);
      return { url: alertsUrl(url), body, secrets: [] };
    }
  }
}

function failureOf({ error }: Filled<string>): { templateError?: string } {
  return error === undefined ? {} : { templateError: error };
}
