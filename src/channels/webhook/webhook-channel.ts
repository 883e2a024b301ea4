import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader, httpShape } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, refuseTemplates } from '../../document/read-template.ts';
import { duration, refused, twins, words } from '../../document/value-shape.ts';
import type { LeftOut, Notification } from '../../domain/grouping/notification.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import { mistakeInHttpUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import {
  type Channel,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
} from '../channel.ts';
import { alertmanagerBody } from '../message/alertmanager-body.ts';
import { renderTexts } from '../message/render-texts.ts';
import { hostOf, isBadRequest, openSender, probeAddress } from '../post-channel.ts';
import type { Integration } from '../receiver.ts';
import { cloudEventBatches, digestBody, digestEvent, eventBatches } from './webhook-bodies.ts';

const WORDS = [
  'JSON, signed as described by [Standard Webhooks](https://www.standardwebhooks.com) if `secret` is set.',
  'A large group is sent whole, in parts of up to 500 alerts and 500 events (`part` and `parts` in the body).',
  'With `format: alertmanager`, each alert contains its newest 20 new events, and `events_omitted` counts the others.',
  'With `format: cloudevents`, each event is sent individually, in batches of up to 100, even one that other receivers get in a summary; alerts are not sent. To drop duplicates of events, use their `source` and `id`, which never change: `webhook-id` identifies the batch, and after a backup was restored events may arrive in different batches.',
  "With `format: otlp`, each ended Flight is a trace for a collector of OpenTelemetry, whose address ends in `/v1/traces` (OTLP over HTTP, JSON); its ids are made of the Flight's id. Other events are not sent.",
].join(' ');

const webhookShape = z
  .strictObject({
    ...twins('url', 'Address to which messages are posted. Required.'),
    format: z
      .enum(['alertmanager', 'cloudevents', 'otlp', 'template'])
      .prefault('alertmanager')
      .describe(
        "`alertmanager`: Alertmanager's webhook body. `cloudevents`: the events as a CloudEvents batch. `otlp`: ended Flights as traces. `template`: the JSON that `template` writes.",
      ),
    template: words.optional().describe('With `format: template`: a Liquid template of the JSON body.'),
    ...twins('secret', 'Signs each message as Standard Webhooks describes.'),
    ...twins(
      'secret_previous',
      'The previous secret. Messages are signed with both until this key is removed, so that the receiver can switch over.',
    ),
    timeout: duration(100).prefault('10s').describe('How long to wait for the response to one message.'),
    send_resolved: z.boolean().prefault(true).describe('Also notifies when alerts are resolved.'),
    max_alerts: z
      .int()
      .min(0)
      .prefault(0)
      .describe(
        'Maximum number of alerts in one message; 0 sets no limit. `truncatedAlerts` counts the alerts that are left out, and `explain` names them.',
      ),
    http_config: httpShape.optional(),
    payload: refused('use `format: template` with `template`'),
  })
  .describe(WORDS);

export const webhookChannel: Channel<WebhookIntegration> = {
  kind: 'webhook',
  audience: 'programs',
  pace: { inFlight: 8, claimed: 512 },
  shape: webhookShape,
  reader(check) {
    const http = httpReader(check);
    return (path) => readWebhook(check, path, http);
  },
  traits: ({ format, maxAlerts }) => ({
    takesEvents: format === 'cloudevents' || format === 'otlp',
    ...(maxAlerts > 0 && { maxAlerts }),
  }),
  destination: ({ url }) => hostOf(url),
  probe(integration) {
    const { url, http, format } = integration;
    if (format !== 'otlp') return probeAddress(url, http);
    const run = async () => (await import('./otlp.ts')).probeCollector(integration);
    return { key: `${url.reveal()} otlp`, run };
  },
  async preview(integration, notification, externalUrl) {
    const messages = await messagesOf(integration, notification, externalUrl);
    if (typeof messages === 'string') return { text: messages };
    const [templateError] = messages.flatMap((message) => message.templateError ?? []);
    const text = messages.map(({ body }) => JSON.stringify(JSON.parse(body), null, 2)).join('\n');
    return { text, ...(templateError && { templateError }) };
  },
  open: openWebhooks,
};

function readWebhook(check: Check, path: Path, readHttp: HttpReader): WebhookIntegration | undefined {
  refuseTemplates(check, path, webhookShape, ['template']);
  const url = check.secret(path, 'url', { isRequired: true, mistake: mistakeInHttpUrl });
  const secret = check.secret(path, 'secret', {});
  const previousSecret = check.secret(path, 'secret_previous', {});
  if (previousSecret && !isGiven(check, path, 'secret')) {
    check.problem([...path, 'secret'], 'is missing: `secret_previous` needs the new secret as well');
  }
  const template = readTemplate(check, [...path, 'template'], 'json');
  const http = readHttp(path);
  const webhook = check.read(webhookShape, path);
  checkFormat(check, path);
  if (!webhook || !url) return undefined;
  return {
    kind: 'webhook',
    url,
    format: webhook.format,
    ...(template && { template }),
    secret,
    ...(previousSecret && { previousSecret }),
    timeoutMs: webhook.timeout,
    ...(http && { http }),
    sendResolved: webhook.send_resolved,
    maxAlerts: webhook.max_alerts,
  };
}

/** The template and the format that requires it must be given together. */
function checkFormat(check: Check, path: Path): void {
  const isTemplate = check.raw([...path, 'format']) === 'template';
  const hasTemplate = check.raw([...path, 'template']) !== undefined;
  if (isTemplate && !hasTemplate) {
    check.problem([...path, 'template'], 'is missing: write the JSON that is posted, as a Liquid template');
  }
  if (hasTemplate && !isTemplate) {
    check.problem([...path, 'format'], 'must be template; otherwise `template` is not used');
  }
}

// Posts notifications to people's own endpoints, signed by the Standard Webhooks specification
// (https://www.standardwebhooks.com).

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

  async function post(
    integration: WebhookIntegration,
    id: string,
    message: WebhookMessage,
  ): Promise<Outcome> {
    const timestamp = Math.floor(clock.nowUs() / 1_000_000);
    const secrets = [integration.secret, integration.previousSecret].flatMap((one) => one?.reveal() || []);
    const signatures = secrets.map((secret) => signature(secret, id, timestamp, message.body));
    const outcome = await sender.post({
      url: integration.url.reveal(),
      contentType: message.contentType,
      body: message.body,
      integration,
      judge: message.judge,
      headers: {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        // A receiver accepts the message if any signature fits, so a secret can be changed without refusals.
        ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
      },
    });
    // What a collector cannot read must not be sent to it again.
    return integration.format === 'otlp' && isBadRequest(outcome) ? { ...outcome, isFinal: true } : outcome;
  }

  return {
    async send(integration, attempt, notification, externalUrl) {
      const messages = await messagesOf(integration, notification, externalUrl);
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
  /** Judges a successful answer; absent if its status says enough. */
  readonly judge?: (body: string) => Outcome;
  readonly templateError?: string;
}

/** What to post, or why there is nothing. Traces are loaded where they are asked for. */
async function messagesOf(
  integration: WebhookIntegration,
  notification: Notification,
  externalUrl: string,
): Promise<WebhookMessage[] | string> {
  if (integration.format !== 'otlp') return webhookMessages(integration, notification, externalUrl);
  if (notification.kind === 'digest') return 'a digest is no trace';
  const messages = (await import('./otlp.ts')).traceMessages(eventBatches(notification));
  return messages.length === 0 ? 'no Flight ended in it' : messages;
}

/** The same for the other formats. */
export function webhookMessages(
  { format, template, maxAlerts }: WebhookIntegration,
  notification: Notification,
  externalUrl: string,
): WebhookMessage[] | string {
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
