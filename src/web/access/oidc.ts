/**
 * Lets people log in at an identity provider: the authorization code flow of OpenID Connect with PKCE, by `openid-client`.
 * The browser gets a cookie of its own only after the provider's answer was verified, so nobody can fix one beforehand.
 */
import type { Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Configuration } from 'openid-client';
import type { OidcConfig } from '../../config/sections/oidc-section.ts';
import type { Scope } from '../../config/sections/scopes.ts';
import { NestwatchError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import { MAX_AUTHOR_LENGTH } from '../requests/silence-request.ts';
import type { Identity } from './identify.ts';
import { answerRefusal } from './refusals.ts';
import type { Signer } from './sessions.ts';

const LOGIN_COOKIE = 'nestwatch_login';
const SESSION_COOKIE = 'nestwatch_session';
const LOGIN_MS = 600_000;
const TIMEOUT_SECONDS = 10;
/** How long what the provider says of itself is used. */
const DISCOVERED_MS = 600_000;
const MAX_SAID = 300;

interface OidcOptions {
  readonly config: OidcConfig;
  readonly externalUrl: string;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly report: Report;
}

export interface Oidc {
  /** Undefined for who is not logged in. */
  identityOf(c: Context): Identity | undefined;
  /** The page on which somebody logs in and comes back to this one. */
  loginPath(c: Context): string;
  addRoutes(app: Hono): void;
}

export function createOidc({ config, externalUrl, signer, clock, report }: OidcOptions): Oidc {
  const { pathname, protocol } = new URL(`${externalUrl}/`);
  const callback = `${externalUrl}/login/callback`;
  const cookie = { path: pathname, httpOnly: true, secure: protocol === 'https:', sameSite: 'Lax' } as const;
  let discovered: { readonly provider: Configuration; readonly untilMs: number } | undefined;

  async function provider(): Promise<Configuration> {
    if (discovered && clock.monotonicMs() < discovered.untilMs) return discovered.provider;
    const client = await import('openid-client');
    const issuer = new URL(config.issuer);
    const secret = config.clientSecret?.reveal();
    // Only an address of this machine may lack encryption.
    const insecure = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
    const found = await client.discovery(
      issuer,
      config.clientId,
      undefined,
      secret === undefined ? client.None() : client.ClientSecretBasic(secret),
      { execute: [...insecure, client.enableNonRepudiationChecks], timeout: TIMEOUT_SECONDS },
    );
    discovered = { provider: found, untilMs: clock.monotonicMs() + DISCOVERED_MS };
    return found;
  }

  async function begin(c: Context): Promise<Response> {
    const client = await import('openid-client');
    const parts = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      to: localPath(c.req.query('to')),
      untilUs: clock.nowUs() + LOGIN_MS * 1000,
    };
    const address = client.buildAuthorizationUrl(await provider(), {
      redirect_uri: callback,
      scope: config.asked,
      state: parts.state,
      nonce: parts.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(parts.verifier),
      code_challenge_method: 'S256',
    });
    setCookie(c, LOGIN_COOKIE, signer.sign('login', parts), { ...cookie, maxAge: LOGIN_MS / 1000 });
    return c.redirect(address.href, 303);
  }

  async function finish(c: Context): Promise<Response> {
    const begun = signer.read('login', getCookie(c, LOGIN_COOKIE), clock.nowUs());
    deleteCookie(c, LOGIN_COOKIE, cookie);
    if (!begun) return answerRefusal(c, 400, `${NOT_BEGUN} ${externalUrl}/`);
    const client = await import('openid-client');
    const { search } = new URL(c.req.url);
    const tokens = await client.authorizationCodeGrant(await provider(), new URL(callback + search), {
      expectedState: String(begun.state),
      expectedNonce: String(begun.nonce),
      pkceCodeVerifier: String(begun.verifier),
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    // Many providers list groups only there.
    const more =
      config.groups.size > 0 && !Object.hasOwn(claims, config.groupsClaim)
        ? await client.fetchUserInfo(await provider(), tokens.access_token, claims.sub)
        : {};
    const said = new Map<string, unknown>(Object.entries({ ...claims, ...more }));
    const name = ['email', 'preferred_username', 'name', 'sub'].map((one) => said.get(one)).find(Boolean);
    const scopes = scopesOf(config, said.get(config.groupsClaim));
    const who = plainText(String(name), MAX_AUTHOR_LENGTH);
    if (scopes.length === 0) return answerRefusal(c, 403, `${who} is in no group that may do anything here.`);
    const untilUs = clock.nowUs() + config.sessionMs * 1000;
    const session = signer.sign('session', { name: who, scopes, id: begun.state, untilUs });
    setCookie(c, SESSION_COOKIE, session, { ...cookie, maxAge: Math.floor(config.sessionMs / 1000) });
    return c.redirect(externalUrl + localPath(begun.to), 303);
  }

  /** The provider's own words may come from whoever made the address, so only the log has them. */
  const guarded = (answer: (c: Context) => Promise<Response>) => async (c: Context) => {
    try {
      return await answer(c);
    } catch (error) {
      const said = plainText(error instanceof Error ? error.message : '', MAX_SAID);
      const [code, status, words] = isRefusal(error)
        ? (['rejected', 403, REFUSED] as const)
        : (['unreachable', 503, AWAY] as const);
      const cause = new NestwatchError(code, `login at ${config.issuer}: ${said}`, { cause: error });
      report({ what: 'trouble', stage: 'web', error: cause });
      return answerRefusal(c, status, words);
    }
  };

  const sessionOf = (c: Context) => signer.read('session', getCookie(c, SESSION_COOKIE), clock.nowUs());

  return {
    identityOf(c) {
      const session = sessionOf(c);
      if (!session) return undefined;
      return { name: String(session.name), by: 'oidc', scopes: new Set(session.scopes as Scope[]) };
    },
    loginPath(c) {
      const { pathname: path, search } = new URL(c.req.url);
      return `${externalUrl}/login?${new URLSearchParams({ to: path + search })}`;
    },
    addRoutes(app) {
      app.get('/login', guarded(begin));
      app.get('/login/callback', guarded(finish));
      app.post('/logout', (c) => {
        const session = sessionOf(c);
        if (session) signer.end(session);
        deleteCookie(c, SESSION_COOKIE, cookie);
        return c.text(`You are logged out. To log in again: ${externalUrl}/\n`);
      });
    },
  };
}

const NOT_BEGUN = 'This login was not begun in this browser, or took longer than ten minutes. Begin again:';
const AWAY = 'The identity provider could not be asked; the log says why. Try again in a moment.';
const REFUSED = 'The identity provider did not confirm who you are; the log says why.';

/** A path of ours, never another site's. */
function localPath(to: unknown): string {
  return typeof to === 'string' && /^\/(?![/\\])[^\s\\]*$/.test(to) ? to : '/';
}

function scopesOf({ scopes, groups }: OidcConfig, claimed: unknown): Scope[] {
  const own = (Array.isArray(claimed) ? claimed : [claimed]).flatMap((name) => [
    ...(groups.get(String(name)) ?? []),
  ]);
  return [...new Set([...scopes, ...own])];
}

/** Whether there was an answer, and it was not what it should be. */
function isRefusal(error: unknown): boolean {
  const { name = '', code = '' } = error as { readonly name?: string; readonly code?: string };
  return name !== 'TypeError' && code !== 'OAUTH_TIMEOUT' && code !== 'OAUTH_RESPONSE_IS_NOT_CONFORM';
}
