/**
 * A transport that authenticates each request as configured and follows redirects where that is allowed. Boundary:
 * credentials go only to the origin they are meant for.
 */
import { NestwatchError } from '../errors.ts';
import { secretsIn, withoutSecrets } from '../secret.ts';
import { plainText } from '../text/plain-text.ts';
import type { Credentials, HttpSettings, Oauth2Settings } from './http-settings.ts';
import {
  type HttpRequest,
  type HttpResponse,
  openTransport,
  type Transport,
  type TransportOptions,
} from './transport.ts';

export interface AuthorizedTransportOptions extends Omit<TransportOptions, 'tls' | 'proxy'> {
  readonly http?: HttpSettings | undefined;
  /** The clock that decides when access tokens expire, in microseconds. */
  readonly nowUs: () => number;
}

/** For one request; the same limit as Go's HTTP client, and so Alertmanager's. */
const MAX_REDIRECTS = 10;

const MAX_TOKEN_BYTES = 1024 * 1024;

/**
 * Throws like `openTransport`. Also throws `unauthorized` if the token server gives no access token; then nothing was
 * sent.
 */
export function openAuthorizedTransport(options: AuthorizedTransportOptions): Transport {
  const { http, nowUs, ...own } = options;
  if (!http) return openTransport(own);
  const { credentials, headers, followRedirects } = http;
  const transport = openTransport({ ...own, ...http });
  const { tokens, close } = openTokens(credentials, own, nowUs);

  async function sendOnce(request: HttpRequest, isTrusted: boolean): Promise<HttpResponse> {
    if (!isTrusted) {
      // The channel may have set this header itself, as Slack's does for an app.
      const { authorization: _own, ...others } = request.headers;
      return transport.send({ ...request, headers: others });
    }
    const token = await tokens?.token();
    const authorization = token === undefined ? authorizationOf(credentials) : `Bearer ${token}`;
    const further = headers.map(({ name, values }) => [
      name,
      values.map((value) => (typeof value === 'string' ? value : value.reveal())).join(', '),
    ]);
    const response = await transport.send({
      ...request,
      headers: {
        ...Object.fromEntries(further),
        ...request.headers,
        ...(authorization !== undefined && { authorization }),
      },
    });
    if (response.status === 401 && token !== undefined) tokens?.forget(token);
    return { ...response, ...(token !== undefined && { secrets: [token] }) };
  }

  return {
    async send(request) {
      const { origin, protocol } = URL.parse(request.url) ?? {};
      let { url } = request;
      let response = await sendOnce(request, true);
      for (let hops = 0; followRedirects && isFollowed(response); hops += 1) {
        // A relative location refers to the URL that answered (RFC 9110, 10.2.2).
        const target = URL.parse(response.headers.location ?? '', url);
        const isWorse = protocol === 'https:' && target?.protocol !== 'https:';
        if (!target || isWorse || hops === MAX_REDIRECTS) return response;
        response.release?.();
        // A user and password in the location are the server's text, not our credentials.
        target.username = '';
        target.password = '';
        url = target.href;
        response = await sendOnce({ ...request, url }, target.origin === origin);
      }
      return response;
    },
    async close() {
      await Promise.all([transport.close(), close()]);
    },
  };
}

/**
 * Only 307 and 308 keep method and body. Other redirects may turn a POST into a GET without a body (RFC 9110, 15.4),
 * whose answer would say nothing about the message.
 */
function isFollowed({ status, headers }: HttpResponse): boolean {
  return (status === 307 || status === 308) && Object.hasOwn(headers, 'location');
}

function openTokens(
  credentials: Credentials | undefined,
  { timeoutMs, lookUp }: Pick<TransportOptions, 'timeoutMs' | 'lookUp'>,
  nowUs: () => number,
): { readonly tokens?: TokenSource; close(): Promise<void> } {
  if (credentials?.kind !== 'oauth2') return { close: async () => {} };
  const transport = openTransport({
    connections: 1,
    timeoutMs,
    maxBodyBytes: MAX_TOKEN_BYTES,
    lookUp,
    ...credentials.connection,
  });
  const named: Transport = {
    ...transport,
    async send(request) {
      try {
        return await transport.send(request);
      } catch (error) {
        // Whatever failed in the token exchange, the message itself was not sent.
        if (!(error instanceof NestwatchError)) throw error;
        throw new NestwatchError('unreachable', `no access token: ${error.message}`);
      }
    },
  };
  return { tokens: createTokenSource(credentials, named, nowUs), close: transport.close };
}

function authorizationOf(credentials: Credentials | undefined): string | undefined {
  if (credentials?.kind === 'authorization') {
    const { type, credentials: text } = credentials;
    return text ? `${type} ${text.reveal()}` : undefined;
  }
  if (credentials?.kind !== 'basic') return undefined;
  const pair = `${credentials.username?.reveal() ?? ''}:${credentials.password?.reveal() ?? ''}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

// Gets access tokens by client credentials (RFC 6749, 4.4). A token is used until shortly before it expires or until
// it is refused. Concurrent callers share one exchange. Boundary: the client's secret does not leave this file.

interface TokenSource {
  /** Throws `unauthorized` if the server gives no token, and whatever the transport throws. */
  token(): Promise<string>;
  /** Call this when the token was refused; the next call of `token` gets a new one. */
  forget(token: string): void;
}

/** A token is not used in its last seconds, because the request itself takes time. */
const MARGIN_MS = 10_000;
/** Assumed if the server does not say how long the token lasts. */
const USUAL_LIFE_MS = 300_000;
const LONGEST_LIFE_MS = 86_400_000;
const MAX_WORDS = 200;

interface Held {
  readonly token: string;
  /** The secret it was issued for: after a change of secret a new token is requested. */
  readonly secret: string;
  readonly untilUs: number;
}

function createTokenSource(settings: Oauth2Settings, transport: Transport, nowUs: () => number): TokenSource {
  let held: Held | undefined;
  let asking: { readonly secret: string; readonly answer: Promise<string> } | undefined;

  async function ask(secret: string): Promise<string> {
    const askedAtUs = nowUs();
    const response = await exchange(settings, transport, secret);
    const { token, lifeMs } = readToken(response, settings, secret);
    const lifeUs = Math.max(0, Math.min(lifeMs, LONGEST_LIFE_MS) - MARGIN_MS) * 1000;
    held = { token, secret, untilUs: askedAtUs + lifeUs };
    return token;
  }

  return {
    async token() {
      const secret = settings.clientSecret.reveal();
      if (held?.secret === secret && nowUs() < held.untilUs) return held.token;
      if (asking?.secret !== secret) {
        const mine = { secret, answer: ask(secret) };
        asking = mine;
        mine.answer
          .catch(() => {})
          .finally(() => {
            if (asking === mine) asking = undefined;
          });
      }
      return asking!.answer;
    },
    forget(token) {
      if (held?.token === token) held = undefined;
    },
  };
}

/** Sends the credentials in a header, as the RFC prefers (2.3.1); a server that refuses gets them in the body. */
async function exchange(
  settings: Oauth2Settings,
  transport: Transport,
  secret: string,
): Promise<HttpResponse> {
  const { clientId, scopes, endpointParams } = settings;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scopes.length > 0) form.set('scope', scopes.join(' '));
  for (const [name, value] of endpointParams) form.set(name, value.reveal());
  const pair = `${formEncoded(clientId)}:${formEncoded(secret)}`;
  const basic = { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
  const first = await postForm(settings, transport, form, basic);
  if (first.status !== 400 && first.status !== 401) return first;
  form.set('client_id', clientId);
  form.set('client_secret', secret);
  return postForm(settings, transport, form, {});
}

function postForm(
  { tokenUrl, tokenQuery }: Oauth2Settings,
  transport: Transport,
  form: URLSearchParams,
  headers: Readonly<Record<string, string>>,
): Promise<HttpResponse> {
  return transport.send({
    method: 'POST',
    url: tokenUrl + tokenQuery.reveal(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...headers,
    },
    body: form.toString(),
  });
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function readToken(
  { status, body }: HttpResponse,
  settings: Oauth2Settings,
  secret: string,
): { readonly token: string; readonly lifeMs: number } {
  const { tokenUrl, clientId } = settings;
  const host = URL.parse(tokenUrl)?.host ?? 'the token URL';
  const answer = asObject(body);
  const { access_token: token, token_type: type = 'Bearer', expires_in: seconds } = answer;
  if (status < 200 || status >= 300 || typeof token !== 'string' || token === '') {
    const why =
      typeof answer.error === 'string'
        ? `: ${withoutSecrets(answer.error, [secret, ...secretsIn(settings)])}`
        : '';
    const words = plainText(`${host} gives no access token to ${clientId} (HTTP ${status}${why})`, MAX_WORDS);
    throw new NestwatchError('unauthorized', words);
  }
  if (typeof type !== 'string' || !/^bearer$/i.test(type) || !/^[\x21-\x7e]+$/.test(token)) {
    throw new NestwatchError('unauthorized', `${host} gives an access token that is no bearer token`);
  }
  const life = Number(seconds);
  return { token, lifeMs: Number.isFinite(life) && life > 0 ? life * 1000 : USUAL_LIFE_MS };
}

function asObject(body: string): {
  readonly access_token?: unknown;
  readonly token_type?: unknown;
  readonly expires_in?: unknown;
  readonly error?: unknown;
} {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
