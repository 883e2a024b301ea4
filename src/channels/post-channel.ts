/**
 * Makes channels to services that take one JSON body at one address, such as Slack and PagerDuty. Each channel says
 * what it posts; sending, previews and probes are the same for all.
 */
import { connect, isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { type ErrorCode, NestwatchError } from '../errors.ts';
import { isSocks, tlsMaterial } from '../http/connection-pools.ts';
import { type ConnectionSettings, type HttpSettings, proxyFor } from '../http/http-settings.ts';
import { networkErrorWords } from '../http/network-error.ts';
import { boundedWaitMs, retryAfterMs } from '../http/server-time.ts';
import type { HttpResponse, Transport } from '../http/transport.ts';
import { type Secret, secretsIn, withoutSecrets } from '../secret.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import {
  type Channel,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
  type Preview,
  type Probe,
  type RepeatedAlert,
} from './channel.ts';
import type { Readable } from './message/digest-view.ts';
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
  request(
    integration: I,
    notification: Readable,
    externalUrl: string,
    nowUs: number,
  ): PostRequest | string | Promise<PostRequest | string>;
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
    async preview(integration, notification, externalUrl) {
      const { createdAtUs } = notification;
      return previewOf(integration, await request(integration, notification, externalUrl, createdAtUs));
    },
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
      const wanted = await request(integration, notification, externalUrl, nowUs());
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

// Posts one text to an address and judges the answer, for all channels over HTTP. What stops here: the address, which
// may hold a key, and the receiver's words, which are cleaned and from which the integration's secrets are removed.

/** More than are ever in flight, so that receivers behind one address never wait for each other. */
const CONNECTIONS = 256;
/** Only the status of an answer counts; of its body one line is kept for people. */
const MAX_ANSWER_BYTES = 1_048_576;
/** More is not looked at. */
const MAX_WORDS = 4_096;
const MAX_ERROR_CODE_POINTS = 300;

interface Post {
  readonly url: string;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** How to post. No answer may repeat a secret within it. */
  readonly integration: Integration & { readonly timeoutMs: number; readonly http?: HttpSettings };
  /** Judges the body of a 2xx answer, for services that refuse messages there. */
  readonly judge?: ((body: string) => Outcome) | undefined;
  /** Reads how many seconds to wait from the body of a refusal, for services that have it there. */
  readonly retryAfter?: RetryAfter | undefined;
}

export type RetryAfter = (body: unknown) => unknown;

interface Sender {
  /** Tries once. Throws only on unforeseen errors. */
  post(post: Post): Promise<Outcome>;
  close(): Promise<void>;
}

interface SenderOptions extends Pick<ChannelOptions, 'version' | 'openTransport'> {
  readonly clock: Pick<Clock, 'nowUs'>;
}

export function openSender(options: SenderOptions): Sender {
  const { clock, version } = options;
  const transports = new Map<HttpSettings | undefined, Map<number, Transport>>();

  function transportOf(http: HttpSettings | undefined, timeoutMs: number): Transport {
    const same = transports.get(http) ?? new Map<number, Transport>();
    transports.set(http, same);
    let transport = same.get(timeoutMs);
    if (!transport) {
      transport = options.openTransport({
        connections: CONNECTIONS,
        timeoutMs,
        maxBodyBytes: MAX_ANSWER_BYTES,
        http,
        nowUs: clock.nowUs,
      });
      same.set(timeoutMs, transport);
    }
    return transport;
  }

  return {
    async post({ url, contentType, body, integration, headers = {}, judge, retryAfter }) {
      const { timeoutMs, http } = integration;
      const request = {
        method: 'POST' as const,
        url,
        headers: { 'content-type': contentType, 'user-agent': `nestwatch/${version}`, ...headers },
        ...(typeof body === 'string' ? { body } : { bytes: body }),
      };
      try {
        const response = await transportOf(http, timeoutMs).send(request);
        const words = (said: string) =>
          withoutSecrets(said.slice(0, MAX_WORDS), [...secretsIn(integration), ...(response.secrets ?? [])]);
        return answered(response, words, clock.nowUs(), judge, retryAfter);
      } catch (error) {
        if (!(error instanceof NestwatchError)) throw error;
        return unanswered(error, judge !== undefined, clock.nowUs());
      }
    },

    async close() {
      const all = [...transports.values()].flatMap((same) => [...same.values()]);
      await Promise.all(all.map((transport) => transport.close()));
      transports.clear();
    },
  };
}

/** 2xx is accepted; 408, 425, 429 and 5xx may pass; every other status is a refusal. `clean` removes secrets. */
function answered(
  response: HttpResponse,
  clean: (said: string) => string,
  nowUs: number,
  judge: Post['judge'] = () => ({ kind: 'accepted' }),
  retryAfter?: RetryAfter,
): Outcome {
  const { status } = response;
  if (status >= 200 && status < 300) {
    const outcome = judge(response.body);
    if (!('error' in outcome)) return outcome;
    return { ...outcome, error: plainText(clean(outcome.error), MAX_ERROR_CODE_POINTS) };
  }
  const words = /html/i.test(response.headers['content-type'] ?? '') ? '' : clean(response.body);
  const error = plainText(`HTTP ${status}${words && `: ${words}`}`, MAX_ERROR_CODE_POINTS);
  if (status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600)) {
    const waitMs = retryAfterMs(response, nowUs) ?? (retryAfter && waitInBody(response.body, retryAfter));
    const reason: ErrorCode = status === 429 ? 'rate_limited' : 'unavailable';
    return { kind: 'failed', reason, error, ...(waitMs && { retryAfterMs: waitMs }) };
  }
  return { kind: 'refused', reason: status >= 300 && status < 400 ? 'redirected' : 'rejected', error };
}

/** What the body of an answer says, if it is an object in JSON; empty otherwise. */
export function objectIn(body: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}

/** Whether the answer was that there is nothing at the address, now or any more. */
export function isGone(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && /^HTTP (?:404|410)\b/.test(outcome.error);
}

/** Whether the answer was that it cannot be read. */
export function isBadRequest(outcome: Outcome): outcome is Extract<Outcome, { kind: 'refused' }> {
  return outcome.kind === 'refused' && /^HTTP 400\b/.test(outcome.error);
}

function waitInBody(body: string, retryAfter: RetryAfter): number | undefined {
  try {
    return boundedWaitMs(retryAfter(JSON.parse(body)));
  } catch {
    return undefined;
  }
}

/** What connections break with, and answers that cannot be read, after the request may have been sent. */
const BROKEN = new Set([
  ...['UND_ERR_SOCKET', 'UND_ERR_DESTROYED', 'ECONNRESET', 'EPIPE'],
  ...['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'HTTPParserError'],
]);

/**
 * The outcome without a complete answer. If a status arrived, it decides; otherwise, whether the request can have
 * arrived. A 2xx status decides nothing if the body, which is missing, would have been judged.
 */
function unanswered(error: NestwatchError, isJudged: boolean, nowUs: number): Outcome {
  const { status, headers = {} } = error.facts;
  const isUndecided = isJudged && status !== undefined && status >= 200 && status < 300;
  if (status !== undefined && !isUndecided) {
    return answered({ status, headers, body: '' }, () => '', nowUs);
  }
  const cause = codeOfCause(error.cause);
  const neverSent =
    error.code === 'unreachable'
      ? !BROKEN.has(cause)
      : error.code === 'unauthorized' || cause === 'UND_ERR_CONNECT_TIMEOUT';
  const text = plainText(error.message, MAX_ERROR_CODE_POINTS);
  if (neverSent) return { kind: 'failed', reason: error.code, error: text };
  const reason = error.code === 'timeout' ? 'timeout' : 'ambiguous';
  return { kind: 'unknown', reason, error: text };
}

/** The error's code, or its name, as undici's parser gives it no code. */
function codeOfCause(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}

// Shows people the host of an address that an integration posts to, and tries whether it can be reached.

const TIMEOUT_MS = 10_000;

export function hostOf(url: Secret): string {
  return URL.parse(url.reveal())?.host ?? 'no address';
}

/**
 * A probe that connects, with TLS if the address asks for it, and sends nothing. If a proxy stands in between, it
 * connects to the proxy. One probe stands for all addresses of one origin that are reached in the same way.
 */
export function probeAddress(address: Secret, { tls, proxy }: ConnectionSettings = {}): Probe {
  const target = new URL(address.reveal());
  const through = proxy && proxyFor(target, proxy);
  const url = through === undefined ? target : new URL(through);
  const material = tls ? tlsMaterial(tls) : {};
  // The configured server name is the target's, not the proxy's.
  const { key, ...open } = through === undefined ? material : { ...material, servername: undefined };
  return {
    key: [target.origin, url.origin, JSON.stringify(open)].join(' '),
    run: () => tryConnect(url, key === undefined ? open : { ...open, key }),
  };
}

function tryConnect(url: URL, material: ConnectionOptions): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'https:';
  const port = Number(url.port) || (isTls ? 443 : isSocks(url.href) ? 1080 : 80);
  const { servername = isIP(host) ? '' : host, ...own } = material;
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ ...own, host, port, servername }) : connect({ host, port });
    const end = (error?: Error) => {
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.setTimeout(TIMEOUT_MS, () => end(new NestwatchError('timeout', 'no connection in time')));
    socket.once(isTls ? 'secureConnect' : 'connect', () => end());
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      const words = networkErrorWords(cause.code ?? cause.name);
      end(new NestwatchError('unreachable', `no answer from ${url.host}: ${words}`, { cause }));
    });
  });
}
