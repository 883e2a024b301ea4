/**
 * A transport that authenticates each request as configured and follows redirects where that is allowed. Boundary:
 * credentials go only to the origin they are meant for.
 */
import { NestwatchError } from '../errors.ts';
import type { Credentials, HttpSettings } from './http-settings.ts';
import { createTokenSource, type TokenSource } from './oauth2.ts';
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
