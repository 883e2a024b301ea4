/**
 * Makes channels to services that take one JSON body at one address, such as Slack and PagerDuty. Each channel says
 * what it posts; sending, previews and probes are the same for all.
 */
import type { HttpSettings } from '../http/http-settings.ts';
import { type Secret, secretsIn } from '../secret.ts';
import { hostOf, probeAddress } from './address.ts';
import {
  type Channel,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
  type Preview,
  type RepeatedAlert,
} from './channel.ts';
import type { Readable } from './message/digest-view.ts';
import { openSender, type RetryAfter } from './post.ts';
import type { Integration } from './receiver.ts';

export interface PostIntegration extends Integration {
  readonly url: Secret;
  readonly timeoutMs: number;
  readonly http?: HttpSettings;
}

export interface PostRequest {
  /** A secret. */
  readonly url: string;
  readonly body: unknown;
  /** Besides those of every post. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly templateError?: string | undefined;
}

interface PostChannel<I extends PostIntegration>
  extends Omit<Channel<I>, 'destination' | 'preview' | 'probe' | 'open'> {
  /** What is posted and where, or why nothing is. */
  request(integration: I, notification: Readable, externalUrl: string, nowUs: number): PostRequest | string;
  /** Judges the body of a 2xx answer, for services that refuse messages there. */
  judge?(body: string): Outcome;
  /** Reads from the body of a refusal how many seconds to wait, for services that have it there. */
  readonly retryAfter?: RetryAfter;
  /** Only for services that resolve an alert by themselves unless it is sent again. */
  readonly repeats?: {
    readonly everyMs: number;
    request(
      integration: I,
      alerts: readonly RepeatedAlert[],
      externalUrl: string,
      nowUs: number,
    ): PostRequest;
  };
}

export function postChannel<I extends PostIntegration>(service: PostChannel<I>): Channel<I> {
  const { request, judge, retryAfter, repeats, ...own } = service;
  return {
    ...own,
    destination: ({ url }) => hostOf(url),
    probe: ({ url, http }) => probeAddress(url, http),
    preview: (integration, notification, externalUrl) =>
      previewOf(integration, request(integration, notification, externalUrl, notification.createdAtUs)),
    open: (options) => openPosts(service, options),
  };
}

function openPosts<I extends PostIntegration>(
  { request, judge, retryAfter, repeats }: PostChannel<I>,
  options: ChannelOptions,
): OpenChannel<I> {
  const sender = openSender(options);
  const { nowUs } = options.clock;

  async function post(integration: I, { url, body, headers, templateError }: PostRequest): Promise<Outcome> {
    const outcome = await sender.post({
      url,
      contentType: 'application/json',
      body: JSON.stringify(body),
      integration,
      ...(headers && { headers }),
      judge,
      retryAfter,
    });
    return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
  }

  return {
    async send(integration, _attempt, notification, externalUrl) {
      if (notification.kind === 'forward') return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      const wanted = request(integration, notification, externalUrl, nowUs());
      return typeof wanted === 'string' ? { kind: 'nothing', why: wanted } : post(integration, wanted);
    },
    close: sender.close,
    ...(repeats && {
      repeats: {
        everyMs: repeats.everyMs,
        send: (integration, alerts, externalUrl) =>
          post(integration, repeats.request(integration, alerts, externalUrl, nowUs())),
      },
    }),
  };
}

function previewOf(integration: PostIntegration, request: PostRequest | string): Preview {
  if (typeof request === 'string') return { text: request };
  const { body, templateError } = request;
  const text = secretsIn(integration).reduce(
    (rest, secret) => rest.replaceAll(JSON.stringify(secret), '"[secret]"'),
    JSON.stringify(body, null, 2),
  );
  return { text, ...(templateError && { templateError }) };
}
