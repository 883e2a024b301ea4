/**
 * Posts notifications to people's own endpoints, signed by the Standard Webhooks specification
 * (https://www.standardwebhooks.com).
 */
import { createHmac } from 'node:crypto';
import type { LeftOut, Notification } from '../../domain/grouping/notification.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import type { Secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { type ChannelOptions, ONLY_CLOUDEVENTS, type OpenChannel, type Outcome } from '../channel.ts';
import { alertmanagerBody } from '../message/alertmanager-body.ts';
import { renderTexts } from '../message/render-texts.ts';
import { openSender } from '../post.ts';
import type { Integration } from '../receiver.ts';
import { cloudEventBatches, digestEvent, eventBatches } from './cloudevents.ts';
import { digestBody } from './digest-json.ts';
import { judgeTraces, tracesOf } from './otlp.ts';

export interface WebhookIntegration extends Integration {
  readonly kind: 'webhook';
  /** A secret, since the URL itself may contain a key. */
  readonly url: Secret;
  readonly format: 'alertmanager' | 'cloudevents' | 'otlp' | 'template';
  /** The body; only with `format: template`. */
  readonly template?: Template;
  /** Standard Webhooks signing secret (`whsec_…` or base64); null: not signed. */
  readonly secret: Secret | null;
  /** Signs as well, while receivers change from it to `secret`. */
  readonly previousSecret?: Secret;
  readonly timeoutMs: number;
  readonly http?: HttpSettings;
  /** The most alerts in one message; 0 for no limit but our own. */
  readonly maxAlerts: number;
}

export function openWebhooks(options: ChannelOptions): OpenChannel<WebhookIntegration> {
  const { clock } = options;
  const sender = openSender(options);

  function post(integration: WebhookIntegration, id: string, message: WebhookMessage): Promise<Outcome> {
    const timestamp = Math.floor(clock.nowUs() / 1_000_000);
    const secrets = [integration.secret, integration.previousSecret].flatMap((one) => one?.reveal() || []);
    const signatures = secrets.map((secret) => signature(secret, id, timestamp, message.body));
    return sender.post({
      url: integration.url.reveal(),
      contentType: message.contentType,
      body: message.body,
      integration,
      judge: integration.format === 'otlp' ? judgeTraces : undefined,
      headers: {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        // A receiver accepts the message if any signature fits, so a secret can be changed without refusals.
        ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
      },
    });
  }

  return {
    async send(integration, attempt, notification, externalUrl) {
      const messages = webhookMessages(integration, notification, externalUrl);
      if (typeof messages === 'string') return { kind: 'nothing', why: messages };
      const leftOut: LeftOut[] = [];
      for (const [index, message] of messages.entries()) {
        // Further batches have their own ids, which are also the same on every try.
        const id = index === 0 ? attempt.id : `${attempt.id}.${index + 1}`;
        const outcome = await post(integration, id, message);
        if (outcome.kind !== 'accepted') return outcome;
        leftOut.push(...(outcome.leftOut ?? []));
      }
      const [templateError] = messages.flatMap((message) => message.templateError ?? []);
      return {
        kind: 'accepted',
        ...(leftOut.length > 0 && { leftOut }),
        ...(templateError && { templateError }),
      };
    },

    close: sender.close,
  };
}

/** Why a webhook with a template gets no digest. */
const NO_DIGEST_TEMPLATE =
  'templates are for alerts: digests are sent only in the formats alertmanager and cloudevents';

interface WebhookMessage {
  readonly contentType: string;
  readonly body: string;
  readonly templateError?: string;
}

/** What to post, or why there is nothing. */
export function webhookMessages(
  { format, template, maxAlerts }: WebhookIntegration,
  notification: Notification,
  externalUrl: string,
): WebhookMessage[] | string {
  if (format === 'otlp') {
    if (notification.kind === 'digest') return 'a digest is no trace';
    const batches = eventBatches(notification).flatMap((batch) => tracesOf(batch) ?? []);
    if (batches.length === 0) return 'no Flight ended in it';
    return batches.map((batch) => ({ contentType: 'application/json', body: JSON.stringify(batch) }));
  }
  if (format === 'cloudevents') {
    const batches =
      notification.kind === 'digest' ? [[digestEvent(notification)]] : cloudEventBatches(notification);
    if (batches.length === 0) return 'no new event in it to send as a CloudEvent';
    return batches.map((batch) => ({
      contentType: 'application/cloudevents-batch+json',
      body: JSON.stringify(batch),
    }));
  }
  if (notification.kind === 'forward') return ONLY_CLOUDEVENTS;
  if (notification.kind === 'digest') {
    if (format === 'template') return NO_DIGEST_TEMPLATE;
    return [{ contentType: 'application/json', body: JSON.stringify(digestBody(notification, externalUrl)) }];
  }
  const { texts, notes, error } = renderTexts({ body: template }, notification, externalUrl);
  const shown =
    notes.length > 0
      ? { ...notification, notices: [...(notification.notices ?? []), ...notes] }
      : notification;
  const body = texts.body ?? JSON.stringify(alertmanagerBody(shown, externalUrl, maxAlerts));
  return [{ contentType: 'application/json', body, ...(error && { templateError: error }) }];
}

/**
 * A signature by version 1 of the standard. Node's HMAC takes a seventh of the time of the standard's reference
 * library, by which the tests verify it. A secret is base64, with or without `whsec_`, as in the standard. Any other
 * text is used as it is, byte by byte, so that a passphrase works too.
 */
function signature(secret: string, id: string, timestamp: number, body: string): string {
  const base64 = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret;
  const isBase64 =
    base64 !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64);
  const key = isBase64 ? Buffer.from(base64, 'base64') : Buffer.from(secret, 'utf8');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
