/**
 * Lets people log in at an identity provider: the authorization code flow of OpenID Connect with PKCE, by `openid-client`.
 * The browser gets a cookie of its own only after the provider's answer was verified, so nobody can fix one beforehand.
 */
import type { Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import * as client from 'openid-client';
import type { OidcConfig, Scope } from '../../config/sections/access-section.ts';
import { NestwatchError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import { readSignedText, type Secret, signedText } from '../../secret.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import { MAX_AUTHOR_LENGTH } from '../requests/silence-request.ts';
import type { Identity } from './identify.ts';
import { answerRefusal } from './refusals.ts';

const LOGIN_COOKIE = 'nestwatch_login';
const SESSION_COOKIE = 'nestwatch_session';
const LOGIN_MS = 600_000;
const TIMEOUT_SECONDS = 10;
/** The provider is not asked more often: anybody may begin a login. */
const DISCOVERED_MS = 60_000;
const MAX_SAID = 300;

/** Sessions that are remembered as ended. */
const MOST_ENDED = 10_000;

interface OidcParts {
  /** Signs the cookies. */
  readonly key: Secret;
  /** The sessions whose people logged out, across configurations. Other processes do not know them. */
  readonly ended: Set<unknown>;
  readonly clock: Clock;
  readonly report: Report;
}

export type Oidc = ReturnType<typeof createOidc>;

export function createOidc(
  config: OidcConfig,
  externalUrl: string,
  { key, ended, clock, report }: OidcParts,
) {
  const { pathname, protocol } = new URL(`${externalUrl}/`);
  const callback = `${externalUrl}/login/callback`;
  const cookie = { path: pathname, httpOnly: true, secure: protocol === 'https:', sameSite: 'Lax' } as const;

  /** Cookies are signed, so that nobody can make one; any replica accepts them until their time is over. */
  function setSigned(c: Context, name: string, content: object, forMs: number): void {
    const signed = signedText(key, name, { ...content, untilUs: clock.nowUs() + forMs * 1000 });
    setCookie(c, name, signed, { ...cookie, maxAge: Math.floor(forMs / 1000) });
  }

  function signedIn(c: Context, name: string): Readonly<Record<string, unknown>> | undefined {
    const read = readSignedText<Record<string, unknown>>(key, name, getCookie(c, name) ?? '');
    return read && clock.nowUs() < Number(read.untilUs) ? read : undefined;
  }

  let discovered: { readonly provider: Promise<client.Configuration>; readonly untilMs: number } | undefined;

  /** What the provider says of itself. */
  function discover(): Promise<client.Configuration> {
    const nowMs = clock.monotonicMs();
    if (!discovered || nowMs >= discovered.untilMs)
      discovered = { provider: askProvider(), untilMs: nowMs + DISCOVERED_MS };
    return discovered.provider;
  }

  function askProvider(): Promise<client.Configuration> {
    const issuer = new URL(config.issuer);
    const secret = config.clientSecret?.reveal();
    // Only an address of this machine may lack encryption.
    const insecure = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
    return client.discovery(
      issuer,
      config.clientId,
      undefined,
      secret === undefined ? client.None() : client.ClientSecretBasic(secret),
      { execute: [...insecure, client.enableNonRepudiationChecks], timeout: TIMEOUT_SECONDS },
    );
  }

  async function begin(c: Context): Promise<Response> {
    const parts = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      to: localPath(c.req.query('to')),
    };
    const address = client.buildAuthorizationUrl(await discover(), {
      redirect_uri: callback,
      scope: config.asked,
      state: parts.state,
      nonce: parts.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(parts.verifier),
      code_challenge_method: 'S256',
    });
    setSigned(c, LOGIN_COOKIE, parts, LOGIN_MS);
    return c.redirect(address.href, 303);
  }

  async function finish(c: Context): Promise<Response> {
    const begun = signedIn(c, LOGIN_COOKIE);
    deleteCookie(c, LOGIN_COOKIE, cookie);
    if (!begun) return answerRefusal(c, 400, `${NOT_BEGUN} ${externalUrl}/`);
    const { search } = new URL(c.req.url);
    const provider = await discover();
    const tokens = await client.authorizationCodeGrant(provider, new URL(callback + search), {
      expectedState: String(begun.state),
      expectedNonce: String(begun.nonce),
      pkceCodeVerifier: String(begun.verifier),
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    // Many providers list groups only there.
    const more =
      config.groups.size > 0 && !Object.hasOwn(claims, config.groupsClaim)
        ? await client.fetchUserInfo(provider, tokens.access_token, claims.sub)
        : {};
    const said = new Map<string, unknown>(Object.entries({ ...claims, ...more }));
    const name = ['email', 'preferred_username', 'name', 'sub'].map((one) => said.get(one)).find(Boolean);
    const groups = [said.get(config.groupsClaim)].flat().filter((one) => config.groups.has(String(one)));
    const who = plainText(String(name), MAX_AUTHOR_LENGTH);
    if (scopesOf(config, groups).size === 0)
      return answerRefusal(c, 403, `${who} is in no group that may do anything here.`);
    setSigned(c, SESSION_COOKIE, { name: who, groups, id: begun.state }, config.sessionMs);
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
      const why = new NestwatchError(code, `login at ${config.issuer}: ${said}`, { cause: error });
      report({ what: 'trouble', stage: 'web', error: why });
      return answerRefusal(c, status, words);
    }
  };

  function sessionOf(c: Context) {
    const session = signedIn(c, SESSION_COOKIE);
    return session && !ended.has(session.id) ? session : undefined;
  }

  return {
    /** Undefined for who is not logged in, or is in no group any more that the configuration gives a right. */
    identityOf(c: Context): Identity | undefined {
      const session = sessionOf(c);
      const scopes = scopesOf(config, session?.groups);
      return session && scopes.size > 0 ? { name: String(session.name), by: 'oidc', scopes } : undefined;
    },
    /** The page on which somebody logs in and comes back to this one. */
    loginPath(c: Context): string {
      const { pathname: path, search } = new URL(c.req.url);
      return `${externalUrl}/login?${new URLSearchParams({ to: path + search })}`;
    },
    addRoutes(app: Hono): void {
      app.get('/login', guarded(begin));
      app.get('/login/callback', guarded(finish));
      app.post('/logout', (c) => {
        const session = sessionOf(c);
        const [oldest] = ended;
        if (ended.size >= MOST_ENDED) ended.delete(oldest);
        if (session) ended.add(session.id);
        deleteCookie(c, SESSION_COOKIE, cookie);
        return c.text(`You are logged out. To log in again: ${externalUrl}/\n`);
      });
    },
  };
}

const NOT_BEGUN = 'This login was not begun in this browser, or took longer than ten minutes. Begin again:';
const AWAY = 'The identity provider could not be asked; the log says why. Try again in a minute.';
const REFUSED = 'The identity provider did not confirm who you are; the log says why.';

/** A path of ours, never another site's. */
function localPath(to: unknown): string {
  return typeof to === 'string' && /^\/(?![/\\])[^\s\\]*$/.test(to) ? to : '/';
}

/** What the configuration lets the members of these groups do now: a session does not keep rights that it takes away. */
function scopesOf({ scopes, groups }: OidcConfig, names: unknown): Set<Scope> {
  return new Set([...scopes, ...[names].flat().flatMap((name) => [...(groups.get(String(name)) ?? [])])]);
}

/** Whether there was an answer, and it was not what it should be. */
function isRefusal(error: unknown): boolean {
  const { name = '', code = '' } = error as { readonly name?: string; readonly code?: string };
  return name !== 'TypeError' && code !== 'OAUTH_TIMEOUT' && code !== 'OAUTH_RESPONSE_IS_NOT_CONFORM';
}
