import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader, httpShape } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate } from '../../document/read-template.ts';
import { refuseTemplates } from '../../document/refuse-templates.ts';
import { refused } from '../../document/refused-key.ts';
import { duration, twins, words } from '../../document/value-shape.ts';
import { NestwatchError } from '../../errors.ts';
import { openAuthorizedTransport } from '../../http/authorized-transport.ts';
import { mistakeInHttpUrl } from '../../http/web-address.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import { plainText } from '../../text/plain-text.ts';
import { hostOf, probeAddress } from '../address.ts';
import type { Channel, Probe } from '../channel.ts';
import { openWebhooks, type WebhookIntegration, webhookMessages } from './post-webhook.ts';

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
  probe: (integration) => (integration.format === 'otlp' ? probeTraces : probeAddressOf)(integration),
  preview(integration, notification, externalUrl) {
    const messages = webhookMessages(integration, notification, externalUrl);
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

const probeAddressOf = ({ url, http }: WebhookIntegration) => probeAddress(url, http);

/** A collector accepts a request without spans, and answers one that comes to a wrong path or without rights. */
function probeTraces({ url, http, timeoutMs }: WebhookIntegration): Probe {
  return {
    key: `${url.reveal()} otlp`,
    async run() {
      // A token that was just made has not expired.
      const nowUs = () => 0;
      const options = { connections: 1, timeoutMs, maxBodyBytes: MAX_ANSWER_BYTES, http, nowUs };
      const transport = openAuthorizedTransport(options);
      const address = url.reveal();
      const headers = { 'content-type': 'application/json' };
      try {
        const body = JSON.stringify({ resourceSpans: [] });
        const { status, body: said } = await transport.send({ method: 'POST', url: address, headers, body });
        if (status >= 200 && status < 300) return;
        const words = plainText(withoutSecrets(said, secretsIn({ url, http })), MAX_WORDS);
        throw new NestwatchError('rejected', `${new URL(address).pathname} answered ${status}: ${words}`);
      } finally {
        await transport.close();
      }
    },
  };
}

const MAX_ANSWER_BYTES = 65_536;
const MAX_WORDS = 200;

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
