/**
 * Gets access tokens by client credentials (RFC 6749, 4.4). A token is used until shortly before it expires or until
 * it is refused. Concurrent callers share one exchange. Boundary: the client's secret does not leave this file.
 */
import { NestwatchError } from '../errors.ts';
import { secretsIn, withoutSecrets } from '../secret.ts';
import { plainText } from '../text/plain-text.ts';
import type { Oauth2Settings } from './http-settings.ts';
import type { HttpResponse, Transport } from './transport.ts';

export interface TokenSource {
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

export function createTokenSource(
  settings: Oauth2Settings,
  transport: Transport,
  nowUs: () => number,
): TokenSource {
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
