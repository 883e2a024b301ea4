/**
 * Posts notifications to people's own endpoints, signed as Standard Webhooks describe
 * (https://www.standardwebhooks.com). What stops here: the URL, which may hold a key, and the receiver's words, which
 * are cleaned and freed of whatever they repeat of the URL.
 */
import { Webhook } from 'standardwebhooks';
import type { Notification } from '../../alerts/group.ts';
import type { Clock } from '../../clock.ts';
import type { WebhookIntegration } from '../../config/config.ts';
import { type ErrorCode, NestwatchError } from '../../errors.ts';
import { plainText } from '../../plain-text.ts';
import type { HttpResponse, Transport, TransportOptions } from '../../transport.ts';
import { alertmanagerBody } from '../formats/alertmanager.ts';
import { cloudEventBatches } from '../formats/cloudevents.ts';
import type { Channel, Outcome } from './channel.ts';

/** More than ever are in flight, so that receivers behind one address never wait for each other. */
const CONNECTIONS = 256;
/** Of an answer only the status counts; of its body a line is kept for people. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_ERROR_CODE_POINTS = 300;

export function openWebhookChannel(options: {
  readonly clock: Clock;
  readonly version: string;
  /** Called once for every timeout that integrations have. */
  readonly openTransport: (options: TransportOptions) => Transport;
}): Channel<WebhookIntegration> {
  const { clock, version } = options;
  const transports = new Map<number, Transport>();

  function transportOf(timeoutMs: number): Transport {
    let transport = transports.get(timeoutMs);
    if (!transport) {
      transport = options.openTransport({
        connections: CONNECTIONS,
        timeoutMs,
        maxBodyBytes: MAX_ANSWER_BYTES,
      });
      transports.set(timeoutMs, transport);
    }
    return transport;
  }

  async function post(integration: WebhookIntegration, id: string, message: Message): Promise<Outcome> {
    const target = targetOf(integration.url.reveal());
    const timestamp = Math.floor(clock.nowUs() / 1_000_000);
    const secret = integration.secret?.reveal();
    const headers = {
      'content-type': message.contentType,
      'user-agent': `nestwatch/${version}`,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      ...(secret && { 'webhook-signature': signature(secret, id, timestamp, message.body) }),
      ...target.headers,
    };
    try {
      const response = await transportOf(integration.timeoutMs).send({
        method: 'POST',
        url: target.url,
        headers,
        body: message.body,
      });
      return answered(response, target.secrets, clock.nowUs());
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      return unanswered(error);
    }
  }

  return {
    async send(integration, delivery, notification, externalUrl) {
      const messages = messagesOf(integration, notification, externalUrl);
      if (typeof messages === 'string') return { kind: 'nothing', why: messages };
      for (const [index, message] of messages.entries()) {
        // Further batches have ids of their own, the same on every try as well.
        const id = index === 0 ? delivery.id : `${delivery.id}.${index + 1}`;
        const outcome = await post(integration, id, message);
        if (outcome.kind !== 'accepted') return outcome;
      }
      return { kind: 'accepted' };
    },

    async close() {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      transports.clear();
    },
  };
}

interface Message {
  readonly contentType: string;
  readonly body: string;
}

/** What to post, or why there is nothing. */
function messagesOf(
  { format, maxAlerts }: WebhookIntegration,
  notification: Notification,
  externalUrl: string,
): Message[] | string {
  if (format === 'cloudevents') {
    const batches = cloudEventBatches(notification);
    if (batches.length === 0) return 'no new event in it to tell as a CloudEvent';
    return batches.map((batch) => ({
      contentType: 'application/cloudevents-batch+json',
      body: JSON.stringify(batch),
    }));
  }
  if (notification.kind === 'forward')
    return 'single events are forwarded to webhooks with format cloudevents only';
  const body = JSON.stringify(alertmanagerBody(notification, externalUrl, maxAlerts));
  return [{ contentType: 'application/json', body }];
}

/** Where to post. Credentials in the URL go into a header; `secrets` are the parts that no text may repeat. */
function targetOf(text: string): { url: string; headers: Record<string, string>; secrets: string[] } {
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const parts = [...url.pathname.split('/'), ...[...url.searchParams].flat(), url.search.slice(1)];
  return {
    url: url.href,
    headers:
      username || password ? { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } : {},
    secrets: [password, ...parts].flatMap((part) => [part, decoded(part)]).filter((part) => part.length >= 4),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * A secret is base64, with or without `whsec_`, as the standard has it; any other text is taken as it is, byte by
 * byte, so that a passphrase works too.
 */
function signature(secret: string, id: string, timestamp: number, body: string): string {
  const base64 = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret;
  const isBase64 =
    base64 !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64);
  const webhook = isBase64
    ? new Webhook(base64)
    : new Webhook(new TextEncoder().encode(secret), { format: 'raw' });
  return webhook.sign(id, new Date(timestamp * 1000), body);
}

/** 2xx accepts; 408, 425, 429 and 5xx may pass; every other answer refuses. */
function answered(response: HttpResponse, secrets: readonly string[], nowUs: number): Outcome {
  const { status } = response;
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  const words = /html/i.test(response.headers['content-type'] ?? '') ? '' : without(secrets, response.body);
  const error = plainText(`HTTP ${status}${words && `: ${words}`}`, MAX_ERROR_CODE_POINTS);
  if (status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600)) {
    const retryAfterMs = readRetryAfter(response.headers['retry-after'], nowUs);
    const reason: ErrorCode = status === 429 ? 'rate_limited' : 'unavailable';
    return { kind: 'failed', reason, error, ...(retryAfterMs && { retryAfterMs }) };
  }
  return { kind: 'refused', reason: status >= 300 && status < 400 ? 'redirected' : 'rejected', error };
}

function without(secrets: readonly string[], text: string): string {
  const bounded = text.slice(0, 4_096);
  return secrets.reduce((rest, part) => rest.replaceAll(part, '[secret]'), bounded);
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
function readRetryAfter(value: string | undefined, nowUs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowUs / 1000);
}

/** The codes of a connection that broke after the request may have left. */
const BROKEN = new Set(['UND_ERR_SOCKET', 'UND_ERR_DESTROYED', 'ECONNRESET', 'EPIPE']);

/** Without a whole answer: a status that came all the same decides, else whether the request can have arrived. */
function unanswered(error: NestwatchError): Outcome {
  const { status } = error.facts;
  if (status !== undefined) {
    return answered({ status, headers: {}, body: '' }, [], 0);
  }
  const cause = codeOfCause(error.cause);
  const neverSent = error.code === 'unreachable' ? !BROKEN.has(cause) : cause === 'UND_ERR_CONNECT_TIMEOUT';
  const text = plainText(error.message, MAX_ERROR_CODE_POINTS);
  if (neverSent) return { kind: 'failed', reason: error.code, error: text };
  const reason = error.code === 'timeout' ? 'timeout' : 'ambiguous';
  return { kind: 'unknown', reason, error: text };
}

function codeOfCause(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}
